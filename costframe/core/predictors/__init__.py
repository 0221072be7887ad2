"""Predictors: trees of stages and plans, one row at a time or many."""
