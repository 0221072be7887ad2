"""Search of feature sets: their prices, the losses of quick fits on them, and the choice of good ones."""

from costframe.lazily import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
