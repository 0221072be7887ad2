"""Kinds of sources: functions, tables, SQL, Redis, HTTP and Feast."""
