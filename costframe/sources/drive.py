"""How a call of a driver takes its rows through sources: in blocks, whose rounds are one trip for all rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from attrs import frozen

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError, SourceError, shown
from costframe.core.tables.frames import is_dask
from costframe.sources.live_row import LiveRow, RowTerms, supply_rows

if TYPE_CHECKING:
    from costframe.core.predictors.inquiry import Prediction
    from costframe.sources.sources import Sources

__all__ = ["Drive", "Ended", "Observe", "blocks"]

Ended = tuple[Any, "Prediction | Exception"]
"""The key of a row, and its prediction or the error that ended it."""


Observe = Callable[[Any, LiveRow, "Prediction | Exception"], object]
"""Called with the key, the row and the end of each row that has ended."""


@frozen(eq=False)
class Drive:
    """One call of a driver over sources.

    Parameters
    ----------
    terms : RowTerms
    sources : Sources
    deadline : float, optional
        Seconds that a row has, from the beginning of its block.
    observe : callable, optional
    """

    terms: RowTerms
    sources: Sources
    deadline: float | None = None
    observe: Observe | None = None

    def __attrs_post_init__(self) -> None:
        if self.deadline is not None:
            check_number("deadline", self.deadline, strict=True)
        self.sources.check_serves(self.terms.asked)

    async def open(self) -> None:
        """Connect the sources, and have the model laid out before a clock starts."""
        if self.deadline is None:
            await self.sources.connect(self.terms.asked)
        else:
            await self.sources.warm(self.terms)

    async def one(self, key: Any) -> Prediction:
        """Predict one row; raise the error that ends it."""
        ended = [each async for some in self.many([key], 1) for each in some]
        (_, end), *_ = ended
        if isinstance(end, Exception):
            raise end
        return end

    async def many(self, keys: Iterable[Any], in_flight: int) -> AsyncIterator[list[Ended]]:
        """Predict rows in blocks of `in_flight`; yield rows as they end, those of one round together."""
        for begun, block in blocks(keys, in_flight):
            async for ended in self.block(block, begun):
                yield ended

    async def block(self, keys: list[Any], begun: int) -> AsyncIterator[list[Ended]]:
        """Advance the rows of a block together: each round is one trip to each lookup that any row needs."""
        clock = asyncio.get_running_loop().time
        limit = None if self.deadline is None else clock() + self.deadline
        rows = {i: LiveRow(self.terms, begun + i) for i in range(len(keys))}
        while rows:
            ended = list(self._answers(rows, keys))
            if ended:
                yield ended
            wants = {i: (keys[i], row.needs) for i, row in rows.items()}
            if not wants:
                return
            outcomes = await self.sources.fetch(wants, self.terms.predictor.categories, limit)
            late = limit is not None and clock() >= limit
            errors = supply_rows([rows[i] for i in outcomes], list(outcomes.values()), late=late)
            ends = zip(outcomes, errors, strict=True)
            if failed := [self._close(keys[i], rows.pop(i), error) for i, error in ends if error is not None]:
                yield failed

    def _answers(self, rows: dict[int, LiveRow], keys: list[Any]) -> Iterator[Ended]:
        """Take the rows that need nothing more."""
        for i in [i for i, row in rows.items() if not row.needs]:
            row = rows.pop(i)
            yield self._close(keys[i], row, row.answer)

    def _close(self, key: Any, row: LiveRow, end: Prediction | Exception) -> Ended:
        if isinstance(end, SourceError):
            end.add_note(f"costframe: row {shown(key)}; paid {end.cost:g}, and {end.failed_cost:g} in vain")
        if self.observe is not None:
            self.observe(key, row, end)
        return key, end


def blocks(keys: Iterable[Any], size: int) -> Iterator[tuple[int, list[Any]]]:
    """Cut keys into blocks, each with the number of keys before it."""
    if is_dask(keys):
        raise ParameterError("keys: those of dask go to predict_stream, whose rows end in other processes")
    if isinstance(keys, str | bytes | Mapping) or hasattr(keys, "columns") or not isinstance(keys, Iterable):
        raise ParameterError(f"keys: expected a list of keys, one a row, got {shown(keys)}")
    left, begun = iter(keys), 0
    while block := list(islice(left, size)):
        yield begun, block
        begun += len(block)
