"""Trees of stages over a bank: weights for its learners by least squares and price."""

from costframe.lazily import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
