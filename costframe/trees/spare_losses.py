"""What spare trees lose by the set of features that a row has: caps choose by it in an outage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import frozen

from costframe.core.arrays import B1, F8
from costframe.core.cap_fits.choices import Lost, fit_set_losses
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.run_stages import predict_rows
from costframe.core.stages.set_losses import SetLosses
from costframe.core.sums import to_grid

_EVALUATIONS, _FEWEST_ROWS = 240_000, 200  # of trees, for a set of features, and rows at least


def fit_spare_losses(spare: StageTree, by_row: Callable[[F8], F8], X: F8, weight: F8, prices: PriceArrays) -> SetLosses:
    """Return the losses of any set of the features that spare trees use, by a regression on sets that are tried.

    Parameters
    ----------
    spare : StageTree
    by_row : callable
        Gives the losses of the first rows, float64 (any,), with scores, (any, K).
    X, weight : float64 (n, d), (n,)
        Rows, of which it tries the first.
    prices : PriceArrays
        Features that a price holds together are there together; if all are zero, each costs one.
    """
    if not (prices.cost.any() or prices.resource_cost.any()):
        prices = CostModel.uniform(prices.names).select(prices.names)
    some = slice(0, max(_FEWEST_ROWS, _EVALUATIONS // max(1, len(spare.bank))))
    trial = _Trial(spare, by_row, X[some], to_grid(weight[some]))
    return SetLosses.untried(fit_set_losses(trial, prices).absence)


@frozen
class _Trial:
    """What spare trees lose without features, on rows; see `SetTrial`."""

    tree: StageTree
    by_row: Callable[[F8], F8]
    X: F8
    weight: F8

    def lost_by_sets(self, sets: B1) -> list[Lost]:
        """Return the losses of rows that miss all but the features of each set, and their weights."""
        found, layout = list[Lost](), self.tree.layout
        for there in sets:
            X = self.X.copy()
            X[:, layout.used[~there]] = np.nan
            found.append((self.by_row(predict_rows(layout, X, 1)[0]), self.weight))
        return found
