"""Kinds of sources: functions, tables, SQL, Redis and HTTP."""
