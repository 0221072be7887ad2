"""Errors and warnings of costframe: what a caller catches, or turns off.

`CostframeError`, a ValueError, is the root of all errors: an input that costframe refuses. The text of an error names
what was given and what was expected.
"""

from costframe.lazily import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
