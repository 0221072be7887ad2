"""Progress bars on the error stream, for `verbose` only."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from costframe.core.checks import needed

T = TypeVar("T")


def track(items: Sequence[T], title: str, *, verbose: int) -> Iterable[T]:
    """Iterate over items, with a progress bar if `verbose`."""
    if not verbose:
        return items
    needed("rich", "cli")
    from rich.console import Console
    from rich.progress import track as bar

    return bar(items, description=title, console=Console(stderr=True), transient=False)


@contextlib.contextmanager
def track_share(title: str, *, verbose: int) -> Iterator[Callable[[float], None]]:
    """Yield a callable that takes the finished share, from 0 to 1; it moves a progress bar if `verbose`."""
    if not verbose:
        yield lambda _share: None
        return
    needed("rich", "cli")
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda share: progress.update(task, completed=share)
        progress.update(task, completed=1.0)
