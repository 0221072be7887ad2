"""What rows of a plan buy where their cap pays for none of its sets: the part that is expected to tell most."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

import numpy as np
from attrs import frozen

from costframe.core.arrays import I8
from costframe.core.learners.bits import as_set, members
from costframe.core.prices.limits import Limits
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.absence_losses import AbsenceLosses
from costframe.core.stages.cap_ranks import CapRanks, Wares, rank_features
from costframe.core.stages.layout import lay_out
from costframe.core.stages.set_losses import SetLosses
from costframe.core.stages.spares import LaterSpare, Spare
from costframe.core.stages.split_losses import losses_by_splits
from costframe.core.stages.stops import StopPrices


@frozen(eq=False)
class PartOfPlan:
    """The order in which rows buy the features of a plan, by cap, where it pays for none of the plan's sets.

    First come those of the best set within the cap for a row that has paid for nothing and can have everything.
    """

    columns: I8  # (U,): of all sets, ascending
    ranks: CapRanks  # of these columns

    @classmethod
    def of(cls, sets: tuple[int, ...], spare: Spare | LaterSpare, prices: PriceArrays) -> PartOfPlan:
        """Rank the columns by the sizes of the steps of the spare ensemble, which answers by those that are there."""
        columns = np.array([*members(reduce(or_, sets))], np.int64)
        ranks = rank_features(_losses(columns, spare.learned()), Wares.of(columns, prices), np.zeros(1), np.ones(1))
        return cls(columns, ranks)

    def left_out(self, prices: StopPrices, limits: Limits, known: int) -> frozenset[int]:
        """Return the columns that rows do without whose cap pays for none of the sets; `known` are items paid for.

        The rest is what the cap pays for, one column after another in their order.
        """
        there, bought = self.columns[np.argsort(self.ranks.of(limits.cap), kind="stable")], list[int]()
        for f in there.tolist():
            if f not in limits.barred and prices.is_within(limits.cap, known, prices.buying(known, [*bought, f])):
                bought.append(f)
        return frozenset(self.columns.tolist()) - limits.barred - {*bought}


def pays_for_a_set(sets: Sequence[int], prices: StopPrices, limits: Limits, known: int) -> bool:
    """Return whether a cap pays for the rest of one of some sets, one bit a column, or none is left to pay for."""
    barred = as_set(limits.barred)
    offered = [wanted & ~barred for wanted in sets if wanted & ~barred]
    if np.isinf(limits.cap) or not offered:
        return True
    return any(prices.is_within(limits.cap, known, prices.buying(known, [*members(each)])) for each in offered)


def _losses(columns: I8, spare: Spare) -> SetLosses:
    """Return the losses of the spare ensemble without some of these columns, (U,), and without all others."""
    there = np.zeros(len(spare.bank.feature_names), np.bool_)
    there[columns] = True
    bank, answer = spare.given(there)
    layout = lay_out(bank, (answer,))
    some, every = np.zeros(len(columns)), np.eye(len(columns), dtype=np.bool_)
    some[np.searchsorted(columns, layout.used)] = losses_by_splits(bank, layout).absence.some
    return SetLosses.untried(AbsenceLosses(0.0, every, some, np.zeros(len(columns))))
