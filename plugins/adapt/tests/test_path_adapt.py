"""Grids over tradeoffs and shares in one fit: what their points say, how they are chosen, and what they hold."""

import numpy as np
import pytest
from adapt_cases import EVERY_PRICE, FEATURES, LINEAR, QUICK, expensive, table
from score_cases import score_named
from sklearn.linear_model import LogisticRegression

from costframe import CostframeError
from costframe_adapt import AdaptClassifier

pytestmark = pytest.mark.usefixtures("few_rounds")

TRADEOFFS, SHARES = (1e-4, 1e-3, 4e-3, 0.05), (0.0, 0.3, None)
X, Y = table(1, 300)
X_VAL, Y_VAL = table(2, 200)
WEIGHT = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 200)
VALID = {"X_val": X_VAL, "y_val": Y_VAL}
MODEL, PROBA = expensive("cegb")
GIVEN = VALID | {"sample_weight_val": WEIGHT, "expensive_proba": PROBA(X)}
SETTINGS = {"trees": QUICK, "linear": LINEAR, "stages": QUICK | {"n_stages": 2}}


@pytest.fixture(scope="module", params=SETTINGS)
def case(request):
    """The kind, an estimator, and its grid on validation rows of uneven weight."""
    costs = EVERY_PRICE if request.param == "trees" else FEATURES
    estimator = AdaptClassifier(costs, 2e-3, expensive=MODEL, **SETTINGS[request.param])
    few = slice(1, 3) if request.param == "stages" else slice(None)
    grid = {"tradeoffs": TRADEOFFS[few], "full_shares": SHARES[few], "scoring": "roc_auc"}
    return request.param, estimator, estimator.fit_path(X, Y, **GIVEN, **grid)


def measured(tree, costs=None):
    """Loss, cost and score of a predictor on the validation rows."""
    chance = tree.predict(X_VAL)
    lost = -np.log(np.clip(np.where(Y_VAL == 1, chance, 1 - chance), 1e-6, 1 - 1e-6))
    report = tree.cost(X_VAL, costs, sample_weight=WEIGHT)
    return np.average(lost, weights=WEIGHT), report.mean, score_named("roc_auc")(Y_VAL, chance, WEIGHT, None)


def test_points_say_what_their_models_do_and_meet_their_share(case):
    kind, estimator, path = case
    assert len(path.points) > 5
    for point in path.points:
        tree = path.predictor(point)
        loss, cost, score = measured(tree)
        assert point.cost == pytest.approx(cost, rel=1e-9, abs=1e-9)
        assert point.loss == pytest.approx(loss, rel=1e-6)
        assert point.score == pytest.approx(score, abs=1e-9)
        if point.key is not None and kind != "stages":
            assert WEIGHT @ (tree.exits(X_VAL) >= 2) / WEIGHT.sum() <= point.key + 1e-9
    plain = path.predictor(path.plain())
    np.testing.assert_array_equal(plain.predict(X_VAL), estimator.expensive_predictor_.predict(X_VAL))


def test_nothing_on_the_frontier_is_dominated_and_nothing_kept_in_vain(case):
    _, _, path = case
    front = path.frontier()
    assert len(front) > 3
    assert (np.diff([point.cost for point in front]) > 0).all()
    assert (np.diff([point.score for point in front]) > 0).all()
    for point in path.points:
        dominated = [
            any(o.cost <= point.cost and v(o) >= v(point) and (o.cost, v(o)) != (point.cost, v(point)) for o in others)
            for others in (path.points,)
            for v in (lambda p: p.score, lambda p: -p.loss)
        ]
        assert point is path.plain() or not all(dominated)


def test_the_estimator_becomes_the_best_at_its_own_tradeoff_no_worse_than_a_single_fit(case):
    kind, estimator, path = case
    best = min(point.loss + 2e-3 * point.cost for point in path.points)
    loss, cost, _ = measured(estimator.predictor_)
    assert loss + 2e-3 * cost == pytest.approx(best)
    single = AdaptClassifier(estimator.costs, 2e-3, expensive=MODEL, **SETTINGS[kind]).fit(X, Y, **GIVEN)
    loss, cost, _ = measured(single.predictor_)
    assert best <= 1.1 * (loss + 2e-3 * cost)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"tradeoffs": []}, "tradeoffs: expected at least one"),
        ({"tradeoffs": np.array(0.5)}, "tradeoffs: expected a list of numbers, got"),
        ({"full_shares": [1.5]}, "full_shares: expected a number"),
        ({"scoring": "speed"}, "scor"),
        ({"X_val": None, "y_val": None}, "X_val: a path needs validation data"),
    ],
    ids=str,
)
def test_what_is_no_grid_is_refused(asked, message):
    with pytest.raises(CostframeError, match=message):
        AdaptClassifier(FEATURES, expensive=LogisticRegression(), **QUICK).fit_path(X, Y, **VALID | asked)
