"""recipe="paper" trains what the paper prints: examples worked out by hand."""

import numpy as np
import pytest

from costframe.plugin import ParameterError
from costframe_miser import MiserClassifier, MiserRegressor

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
Y = np.array([0.0, 0.0, 4.0, 6.0])
COSTS = {"features": {"x0": 3.0, "x1": 0.1}}


def stumps(tradeoff, rounds, eta=0.5):
    """(features split on, scores), from H = 0: each stump minimizes 1/2 sum (r - h)^2 + lambda n sum phi c F."""
    H, phi, chosen = np.zeros(4), np.ones(2), []
    for _ in range(rounds):
        r = Y - H
        fits = [np.where(x == 1, r[x == 1].mean(), r[x == 0].mean()) for x in X.T]
        impurity = [0.5 * ((r - h) ** 2).sum() for h in fits] + tradeoff * 4 * phi * [3.0, 0.1]
        if min(impurity) >= 0.5 * ((r - r.mean()) ** 2).sum():
            break  # the constant is as good
        f = int(np.argmin(impurity))
        H, phi[f] = H + eta * fits[f], 0
        chosen.append(f)
    return chosen, H


def paper(tradeoff, rounds, **settings):
    settings = {"max_depth": 1, "learning_rate": 0.5, "n_estimators": rounds, **settings}
    return MiserRegressor(COSTS, tradeoff, recipe="paper", **settings).fit(X, Y)


def features_of(model):
    return [int(f) for f in model.bank_.trees.feature if f >= 0]


def test_two_rounds_are_those_worked_out_by_hand():
    """From zero: leaves 0 and 5, half of which is taken; then, x0 being free, leaves 0 and 2.5."""
    model = paper(1.0, 2)
    assert features_of(model) == [0, 0]
    assert model.predict(X).tolist() == [0, 0, 3.75, 3.75]
    assert model.cost(X).mean == 3.0


@pytest.mark.parametrize("tradeoff", [0.0, 0.3, 1.0, 1.1, 1.3])
def test_stumps_are_those_of_the_equations(tradeoff):
    """x0 takes off 12.5 at a price of 12 lambda, x1 takes off 0.5 at one of 0.4 lambda."""
    for rounds in (1, 2, 6):
        chosen, scores = stumps(tradeoff, rounds)
        model = paper(tradeoff, rounds)
        assert features_of(model) == chosen
        assert model.predict(X) == pytest.approx(scores, rel=1e-12, abs=1e-12)


def test_a_feature_bought_by_a_node_is_free_for_those_after_it_in_the_tree():
    """Depth 2 at 1.3: with equal prices below, x1 splits both sides of x0 and is paid once."""
    y = np.array([0.0, 1.0, 10.0, 11.5])
    model = MiserRegressor({"features": {"x0": 1.0, "x1": 0.1}}, 1.0, recipe="paper", n_estimators=1, max_depth=2)
    model.fit(X, y)  # x1 takes off 0.25 and 0.5625 below, each less than its price 0.4 but the second
    assert features_of(model) == [0, 1]
    cheap = MiserRegressor({"features": {"x0": 1.0, "x1": 0.06}}, 1.0, recipe="paper", n_estimators=1, max_depth=2)
    assert features_of(cheap.fit(X, y)) == [0, 1, 1]  # 0.25 pays 0.24, and then 0.5625 pays nothing


def test_classes_start_at_even_odds():
    model = MiserClassifier(None, 0.0, recipe="paper", n_estimators=1, max_depth=1).fit(X, [0, 0, 0, 1])
    start = model.predictor_.stages[0].intercept
    assert start.tolist() == [0.0]
    assert model.decision_function(X) == pytest.approx([-0.05, -0.05, 0.0, 0.0])  # 0.1 times the mean of y - 1/2


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"min_samples_leaf": 5}, "min_samples_leaf"),
        ({"shrink_recurring": True}, "shrink_recurring"),
        ({"categorical_features": [0]}, "categorical_features"),
        ({"costs": {"features": {"x0": 1.0, "x1": 1.0}, "split": 0.1}}, "costs: .*'split'"),
        ({"recipe": "code"}, "recipe: expected None or 'paper'"),
    ],
)
def test_what_the_paper_does_not_have_is_refused(settings, name):
    with pytest.raises(ParameterError, match=name):
        MiserRegressor(**{"recipe": "paper", **settings}).fit(X, Y)
