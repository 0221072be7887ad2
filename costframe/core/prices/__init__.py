"""Prices of features and resources: the cost model, its files, and arrays for the engine."""
