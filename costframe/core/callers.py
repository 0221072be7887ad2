"""Warnings that stand where the caller of the package stands, whatever lies between."""

from __future__ import annotations

import sys
import warnings

_OURS = "costframe"  # begins the names of the package, and of its plugins


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warn where the first frame outside of the package and its plugins stands, so that Python shows it once there."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 - Python's own name of it
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
