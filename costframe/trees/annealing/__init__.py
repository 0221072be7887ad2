"""Ensembles with a falling tradeoff; every prefix is a model."""
