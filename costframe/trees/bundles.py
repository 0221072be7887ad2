"""Joint purchases: a resource with its features, and those that wait until they may pay."""

from __future__ import annotations

import numpy as np
from attrs import define, field, frozen

from costframe.core.arrays import B1
from costframe.core.prices.price_arrays import PriceArrays
from costframe.trees.ensemble_run import EnsembleRun

GIVEN_UP = 4  # a fork that would pay only at a tradeoff this many times lower, or at an unknown one, waits until then
_NEAR = 1.5  # a fork grows again from this many times the tradeoff at which it would pay


@frozen(eq=False)
class Bundle:
    """A joint purchase: a resource, the other resources that its features need, and perhaps the features."""

    features: B1  # (d,)
    resources: B1  # (R,)

    def is_part_of(self, other: Bundle) -> bool:
        """Return whether another bundle contains this one."""
        return not ((self.features & ~other.features).any() or (self.resources & ~other.resources).any())


def bundles(prices: PriceArrays) -> list[Bundle]:
    """List, for each resource that a feature needs, the resource alone and, if they have prices, with its features."""
    offered = []
    for needed in prices.needs.T:
        if not needed.any():
            continue
        resources = prices.needs[needed].all(axis=0)
        offered.append(Bundle(np.zeros(len(needed), np.bool_), resources))
        if prices.cost[needed].any():
            offered.append(Bundle(needed, resources))
    return offered


@define(eq=False)
class WaitingBundles:
    """Bundles not bought, and the tradeoff below which each may pay: the gain per cost of its last fork."""

    ahead: list[Bundle]
    pays: list[float] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.pays = [np.inf] * len(self.ahead)

    def due(self, tradeoff: float) -> list[int]:
        """Return the places of the bundles that are worth a fork now."""
        return [place for place, pays in enumerate(self.pays) if tradeoff <= _NEAR * pays]

    def tried(self, place: int, tradeoff: float, pays: float) -> None:
        """Note the tradeoff below which a fork, grown at a higher one, would pay."""
        self.pays[place] = pays if pays > 0 else tradeoff / GIVEN_UP

    def mark_taken(self, run: EnsembleRun) -> None:
        """Mark the bought bundles as paid in another run."""
        for bundle, pays in zip(self.ahead, self.pays, strict=True):
            if pays < 0:
                run.prices.mark_paid(bundle.features, bundle.resources)

    def taken(self, place: int, tradeoff: float) -> None:
        """Note the purchase of a bundle and its parts; other bundles with some gain may pay together with it."""
        self.pays = [max(pays, tradeoff) if pays > tradeoff / GIVEN_UP else pays for pays in self.pays]
        for other, bundle in enumerate(self.ahead):
            if bundle.is_part_of(self.ahead[place]):
                self.pays[other] = -1.0
