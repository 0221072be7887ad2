"""Grids over tradeoffs and shares in one fit: what their points say, how they are chosen, and what they hold."""

import numpy as np
import pytest
from adapt_cases import EVERY_PRICE, FEATURES, NAMES, table, three_classes
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import costframe as cf
from costframe.core.errors import CostframeError
from costframe.training.scoring import score_named
from costframe_adapt import AdaptClassifier

pytestmark = pytest.mark.usefixtures("few_rounds")

QUICK = {"n_estimators": 10}
LINEAR = {"variant": "lin"}
TRADEOFFS = (1e-4, 1e-3, 4e-3, 0.05)
SHARES = (0.0, 0.3, None)
X, Y = table(1, 350)
X_VAL, Y_VAL = table(2, 250)
WEIGHT = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 250)


def forest(table=table):
    return RandomForestClassifier(10, max_depth=7, min_samples_leaf=3, random_state=0).fit(*table(99, 1500))


def swept(costs=FEATURES, **settings):
    """Fit a grid on validation rows of uneven weight, and note what is told."""
    told, model = [], forest()
    estimator = AdaptClassifier(costs, 2e-3, expensive=model, **settings)
    path = estimator.fit_path(
        X, Y, X_val=X_VAL, y_val=Y_VAL, sample_weight_val=WEIGHT, expensive_proba=model.predict_proba(X),
        tradeoffs=TRADEOFFS, full_shares=SHARES, scoring="roc_auc", progress=told.append,
    )  # fmt: skip
    return estimator, path, told


@pytest.fixture(scope="module", params=["trees", "linear", "stages"])
def case(request):
    settings = {
        "trees": QUICK,
        "linear": LINEAR,
        "stages": QUICK | {"n_stages": 2},
    }[request.param]
    return request.param, *swept(EVERY_PRICE if request.param == "trees" else FEATURES, **settings)


def measured(tree, costs=None):
    """Loss, cost and score of a predictor on the validation rows."""
    chance = tree.predict(X_VAL)
    lost = -np.log(np.clip(np.where(Y_VAL == 1, chance, 1 - chance), 1e-6, 1 - 1e-6))
    report = tree.cost(X_VAL, costs, sample_weight=WEIGHT)
    return np.average(lost, weights=WEIGHT), report.mean, score_named("roc_auc")(Y_VAL, chance, WEIGHT, None)


def test_points_say_what_their_models_do(case):
    _, _, path, _ = case
    assert len(path.points) > 5
    for point in path.points:
        loss, cost, score = measured(path.predictor(point))
        assert point.cost == pytest.approx(cost, rel=1e-9, abs=1e-9)
        assert point.loss == pytest.approx(loss, rel=1e-6)
        assert point.score == pytest.approx(score, abs=1e-9)


def test_nothing_on_the_frontier_is_dominated_and_nothing_kept_in_vain(case):
    _, _, path, _ = case
    front = path.frontier()
    costs, scores = [point.cost for point in front], [point.score for point in front]
    assert costs == sorted(costs)
    assert (np.diff(scores) > 0).all()
    assert len(front) > 3
    for point in path.points:
        dominated = [
            any(
                other.cost <= point.cost
                and value(other) >= value(point)
                and (other.cost, value(other)) != (point.cost, value(point))
                for other in path.points
            )
            for value in (lambda p: p.score, lambda p: -p.loss)
        ]
        assert point is path.plain() or not all(dominated)


def test_the_expensive_model_alone_is_the_plain_one(case):
    _, estimator, path, _ = case
    plain = path.plain()
    tree = path.predictor(plain)
    np.testing.assert_array_equal(tree.predict(X_VAL), estimator.expensive_predictor_.predict(X_VAL))
    assert plain.tradeoff == 0
    assert plain.n_rounds == 0


def test_points_are_of_the_grid_and_meet_their_share(case):
    kind, _, path, _ = case
    assert {point.tradeoff for point in path.points} <= {0.0, *TRADEOFFS} or kind != "linear"
    assert {point.full_share for point in path.points} <= {None, *SHARES}
    share = WEIGHT / WEIGHT.sum()
    for point in path.points:
        tree = path.predictor(point)
        if point.full_share is not None:
            routed = len(tree.stages) > 1
            goes = tree.exits(X_VAL) >= 2
            assert kind == "stages" or share @ goes <= point.full_share + 1e-9
            assert point.full_share > 0 or not routed


def test_the_estimator_becomes_the_best_at_its_own_tradeoff(case):
    _, estimator, path, _ = case
    best = min(point.loss + 2e-3 * point.cost for point in path.points)
    loss, cost, _ = measured(estimator.predictor_)
    assert loss + 2e-3 * cost == pytest.approx(best)
    assert estimator.predict(X_VAL).shape == (250,)
    assert estimator.cost(X_VAL).mean > 0
    assert estimator.classes_.tolist() == [0, 1]


def test_a_grid_is_no_worse_than_single_fits():
    """As what is looked at on the way counts too; judged on the rows that both chose by."""
    estimator, path, _ = swept(**QUICK)
    model = forest()
    for tradeoff in TRADEOFFS[1:3]:
        single = AdaptClassifier(FEATURES, tradeoff, expensive=model, **QUICK)
        single.fit(
            X, Y, X_val=X_VAL, y_val=Y_VAL, sample_weight_val=WEIGHT, expensive_proba=model.predict_proba(X)
        )  # fmt: skip
        loss, cost, _ = measured(single.predictor_)
        best = path.at(tradeoff)
        assert best.loss + tradeoff * best.cost <= 1.1 * (loss + tradeoff * cost)
    assert estimator.expensive_ is not None


def test_the_usual_grid_reaches_from_nothing_to_everything():
    model = forest()
    estimator = AdaptClassifier(FEATURES, expensive=model, **QUICK)
    path = estimator.fit_path(X, Y, X_val=X_VAL, y_val=Y_VAL, expensive_proba=model.predict_proba(X))
    assert min(point.cost for point in path.points) == 0
    assert max(point.cost for point in path.points) > 0.8 * path.plain().cost
    assert len({point.tradeoff for point in path.points}) > 4
    free = AdaptClassifier({"features": dict.fromkeys(NAMES, 0.0)}, expensive=LogisticRegression(), **QUICK)
    assert {p.cost for p in free.fit_path(X, Y, X_val=X_VAL, y_val=Y_VAL).points} == {0.0}


def test_three_classes_on_a_path():
    rows, y = three_classes(1, 300)
    valid, y_valid = three_classes(2, 200)
    estimator = AdaptClassifier(FEATURES, expensive=LogisticRegression(), **QUICK)
    path = estimator.fit_path(rows, y, X_val=valid, y_val=y_valid, tradeoffs=[1e-3, 1e-2], scoring="accuracy")
    for point in path.points:
        tree = path.predictor(point)
        assert point.score == pytest.approx((tree.predict(valid).argmax(axis=1) == y_valid).mean())
        assert point.cost == pytest.approx(tree.cost(valid).mean)


def test_frontiers_sweep_a_grid():
    """On the embedded table, in one fit."""
    data = cf.datasets.load("breast-cancer")
    frontier = cf.Frontier.sweep(data, algorithms=["adapt"], parameters=QUICK, points=8, folds=0)
    assert 2 < len(frontier.points) <= 9
    assert frontier.points[0].tradeoff == 0
    valid = data.part("valid")
    for point in frontier.points:
        model = frontier.model(point)
        assert model.cost(valid.X).mean == pytest.approx(point.cost, rel=1e-9)
    best = frontier.best()
    assert best.score > 0.96
    assert min(point.cost for point in frontier.points) < 0.3 * frontier.points[0].cost


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"tradeoffs": []}, "tradeoffs: expected at least one"),
        ({"tradeoffs": [-1.0]}, "tradeoffs: expected a number"),
        ({"tradeoffs": ["x"]}, "tradeoffs: expected a number"),
        ({"full_shares": []}, "full_shares: expected at least one"),
        ({"full_shares": [1.5]}, "full_shares: expected a number"),
        ({"scoring": "speed"}, "scor"),
        ({"X_val": None, "y_val": None}, "X_val: a path needs validation data"),
    ],
    ids=str,
)
def test_what_is_no_grid_is_refused(asked, message):
    with pytest.raises(CostframeError, match=message):
        AdaptClassifier(FEATURES, expensive=LogisticRegression(), **QUICK).fit_path(
            X, Y, **{"X_val": X_VAL, "y_val": Y_VAL} | asked
        )
