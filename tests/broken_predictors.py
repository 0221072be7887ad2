"""Regressors that are honest but for a predictor that lies in one place."""

import attrs
import numpy as np
from broken_base import StumpsRegressor, breaks, named
from planned_stumps import PlannedStumps

from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.stops import Rung
from costframe.testing.data import COSTS


class Delegate(Predictor):
    """An honest predictor behind another class; subclasses lie in one place."""

    def __init__(self, inner):
        self.inner = inner

    feature_names = property(lambda self: self.inner.feature_names)
    costs = property(lambda self: self.inner.costs)

    def predict(self, X, **limits):
        return self.inner.predict(X, **limits)

    def decision_function(self, X, **limits):
        return self.inner.decision_function(X, **limits)

    def begin(self, request):
        return self.inner.begin(request)

    def cost(self, X, costs=None, **more):
        return self.inner.cost(X, costs, **more)


def lying(predictor, **laws):
    """Register a regressor that is honest but for its predictor."""

    class Lying(StumpsRegressor):
        def fit(self, *data, **more):
            super().fit(*data, **more)
            self.predictor_ = predictor(self.predictor_)
            return self

    breaks(**laws)(named(predictor.__name__, Lying))


class ForgetsResources(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        return attrs.evolve(report, per_row=report.per_row - sum(report.by_resource.values()))


class ChargesTooLittle(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        return attrs.evolve(report, per_row=report.per_row * 0.99)


class GainsBelowZero(Delegate):
    def gains(self, *_rows_and_costs):
        return {(0,): -1.0, (1,): 2.0}


class CountsOneRoundOnly(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        return report if report.rounds is None else attrs.evolve(report, rounds=np.full(len(X), 7))


class KeepsNoPrices(Delegate):
    costs = None


class ForgetsComparisons(Delegate):
    def cost(self, X, costs=None, **more):
        model = CostModel.of(self.costs if costs is None else costs, self.feature_names)
        return self.inner.cost(X, attrs.evolve(model, split=0.0), **more)


class ForgetsThatLearnersAcquireWhole(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        cheaper = more.get("acquisition") == "learner"
        return attrs.evolve(report, per_row=report.per_row - 0.5) if cheaper else report


class PaysResourcesForEveryFeature(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        prices = CostModel.of(self.costs, self.feature_names).select(self.feature_names)
        again = (
            report.acquired @ (prices.needs @ prices.resource_cost)
            - report.acquired.dot(prices.needs) @ prices.resource_cost
        )
        return attrs.evolve(report, per_row=report.per_row + again)


class MeanThatIsNone(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        return attrs.evolve(report, mean=report.mean * 0.9)


class PartsThatAreMissing(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        return attrs.evolve(report, by_resource={})


class PredictsInSinglePrecision(Delegate):
    def predict(self, X, **limits):
        return self.inner.predict(X, **limits).astype(np.float32).astype(np.float64)


class PredictsByTheBatch(Delegate):
    def predict(self, X, **limits):
        values = self.inner.predict(X, **limits)
        return values + 1e-6 * values.mean()


class ReadsWhatItDidNotAcquire(Delegate):
    def predict(self, X, **limits):
        return self.inner.predict(X, **limits) + 1e-3 * np.nan_to_num(X).sum(axis=1)


class AcquiresByWhatItDidNotAcquire(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        return attrs.evolve(report, acquired=report.acquired ^ (np.asarray(X)[:, [2]] > 10))


class Speculates(Delegate):
    def inquire(self, costs=None, acquisition="path", known=(), **limits):
        return SpeculatingInquiry(self.inner.inquire(costs, acquisition, known, **limits), self.feature_names)


class SpeculatingInquiry:
    """Asks for one feature more than it needs, and never looks at it."""

    def __init__(self, inner, names):
        self.inner, self.names, self.asked = inner, names, set()

    @property
    def needs(self):
        needs = self.inner.needs
        more = [name for name in self.names if name not in self.asked and name not in needs]
        return (*needs, *more[:1]) if needs else ()

    def supply(self, values):
        self.asked |= set(values)
        self.inner.supply({name: values[name] for name in self.inner.needs})

    @property
    def answer(self):
        return self.inner.answer


class AsksAgain(Delegate):
    def inquire(self, costs=None, acquisition="path", known=(), **limits):
        return self.inner.inquire(costs, acquisition, () if known else known, **limits)


class ChargesAgain(Delegate):
    def inquire(self, costs=None, acquisition="path", known=(), **limits):
        inquiry = self.inner.inquire(costs, acquisition, known, **limits)
        if known:  # as if nothing had been paid before
            inquiry._ledger._features.clear()
            inquiry._ledger.acquired = range(len(self.inner.feature_names))
        return inquiry


class MovesBeforeItFails(Delegate):
    def inquire(self, costs=None, acquisition="path", known=(), **limits):
        inquiry = self.inner.inquire(costs, acquisition, known, **limits)
        inquiry.walker = MovingWalker(inquiry.walker)
        return inquiry


class MovingWalker:
    """Adds the number of its steps to the answer, and counts those that failed."""

    def __init__(self, inner):
        self.inner, self.steps = inner, []

    needs = property(lambda self: self.inner.needs)
    reason = property(lambda self: self.inner.reason)
    evaluated = property(lambda self: self.inner.evaluated)

    def advance(self, values):
        self.steps.append(values)
        self.inner.advance(values)

    @property
    def answer(self):
        value, leaf = self.inner.answer
        return value + len(self.steps), leaf


class IsFiniteForWholeRowsOnly(Delegate):
    def decision_function(self, X, **limits):
        return np.where(np.isnan(X).all(axis=1), np.nan, self.inner.decision_function(X, **limits))


class ExceedsItsCap(Delegate):
    def cost(self, X, costs=None, *, max_cost=None, **more):
        return self.inner.cost(X, costs, max_cost=None if max_cost is None else max_cost + 1.0, **more)


class WidensItsCap(Delegate):
    def cost(self, X, costs=None, *, max_cost=None, **more):
        report = self.inner.cost(X, costs, max_cost=None if max_cost is None else max_cost * (1 + 1e-9), **more)
        return report if max_cost is None else attrs.evolve(report, per_row=np.minimum(report.per_row, max_cost))

    def inquire(self, costs=None, acquisition="path", known=(), *, max_cost=None, **more):
        widened = None if max_cost is None else max_cost * (1 + 1e-9)
        return self.inner.inquire(costs, acquisition, known, max_cost=widened, **more)


class HasNoAnswerWithinACap(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        return report if report.cut is None else attrs.evolve(report, predictions=np.where(report.cut, np.nan, 0.0))


class OverspendsStepByStep(Delegate):
    def inquire(self, costs=None, acquisition="path", known=(), **limits):
        return self.inner.inquire(costs, acquisition, known, unavailable=limits.get("unavailable", ()))


class AsksForWhatIsUnavailable(Delegate):
    def inquire(self, costs=None, acquisition="path", known=(), **limits):
        return self.inner.inquire(costs, acquisition, known, max_cost=limits.get("max_cost"))


class ReportsWhatIsUnavailable(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        return report if not more.get("unavailable") else attrs.evolve(report, acquired=~report.acquired)


class ForgetsThatValuesAreKnown(Delegate):
    def inquire(self, costs=None, acquisition="path", known=(), **limits):
        return self.inner.inquire(costs, acquisition, () if limits.get("unavailable") else known, **limits)


class ChargesTooLittleUnderACap(Delegate):
    def cost(self, X, costs=None, **more):
        report = self.inner.cost(X, costs, **more)
        return report if report.cut is None else attrs.evolve(report, per_row=report.per_row * 0.9)


class PredictsWithoutTheCap(Delegate):
    def predict(self, X, **_):
        return self.inner.predict(X)


class CutsTooEarly(Delegate):
    def cost(self, X, costs=None, *, max_cost=None, **more):
        return self.inner.cost(X, costs, max_cost=None if max_cost is None else max_cost * 0.9, **more)


class CutsTooEarlyStepByStep(Delegate):
    def inquire(self, costs=None, acquisition="path", known=(), *, max_cost=None, **more):
        return self.inner.inquire(
            costs, acquisition, known, max_cost=None if max_cost is None else max_cost * 0.9, **more
        )


@attrs.define(eq=False, frozen=True)
class HasMoreThanItsParts(StageTree):
    """A stage tree with something beside its bank and stages, which no file holds."""

    def predict(self, X, **how):
        return super().predict(X, **how) + 1.0


def more_than_its_parts(tree):
    return HasMoreThanItsParts(tree.bank, tree.stages, tree.costs)


@attrs.define(eq=False, frozen=True)
class PredictsAtItsOwnPrices(PlannedPredictor):
    def predict(self, X, **terms):
        own = {"costs": None, "tradeoff": None}
        return super().predict(X, **(terms | own))


@attrs.define(eq=False, frozen=True)
class MistrustsWhatIsCheap(PlannedPredictor):
    def cost(self, X, costs=None, **how):
        mean = np.mean([each.cost for each in (*costs.features, *costs.resources)]) if costs else 0.0
        return super().cost(X, costs, **how, tradeoff=None if mean in {0.0, AVERAGE} else 1e9)


@attrs.define(eq=False, frozen=True)
class ClimbsDown(PlannedPredictor):
    """Its ladder is upside down: larger tradeoffs decide at smaller ones."""

    def __attrs_post_init__(self):
        object.__setattr__(self, "ladder", (Rung(0.0, 1e9), Rung(1.0, 0.0)))


AVERAGE = np.mean([each.cost for each in (*COSTS.features, *COSTS.resources)])


def lying_plan(predictor, **laws):
    """Register a regressor that plans and is honest but for its predictor."""

    class Lying(PlannedStumps):
        def fit(self, *data, **more):
            super().fit(*data, **more)
            honest = self.predictor_
            self.predictor_ = predictor(honest.bank, honest.gains_bank, honest.stops, honest.tradeoff, honest.costs)
            return self

    breaks(**laws)(named(predictor.__name__, Lying))


lying(
    ForgetsResources,
    cost_reported_is_cost_fetched="reported against charged",
    resources_are_charged_once="which acquired",
)
lying(ChargesTooLittle, cost_reported_is_cost_fetched="reported against charged")
lying(GainsBelowZero, importances_are_shares="importances by gain")
lying(CountsOneRoundOnly, cost_reported_is_cost_fetched="7 rounds reported")
lying(KeepsNoPrices, cost_reported_is_cost_fetched="does not have the prices")
lying(ForgetsComparisons, every_price_is_reported="path: reported against charged")
lying(ForgetsThatLearnersAcquireWhole, every_price_is_reported="learner: reported against charged")
lying(PaysResourcesForEveryFeature, resources_are_charged_once="which acquired")
lying(MeanThatIsNone, parts_add_up="sum of its parts")
lying(PartsThatAreMissing, parts_add_up="sum of its parts")
lying(PredictsInSinglePrecision, an_inquiry_predicts_the_same="the inquiry ends in")
lying(PredictsByTheBatch, rows_are_independent="predicted otherwise alone")
lying(ReadsWhatItDidNotAcquire, nothing_unacquired_matters="predictions change")
lying(AcquiresByWhatItDidNotAcquire, nothing_unacquired_matters="acquisitions change")
lying(Speculates, needs_are_read="asks for", cost_reported_is_cost_fetched="fetched")
lying(AsksAgain, what_is_known_is_free="although their values were given")
lying(ChargesAgain, what_is_known_is_free="are paid for")
lying(MovesBeforeItFails, an_error_changes_nothing="the answer differs after errors")
lying(IsFiniteForWholeRowsOnly, predictions_are_proper="not finite")
lying(more_than_its_parts, saved_is_loaded="predictions differ after loading")
lying_plan(PredictsAtItsOwnPrices, prices_may_change_after_training="the inquiry ends in")
lying_plan(ClimbsDown, a_larger_tradeoff_buys_no_more="which is more")
lying_plan(MistrustsWhatIsCheap, what_gets_cheaper_is_bought_no_less="no longer buy it")
lying(ExceedsItsCap, no_row_exceeds_its_cap="more than its cap")
lying(WidensItsCap, caps_are_kept_to_the_last_digit="than its cap")
lying(HasNoAnswerWithinACap, no_row_exceeds_its_cap="no finite answer")
lying(OverspendsStepByStep, no_row_exceeds_its_cap="more than its cap")
lying(AsksForWhatIsUnavailable, what_is_unavailable_is_never_asked_for="are unavailable")
lying(ReportsWhatIsUnavailable, what_is_unavailable_is_never_asked_for="reports that it acquires")
lying(ForgetsThatValuesAreKnown, what_is_unavailable_is_never_asked_for="although all values are known")
lying(ChargesTooLittleUnderACap, a_capped_report_is_what_is_fetched="reported against charged")
lying(PredictsWithoutTheCap, a_capped_report_is_what_is_fetched="predict and the report differ")
lying(CutsTooEarly, a_cap_beyond_reach_changes_nothing="are cut by a cap that all can pay")
lying(CutsTooEarlyStepByStep, a_cap_beyond_reach_changes_nothing="equal to its cost")
