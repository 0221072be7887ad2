"""A gate and a cheap model in front of an expensive model: composition, prices, and evaluation on held-out rows."""

from costframe.lazily import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
