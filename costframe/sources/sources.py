"""The sources of a model: its lookups, asked side by side, and their connections."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from types import TracebackType
from typing import Any, Self

from costframe.core.checks import check_functions
from costframe.core.errors import (
    CostframeError,
    InquiryError,
    ParameterError,
    brief,
    format_count,
    printable,
    quote_names,
    shown,
)
from costframe.core.predictors.fitted import FittedEstimator, as_predictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.tables.categories import Categories
from costframe.core.tables.unknown_values import Coverage
from costframe.core.terms.outages import Outages
from costframe.sources.event_loop import run_in_loop
from costframe.sources.failures import describe_failure
from costframe.sources.files import load_lookups
from costframe.sources.keys import as_key
from costframe.sources.live_row import warm_up
from costframe.sources.lookup import Lookup, check_served
from costframe.sources.lookup_outages import describe_outages
from costframe.sources.rounds import Batch, Outcome
from costframe.sources.terms import RowTerms
from costframe.sources.trips import Trips

Watch = Callable[[str, int], AbstractContextManager[Callable[[int], object]]]
"""Takes a lookup's name and a number of keys; its context is their fetch, and a function takes how many keys failed."""


class Sources:
    """All lookups of a model: every feature comes from one of them.

    Its connections open with `open` or `aopen`, else with `predict_stream` or the first trip, and belong to the event
    loop of that call; the sync drivers have a loop of their own. Close it at the end, or use it in a `with` or `async
    with` block.

    Parameters
    ----------
    lookups : mapping of str to Lookup
        By a name for messages.
    watch : callable, optional
        ``watch(lookup, keys)`` makes a context manager around every lookup's part of a round; see `trace_rounds`.

    Raises
    ------
    ParameterError
        If two lookups serve one feature.
    """

    def __init__(self, lookups: Mapping[str, Lookup], watch: Watch | None = None) -> None:
        if not isinstance(lookups, Mapping) or not lookups:
            raise ParameterError(f"lookups: expected lookups by name, at least one, got {shown(lookups)}")
        for name, lookup in lookups.items():
            if not isinstance(name, str) or not isinstance(lookup, Lookup):
                raise ParameterError(f"lookups: expected lookups by name, got {shown(lookup)} for {shown(name)}")
        self._lookups = dict(lookups)
        self._served = check_served(self._lookups)
        self._trips = {name: Trips(name, lookup) for name, lookup in self._lookups.items()}
        check_functions(watch=watch)
        self._watch = watch
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_collected = False
        self._told: dict[str, str] = {}

    @classmethod
    def load(cls, path: str | os.PathLike[str], costs: object = None, watch: Watch | None = None) -> Self:
        """Read the tables ``[sources.NAME]`` of a TOML file, which may hold prices too.

        Each table has a `kind` ("sql", "redis", "http", "table", or a plugin's), the options of this kind,
        `features` as in `Lookup`, and, where it should differ, what `Policy` has. ``missing = ["n/a"]`` holds for all
        features; `by` names the entry of keys that are mappings. With prices, a table without features serves those
        that need the `resource`, by default the resource of the source's name. In texts of options $NAME and ${NAME}
        stand for environment variables: keep secrets there.

        Parameters
        ----------
        path : str or path
        costs : CostModel, or anything `CostModel.of` accepts, optional
        watch : callable, optional
            As for `Sources`.

        Raises
        ------
        ParameterError
            If the file is not such a file; the text names the entry, and no value that may be a secret.
        """
        return cls(load_lookups(path, None if costs is None else CostModel.of(costs)), watch)

    def __repr__(self) -> str:
        """Name the lookups, and what outages of them cost the opened model; never what a source was made of."""
        facts = f"{', '.join(self._lookups)}: {format_count(len(self._served), 'feature')}"
        return brief(self, facts, more=[f"without {name}: {text}" for name, text in self._told.items()])

    @property
    def lookups(self) -> Mapping[str, Lookup]:
        """The lookups by name."""
        return dict(self._lookups)

    @property
    def outages(self) -> dict[str, str]:
        """What an outage of each lookup costs the model that was last opened, in words; none before."""
        return dict(self._told)

    @property
    def policies(self) -> dict[str, str]:
        """What a row does without each feature, if it does not come; see `Policy`."""
        return {feature: self._lookups[name].policy.on_failure for feature, name in self._served.items()}

    @property
    def trips(self) -> dict[str, int]:
        """Trips made to each lookup so far, retries included."""
        return {name: trips.made for name, trips in self._trips.items()}

    @property
    def paid(self) -> dict[str, Fraction]:
        """What the calls of each lookup that says so were really paid so far, exactly; failed calls included."""
        return {name: trips.paid for name, trips in self._trips.items() if trips.paid is not None}

    @property
    def without_keys(self) -> dict[str, bool]:
        """For each lookup that said so far which keys it has, whether it has none."""
        return {
            name: not trips.keys_with_row
            for name, trips in self._trips.items()
            if trips.keys_with_row or trips.keys_without_row
        }

    @property
    def coverage(self) -> dict[str, Coverage]:
        """For each feature that was asked for so far, what keys with a row had of it; see `Coverage`."""
        return {name: lacked for trips in self._trips.values() for name, lacked in trips.coverage.items()}

    @property
    def failures(self) -> dict[str, str]:
        """For each lookup that failed so far, for a key or as a whole, why it last did."""
        return {name: trips.failure for name, trips in self._trips.items() if trips.failure is not None}

    def check_serves(self, features: Iterable[str]) -> None:
        """Refuse features that no lookup serves."""
        if lacking := [name for name in features if name not in self._served]:
            raise ParameterError(f"sources: none serves {quote_names(lacking)}; they serve {quote_names(self._served)}")

    async def fetch(
        self, wants: Mapping[int, tuple[Any, tuple[str, ...]]], categories: Categories, deadline: float | None = None
    ) -> dict[int, Outcome]:
        """Fetch one round: one trip to each lookup, side by side, for all rows that need it.

        Parameters
        ----------
        wants : mapping of int to (key, tuple of str)
            Keys and features of rows, by the rows' numbers.
        categories : mapping of str to labels
        deadline : float, optional
            Time of the event loop after which nothing is waited for.

        Returns
        -------
        mapping of int to Outcome
            For each row; failures are part of it.
        """
        await self._bind()
        outcomes = {row: Outcome() for row in wants}
        batches = self._batch(wants, outcomes)
        await _run_together([self._ask(name, batch, categories, deadline) for name, batch in batches.items()])
        for batch in batches.values():
            batch.share()
        return outcomes

    def _batch(
        self, wants: Mapping[int, tuple[Any, tuple[str, ...]]], outcomes: Mapping[int, Outcome]
    ) -> dict[str, Batch]:
        """Return what rows want of each lookup that any of them asks; refused keys fail at once."""
        batches = {name: Batch() for name in self._lookups}
        by_lookup: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}  # many rows want the same
        for row, (key, features) in wants.items():
            if features not in by_lookup:
                by_lookup[features] = self._by_lookup(features)
            for name, served in by_lookup[features].items():
                try:
                    batches[name].add(as_key(key, self._lookups[name].key), served, outcomes[row])
                except InquiryError as error:
                    outcomes[row].fail(served, str(error), is_paid=False)
        return {name: batch for name, batch in batches.items() if batch.wants}

    async def _ask(self, name: str, batch: Batch, categories: Categories, deadline: float | None) -> None:
        watch = nullcontext() if self._watch is None else self._watch(name, len(batch.wants))
        with watch as end:
            await self._trips[name].fetch(batch.wants, batch.outcomes, categories, deadline)
            if end is not None:
                end(batch.count_failed())

    def _by_lookup(self, features: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        names = dict.fromkeys(self._served[feature] for feature in features)
        return {name: tuple(feature for feature in features if self._served[feature] == name) for name in names}

    def open(
        self,
        predictor: Predictor | FittedEstimator | None = None,
        costs: object = None,
        *,
        outages: Outages | None = None,
        **terms: Any,
    ) -> Self:
        """Open the connections for the sync drivers, and make a model ready; see `aopen`."""
        return run_in_loop(self.aopen(predictor, costs, outages=outages, **terms))

    async def aopen(
        self,
        predictor: Predictor | FittedEstimator | None = None,
        costs: object = None,
        *,
        outages: Outages | None = None,
        **terms: Any,
    ) -> Self:
        """Open the connections, and check that tables and places are there: the first row is then as quick as others.

        Parameters
        ----------
        predictor : Predictor, or an estimator fitted to one, optional
            Only the lookups of the features that it may read are opened. It walks a few made-up rows, so that it
            is laid out; functions in it are called. Then `outages`, and the `repr`, say what an outage of each lookup
            costs it, if a saved model or `outages` has the figures.
        outages : Outages, optional
            What `cf.outages` measured, in place of what the model was saved with.
        costs, **terms
            As later in `predict_one`: prices, and what else is asked of rows. Others may need
            another layout.

        Returns
        -------
        Sources
            Itself.

        Raises
        ------
        ParameterError
            If a table or a place of a lookup is not there. A source that is down is no error: its policy holds.
        """
        if predictor is None:
            given = {"costs": costs, "outages": outages, **terms}
            if lone := next((name for name, value in given.items() if value is not None), None):
                raise ParameterError(f"{lone}: has no effect without a predictor")
            await self.connect(self._served)
            return self
        model = as_predictor(predictor)
        row_terms = RowTerms.of(model, costs, policies=self.policies, **terms)
        self.check_serves(row_terms.asked)
        await self.warm(row_terms)
        known = getattr(predictor, "outages", None) if outages is None else outages
        self._told = {} if known is None else describe_outages(known, self._lookups, model, row_terms.terms)
        return self

    async def warm(self, terms: RowTerms) -> None:
        """Connect the lookups that a call may ask, and have its model laid out."""
        await self.connect(terms.asked)
        warm_up(terms)
        if not self._is_collected:  # else rows would wait a tenth of a second for a collection of all that was imported
            gc.collect()
            self._is_collected = True

    async def connect(self, features: Iterable[str]) -> None:
        """Connect the lookups of some features, side by side, and check their places."""
        await self._bind()
        opened = self._by_lookup(tuple(features)).items()
        trips = [self._trips[name].connect(served) for name, served in opened]
        errors = await asyncio.gather(*trips, return_exceptions=True)
        for (name, _), error in zip(opened, errors, strict=True):
            if isinstance(error, CostframeError):
                raise ParameterError(f"sources: {printable(name)}: {error}") from None
            if error is not None:
                raise error

    async def _bind(self) -> None:
        """Make the running loop that of the connections; let go of those that an ended loop has left open."""
        self._check_loop()
        if self._loop is not None and self._loop.is_closed():
            await self.aclose()
        self._loop = asyncio.get_running_loop()

    def _check_loop(self) -> None:
        if self._loop not in {None, asyncio.get_running_loop()} and not self._loop.is_closed():
            raise ParameterError(
                "sources: their connections belong to another event loop, or to the process before a fork; close them "
                "there (async with), or make sources for each loop and process (the sync drivers have their own loop)"
            )

    async def aclose(self) -> None:
        """Close all connections, in the loop that opened them."""
        self._check_loop()
        left_open = self._loop is not None and self._loop.is_closed()
        ends = await asyncio.gather(*(trips.close() for trips in self._trips.values()), return_exceptions=True)
        self._loop = None
        for name, end in zip(self._trips, ends, strict=True):
            if isinstance(end, BaseException) and not left_open:  # nothing can be closed in a loop that has ended
                raise InquiryError(f"sources: {name} did not close: {describe_failure(end)}")

    def close(self) -> None:
        """Close all connections that the sync drivers opened."""
        run_in_loop(self.aclose())

    async def __aenter__(self) -> Self:
        """Return the sources; the end of the block closes them."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        """Return the sources; the end of the block closes them."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _run_together(trips: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Await trips, side by side if there are several; an error that is nobody's policy ends them all."""
    if len(trips) == 1:
        await trips[0]
        return
    tasks = [*map(asyncio.ensure_future, trips)]
    try:
        await asyncio.gather(*tasks)
    except BaseException:  # of `watch`, or an interrupt: nobody reads what the others bring
        for task in tasks:
            task.cancel()
        raise
