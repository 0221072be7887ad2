"""Latency of rows: fetches of one round run side by side, rounds follow one another."""

from __future__ import annotations

from collections.abc import Iterable

from costframe.core.prices.costs import CostModel

__all__ = ["Clock"]


class Clock:
    """The time of one row's fetches, in milliseconds.

    A round takes as long as its slowest fetch, and the trip time of each of its trips. A fetch takes its own time after
    the slowest of the resources that it needs; a resource that is there takes no time.
    """

    def __init__(self, costs: CostModel) -> None:
        self._features = {price.name: price for price in costs.features}
        self._resources = {price.name: price for price in costs.resources}
        self._trip_time = costs.trip_time
        self._ready: set[str] = set()
        self.time = 0.0

    def add_round(self, features: Iterable[str]) -> None:
        """Add a round that fetches some features."""
        ready: dict[str, float] = {}
        features = list(features)
        self.time += self._trip_time * len({frozenset(self._features[name].needs) for name in features})
        waits = [self._wait(self._features[name].needs, ready) + self._features[name].time for name in features]
        self.time += max(waits, default=0.0)
        self._ready |= ready.keys()

    def _wait(self, needs: Iterable[str], ready: dict[str, float]) -> float:
        """Return when all of some resources are ready; `ready` holds those that are on their way."""
        pending = list(needs)
        while pending:
            name = pending[-1]
            further = [need for need in self._resources[name].needs if need not in ready and need not in self._ready]
            if name in ready or name in self._ready:
                pending.pop()
            elif further:
                pending += further
            else:
                pending.pop()
                resource = self._resources[name]
                ready[name] = resource.time + max((ready.get(need, 0.0) for need in resource.needs), default=0.0)
        return max((ready.get(name, 0.0) for name in needs), default=0.0)
