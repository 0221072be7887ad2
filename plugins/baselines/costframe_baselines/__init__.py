"""Baselines that the papers compare with: boosting, early exit, a gate after l1, cascades by price."""

from __future__ import annotations

from costframe.hooks import Algorithm, hookimpl, import_lazily

__all__: list[str] = []

__getattr__ = import_lazily(f"{__name__}.estimators", __all__)


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Return the algorithms of this plugin."""
    return []
