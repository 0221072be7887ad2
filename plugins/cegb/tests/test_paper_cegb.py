"""recipe="paper" trains what the paper prints: examples worked out by hand."""

import numpy as np
import pytest

from costframe.plugin import ParameterError
from costframe_cegb import CEGBClassifier, CEGBRanker, CEGBRegressor

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
Y = np.array([0.0, 0.0, 4.0, 8.0])


def costs(first=1.0):
    """alpha 0.1, beta 0.2 for x1, gamma 2 for x0."""
    return {"features": {"x0": {"cost": first, "once": 2.0}, "x1": 0.2}, "split": 0.1}


def paper(prices, tradeoff=1.0, **settings):
    return CEGBRegressor(prices, tradeoff, recipe="paper", **settings).fit(X, Y)


def features_of(model):
    return [int(f) for f in model.bank_.trees.feature if f >= 0]


def equations(first, tradeoff, rounds):
    """Stumps by eq. (12) and (13) from T = 0, and what is paid: per row, and once."""
    T, C, D, chosen, paid = np.zeros(4), np.zeros((4, 2), bool), np.zeros(2, bool), [], 0.0
    for _ in range(rounds):
        g, gains = T - Y, []
        for f, (beta, gamma) in enumerate([(first, 2.0), (0.2, 0.0)]):
            sides = [g[X[:, f] == side].sum() ** 2 / 2 for side in (0, 1)]
            price = (0.1 + beta * ~C[:, f]).sum() + gamma * ~D[f]
            gains.append(0.5 * (sum(sides) - g.sum() ** 2 / 4) - tradeoff * price)
        f = int(np.argmax(gains))
        if gains[f] <= 0:
            break
        paid += 4 * 0.1 + [first, 0.2][f] * (~C[:, f]).sum()
        C[:, f], D[f] = True, True
        T = T - np.where(X[:, f] == 1, g[X[:, f] == 1].mean(), g[X[:, f] == 0].mean())
        chosen.append(f)
    return chosen, T, paid / 4


def test_two_rounds_are_those_worked_out_by_hand():
    """Leaves 0 and 6, taken whole; the residuals 0, 0, -2, 2 gain 2 on x1, which pays 1.2; leaves -1 and 1."""
    model = paper(costs(), n_estimators=2, max_leaves=2)
    assert features_of(model) == [0, 1]
    assert model.predict(X).tolist() == [-1, 1, 5, 7]
    assert model.believed_cost_ == pytest.approx(1.4)
    assert model.believed_fixed_ == 2.0
    ranker = CEGBRanker(costs(), 1.0, recipe="paper", n_estimators=2, max_leaves=2)  # a regression of grades
    assert ranker.fit(X, Y, qid=[0, 0, 1, 1]).predict(X).tolist() == [-1, 1, 5, 7]


def test_the_best_leaf_is_split_next_and_only_its_rows_pay():
    """After x0, x1 gains 4 on the right for 0.6, and nothing on the left: rows 2 and 3 alone meet it."""
    model = paper(costs(), n_estimators=1, max_leaves=3)
    assert features_of(model) == [0, 1]
    assert model.predict(X).tolist() == Y.tolist()
    assert model.cost(X).per_row == pytest.approx([1.1, 1.1, 1.4, 1.4])
    assert model.believed_cost_ == pytest.approx(1.25)


@pytest.mark.parametrize("first", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("tradeoff", [0.0, 0.5, 1.0, 2.0])
def test_stumps_are_those_of_the_equations(first, tradeoff):
    for rounds in (1, 2, 5):
        chosen, scores, paid = equations(first, tradeoff, rounds)
        model = paper(costs(first), tradeoff, n_estimators=rounds, max_leaves=2)
        assert features_of(model) == chosen
        assert model.predict(X) == pytest.approx(scores, rel=1e-12, abs=1e-12)
        assert model.believed_cost_ == pytest.approx(paid)


def test_classes_start_at_even_odds_and_take_the_whole_newton_step():
    model = CEGBClassifier(None, 0.0, recipe="paper", n_estimators=1, max_leaves=2).fit(X, [0, 0, 0, 1])
    assert model.predictor_.stages[0].intercept.tolist() == [0.0]
    assert model.decision_function(X) == pytest.approx([-2.0, -2.0, 0.0, 0.0])  # -G/H = sum (y - 1/2) / sum 1/4


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"learning_rate": 0.1}, "learning_rate"),
        ({"monotone_constraints": [1, 0]}, "monotone_constraints"),
        ({"costs": {"features": {"x0": 1.0, "x1": 1.0}, "reuse": 0.1}}, "costs: .*'reuse'"),
        ({"costs": {"features": {"x0": {"cost": 1, "needs": ["r"]}, "x1": 1}, "resources": {"r": 1}}}, "resources"),
    ],
)
def test_what_the_paper_does_not_have_is_refused(settings, name):
    with pytest.raises(ParameterError, match=name):
        CEGBRegressor(**{"recipe": "paper", **settings}).fit(X, Y)
