"""Progress bars, on the error stream, only where someone asked for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")

__all__ = ["track"]


def track(items: Sequence[T], title: str, *, verbose: int) -> Iterable[T]:
    """Iterate with a progress bar if `verbose`, else plainly."""
    if not verbose:
        return items
    from rich.console import Console
    from rich.progress import track as bar

    return bar(items, description=title, console=Console(stderr=True), transient=False)
