"""Comparisons of algorithms, and of anybody's policies, over tables and repeated splits of their rows."""

from costframe.comparison.comparison import Comparison
from costframe.comparison.outsiders import EstimatedModel, Outsider, SeenTable

__all__ = ["Comparison", "EstimatedModel", "Outsider", "SeenTable"]
