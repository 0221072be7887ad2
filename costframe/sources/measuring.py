"""Prices in time, measured: what a fetch of each feature takes, and what features share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from attrs import evolve, frozen

from costframe.core.checks import LARGEST_WHOLE, check_number
from costframe.core.errors import ParameterError, SourceError, printable, quote_names, shown
from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice
from costframe.sources.drive import key_blocks
from costframe.sources.event_loop import run_in_loop
from costframe.sources.sources import Sources


def measure(
    sources: Sources,
    keys: Iterable[Any],
    costs: object = None,
    *,
    repeats: int = 3,
    clock: Callable[[], float] = time.perf_counter,
    work_clock: Callable[[], float] = time.process_time,
) -> CostModel:
    """Time real fetches, and write the times into prices.

    Every feature is fetched alone for every key, again and again. What the first fetch for a key takes beyond further
    ones is shared by the features of a lookup, and becomes the time of the resource with the lookup's name, whose round
    time is zero; what further ones take, with the way of each trip, is the feature's own. The work of this process for
    a trip is apart, as `trip_time`. All are medians. A fetch is timed as `predict_one` waits for it; opening
    connections is not.

    Parameters
    ----------
    sources : Sources
    keys : iterable of hashable, or of mappings of str to hashable
        Some rows that live prediction could be asked for; a dozen or more.
    costs : CostModel, or anything `CostModel.of` accepts, optional
        Prices to write the times into; they keep their costs. A lookup without a resource of its name gets one that
        costs nothing. None makes prices in milliseconds: each cost is the time.
    repeats : int
        Further fetches of a feature for each key.
    clock, work_clock : callable
        Seconds that passed, and that this process worked.

    Returns
    -------
    CostModel
        Times in milliseconds.

    Raises
    ------
    SourceError
        If a fetch fails.
    ParameterError
        If there are no keys, a lookup has the name of a feature, or `costs` lacks a feature of the sources.
    """
    if not isinstance(sources, Sources):
        raise ParameterError(f"sources: expected Sources, got {type(sources).__name__}")
    rows = [key for _, block in key_blocks(keys, LARGEST_WHOLE) for key in block]
    if not rows:
        raise ParameterError("keys: expected at least one, got none")
    for name, given in (("clock", clock), ("work_clock", work_clock)):
        if not callable(given):
            raise ParameterError(f"{name}: expected a function, got {shown(given)}")
    check_number("repeats", repeats, low=1, whole=True)
    lookups = {name: tuple(lookup.features) for name, lookup in sources.lookups.items()}
    served = {name: of for of in lookups for name in lookups[of]}
    prices = CostModel.of(costs, list(served))
    prices.select(list(served))
    if same := [name for name in lookups if name in prices.names]:
        raise ParameterError(f"sources: expected lookups named unlike features, got {quote_names(same)}")
    times = _time_all(sources, lookups, rows, repeats, clock, work_clock)
    return times.as_prices(served) if costs is None else times.written_into(prices, served)


@frozen
class _Times:
    """Milliseconds of each feature alone, what the features of a lookup share, and the work of a trip."""

    alone: Mapping[str, float]
    shared: Mapping[str, float]
    trip: float

    def as_prices(self, served: Mapping[str, str]) -> CostModel:
        """Return prices whose costs are the times, from the lookup of each feature."""
        alone, shared = self.alone, self.shared
        return CostModel.of({
            "unit": "ms",
            "trip_time": self.trip,
            "features": {
                name: {"cost": alone[name], "time": alone[name], "needs": [of]} for name, of in served.items()
            },
            "resources": {name: {"cost": time, "time": time, "round_time": 0.0} for name, time in shared.items()},
        })  # fmt: skip

    def written_into(self, prices: CostModel, served: Mapping[str, str]) -> CostModel:
        """Return prices with these times, and with a free resource for each lookup that has none of its name."""
        known = {price.name for price in prices.resources}

        def with_time(price: FeaturePrice) -> FeaturePrice:
            if price.name not in self.alone:
                return price
            more = () if (of := served[price.name]) in known else (of,)
            return evolve(price, time=self.alone[price.name], needs=(*price.needs, *more))

        resources = [
            evolve(price, time=self.shared[price.name], round_time=0.0) if price.name in self.shared else price
            for price in prices.resources
        ]
        resources += [
            ResourcePrice(name, 0.0, time=time, round_time=0.0)
            for name, time in self.shared.items()
            if name not in known
        ]
        features = tuple(map(with_time, prices.features))
        return evolve(prices, features=features, resources=tuple(resources), trip_time=self.trip)


def _time_all(
    sources: Sources,
    lookups: dict[str, tuple[str, ...]],
    keys: Sequence[Any],
    repeats: int,
    clock: Callable[[], float],
    work_clock: Callable[[], float],
) -> _Times:
    """Fetch each feature for each key `repeats` times after a first fetch, and return the median times."""
    works: list[float] = []
    labels = {feature: () for features in lookups.values() for feature in features}  # any text may be a label

    def waited(key: Any, feature: str) -> float:
        """Return the seconds of a fetch that were not work."""
        begun, worked = clock(), work_clock()
        outcome = run_in_loop(sources.fetch({0: (key, (feature,))}, labels))[0]  # as the sync driver waits for a round
        work = work_clock() - worked
        if outcome.failed:
            raise SourceError(f"fetching {printable(feature)}: {printable(outcome.failed[feature])}")
        works.append(work)
        return clock() - begun - work

    first: dict[str, list[float]] = {name: [] for name in lookups}
    further: dict[str, list[float]] = {feature: [] for features in lookups.values() for feature in features}
    for features in lookups.values():
        waited(keys[0], features[0])  # opens the connection
    for i, key in enumerate(keys):
        for name, features in lookups.items():  # in turn, as rows ask them
            order = features[i % len(features) :] + features[: i % len(features)]  # each feature comes first in turn
            begun = waited(key, order[0])
            for feature in order * repeats:
                further[feature].append(waited(key, feature))
            first[name].append(begun - median(further[order[0]][-repeats:]))
    alone = {feature: 1000.0 * max(0.0, median(times)) for feature, times in further.items()}
    shared = {name: 1000.0 * max(0.0, median(times[1:] or times)) for name, times in first.items()}
    return _Times(alone, shared, 1000.0 * median(works))
