"""Features and resources of one price, which a picture of many shows as one."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.errors import format_count
from costframe.report.drawn_text import cut_text
from costframe.report.row_steps import RowSteps, first_step

_WIDTH, _SIZE = 1.5, 9.0  # of a label, in inches, and of its letters, in points


@frozen(eq=False)
class PriceGroup:
    """Features and resources that a picture shows as one."""

    label: str
    steps: NDArray[np.int32]  # (n, items): step in which each row acquires each, -1 if never

    def share(self, step: int) -> float:
        """Return the share of its items that rows have after a step, a mean over items and rows."""
        return float(((self.steps >= 0) & (self.steps <= step)).mean())


def group_items(steps: RowSteps, most: int) -> list[PriceGroup]:
    """Make at most `most` groups of the features and resources with a price, or of all if all are free, dearest first.

    Each is a group. If they are too many, each price is a group; if there are too many prices, those that rows pay most
    for are groups, and the rest is one.
    """
    prices = steps.prices
    names = (*prices.names, *prices.resource_names)
    price = np.concatenate([prices.cost, prices.resource_cost])
    items = np.flatnonzero(price > 0) if (price > 0).any() else np.arange(len(prices.names))
    at = np.column_stack([_steps_of(steps, item) for item in items.tolist()])
    order = np.argsort(-price[items], kind="stable")
    items, at = items[order], at[:, order]
    amounts, which = np.unique(-price[items], return_inverse=True)
    if len(items) <= most:
        return [PriceGroup(_label(names[i], price[i]), at[:, [k]]) for k, i in enumerate(items)]
    if len(amounts) <= most:
        sizes = np.bincount(which)
        labels = [_label(format_count(int(size), "item"), -amount) for size, amount in zip(sizes, amounts, strict=True)]
        return [PriceGroup(label, at[:, which == number]) for number, label in enumerate(labels)]
    paid = price[items] * (at >= 0).mean(axis=0)
    shown = np.sort(np.argsort(-paid, kind="stable")[: most - 1])
    rest = np.setdiff1d(np.arange(len(items)), shown)
    groups = [PriceGroup(_label(names[items[k]], price[items[k]]), at[:, [k]]) for k in shown]
    return [*groups, PriceGroup(f"{len(rest):,} more", at[:, rest])]


def _steps_of(steps: RowSteps, item: int) -> NDArray[np.int32]:
    """Return the step in which each row acquires a feature, or a resource by its number after all features: (n,)."""
    d = len(steps.prices.names)
    return (
        steps.acquired[:, item]
        if item < d
        else first_step(steps.acquired[:, steps.prices.direct_needs.needing([item - d])])
    )


def _label(name: str, price: float) -> str:
    return f"{cut_text(name, _WIDTH, _SIZE)}: {price:.4g}"
