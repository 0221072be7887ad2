"""Adoption of models of other libraries, exactly; one file or two per library. `adopting.py` begins it."""

from costframe.lazily import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
