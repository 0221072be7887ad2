"""Trained cascades: what is measured is what the evaluator finds and what is fetched, and optimizing never hurts."""

import naive_cronus
import numpy as np
import pytest
from attrs import evolve
from cronus_cases import COSTS, NAMES, boosted, evaluation_of, table
from sklearn.ensemble import RandomForestRegressor

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.stagewise import estimator
from costframe.stagewise.banks import ensemble_weights
from costframe.stagewise.calibration import calibrate_at_exits
from costframe.stagewise.relaxed import RelaxedCost
from costframe.stagewise.topology import Flow
from costframe.training.data import Rows, TrainingData
from costframe_cronus import ReweightedClassifier
from costframe_cronus import cronus as training
from costframe_cronus.cronus import CascadeSettings, as_cascade

RECIPES = ("start", "default", "paper")


def train(bank, recipe, *, costs=COSTS, own=None, seed=1, n=400, classes=True, **more):
    """Train on rows with others to choose by; return the tree, the steps, and the chain that the tree was made of."""
    chosen = CascadeSettings(**{"tradeoff": 2e-3, "n_stages": 4, "rejected": 0.3} | more)
    parts = []
    for number in (seed, seed + 50):
        X, y = table(number, n)
        parts.append(Rows(X, y if classes else 2.0 * y - 1, np.random.default_rng(number).uniform(0.5, 2, n)))
    data = TrainingData(parts[0], parts[1], costs, costs.select(NAMES), 2 if classes else 0)
    chains = []
    with pytest.MonkeyPatch.context() as patch:
        make, printed = training.as_stage_tree, recipe == "paper"
        for module in (training, estimator):
            patch.setattr(
                module, "as_stage_tree", lambda bank, chain, *rest: chains.append(chain) or make(bank, chain, *rest)
            )
        task = estimator.BankTask(data, bank, chosen.tradeoff, printed, "learner" if printed else "path")
        tree = training.train_cronus(task, parts[1], own, chosen, (), [], optimize=recipe != "start")
    return tree, chains[-1], parts


@pytest.fixture(scope="module")
def bank():
    return boosted(40, 800)


@pytest.fixture(scope="module", params=RECIPES)
def case(request, bank):
    return (request.param, *train(bank, request.param))


def test_the_cases_have_stages_to_speak_of(case):
    recipe, tree, chain, _ = case
    routes = int(chain.topology.routes.sum())
    assert routes >= 1
    assert np.isfinite(chain.threshold).all()
    assert len(tree.stages) == 2 * routes + 1
    assert (len(chain) == len(tree.stages)) == (recipe == "paper")  # whose rejections are leaves


def test_soft_cost_by_learners_is_the_01_form(case, bank):
    recipe, tree, chain, (rows, _) = case
    if recipe == "paper":
        return  # rejections are leaves there
    costs = evolve(COSTS, learner=0.3)
    report = cf.ExpectedCost(costs, routing="soft", acquisition="learner").evaluate(
        tree, rows.X, sample_weight=rows.weight
    )
    scores = bank.outputs(rows.X) @ chain.weights[:, :, 0].T + chain.intercept[:, 0]
    d = rows.weight @ Flow.of(chain.topology, scores, chain.threshold, 50.0).passes / rows.weight.sum()
    groups = PricedGroups.of_bank(bank, costs.select(NAMES))
    charged = RelaxedCost.chain(groups, len(chain.weights)).exact_cost(chain.weights, d)
    assert report.mean == pytest.approx(charged, rel=1e-9)
    assert charged > 0.5


def judged(bank, rows, costs=COSTS, **more):
    return evaluation_of(bank, rows.X, rows.y, costs, weight=rows.weight, **more)


def test_of_targets_the_loss_is_that_of_the_scores_at_the_exits(bank):
    tree, chain, (_, rows) = train(bank, "start", classes=False)
    values = tree.predict(rows.X)
    level = np.round(values)
    half = values - level
    scores = 2 * half / (1 - 2 * np.abs(half))
    emphasis = np.where(rows.y > 0, 3.5, 1.0)
    expected = 0.5 * np.average((rows.y - scores) ** 2, weights=rows.weight * emphasis)
    assert judged(bank, rows, classes=False).measure(chain).loss == pytest.approx(expected, rel=1e-9)
    assert len(chain) >= 2


@pytest.mark.parametrize("tradeoff", [0.0, 3e-4, 3e-3, 3e-2])
@pytest.mark.parametrize(("seed", "classes"), [(1, True), (2, True), (1, False)])
def test_optimizing_is_never_surely_worse_than_its_start_on_the_rows_it_chooses_by(bank, tradeoff, seed, classes):
    totals = []
    for optimize, own in (("start", None), ("default", None), ("default", np.ones(40))):
        _, chain, (_, rows) = train(bank, optimize, seed=seed, own=own, tradeoff=tradeoff, classes=classes)
        judge = judged(bank, rows, classes=classes, tradeoff=tradeoff)
        totals.append(judge.row_totals(chain))
    for total in totals[1:]:
        assert (total - totals[0]).sum() <= 2 * judge.error(total - totals[0])


def test_optimizing_helps(bank):
    totals = {"start": [], "default": []}
    for tradeoff in (3e-4, 3e-3, 3e-2):
        for optimize, found in totals.items():
            _, chain, (_, rows) = train(bank, optimize, tradeoff=tradeoff)
            found.append(judged(bank, rows, tradeoff=tradeoff).total(chain))
    assert sum(totals["default"]) < 0.999 * sum(totals["start"])


def test_what_only_worsens_is_not_taken(bank, monkeypatch):
    """Were the optimizer no good at all, its start would be left as it is."""
    start = train(bank, "start")[1]
    worse = evolve(start, weights=0 * start.weights)
    monkeypatch.setattr(training, "_candidates", lambda *_: [(worse, False), (worse, True), (start, False)])
    found = train(bank, "default")[1]
    np.testing.assert_array_equal(found.weights, start.weights)
    np.testing.assert_array_equal(found.threshold, start.threshold)


def test_answers_are_calibrated_among_those_who_leave_there(case, bank):
    """The chances of a stage's answers are right on average, among rows weighted by their probability to exit.

    Where these are few, what is right for all exits draws them.
    """
    recipe, _, chain, (_, rows) = case
    if recipe == "paper":
        return  # its answers are not fitted once more
    judge = judged(bank, rows)
    scores = chain.scores(judge.rows)[:, :, 0]
    exits = np.diff(
        1 - np.hstack([naive_cronus.passes(scores, chain.threshold[:-1], 50.0), np.zeros((len(scores), 1))])
    )
    for k, (slope, constant) in enumerate(calibrate_at_exits(judge, chain, 50.0).calibration):
        w = rows.weight * exits[:, k]
        told = (rows.y * w.sum() + 0.5) / (w.sum() + 1)
        chances = 1 / (1 + np.exp(-(slope * scores[:, k] + constant)))
        assert np.average(chances, weights=w) == pytest.approx(np.average(told, weights=w), abs=5 / (w.sum() + 1))
        assert slope >= 0


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_a_model_in_its_own_order_buys_more_and_more_and_ends_as_itself(bank, acquisition):
    X, y = table(5, 600)
    model = ReweightedClassifier(COSTS, 1e-3, bank=bank).fit(X, y)
    own = ensemble_weights(model, model.bank_)
    judge = evaluation_of(model.bank_, X, y, acquisition=acquisition)
    prices = judge.pricing.at(judge.rows.share)
    chain = as_cascade(judge.rows, own, prices, 4)
    used = chain.used
    assert 2 <= len(used) <= 4
    assert (chain.threshold[:-1] == -np.inf).all()
    ends = used.sum(axis=1)
    assert (np.diff(ends) > 0).all()
    spent = np.array([prices.cost(np.arange(len(own)) <= c) for c in range(len(own))])
    spent += spent[-1] * 1e-3 * np.arange(1, len(own) + 1) / len(own)
    expected = {next(c for c, one in enumerate(spent) if one >= spent[-1] * k / 4 * (1 - 1e-12)) for k in (1, 2, 3, 4)}
    assert {end - 1 for end in ends} <= expected
    assert len(ends) >= len(expected) - 1
    for one, end in zip(used, ends, strict=True):
        assert one[:end].all()
    costs = [prices.cost(one) for one in used]
    assert (np.diff(costs) > 0).all()
    assert ends[-1] == len(own)
    last = chain.scores(judge.rows)[:, -1, 0]
    slope, constant = np.polyfit(model.decision_function(X), last, 1)
    assert slope > 0
    np.testing.assert_allclose(last, slope * model.decision_function(X) + constant, atol=1e-9)
    fitted = np.average((judge.rows.target - chain.scores(judge.rows)[:, 0])[:, 0], weights=judge.rows.loss_weight)
    assert fitted == pytest.approx(0, abs=1e-9)


def test_ensemble_weights_are_those_of_the_model(bank):
    X, y = table(5, 300)
    model = ReweightedClassifier(COSTS, 1e-3, bank=bank).fit(X, y)
    scores = model.bank_.outputs(X) @ ensemble_weights(model, model.bank_) + model.predictor_.stages[0].intercept
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9)
    np.testing.assert_array_equal(ensemble_weights(None, bank), np.ones(40))
    assert ensemble_weights("columns", cf.WeakLearnerBank.columns(NAMES)) is None
    assert ensemble_weights(None, cf.WeakLearnerBank.columns(NAMES, [])) is None
    tree, _, _ = train(bank, "start")
    assert ensemble_weights(tree, tree.bank) is None


def test_ensemble_weights_of_a_forest_are_those_of_its_mean():
    X = np.random.default_rng(0).normal(size=(60, 3))
    forest = cf.adopt(RandomForestRegressor(4, max_depth=2, random_state=0).fit(X, X[:, 0]))
    np.testing.assert_allclose(forest.bank.outputs(X) @ ensemble_weights(forest, forest.bank), forest.predict(X))
