"""All problems of a table in one error, so that nobody meets them one a run."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from attrs import field, frozen

from costframe.core.errors import CostframeError, TableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Problems"]


@frozen
class Problems:
    """Problems found while a file is read, each an error that was not raised yet."""

    file: Path
    found: list[CostframeError] = field(factory=list)

    @contextlib.contextmanager
    def collect(self) -> Iterator[None]:
        """Keep an error of costframe for `end`."""
        try:
            yield
        except CostframeError as error:
            self.found.append(error)

    def end(self) -> None:
        """Raise the error that was found, or a `TableError` with all; it names the file."""
        if len(self.found) == 1:
            text = str(self.found[0])
            raise type(self.found[0])(text if text.startswith(str(self.file)) else f"{self.file}: {text}")
        if self.found:
            raise TableError(str(self.file), tuple(map(str, self.found)))
