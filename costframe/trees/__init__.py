"""The tree engine.

`bin_mapper` turns values into bins, `growing` grows a tree at prices, `boosting_run` adds trees round by round, `folds`
does so without each fold of the rows, and `annealer` lets the tradeoff fall.
"""

from costframe.lazily import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
