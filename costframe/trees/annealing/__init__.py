"""Ensembles grown while the tradeoff falls; every prefix is a model."""
