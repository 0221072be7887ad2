"""Plain boosting as trees are added, and boosting restricted to features below a price."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from attrs import define, evolve, field

from costframe import Predictor
from costframe.plugin import (
    I8,
    CostAwareClassifier,
    CostAwareRegressor,
    Loss,
    ParameterError,
    PathPoint,
    PriceArrays,
    Rows,
    TrainingData,
    check_choice,
)
from costframe.trees import (
    AnnealedPath,
    Annealing,
    BinnedData,
    BoostedEstimator,
    BoostedRanker,
    Ensemble,
    NoPrices,
    Running,
    TreeSettings,
    boost_at_prices,
    tree_grower,
)
from costframe_baselines.price_levels import sets_below_prices


def measure_prefixes(
    ensemble: Ensemble,
    rows: Rows,
    loss: Loss,
    prices: PriceArrays,
    *,
    branch: int = 0,
    score: Callable[[Running], float] | None = None,
) -> list[PathPoint]:
    """Measure the constant model and the first 1, 2, ... rounds; the score is minus the loss by default."""
    running = Running(rows, loss, prices)
    running.begin(ensemble.intercept)

    def measure(n_rounds: int) -> PathPoint:
        once = running.paid.acquired.any(axis=0) @ prices.once / rows.total_weight if prices.once.any() else 0.0
        cost, value = running.cost, -running.loss if score is None else score(running)
        return PathPoint(n_rounds, 0.0, running.loss, cost, value, key=branch, objective_cost=cost + float(once))

    points = [measure(0)]
    for number in range(len(ensemble.rounds)):
        running.add(ensemble.of_round(number), ensemble.step)
        points.append(measure(number + 1))
    return points


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class PlainBoosting(BoostedEstimator):
    """Boosting without prices; the tradeoff only chooses the number of trees.

    `fit` keeps the first trees with the least loss + tradeoff * exact mean cost: on validation rows, else on the
    training rows, where the loss of all trees is the least at tradeoff 0. Trees do not read copies of columns at higher
    prices.
    """

    _usual: ClassVar = TreeSettings(max_leaves=31, min_samples_leaf=20, min_hessian_leaf=1e-3)

    def _column_sets(self, data: TrainingData, *, path: bool) -> list[list[int]]:  # noqa: ARG002 - for those with prices
        """Return the columns of each ensemble to grow, for a path or for one model; the last has no limit of prices."""
        return [_worth_reading(data).tolist()]

    def _train(self, data: TrainingData) -> Predictor:
        settings, tradeoff = self._settings(data), data.tradeoff
        judged = data.train if data.valid is None else data.valid
        grown = [self._grow(data.reading_only(columns), settings) for columns in self._column_sets(data, path=False)]
        points = [
            point
            for branch, ensemble in enumerate(grown)
            for point in measure_prefixes(ensemble, judged, self._loss(data), data.prices, branch=branch)
        ]
        best = min(points, key=lambda point: (point.objective(tradeoff), point.n_rounds))
        self.n_iter_ = best.n_rounds
        best_ensemble: Ensemble = grown[best.key]
        return best_ensemble.finish(data.feature_names, best.n_rounds)

    def _grow(self, data: TrainingData, settings: TreeSettings) -> Ensemble:
        """Boost trees, with validation rows up to the best round by `scoring`, the loss by default."""
        loss = self._loss(data)
        monitor = self._monitor(data, loss, settings, tradeoff=0.0)
        grow = tree_grower(data.train, BinnedData.of(data.train, settings, data.categorical), settings)
        ensemble, best = boost_at_prices(data.train, loss, settings, grow, NoPrices(), monitor=monitor)
        return ensemble.prefix(best)

    def _anneal(self, data: TrainingData, settings: TreeSettings, asked: Annealing) -> AnnealedPath:
        """Make a point of every number of trees: nothing is annealed."""
        for name, unused in (("tradeoffs", asked.limits is None), ("look_ahead", asked.look_ahead)):
            if not unused:
                raise ParameterError(f"{name}: has no effect on trees that are boosted without prices")
        assert data.valid is not None  # noqa: S101 - `fit_path` has seen to it
        settings, branches, points = evolve(settings, n_estimators=asked.annealer.most_rounds), [], []
        chosen = self._column_sets(data, path=True)
        for branch, columns in enumerate(chosen):
            branches.append(self._grow(data.reading_only(columns), settings))
            points += measure_prefixes(
                branches[-1], data.valid, self._loss(data), data.prices, branch=branch, score=asked.annealer.score
            )
            if asked.progress is not None:
                asked.progress((branch + 1) / len(chosen))
        unpriced = frozenset({len(branches) - 1})
        return AnnealedPath(tuple(points), tuple(branches), data.costs, data.feature_names, data.categories, unpriced)

    def _settings(self, data: TrainingData) -> TreeSettings:
        check_choice("recipe", self.recipe, (None,))
        return super()._settings(data)


@define(slots=False, eq=False, repr=False)
class BoostingClassifier(CostAwareClassifier, PlainBoosting):
    """Plain boosting for two classes (logistic loss) or more (softmax, one tree per class and round).

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float, optional
        lambda, loss accepted per unit of cost per row, which chooses the number of trees. By default 0.001; where
        prices have errors, it follows from them.
    n_estimators, learning_rate, max_leaves, max_depth, min_samples_leaf, categorical_features, class_weight
        As for `CEGBClassifier`, with its defaults.
    scoring : "loss", name of a score, or callable, optional
        The validation value for early stopping, by default the loss.
    n_iter_no_change, n_jobs, verbose, l2_regularization, max_bins, random_state
        As for `CEGBClassifier`. There is no `recipe`.

    Attributes
    ----------
    predictor_ : StageTree
    n_iter_ : int
        Rounds kept.
    classes_ : ndarray (K,)
    """

    class_weight: Any = field(default=None, kw_only=True)


class BoostingRegressor(CostAwareRegressor, PlainBoosting):
    """Plain boosting for numbers: squared loss. Parameters are those of `BoostingClassifier` without `class_weight`."""


@define(slots=False, eq=False, repr=False)
class BoostingRanker(BoostedRanker, PlainBoosting):
    """Plain boosting for rankings.

    Parameters are those of `BoostingClassifier` without `class_weight`, and the `objective` of `BoostedRanker`.
    """


@define(slots=False, eq=False, repr=False)
class _Affordable(PlainBoosting):
    """Boosting on features of price at most c: own price, all resources that it needs, and its share of once-prices."""

    max_price: float | None = field(default=None, kw_only=True)

    def _column_sets(self, data: TrainingData, *, path: bool) -> list[list[int]]:
        return sets_below_prices(data, _worth_reading(data), self.max_price, every=path)


@define(slots=False, eq=False, repr=False)
class AffordableClassifier(CostAwareClassifier, _Affordable):
    """Boosting on features of price at most c, for two classes or more.

    The price of a feature includes all resources that it needs and an equal share of its once-price. Parameters are
    those of `BoostingClassifier`, and

    Parameters
    ----------
    max_price : float, optional
        c. By default `fit` tries at most eight of the prices, evenly spaced by rank, and keeps the one, and its number
        of trees, with the least loss + tradeoff * exact mean cost; at tradeoff 0 it reads all features.
    """

    class_weight: Any = field(default=None, kw_only=True)


class AffordableRegressor(CostAwareRegressor, _Affordable):
    """Boosting on features of price at most c, for numbers; see `AffordableClassifier`."""


@define(slots=False, eq=False, repr=False)
class AffordableRanker(BoostedRanker, _Affordable):
    """Boosting on features of price at most c, for rankings; see `AffordableClassifier` and `BoostingRanker`."""


def _worth_reading(data: TrainingData) -> I8:
    """Return the columns without copies of others at higher prices."""
    return np.flatnonzero(~data.dominated_duplicates())
