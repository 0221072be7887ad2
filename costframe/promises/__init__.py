"""Promises with a probability: what is promised of a model, and the cheapest model that is certified to keep it."""

from costframe.lazily import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
