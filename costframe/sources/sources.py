"""Sources: the lookups behind a model, asked side by side, and files of them."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import re
import tomllib
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from costframe.core.checks import as_path, check_functions
from costframe.core.errors import (
    CostframeError,
    InquiryError,
    ParameterError,
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
from costframe.sources.failures import describe_failure
from costframe.sources.fields import as_fields
from costframe.sources.live_row import RowTerms, warm_up
from costframe.sources.lookups import POLICY_NAMES, Lookup, Policy, check_served
from costframe.sources.source import Source, as_key
from costframe.sources.threads import run
from costframe.sources.trips import Outcome, Trips

_VARIABLE = re.compile(r"\$(?:(\$)|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_COMMON = ("kind", "features", "resource", "by", "missing")  # keys of every source, besides those of policies
_MOST_BYTES = 10_000_000


def load_lookups(path: str | os.PathLike[str], costs: CostModel | None) -> dict[str, Lookup]:
    """Read lookups from the tables ``[sources.NAME]`` of a TOML file; other tables are left unread.

    Raises
    ------
    ParameterError
        If the file is not such a file; the error names the file and the entry, and quotes no value of an option.
    """
    file = as_path(path)
    table = _read(file)
    entries = table.get("sources")
    if not isinstance(entries, Mapping) or not entries:
        raise ParameterError(f"{file}: expected tables [sources.NAME], at least one")
    lookups = {}
    for name, entry in entries.items():
        try:
            lookups[name] = _lookup(name, entry, file, costs)
        except (ParameterError, TypeError) as error:
            raise ParameterError(f"{file}: sources.{name}: {error}") from None
    return lookups


def _read(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ParameterError(f"{file}: expected at most {_MOST_BYTES:,} bytes, got more")
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ParameterError(f"{file}: expected a text in UTF-8, got other bytes") from None
    except OSError as error:
        raise ParameterError(f"{file}: cannot be read: {error.strerror or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{file}: expected valid TOML, got: {error}") from None
    except (ValueError, RecursionError):  # an integer of thousands of digits; tables within tables
        raise ParameterError(f"{file}: expected valid TOML of usual depth") from None


def _lookup(name: str, entry: Any, file: Path, costs: CostModel | None) -> Lookup:
    if not isinstance(entry, Mapping):
        raise ParameterError(f"expected a table, got {shown(entry)}")
    kind = entry.get("kind")
    if not isinstance(kind, str):
        raise ParameterError("kind: expected the name of a kind of source")
    policy = Policy(**{key: value for key, value in entry.items() if key in POLICY_NAMES})
    features = as_fields(_features(name, entry, costs), entry.get("missing", ("",)))
    options = {key: value for key, value in entry.items() if key not in {*_COMMON, *POLICY_NAMES}}
    return Lookup(_make(kind, options, file), features, entry.get("by"), policy)


def _features(name: str, entry: Mapping[str, Any], costs: CostModel | None) -> Any:
    """Return the entry `features`, or the names of those that need the resource."""
    if "features" in entry:
        if "resource" in entry:
            raise ParameterError("resource: expected features or a resource, got both")
        return entry["features"]
    resource = entry.get("resource", name)
    if costs is None:
        raise ParameterError("features: expected their places; without prices no resource tells them")
    if resource not in costs.resource_names:
        raise ParameterError(f"features: expected their places, or a resource of the prices, got {shown(resource)}")
    return [feature.name for feature in costs.features if resource in feature.needs]


def _make(kind: str, options: Mapping[str, Any], file: Path) -> Source:
    """Make a source of a registered kind; its options are texts from the file or the environment."""
    from costframe.core.plugins import registry

    make = registry().source(kind)
    known = [each for each in inspect.signature(make).parameters if each != "folder"]
    if unknown := [key for key in options if key not in known]:
        raise ParameterError(f"{quote_names(unknown)}: a source of kind {kind} has {quote_names(known, 20)}")
    parameters = inspect.signature(make).parameters.values()
    given, secrets = {}, list[_Secret]()
    for key, value in options.items():
        given[key] = _fill_in(key, value, secrets)
    if lacking := [
        each.name for each in parameters if each.default is each.empty and each.name not in {*given, "folder"}
    ]:
        raise ParameterError(f"kind {kind}: expected {quote_names(lacking)}")
    folder = {"folder": file.parent} if "folder" in inspect.signature(make).parameters else {}
    try:
        source = make(**given, **folder)
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything, and quote what it was given
        text = describe_failure(error)
        for secret in filter(None, reversed(secrets)):  # whole texts before their parts
            text = text.replace(secret, secret.written)
        raise ParameterError(text) from None
    if not isinstance(source, Source):
        raise ParameterError(f"kind {kind}: expected its plugin to make a Source, got {type(source).__name__}")
    return source


class _Secret(str):
    """A text with environment variables in it; where an error text quotes it, it shows their names."""

    __slots__ = ("written",)
    written: str

    @classmethod
    def of(cls, text: str, written: str) -> Self:
        secret = cls(text)
        secret.written = written
        return secret

    def __repr__(self) -> str:
        return repr(self.written)


def _fill_in(key: str, value: Any, secrets: list[_Secret]) -> Any:
    """Put environment variables in the place of $NAME and ${NAME}, and note the texts that have some.

    $$ is a dollar sign.
    """
    if isinstance(value, Mapping):
        return {name: _fill_in(f"{key}.{name}", one, secrets) for name, one in value.items()}
    if not isinstance(value, str):
        return value

    def found(match: re.Match[str]) -> str:
        if match[1]:
            return "$"
        name = match[2] or match[3]
        if name not in os.environ:
            raise ParameterError(f"{key}: the environment variable {name} is not set")
        secrets.append(_Secret.of(os.environ[name], match[0]))
        text = secrets[-1]
        return quote(text, safe="") if key == "url" and match[0] != value else text  # a part of an address

    before, filled = len(secrets), _VARIABLE.sub(found, value)
    if len(secrets) == before:
        return filled
    secrets.append(_Secret.of(filled, value))
    return secrets[-1]


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
        """Name the lookups; they never show what a source was made of."""
        return f"Sources({', '.join(self._lookups)}: {format_count(len(self._served), 'feature')})"

    @property
    def lookups(self) -> Mapping[str, Lookup]:
        """The lookups by name."""
        return dict(self._lookups)

    @property
    def policies(self) -> dict[str, str]:
        """What a row does without each feature, if it does not come; see `Policy`."""
        return {feature: self._lookups[name].policy.on_failure for feature, name in self._served.items()}

    @property
    def trips(self) -> dict[str, int]:
        """Trips made to each lookup so far, retries included."""
        return {name: trips.made for name, trips in self._trips.items()}

    @property
    def without_keys(self) -> dict[str, bool]:
        """For each lookup that said so far which keys it has, whether it has none."""
        return {name: not trips.found for name, trips in self._trips.items() if trips.found or trips.absent}

    @property
    def coverage(self) -> dict[str, Coverage]:
        """For each feature that was asked for so far, what keys with a row had of it; see `Coverage`."""
        return {name: each for trips in self._trips.values() for name, each in trips.coverage.items()}

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
        plans = {name: _Plan() for name in self._lookups}
        outcomes = {row: Outcome() for row in wants}
        ways: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}  # many rows want the same
        for row, (key, features) in wants.items():
            if features not in ways:
                ways[features] = self._by_lookup(features)
            for name, mine in ways[features].items():
                try:
                    plans[name].add(as_key(key, self._lookups[name].key), mine, outcomes[row])
                except InquiryError as error:
                    outcomes[row].failed |= dict.fromkeys(mine, str(error))
        asked = {name: plan for name, plan in plans.items() if plan.wants}
        trips = [self._ask(name, plan, categories, deadline) for name, plan in asked.items()]
        if len(trips) == 1:
            await trips[0]
        else:
            tasks = [*map(asyncio.ensure_future, trips)]
            try:
                await asyncio.gather(*tasks)
            except BaseException:  # of `watch`, or an interrupt: nobody reads what the others bring
                for task in tasks:
                    task.cancel()
                raise
        for plan in asked.values():
            plan.share()
        return outcomes

    async def _ask(self, name: str, plan: _Plan, categories: Categories, deadline: float | None) -> None:
        watch = nullcontext() if self._watch is None else self._watch(name, len(plan.wants))
        with watch as end:
            await self._trips[name].fetch(plan.wants, plan.outcomes, categories, deadline)
            if end is not None:
                end(sum(not plan.outcomes[key].failed.keys().isdisjoint(names) for key, names in plan.wants.items()))

    def _by_lookup(self, features: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        names = dict.fromkeys(self._served[feature] for feature in features)
        return {name: tuple(each for each in features if self._served[each] == name) for name in names}

    def open(self, predictor: Predictor | FittedEstimator | None = None, costs: object = None, **terms: Any) -> Self:
        """Open the connections for the sync drivers, and make a model ready; see `aopen`."""
        return run(self.aopen(predictor, costs, **terms))

    async def aopen(
        self, predictor: Predictor | FittedEstimator | None = None, costs: object = None, **terms: Any
    ) -> Self:
        """Open the connections, and check that tables and places are there: the first row is then as quick as others.

        Parameters
        ----------
        predictor : Predictor, or an estimator fitted to one, optional
            Only the lookups of the features that it may read are opened. It walks a few made-up rows, so that it
            is laid out; functions in it are called.
        costs, **terms
            As later in `predict_one`: prices, and `acquisition`, `known`, `max_cost` and `unavailable`. Others may need
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
            if lone := next((name for name, value in {"costs": costs, **terms}.items() if value is not None), None):
                raise ParameterError(f"{lone}: has no effect without a predictor")
            await self.connect(self._served)
            return self
        model = as_predictor(predictor)
        prices = CostModel.of(model.costs if costs is None else costs, model.feature_names)
        row_terms = RowTerms(model, prices, policies=self.policies, **terms)
        self.check_serves(row_terms.asked)
        await self.warm(row_terms)
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
        trips = [self._trips[name].connect(mine) for name, mine in opened]
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
        run(self.aclose())

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


class _Plan:
    """What the rows of a round want of one lookup; rows with one key are one want."""

    def __init__(self) -> None:
        self.wants: dict[Hashable, tuple[str, ...]] = {}
        self.outcomes: dict[Hashable, Outcome] = {}  # of the row itself, unless rows share the key
        self._sharing: dict[Hashable, list[tuple[Outcome, tuple[str, ...]]]] = {}

    def add(self, key: Hashable, features: tuple[str, ...], outcome: Outcome) -> None:
        if key not in self.wants:
            self.wants[key], self.outcomes[key] = features, outcome
            return
        before = self.wants[key]
        if key not in self._sharing:
            self._sharing[key] = [(self.outcomes[key], before)]
            self.outcomes[key] = Outcome()
        self._sharing[key].append((outcome, features))
        self.wants[key] = tuple(dict.fromkeys(before + features))

    def share(self) -> None:
        """Give the outcomes of shared keys to their rows."""
        for key, rows in self._sharing.items():
            for outcome, features in rows:
                outcome.join(self.outcomes[key], features)
