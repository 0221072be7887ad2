"""One call of a driver over sources, which takes rows through them in blocks whose rounds are one trip."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Self

from attrs import frozen

from costframe.core.checks import check_functions, check_number
from costframe.core.errors import ParameterError, SourceError, shown
from costframe.core.predictors.prediction import Prediction
from costframe.core.predictors.predictor import Predictor
from costframe.core.tables.frames import is_dask
from costframe.core.tables.unknown_values import odd_columns, warn_of
from costframe.sources.calls import CallSource
from costframe.sources.live_row import LiveRow, supply_rows
from costframe.sources.lookup import Lookup, Policy
from costframe.sources.sources import Sources
from costframe.sources.terms import RowTerms

Ended = tuple[Any, "Prediction | Exception"]
"""The key of a row, and its prediction or the error that ended it."""

Observe = Callable[[Any, LiveRow, "Prediction | Exception"], object]
"""Called with the key, the row and the end of each row that has ended."""


@frozen(eq=False)
class Drive:
    """One call of a driver over sources."""

    terms: RowTerms
    sources: Sources
    deadline: float | None = None  # seconds that a row has, from the beginning of its block
    observe: Observe | None = None

    @classmethod
    def of(
        cls,
        predictor: Predictor,
        sources: Sources,
        costs: object,
        deadline: float | None = None,
        observe: Observe | None = None,
        /,
        **asked: Any,
    ) -> Self:
        """Check what a caller asks of the rows; see `RowTerms.of`."""
        return cls(RowTerms.of(predictor, costs, policies=sources.policies, **asked), sources, deadline, observe)

    def __attrs_post_init__(self) -> None:
        if self.deadline is not None:
            check_number("deadline", self.deadline, strict=True)
        if self.observe is not None:
            check_functions(observe=self.observe)
        self.sources.check_serves(self.terms.asked)

    async def open(self) -> None:
        """Connect the sources, and have the model laid out before a clock starts."""
        if self.deadline is None:
            await self.sources.connect(self.terms.asked)
        else:
            await self.sources.warm(self.terms)

    def warn(self) -> None:
        """Warn of features of which the sources had no value so far, or mostly labels, that the model knows."""
        warn_of(odd_columns(self.sources.coverage, "the model", self.terms.predictor.categories).values())

    async def predict(self, key: Any) -> Prediction:
        """Predict one row; raise the error that ends it."""
        ((_, end),) = [ended async for rows in self.predict_block([key], 0) for ended in rows]
        if isinstance(end, Exception):
            raise end
        return end

    async def predict_blocks(self, keys: Iterable[Any], in_flight: int) -> AsyncIterator[list[Ended]]:
        """Predict rows in blocks of `in_flight`; yield rows as they end, those of one round together."""
        for start, block in key_blocks(keys, in_flight):
            async for ended in self.predict_block(block, start):
                yield ended

    async def predict_block(self, keys: list[Any], start: int) -> AsyncIterator[list[Ended]]:
        """Advance the rows of a block together: each round is one trip to each lookup that any row needs."""
        clock = asyncio.get_running_loop().time
        limit = None if self.deadline is None else clock() + self.deadline
        rows = {i: LiveRow(self.terms, start + i) for i in range(len(keys))}
        while rows:
            ended = list(self._take_answered(rows, keys))
            if ended:
                yield ended
            wants = {i: (keys[i], row.needs) for i, row in rows.items()}
            if not wants:
                return
            outcomes = await self.sources.fetch(wants, self.terms.predictor.categories, limit)
            late = limit is not None and clock() >= limit
            errors = supply_rows([rows[i] for i in outcomes], list(outcomes.values()), late=late)
            ends = zip(outcomes, errors, strict=True)
            if failed := [self._end(keys[i], rows.pop(i), error) for i, error in ends if error is not None]:
                yield failed

    def _take_answered(self, rows: dict[int, LiveRow], keys: list[Any]) -> Iterator[Ended]:
        """Take out the rows that need nothing more, and yield their answers."""
        for i in [i for i, row in rows.items() if not row.needs]:
            row = rows.pop(i)
            yield self._end(keys[i], row, row.answer)

    def _end(self, key: Any, row: LiveRow, end: Prediction | Exception) -> Ended:
        if isinstance(end, SourceError):
            really = "" if end.paid is None else f"; its sources were really paid {end.paid:g}"
            end.add_note(f"costframe: row {shown(key)}; paid {end.cost:g}, and {end.failed_cost:g} in vain{really}")
        if self.observe is not None:
            self.observe(key, row, end)
        return key, end


def key_blocks(keys: Iterable[Any], size: int) -> Iterator[tuple[int, list[Any]]]:
    """Cut keys into blocks, each with the number of keys before it."""
    if is_dask(keys):
        raise ParameterError("keys: those of dask go to predict_stream, whose rows end in other processes")
    is_one = isinstance(keys, str | bytes | Mapping | type) or getattr(keys, "ndim", 1) != 1
    if is_one or not isinstance(keys, Iterable):
        raise ParameterError(f"keys: expected a list of keys, one a row, got {shown(keys)}")
    left, start = iter(keys), 0
    while block := list(islice(left, size)):
        yield start, block
        start += len(block)


def sources_of_function(function: CallSource, predictor: Predictor, deadline: float) -> Sources:
    """Return a function of the caller as sources, for which only the deadline is a time limit."""
    policy = Policy(timeout=check_number("deadline", deadline, strict=True))
    return Sources({"source": Lookup(function, predictor.feature_names, policy=policy)})
