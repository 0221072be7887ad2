"""Explanations and importances of any model: what its features add to scores and to costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.core.caps.fallbacks import FallbackRows
from costframe.core.checks import check_choice
from costframe.core.cost.expected import ExpectedCost
from costframe.core.errors import ParameterError
from costframe.core.explanations.explanation import Explanation
from costframe.core.explanations.importances import gain_shares, money_shares
from costframe.core.predictors.fitted import as_predictor, what_is
from costframe.core.predictors.inquiry import as_number
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.tables.rows import as_rows, check_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.core.predictors.fitted import FittedEstimator

__all__ = ["explain", "gains", "importances"]


def explain(
    model: Predictor | FittedEstimator,
    X: Any,
    costs: object = None,
    *,
    background: Any = None,
    acquisition: str = "path",
) -> Explanation:
    """Split the score and the cost of each row into parts that add up to them.

    A tree's expected output changes with each test on the row's path, by the mean over the background rows on either
    side; the change is a contribution of the tested feature. A column contributes weight * (x - mean), and an opaque
    learner, or a model that can only be stepped, is one part with its own name. Routes add nothing to scores.

    Parameters
    ----------
    model : fitted estimator or Predictor
    X : float64 (rows, d), data frame, or mapping of str to value
        A mapping is one row.
    costs : CostModel, or anything `CostModel.of` accepts
        None uses the model's own.
    background : float64 (n, d) or data frame, optional
        Rows over which expected outputs are means. None uses the training rows that a stage tree keeps, at most a
        thousand, as do saved models; for models that keep none, the leaves of a tree count alike, and other learners
        count from zero.
    acquisition : {"path", "learner"}
        Whether a tree acquires features split by split, or all of them before it is evaluated.

    Raises
    ------
    CostframeError
        If the model is not fitted or not one of costframe's, or the rows or prices do not fit it.
    """
    predictor = _predictor_of(model)
    rows = _one_row(predictor, X) if isinstance(X, Mapping) else _rows_of(predictor, X)
    others = None if background is None else FallbackRows(other := _rows_of(predictor, background), np.ones(len(other)))
    prices = CostModel.of(predictor.costs if costs is None else costs, predictor.feature_names)
    how = ExpectedCost(prices, acquisition=acquisition)
    charges = predictor.charges(rows, prices, np.ones(len(rows)), how)
    found = predictor.contributions(rows, prices, others)
    return Explanation.of(prices.select(predictor.feature_names), charges, found)


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
        charges = predictor.charges(rows, model_costs, weight, ExpectedCost(model_costs))
        shares = money_shares(charges, model_costs.select(predictor.feature_names), weight)
    order = np.argsort(-shares, kind="stable")
    return {predictor.feature_names[f]: float(shares[f]) for f in order.tolist()}


def gains(predictor: Predictor, rows: FallbackRows, costs: CostModel | None = None) -> NDArray[np.float64]:
    """Return the importances by gain on rows in the order of columns: float64 (d,)."""
    prices = CostModel.of(predictor.costs if costs is None else costs, predictor.feature_names)
    found = predictor.contributions(rows.X, prices, rows)
    return gain_shares(found, len(predictor.feature_names), rows.weight)


def _predictor_of(model: Any) -> Predictor:
    predictor = as_predictor(model)
    if not isinstance(predictor, Predictor):
        raise ParameterError(f"model: expected a fitted estimator or a Predictor, got {what_is(model)}")
    return predictor


def _rows_of(predictor: Predictor, X: Any) -> NDArray[np.float64]:
    return as_rows(X, predictor.feature_names, predictor.categories, predictor.used_features)


def _one_row(predictor: Predictor, row: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return a row of values by name as a table; features that the model never reads may be absent."""
    if absent := [name for name in predictor.used_features if name not in row]:
        raise ParameterError(f"X: the row has no value of {absent[0]!r}; give NaN for a missing one")
    values = [
        as_number(name, row[name], predictor.categories.get(name)) if name in row else np.nan
        for name in predictor.feature_names
    ]
    return np.array([values])
