"""Estimators whose training, or what stands around it, goes wrong in one place."""

import attrs
import numpy as np
from broken_base import StumpsClassifier, StumpsRegressor, breaks, named

from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.needs import Needs
from costframe.core.stages.stages import Answer
from costframe.training.data import Traits


def training(change, **laws):
    """Register a regressor that is honest but for what `change(estimator, data)` makes of its training data."""

    class Training(StumpsRegressor):
        def _train(self, data):
            kept = dict(vars(self))
            data = change(self, data)
            tree = super()._train(data)
            vars(self).update(kept)
            return tree

    breaks(**laws)(named(change.__name__, Training))


def with_prices(data, **changes):
    return attrs.evolve(data, prices=attrs.evolve(data.prices, **changes))


def learns_nothing(estimator, data):
    estimator.tradeoff = 1e9
    return data


def ignores_a_large_tradeoff(estimator, data):
    estimator.tradeoff = min(estimator.tradeoff, 1e-3)
    return data


def turns_tradeoff_round(estimator, data):
    estimator.tradeoff = 1e-3 / (estimator.tradeoff + 1e-9)
    return data


def is_thrifty_at_tradeoff_zero(estimator, data):
    estimator.tradeoff = max(estimator.tradeoff, 0.02)
    return data


def learns_slower_with_tradeoff(estimator, data):
    estimator.learning_rate = 0.5 / (1.0 + estimator.tradeoff)
    return data


def takes_roots_of_prices(_, data):
    prices = data.prices
    return with_prices(data, cost=np.sqrt(prices.cost), resource_cost=np.sqrt(prices.resource_cost))


def ignores_prices(_, data):
    return with_prices(data, cost=np.ones_like(data.prices.cost), resource_cost=0 * data.prices.resource_cost)


def ignores_resources(_, data):
    return with_prices(data, resource_cost=0 * data.prices.resource_cost)


def sees_only_first_needs(_, data):
    first = [np.flatnonzero(needed)[:1].tolist() for needed in data.prices.needs]
    return with_prices(data, direct_needs=Needs.of(first, [[]] * len(data.prices.resource_cost)))


def ignores_once(_, data):
    return with_prices(data, once=0 * data.prices.once)


def ignores_split(_, data):
    return with_prices(data, split=0 * data.prices.split)


def ignores_learner(_, data):
    return with_prices(data, learner=0.0)


def ignores_reuse(_, data):
    return with_prices(data, reuse=0.0)


def ignores_weights(_, data):
    return attrs.evolve(data, train=attrs.evolve(data.train, weight=np.ones(len(data.train))))


def throws_dice(estimator, data):
    estimator.learning_rate = np.random.default_rng().uniform(0.4, 0.6)
    return data


training(learns_nothing, learns="at tradeoff 0")
training(ignores_a_large_tradeoff, huge_tradeoff_buys_nothing_priced="per row at tradeoff 1e+06")
training(turns_tradeoff_round, cost_falls_as_tradeoff_rises="nothing priced")
training(is_thrifty_at_tradeoff_zero, zero_tradeoff_ignores_prices="two price tables")
training(learns_slower_with_tradeoff, zero_prices_are_plain="with all prices zero")
training(takes_roots_of_prices, unit_of_prices_is_free="another model")
training(ignores_prices, of_equal_features_the_cheaper_is_bought="dearer")
training(ignores_resources, resources_count_in_training="dearer")
training(sees_only_first_needs, resources_count_in_training="dearer")
for ignores in (ignores_once, ignores_split, ignores_learner, ignores_reuse):
    training(ignores, each_price_kind_counts_in_training=f"of the kind {ignores.__name__[8:]!r}")
training(ignores_weights, weights_are_repetitions="weights 1, 2, 3")
training(throws_dice, deterministic="two fits")


@breaks(useless_columns_are_not_bought="constant or always missing")
class BuysEveryColumn(StumpsRegressor):
    def _train(self, data):
        tree = super()._train(data)
        every = type(tree.bank).columns(data.feature_names)
        answer, count = tree.stages[0], len(tree.bank)
        weights = np.append(answer.weights, np.full((len(every), 1), 1e-12), axis=0)
        return StageTree(tree.bank + every, (Answer(np.arange(count + len(every)), weights, answer.intercept),))


@breaks(rows_of_weight_zero_are_dropped="weight zero")
class KeepsRowsOfWeightZero(StumpsRegressor):
    def fit(self, X, y, sample_weight=None, **more):
        return super().fit(X, y, None if sample_weight is None else np.maximum(sample_weight, 1e-3), **more)


@breaks(threads_change_nothing="n_jobs=1 and n_jobs=2")
class DependsOnThreads(StumpsRegressor):
    def __init__(self, costs=None, tradeoff=1e-3, n_jobs=None):
        super().__init__(costs, tradeoff)
        self.n_jobs = n_jobs

    def _train(self, data):
        self.learning_rate = 0.5 - 0.1 * (self.n_jobs or 0)
        return super()._train(data)


@breaks(workers_train_the_model_of_all_rows="a worker has another model")
class TrainsOnItsOwnRows(StumpsRegressor):
    traits = Traits(trains_together=True)


@breaks(input_is_untouched="X was changed")
class FillsInPlace(StumpsRegressor):
    def fit(self, X, *data, **more):
        np.nan_to_num(X, copy=False)
        return super().fit(X, *data, **more)


@breaks(input_is_untouched="price table was changed")
class ChangesTheGivenPrices(StumpsRegressor):
    def fit(self, *data, **more):
        if isinstance(self.costs, dict):
            self.costs["unit"] = "unit"
        return super().fit(*data, **more)


@breaks(predictions_are_proper="add up to one")
class GivesNoProbabilities(StumpsClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X) * 0.9
