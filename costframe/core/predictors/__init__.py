"""Predictors: stage trees, plans and stepped models, for tables and for single rows."""
