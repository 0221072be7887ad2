"""CSTC: a tree of classifiers, each of which acquires what its part of the rows is worth (ICML 2013)."""

from __future__ import annotations

from costframe.hooks import Algorithm, hookimpl

__all__: list[str] = []


@hookimpl
def costframe_algorithms() -> list[Algorithm]:
    """Bring the tree."""
    return []
