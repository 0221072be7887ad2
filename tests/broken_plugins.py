"""Plugins with one deliberate fault each: for every law of the kit, one that breaks it, and words of the complaint."""

import attrs
import numpy as np
from planned_stumps import HONEST, PlannedStumps, StumpsClassifier, StumpsRegressor

from costframe import Algorithm, Answer, StageTree
from costframe.core.predictors.grounds import Grounds
from costframe.core.prices.needs import Needs
from costframe.core.tables.categorical import CategoricalColumns
from costframe.plugin import PlannedPredictor, Rung, Traits
from costframe.testing.case import COSTS

__all__ = ["BROKEN", "HONEST", "OfTwoClasses", "StumpsRegressor"]

BROKEN = {"algorithm_is_described": (Algorithm("nameless", " ", "none", regressor=StumpsRegressor), "one line of text")}
"""An algorithm and words of the complaint, by the law that it breaks."""


def breaks(law, words):
    """Make an algorithm of a class, and say which law must catch it, and what it must say."""

    def register(kind):
        role = "classifier" if issubclass(kind, StumpsClassifier) else "regressor"
        BROKEN[law] = Algorithm(kind.__name__, "A broken plugin", "none", **{role: kind}), words
        return kind

    return register


# --- predictors that lie in one place ---


class AsksForAll:
    """An inquiry that asks for all features at once."""

    def __init__(self, inner, names):
        self.inner, self.needs = inner, names

    def supply(self, values):
        while self.inner.needs:
            self.inner.supply({name: values[name] for name in self.inner.needs})
        self.needs = ()

    answer = property(lambda self: self.inner.answer)


class ChargesBeforeItFails:
    """An inquiry that charges for a step that fails."""

    def __init__(self, inner, _names):
        self.inner, self.extra = inner, 0

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def supply(self, values):
        self.extra += 1
        self.inner.supply(values)
        self.extra -= 1

    cost = property(lambda self: self.inner.cost + self.extra)


def changed(terms, replaced):
    return terms | {name: replace(terms[name]) for name, replace in replaced.items() if terms.get(name) is not None}


def cost(change=lambda _report, _how: {}, **replaced):
    """Make a method that changes a report, or limits given to it."""

    def report(self, X, y_or_costs=None, **how):
        found = StageTree.cost(self, X, y_or_costs, **changed(how, replaced))
        return attrs.evolve(found, **change(found, how))

    return {"cost": report}


def inquire(wrap=lambda inquiry, _names: inquiry, **replaced):
    """Make a method that changes an inquiry, or the terms given to it."""

    def begin(self, costs=None, acquisition="path", known=(), **how):
        terms = changed({"acquisition": acquisition, "known": known, **how}, replaced)
        return wrap(StageTree.inquire(self, costs, **terms), self.feature_names)

    return {"inquire": begin}


def predict(change):
    return {"predict": lambda self, X, **limits: change(StageTree.predict(self, X, **limits), X)}


def scores(self, X, **limits):
    return np.where(np.isnan(X).all(axis=1), np.nan, StageTree.decision_function(self, X, **limits))


def at_own_prices(self, X, **terms):
    return PlannedPredictor.predict(self, X, **terms | {"costs": None, "tradeoff": None})


def mean_price(costs):
    return np.mean([each.cost for each in (*costs.features, *costs.resources)])


def mistrust(self, X, y_or_costs=None, *, costs=None, **how):
    costs = costs or y_or_costs
    mean = mean_price(costs) if costs else 0.0
    tradeoff = None if mean in {0.0, mean_price(COSTS)} else 1e9
    return PlannedPredictor.cost(self, X, costs=costs, **how, tradeoff=tradeoff)


DEARER = cost(lambda report, how: {"per_row": report.per_row - 0.5 * (how.get("acquisition") == "learner")})
BARE = cost(lambda report, _: {"per_row": report.per_row - sum(report.by_resource.values())})
WIDER = {"max_cost": lambda cap: cap * (1 + 1e-9)}
LIES = {
    "cost_reported_is_cost_fetched": (
        "reported against ch",
        cost(lambda report, _: {"per_row": 0.99 * report.per_row}),
    ),
    "every_price_is_reported": ("learner: reported against charged", DEARER),
    "importances_are_shares": ("importances by gain", {"gains": lambda *_: {(0,): -1.0, (1,): 2.0}}),
    "resources_are_charged_once": ("which acquired", BARE),
    "parts_add_up": ("sum of its parts", cost(lambda *_: {"by_resource": {}})),
    "an_inquiry_predicts_the_same": ("the inquiry ends in", predict(lambda p, _: p.astype(np.float32).astype(float))),
    "rows_are_independent": ("predicted otherwise alone", predict(lambda p, _: p + 1e-6 * p.mean())),
    "nothing_unacquired_matters": ("predictions ch", predict(lambda p, X: p + 1e-3 * np.nan_to_num(X).sum(axis=1))),
    "reasons_are_of_what_is_asked": ("gives reasons for", {"grounds": lambda *_: Grounds(cause="complete")}),
    "an_inquiry_can_be_put_away": (
        "put away as text, with",
        {"resume": lambda self, _text, costs=None: StageTree.inquire(self, costs)},
    ),
    "needs_are_read": ("asks for", inquire(AsksForAll)),
    "what_is_known_is_free": ("although their values were given", inquire(known=lambda _: ())),
    "an_error_changes_nothing": ("the refusal of", inquire(ChargesBeforeItFails)),
    "predictions_are_proper": ("not finite", {"decision_function": scores}),
    "no_row_exceeds_its_cap": ("more than its cap", cost(max_cost=lambda cap: cap + 1.0)),
    "caps_are_kept_to_the_last_digit": ("than its cap", cost(**WIDER) | inquire(**WIDER)),
    "what_is_unavailable_is_never_asked_for": ("are unavailable", inquire(unavailable=lambda _: ())),
    "a_capped_report_is_what_is_fetched": ("differ", {"predict": lambda self, X, **_: StageTree.predict(self, X)}),
    "a_cap_beyond_reach_changes_nothing": ("are cut by a cap that all can", cost(max_cost=lambda cap: 0.9 * cap)),
    "saved_is_loaded": ("predictions differ after loading", predict(lambda p, _: p + 1.0)),
    "prices_may_change_after_training": ("the inquiry ends in", {"predict": at_own_prices}),
    "what_gets_cheaper_is_bought_no_less": ("no longer buy it", {"cost": mistrust}),
    "a_larger_tradeoff_buys_no_more": ("which is more", {}),  # its ladder is upside down
}


def lying(law, words, methods):
    """Register a regressor that is honest but for some methods of its predictor, a tree of stages or a plan."""

    class Lying(PlannedStumps if law in PLANS else StumpsRegressor):
        def fit(self, *data, **more):
            super().fit(*data, **more)
            one = self.predictor_
            kind = type("Lies", (type(one),), methods)
            if law in PLANS:
                ladder = () if methods else (Rung(0.0, 1e9), Rung(1.0, 0.0))
                self.predictor_ = kind(one.bank, one.gains_bank, one.stops, one.tradeoff, one.costs, ladder=ladder)
            else:
                self.predictor_ = kind(one.bank, one.stages, one.costs)
            return self

    breaks(law, words)(Lying)


PLANS = list(LIES)[-3:]
for law, (words, methods) in LIES.items():
    lying(law, words, methods)


# --- training that goes wrong in one place ---


def setting(**changes):
    """Make a change of settings, each by a function of the estimator."""

    def change(one, data):
        vars(one).update({name: value(one) for name, value in changes.items()})
        return data

    return change


def prices(**changes):
    """Make a change of prices, each by a function of the prices."""

    def change(_one, data):
        new = {name: value(data.prices) for name, value in changes.items()}
        return attrs.evolve(data, prices=attrs.evolve(data.prices, **new))

    return change


def first_needs(given):
    """Leave each feature the first of the resources that it needs."""
    return Needs.of([np.flatnonzero(each)[:1].tolist() for each in given.needs], [[]] * given.needs.shape[1])


def tradeoff(change):
    return lambda _one, data: attrs.evolve(data, tradeoff=change(data.tradeoff))


def without_weights(_one, data):
    return attrs.evolve(data, train=attrs.evolve(data.train, weight=np.ones(len(data.train))))


def by_position(_one, data):
    return attrs.evolve(data, prices=attrs.evolve(data.prices, cost=np.array([p.cost for p in data.costs.features])))


ROOTS = prices(cost=lambda p: np.sqrt(p.cost), resource_cost=lambda p: np.sqrt(p.resource_cost))
DICE = setting(learning_rate=lambda _: np.random.default_rng().uniform(0.4, 0.6))
ANY_NUMBER = setting(n_estimators=lambda one: 5 if one.n_estimators == -1 else one.n_estimators)
TRAINING = {
    "learns": ("at tradeoff 0", tradeoff(lambda _: 1e9)),
    "huge_tradeoff_buys_nothing_priced": ("tradeoff 1e+06", tradeoff(lambda given: min(given, 1e-3))),
    "cost_falls_as_tradeoff_rises": ("nothing priced", tradeoff(lambda given: 1e-3 / (given + 1e-9))),
    "zero_tradeoff_ignores_prices": ("two price tables", tradeoff(lambda given: max(given, 0.02))),
    "zero_prices_are_plain": ("all prices zero", setting(learning_rate=lambda one: 0.5 / (1.0 + one.tradeoff))),
    "unit_of_prices_is_free": ("another model", ROOTS),
    "of_equal_features_the_cheaper_is_bought": ("dearer", prices(cost=lambda p: np.ones_like(p.cost))),
    "resources_count_in_training": ("dearer", prices(direct_needs=first_needs)),
    "each_price_kind_counts_in_training": ("of the kind 'reuse'", prices(reuse=lambda _: 0.0)),
    "deterministic": ("two fits", DICE),
    "settings_out_of_range_are_refused": ("names one of ['n_estimators']", ANY_NUMBER),
    "any_setting_trains_or_is_refused_by_name": (
        " raises ",
        setting(n_estimators=lambda one: int(one.n_estimators + 0)),
    ),
    "column_order_of_frames_is_free": ("prices go by position", by_position),
}


def changing(change):
    """Make a regressor that changes its settings or its data before it trains."""

    class Training(StumpsRegressor):
        def _train(self, data):
            kept = dict(vars(self))
            tree = super()._train(change(self, data))
            vars(self).update(kept)
            return tree

    return Training


for law, (words, change) in TRAINING.items():
    breaks(law, words)(changing(change))


@breaks("weights_are_repetitions", "weights 1, 2, 3")
class IgnoresWeights(changing(without_weights)):  # a class of the module, which pickle finds
    pass


@breaks("useless_columns_are_not_bought", "constant or always missing")
class BuysEveryColumn(StumpsRegressor):
    def _train(self, data):
        tree = super()._train(data)
        every = type(tree.bank).columns(data.feature_names)
        answer, count = tree.stages[0], len(tree.bank)
        weights = np.append(answer.weights, np.full((len(every), 1), 1e-12), axis=0)
        return StageTree(tree.bank + every, (Answer(np.arange(count + len(every)), weights, answer.intercept),))


@breaks("threads_change_nothing", "n_jobs=1 and n_jobs=2")
class DependsOnThreads(StumpsRegressor):
    def __init__(self, costs=None, tradeoff=1e-3, n_jobs=None):
        super().__init__(costs, tradeoff)
        self.n_jobs = n_jobs

    def _train(self, data):
        self.learning_rate = 0.5 - 0.1 * (self.n_jobs or 0)
        return super()._train(data)


@breaks("workers_train_the_model_of_all_rows", "a worker has another model")
class TrainsOnItsOwnRows(StumpsRegressor):
    traits = Traits(trains_together=True)


# --- shells that break one convention ---


def fitting(law, words, change):
    """Register a regressor that changes what `fit` is given."""

    class Fitting(StumpsRegressor):
        def fit(self, X, y, sample_weight=None, **more):
            return super().fit(*change(self, X, y, sample_weight, more), **more)

    breaks(law, words)(Fitting)


def keep_all(_one, X, y, weight, _more):
    return X, y, None if weight is None else np.maximum(weight, 1e-3)


def forgive_weights(_one, X, y, weight, _more):
    return X, y, None if weight is None else np.abs(weight)


def fill_in_place(_one, X, y, weight, _more):
    return np.nan_to_num(X, copy=False), y, weight


def forget_the_model(one, X, y, weight, _more):
    one.n_features_in_ = 0
    return X, y, weight


def forgive_half(_one, X, y, weight, more):
    if len({"X_val", "y_val"} & {name for name, value in more.items() if value is not None}) == 1:
        more |= {"X_val": None, "y_val": None}
    return X, y, weight


ACCEPTED = "accepted, expected a ValueError that names one of ['{}']"
fitting("rows_of_weight_zero_are_dropped", "weight zero", keep_all)
fitting("bad_data_are_refused_by_name", ACCEPTED.format("weight"), forgive_weights)
fitting("input_is_untouched", "X was changed", fill_in_place)
fitting("a_failed_fit_changes_nothing", "a fit that fails changes n_features_in_", forget_the_model)
fitting("bad_validation_data_are_refused_by_name", ACCEPTED.format("val"), forgive_half)


@breaks("estimator_conventions", "fit sets rows_seen")
class KeepsPlainNames(StumpsRegressor):
    def _train(self, data):
        self.rows_seen = len(data.train)
        return super()._train(data)


@breaks("pickled_is_the_same", "pickled copy")
class LosesLabels(StumpsClassifier):
    def __getstate__(self):
        return {**super().__getstate__(), "classes_": np.arange(len(self.classes_))[::-1]}


@breaks("labels_come_back", "predicts [")
class PredictsCodes(StumpsClassifier):
    def predict(self, X):
        return super().predict_proba(X).argmax(axis=1)


class Contrary(StageTree):
    """A model whose inquiries decide for the next class."""

    def inquire(self, *asked, **more):
        inquiry = super().inquire(*asked, **more)
        card = attrs.evolve(self.card, classes=np.roll(self.classes, 1))
        inquiry._decision = attrs.evolve(inquiry._decision, card=card)
        return inquiry


@breaks("a_row_has_one_label", "an inquiry is labelled otherwise: row 0")
class LabelsRowsByARuleOfTheirOwn(StumpsClassifier):
    def fit(self, *data, **more):
        super().fit(*data, **more)
        one = self.predictor_
        self.predictor_ = Contrary(one.bank, one.stages, one.costs, classes=one.classes)
        return self


@breaks("bad_prices_are_refused_by_name", "refused with a text that names none of ['tradeoff']")
class SaysNoWithoutSayingWhy(StumpsRegressor):
    def fit(self, *data, **more):
        try:
            return super().fit(*data, **more)
        except ValueError:
            raise ValueError("bad input") from None


@breaks("unused_settings_are_refused", "n_iter_no_change")
class IgnoresSettings(StumpsRegressor):
    def __init__(self, costs=None, tradeoff=1e-3, n_iter_no_change=None):
        super().__init__(costs, tradeoff, n_estimators=5)
        self.n_iter_no_change = n_iter_no_change


@breaks("categories_are_split_or_refused", "another order of categories changes the predictions")
class ReadsTheCodesOfTheFrame(StumpsRegressor):
    def _find_categorical(self, _X):
        return CategoricalColumns()

    def _checked(self, X, name, *, reset):
        for column in X.columns[X.dtypes == "category"] if hasattr(X, "dtypes") else ():
            X = X.assign(**{column: X[column].cat.codes.astype(float)})
        return super()._checked(X, name, reset=reset)


@breaks("a_date_is_paid_once_with_its_parts", "dates with a time zone change predictions")
class ReadsTheClockOnTheWall(StumpsRegressor):
    def _checked(self, X, name, *, reset):
        for column in X.columns[X.dtypes.astype(str).str.contains("New_York")] if hasattr(X, "dtypes") else ():
            X = X.assign(**{column: X[column].dt.tz_localize(None)})
        return super()._checked(X, name, reset=reset)


class OfTwoClasses(StumpsClassifier):
    """Says that it is for two classes."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@breaks("a_third_class_is_refused_by_name", "does not name them")
class RefusesDarkly(OfTwoClasses):
    def _train(self, data):
        if data.n_classes > 2:
            raise ValueError("operands could not be broadcast together")
        return super()._train(data)


@breaks("estimators_pass_limits_on", "predict differs from the predictor's")
class PredictsBeyondLimits(StumpsRegressor):
    def predict(self, X, **_):
        return super().predict(X)
