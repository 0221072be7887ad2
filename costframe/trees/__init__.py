"""The tree engine.

`binning` turns values into bins, `growing` grows a tree at prices, `boosting` an ensemble of trees, and `annealing` an
ensemble with a falling tradeoff.
"""

from costframe.lazily import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
