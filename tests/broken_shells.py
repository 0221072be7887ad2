"""Estimators that break one convention of the shell."""

import attrs
import numpy as np
from broken_base import BROKEN, StumpsClassifier, StumpsRegressor, breaks

from costframe.core.tables.categorical import CategoricalColumns
from costframe.hooks import Algorithm

BROKEN.append(
    (Algorithm("nameless", " ", "none", regressor=StumpsRegressor), "algorithm_is_described", "one line of text")
)
BROKEN.append(
    (
        Algorithm("unsourced", "two\nlines", "none", regressor=StumpsRegressor),
        "algorithm_is_described",
        "one line of text",
    )
)


@breaks(estimator_conventions="changed or copied costs")
class CopiesWhatItGets(StumpsRegressor):
    def __init__(self, costs=None, tradeoff=1e-3, n_estimators=None):
        super().__init__(dict(costs) if isinstance(costs, dict) else costs, tradeoff, n_estimators=n_estimators)


@breaks(estimator_conventions="sets more than its parameters")
class PreparesInTheConstructor(StumpsRegressor):
    def __init__(self, costs=None, tradeoff=1e-3, n_estimators=None):
        super().__init__(costs, tradeoff, n_estimators=n_estimators)
        self.rounds = n_estimators or 100


@breaks(estimator_conventions="fit changed the parameter learning_rate")
class ResolvesItsParameters(StumpsRegressor):
    def _train(self, data):
        self.learning_rate = self.learning_rate or 0.5
        return super()._train(data)


@breaks(estimator_conventions="does not return")
class ReturnsNothing(StumpsRegressor):
    def fit(self, *data, **more):
        super().fit(*data, **more)


@breaks(estimator_conventions="fit sets rows_seen")
class KeepsPlainNames(StumpsRegressor):
    def _train(self, data):
        self.rows_seen = len(data.train)
        return super()._train(data)


@breaks(estimator_conventions="does not raise NotFittedError")
class PredictsUnfitted(StumpsRegressor):
    def predict(self, X):
        return super().predict(X) if hasattr(self, "predictor_") else np.zeros(len(X))


@breaks(pickled_is_the_same="pickled copy")
class LosesLabels(StumpsClassifier):
    def __getstate__(self):
        state = super().__getstate__()
        return {**state, "classes_": np.arange(len(self.classes_))[::-1]}


@breaks(labels_come_back="predicts [")
class PredictsCodes(StumpsClassifier):
    def predict(self, X):
        return super().predict_proba(X).argmax(axis=1)


@breaks(labels_come_back="classes_ is")
class MixesLabels(StumpsClassifier):
    def fit(self, *data, **more):
        super().fit(*data, **more)
        self.classes_ = self.classes_[::-1]
        return self


@breaks(column_order_of_frames_is_free="column order changes")
class ReadsFramesByPosition(StumpsRegressor):
    def _read(self, X):
        return np.asarray(X)


@breaks(column_order_of_frames_is_free="prices go by position")
class PricesFramesByPosition(StumpsRegressor):
    def _train(self, data):
        prices = attrs.evolve(data.prices, cost=np.array([one.cost for one in data.costs.features]))
        return super()._train(attrs.evolve(data, prices=prices))


@breaks(bad_prices_are_refused_by_name="accepted, expected a ValueError that names one of ['tradeoff']")
class ForgivesNegativeTradeoffs(StumpsRegressor):
    def fit(self, *data, **more):
        given, self.tradeoff = self.tradeoff, abs(self.tradeoff) if isinstance(self.tradeoff, float) else self.tradeoff
        super().fit(*data, **more)
        self.tradeoff = given
        return self


@breaks(bad_data_are_refused_by_name="accepted, expected a ValueError that names one of ['weight']")
class ForgivesNegativeWeights(StumpsRegressor):
    def fit(self, X, y, sample_weight=None, **more):
        return super().fit(X, y, None if sample_weight is None else np.abs(sample_weight), **more)


@breaks(bad_data_are_refused_by_name="accepted, expected a ValueError that names one of ['y'")
class ForgivesMissingLabels(StumpsRegressor):
    def fit(self, X, y, *data, **more):
        return super().fit(X, np.nan_to_num(y), *data, **more)


@breaks(bad_prices_are_refused_by_name="accepted, expected a ValueError that names one of ['scan']")
class ForgivesMissingPrices(StumpsRegressor):
    def fit(self, *data, **more):
        try:
            return super().fit(*data, **more)
        except ValueError as error:
            if "price" not in str(error):
                raise
            given, self.costs = self.costs, None
            super().fit(*data, **more)
            self.costs = given
            return self


@breaks(bad_validation_data_are_refused_by_name="accepted, expected a ValueError that names one of ['val']")
class ForgivesHalfValidationData(StumpsRegressor):
    def fit(self, *data, X_val=None, y_val=None, **more):
        if X_val is None or y_val is None:
            X_val = y_val = None
        return super().fit(*data, X_val=X_val, y_val=y_val, **more)


@breaks(bad_prices_are_refused_by_name="refused with a text that names none of ['tradeoff']")
class SaysNoWithoutSayingWhy(StumpsRegressor):
    def fit(self, *data, **more):
        try:
            return super().fit(*data, **more)
        except ValueError:
            raise ValueError("bad input") from None


@breaks(bad_prices_are_refused_by_name="tradeoff")
class RaisesSomethingElse(StumpsRegressor):
    def fit(self, *data, **more):
        try:
            return super().fit(*data, **more)
        except ValueError as error:
            raise RuntimeError(str(error)) from None


@breaks(settings_out_of_range_are_refused="names one of ['n_estimators']")
class TakesAnyNumber(StumpsRegressor):
    def _train(self, data):
        given, self.n_estimators = self.n_estimators, 5 if self.n_estimators == -1 else self.n_estimators
        tree = super()._train(data)
        self.n_estimators = given
        return tree


@breaks(unused_settings_are_refused="n_iter_no_change")
class IgnoresSettings(StumpsRegressor):
    def __init__(self, costs=None, tradeoff=1e-3, n_iter_no_change=None):
        super().__init__(costs, tradeoff, n_estimators=5)
        self.n_iter_no_change = n_iter_no_change


@breaks(unused_settings_are_refused="sample_weight_val")
class IgnoresValidationWeights(StumpsRegressor):
    def fit(self, *data, X_val=None, sample_weight_val=None, **more):
        return super().fit(*data, X_val=X_val, sample_weight_val=None if X_val is None else sample_weight_val, **more)


@breaks(categories_are_split_or_refused="another order of categories changes the predictions")
class ReadsTheCodesOfTheFrame(StumpsRegressor):
    def _find_categorical(self, _X):
        return CategoricalColumns()

    def _checked(self, X, name, *, reset):
        if hasattr(X, "dtypes"):
            for column in X.columns[X.dtypes == "category"]:
                X = X.assign(**{column: X[column].cat.codes.astype(float)})
        return super()._checked(X, name, reset=reset)


class OfTwoClasses(StumpsClassifier):
    """Says that it is for two classes."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@breaks(a_third_class_is_refused_by_name="does not name them")
class RefusesDarkly(OfTwoClasses):
    def _train(self, data):
        if data.n_classes > 2:
            raise ValueError("operands could not be broadcast together")
        return super()._train(data)


@breaks(a_third_class_is_refused_by_name="probabilities have shape (80, 2)")
class MergesClasses(OfTwoClasses):
    def predict_proba(self, X):
        p = super().predict_proba(X)
        return np.stack([p[:, 0], p[:, 1:].sum(axis=1)], axis=1)


@breaks(estimators_pass_limits_on="predict differs from the predictor's")  # noqa: S106 - no password, a law
class PredictsBeyondLimits(StumpsRegressor):
    def predict(self, X, **_):
        return super().predict(X)


@breaks(any_setting_trains_or_is_refused_by_name=" raises ")
class ChecksNothing(StumpsRegressor):
    def _train(self, data):
        given, self.n_estimators = self.n_estimators, int(self.n_estimators + 0 or 1)
        tree = super()._train(data)
        self.n_estimators = given
        return tree


@breaks(a_failed_fit_changes_nothing="a fit that fails changes n_features_in_")
class ForgetsItsModel(StumpsRegressor):
    def fit(self, *data, **more):
        self.n_features_in_ = 0
        return super().fit(*data, **more)
