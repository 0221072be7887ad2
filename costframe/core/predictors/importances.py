"""Importances of the features of any model: shares of the variance that they explain, and of the money they cause."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from costframe.core.arrays import F8
from costframe.core.checks import check_choice
from costframe.core.cost.totals import Charges
from costframe.core.gains import as_shares, gain_shares
from costframe.core.predictors.fitted import FittedEstimator, as_predictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.row_labels import check_weights
from costframe.core.tables.rows import as_rows

__all__ = ["gains", "importances"]

_CELLS = 1 << 22  # of a table of rows and resources


def importances(
    model: Predictor | FittedEstimator,
    X: Any,
    by: str = "gain",
    *,
    costs: object = None,
    sample_weight: ArrayLike | None = None,
) -> dict[str, float]:
    """Return the share of each feature, the largest first; they add up to one, or are all zero.

    Parameters
    ----------
    model : fitted estimator or Predictor
    X : float64 (rows, d) or data frame
    by : {"gain", "money"}
        "gain": in the variance of the learners' weighted outputs on these rows, summed over learners: for a tree, the
        decrease of variance at each split; a column's, weight^2 * variance. "money": in what these rows pay for
        features and resources; the features of a row that need a resource have equal parts of its price.
    costs : CostModel, or anything `CostModel.of` accepts
        None uses the model's own.
    sample_weight : float64 (rows,), optional
    """
    check_choice("by", by, ("gain", "money"))
    predictor = _predictor_of(model)
    rows = _rows_of(predictor, X)
    weight = np.ones(len(rows)) if sample_weight is None else check_weights(sample_weight, len(rows), "sample_weight")
    model_costs = CostModel.of(predictor.costs if costs is None else costs, predictor.feature_names)
    if by == "gain":
        shares = gains(predictor, FallbackRows(rows, weight), model_costs)
    else:
        terms = predictor.terms(model_costs)
        shares = money_shares(predictor.charges(rows, weight, terms), terms.prices, weight)
    order = np.argsort(-shares, kind="stable")
    return {predictor.feature_names[f]: float(shares[f]) for f in order.tolist()}


def gains(predictor: Predictor, rows: FallbackRows, costs: CostModel | None = None) -> F8:
    """Return the importances by gain on rows in the order of columns: float64 (d,)."""
    prices = CostModel.of(predictor.costs if costs is None else costs, predictor.feature_names)
    return gain_shares(predictor.gains(rows, prices), len(predictor.feature_names))


def _predictor_of(model: Any) -> Predictor:
    return as_predictor(model, "model")


def _rows_of(predictor: Predictor, X: Any) -> F8:
    return as_rows(X, predictor.feature_names, predictor.categories, predictor.used_features)


def money_shares(charges: Charges, prices: PriceArrays, weight: F8) -> F8:
    """Return the share of each feature in what rows pay for features and resources: float64 (d,).

    The features of a row that need a resource have equal parts of its price.
    """
    from scipy import sparse

    acquired = np.asarray(charges.acquired, np.bool_)
    paid = (weight @ acquired) * prices.cost
    used = np.flatnonzero(acquired.any(axis=0))
    first, entries = prices.direct_needs.restrict(used).listed()
    n_resources = len(prices.resource_cost)
    needs = sparse.csr_array((np.ones(len(entries)), entries, first), shape=(len(used), n_resources))
    step = max(1, _CELLS // max(1, n_resources, len(used)))
    for begin in range(0, len(acquired) if len(entries) else 0, step):
        reads = acquired[begin : begin + step][:, used]
        needing = np.asarray((needs.T @ reads.T.astype(np.float64)).T)  # features of a row that need each resource
        shares = np.divide(prices.resource_cost, needing, out=np.zeros_like(needing), where=needing > 0)
        paid[used] += weight[begin : begin + step] @ (reads * np.asarray((needs @ shares.T).T))
    return as_shares(paid)
