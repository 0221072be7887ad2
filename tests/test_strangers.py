"""A stranger's predictor gets prices, labels and answers under limits by the interface, as the built-in ones do."""

import attrs
import numpy as np
import pytest

import costframe as cf
from costframe import Predictor, SteppedPredictor
from costframe.plugin import Card, CostAwareClassifier

NAMES = ("age", "blood")
COSTS = cf.CostModel.of({"age": 1.0, "blood": 5.0}, NAMES)


def ask():
    """Look at the blood of the old only."""
    age = (yield ["age"])["age"]
    return 0.2 if age < 50 else 0.5 + 0.4 * (yield ["blood"])["blood"]


@attrs.frozen(eq=False)
class OwnPredictor(Predictor):
    """A class of a stranger that knows no prices and no labels."""

    inner: SteppedPredictor

    card = Card(NAMES)

    def begin(self, terms):
        return self.inner.begin(terms)


class Asking(CostAwareClassifier):
    """A stranger's estimator."""

    def __init__(self, costs=None, tradeoff=1.0, own=False):
        self.costs, self.tradeoff, self.own = costs, tradeoff, own

    def _train(self, data):
        names = tuple(data.costs.names)
        return OwnPredictor(SteppedPredictor(names, ask, fallback=0.6)) if self.own else SteppedPredictor(names, ask)


X = np.array([[30.0, 0.0], [60.0, 1.0], [70.0, 0.0], [40.0, 1.0]])
Y = np.array(["well", "ill", "well", "well"])


@pytest.fixture(params=[False, True], ids=["stepped", "own class"])
def model(request):
    return Asking(COSTS, own=request.param).fit(X, Y)


def test_prices_and_labels_are_given(model):
    assert model.predictor_.costs == COSTS
    assert model.predictor_.classes.tolist() == ["ill", "well"]
    assert model.predict(X).tolist() == ["ill", "well", "ill", "ill"]
    assert model.cost(X).per_row.tolist() == [1.0, 6.0, 6.0, 1.0]


def test_rows_that_limits_cut_get_the_fallback_and_pay_no_more_than_their_cap(model):
    cut = 0.6 if model.own else np.mean([0.2, 0.9, 0.5, 0.2])
    assert model.predictor_.predict(X, max_cost=1.0) == pytest.approx([0.2, cut, cut, 0.2])
    assert model.predictor_.predict(X, unavailable=["blood"]) == pytest.approx([0.2, cut, cut, 0.2])
    assert model.cost(X, max_cost=3.0).per_row.tolist() == [1.0, 1.0, 1.0, 1.0]
    inquiry = model.predictor_.inquire(max_cost=3.0)
    inquiry.supply({"age": 60.0})
    assert (inquiry.answer.value, inquiry.answer.cost, inquiry.answer.reason) == (pytest.approx(cut), 1.0, "max_cost")


def test_scores_of_a_predictor_without_a_link_are_its_predictions_under_limits_too():
    predictor = Asking(COSTS, own=True).fit(X, Y).predictor_
    assert predictor.decision_function(X).tolist() == predictor.predict(X).tolist()
    assert predictor.decision_function(X, max_cost=1.0).tolist() == predictor.predict(X, max_cost=1.0).tolist()
