"""Soft-Cascade and AND-OR: the kit's laws, losses by hand, gradients, supports, and the expected cost."""

import numpy as np
import pytest
from attrs import evolve
from bank_cases import COSTS, EVERY_PRICE, NAMES, boosted, table
from scipy.optimize import check_grad, minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

import costframe as cf
from costframe.core.errors import CostframeError
from costframe.stagewise.estimator import BankTask
from costframe.stagewise.soft_tree import SoftTree, as_stage_tree
from costframe.testing import parametrize_algorithm
from costframe.training.data import Rows, TrainingData
from costframe_baselines.cascade_by_price import (
    CascadeObjective,
    PriceCascade,
    _descend,
    learner_prices,
    lose_at_worst_stage,
    lose_by_noisy_or,
    stage_bounds,
)
from costframe_baselines.cascades import AndOrClassifier, AndOrRanker, SoftCascadeClassifier, SoftCascadeRanker

CLASSIFIERS = (SoftCascadeClassifier, AndOrClassifier)
LOSSES = (lose_at_worst_stage, lose_by_noisy_or)


@parametrize_algorithm("soft-cascade")
def test_laws_of_soft_cascade(check):
    check()


@parametrize_algorithm("and-or")
def test_laws_of_and_or(check):
    check()


@parametrize_with_checks([SoftCascadeClassifier(n_estimators=10, n_stages=3)])  # the shell of two classes
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn(estimator, check):
    check(estimator)


def sigma(s):
    return 1 / (1 + np.exp(-s))


def test_losses_by_hand():
    """Stages accept with 1/2 and 3/4: the worst with 1/2, and some stage rejects with 5/8."""
    scores = np.array([[0.0, np.log(3.0)]])
    for lose, chance, slope in (
        (lose_at_worst_stage, 1 / 2, [-1 / 2, 0]),
        (lose_by_noisy_or, 5 / 8, [3 / 8 / (5 / 8) / 2, 3 / 8 / (5 / 8) / 4]),
    ):
        value, slopes = lose(scores)
        np.testing.assert_allclose(value, -np.log(chance), rtol=1e-12)
        np.testing.assert_allclose(slopes, [slope], rtol=1e-12)


@pytest.mark.parametrize("lose", LOSSES)
def test_slopes_are_finite_differences(lose):
    scores = 2 * np.random.default_rng(0).standard_normal((50, 4))
    for k in range(4):
        step = np.zeros(4)
        step[k] = 1e-6
        difference = (lose(scores + step)[0] - lose(scores - step)[0]) / 2e-6
        np.testing.assert_allclose(lose(scores)[1][:, k], difference, atol=1e-7)


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("size", [40.0, 800.0, 1e5, 1e300])
def test_losses_of_sure_stages_are_finite(lose, size):
    scores = size * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    for found in lose(scores):
        assert np.isfinite(found).all()


def evaluated(costs=COSTS, acquisition="learner", n=200, n_trees=12, tradeoff=1e-2):
    X, y = table(1, n)
    rows = Rows(X, y, np.random.default_rng(1).uniform(0.5, 2, n))
    data = TrainingData(rows, None, costs, costs.select(NAMES), 2)
    bank = boosted(60, 800).restrict(np.arange(n_trees))
    return BankTask(data, bank, tradeoff, False, acquisition).on(rows), bank, rows


def drawn_tree(at, n_stages=3, seed=0):
    """A chain whose later stages use more learners, and dearer ones."""
    rng = np.random.default_rng(seed)
    n_outputs = at.rows.outputs.shape[1]
    weights = 3 * rng.standard_normal((n_stages, n_outputs))
    rank = np.argsort(np.argsort(learner_prices(at.pricing), kind="stable"))
    weights[rank >= n_outputs * np.arange(1, n_stages + 1)[:, np.newaxis] / n_stages] = 0
    return SoftTree.chain(weights, rng.standard_normal(n_stages), np.zeros(n_stages - 1))


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_the_gradient_is_a_finite_difference(acquisition):
    at, _, _ = evaluated(EVERY_PRICE, acquisition)
    tree = drawn_tree(at)
    objective = CascadeObjective(at.rows, at.costs(tree), 0.05)
    n_weights = tree.weights.size

    def moved(x):
        intercept = x[n_weights:].reshape(tree.intercept.shape)
        return evolve(tree, weights=x[:n_weights].reshape(tree.weights.shape), intercept=intercept)

    def slope(x):
        found = objective.gradient(moved(x))[2]
        return np.concatenate([found.weights.ravel(), found.intercept.ravel()])

    x = np.concatenate([tree.weights.ravel(), tree.intercept.ravel()])
    assert check_grad(lambda x: objective.total(moved(x)), slope, x, epsilon=1e-6) < 1e-4 * np.linalg.norm(slope(x))


def test_the_objective_by_hand():
    """Probabilities to accept, the least of them, and the cost of the stages that a row reaches, row by row."""
    at, _, rows = evaluated(acquisition="path")
    tree = drawn_tree(at)
    costs = at.costs(tree)
    loss, cost, _ = CascadeObjective(at.rows, costs, 0.1).gradient(tree)
    share = rows.weight / rows.weight.sum()
    expected = {"loss": 0.0, "cost": 0.0}
    for w, y, s, price in zip(share, rows.y, tree.scores(at.rows)[:, :, 0], costs, strict=True):
        accept = sigma(s)
        expected["loss"] -= w * np.log(accept.min() if y else 1 - accept.prod())
        expected["cost"] += w * (price[0] + accept[0] * (price[1] + accept[1] * price[2]))
    assert loss == pytest.approx(expected["loss"], rel=1e-9)
    assert cost == pytest.approx(expected["cost"], rel=1e-9)


def test_the_expected_cost_is_that_of_soft_routing():
    at, bank, rows = evaluated()
    tree = drawn_tree(at)
    predictor = as_stage_tree(bank, tree, "sigmoid", 1.0)
    report = cf.ExpectedCost(COSTS, routing="soft", acquisition="learner").evaluate(
        predictor, rows.X, sample_weight=rows.weight
    )
    cost = CascadeObjective(at.rows, at.costs(tree), 0.1).gradient(tree)[1]
    assert report.mean == pytest.approx(cost, rel=1e-9)
    assert at.costs(tree).sum(axis=1).mean() > cost + 1


def test_prices_of_learners_are_those_of_their_dearest_feature():
    at, bank, _ = evaluated()
    for learner, price in enumerate(learner_prices(at.pricing)):
        names = [NAMES[f] for f in bank.F.tocsc()[:, [learner]].indices]
        assert price == (22.0 if set(names) & set("efgh") else 1.0)


def test_bounds_are_distinct_prices_evenly_by_rank():
    prices = np.array([7.0, 1.0, 1.0, 5.0, 1.0, 2.0, 3.0, 4.0])
    assert stage_bounds(prices, 1) == (7.0,)
    assert stage_bounds(prices, 2) == (3.0, 7.0)
    assert stage_bounds(prices, 6) == stage_bounds(prices, 50) == (1.0, 2.0, 3.0, 4.0, 5.0, 7.0)


SCALE = cf.CostModel.from_dict(
    {"features": dict(zip(NAMES, [1.0, 1.0, 1.0, 5.0, 20.0, 20.0, 40.0, 40.0], strict=True))}
)


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("bank", ["columns", "trees"])
def test_stages_read_features_within_their_bounds(make, bank):
    X, y = table(1, 1500)
    given = boosted(60, 800) if bank == "trees" else bank
    for bounds in ((1, 5, 20), (1, 20, 40)):
        model = make(SCALE, 1e-4, bank=given, bounds=bounds).fit(X, y)
        prices = dict(zip(NAMES, SCALE.select(NAMES).cost, strict=True))
        routes = [stage for stage in model.predictor_.stages if isinstance(stage, cf.plugin.Route)]
        assert routes
        reads = model.predictor_.bank.F.tocsc()
        dearest = [
            max(prices[NAMES[f]] for f in reads[:, stage.learners].tocoo().row)
            for stage in (*routes, model.predictor_.stages[-1])
        ]
        assert (np.diff(dearest) >= 0).all()
        assert len(set(dearest)) > 1
        assert set(dearest) <= set(bounds)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_one_stage_is_a_ridge_of_the_logistic_loss(make):
    """Equal prices make one stage, a logistic regression, which SciPy also finds."""
    X, y = table(1, 600)
    model = make(None, 0.0, bank="columns", ridge=1e-4).fit(X, y, X_val=X, y_val=y)
    (answer,) = model.predictor_.stages
    penalty = 1e-4 * np.median(X.var(axis=0))

    def total(x):
        s = X @ x[:-1] + x[-1]
        return np.logaddexp(0, np.where(y, -s, s)).mean() + 0.5 * penalty * (x[:-1] @ x[:-1])

    twin = minimize(total, np.zeros(9), tol=1e-10).x
    found = answer.weights[:, 0]
    np.testing.assert_allclose(found / np.linalg.norm(found), twin[:-1] / np.linalg.norm(twin[:-1]), atol=2e-3)


def test_the_expected_cost_falls_with_the_tradeoff():
    """In training, with the same stages: Soft-Cascade weighs it against the loss; AND-OR does not count it."""
    found = {}
    for soft in (True, False):
        found[soft] = []
        for tradeoff in (0.0, 1e-3, 1e-2, 1e-1):
            at, _, _ = evaluated(n=800, n_trees=40, tradeoff=tradeoff)
            prices = learner_prices(at.pricing)
            supports = prices <= np.array(stage_bounds(prices, 5))[:, np.newaxis]
            tree = _descend(at, at, supports, PriceCascade(soft, 1e-2, 5))
            full = evolve(tree, weights=supports[:, :, np.newaxis].astype(float))
            found[soft].append(CascadeObjective(at.rows, at.costs(full), 0.0).gradient(tree)[1])
    assert (np.diff(found[True]) < 0).all()
    assert found[True][-1] < 0.7 * found[True][0]
    assert len(set(found[False])) == 1


@pytest.mark.parametrize("make", [SoftCascadeRanker, AndOrRanker])
def test_rankers_put_relevant_rows_first(make):
    X, y = table(1, 1500)
    fresh, truth = table(2, 1000)
    bank, qid = boosted(60, 800), np.arange(1500) // 15
    model = make(COSTS, 1e-3, bank=bank).fit(X, 4.0 * y + np.arange(1500) % 3, qid=qid)
    binary = make(COSTS, 1e-3, bank=bank).fit(X, y, qid=qid)
    constant = make(COSTS, bank=bank).fit(X, np.zeros(1500))
    assert len(set(constant.predict(fresh))) == 1
    for one in (model, binary):
        assert one.score(fresh, truth, np.arange(1000) // 10) > 0.2 + constant.score(
            fresh, truth, np.arange(1000) // 10
        )
    same = make(COSTS, 1e-3, bank=bank, relevant=4).fit(X, 4.0 * y + np.arange(1500) % 3, qid=qid)
    np.testing.assert_array_equal(model.predict(fresh), same.predict(fresh))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bounds": (1, 5), "n_stages": 2}, "n_stages: has no effect"),
        ({"bounds": ()}, "bounds: expected ascending"),
        ({"bounds": (5, 1)}, "bounds: expected ascending"),
        ({"bounds": 3}, "bounds: expected ascending"),
        ({"bounds": ["a"]}, "bounds: expected"),
        ({"bounds": [0.5]}, r"bounds: .*cheapest learner.* 1, got 0.5"),
        ({"n_stages": 0}, "n_stages: expected"),
        ({"ridge": 0.0}, "ridge: expected"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, words):
    X, y = table(0, 200)
    for make in CLASSIFIERS:
        with pytest.raises(CostframeError, match=words):
            make(COSTS, bank="columns", **settings).fit(X, y)
