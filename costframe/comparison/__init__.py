"""Comparisons of algorithms, and of anybody's policies, over tables and repeated splits of their rows."""

from costframe.comparison.outsiders import EstimatedModel, Outsider, SeenTable

__all__ = ["EstimatedModel", "Outsider", "SeenTable"]
