"""Trained cascades: what is measured is what the evaluator finds and what is fetched, and optimizing never hurts."""

import naive_cronus
import naive_linear
import numpy as np
import pytest
from attrs import evolve
from cronus_cases import COSTS, EVERY_PRICE, NAMES, boosted, judge_of, plain_rows, table
from hypothesis import example, given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.stagewise.banks import own_weights
from costframe.stagewise.relaxed import RelaxedCost
from costframe.testing import CountingSource
from costframe.training.data import Rows, TrainingData
from costframe_cronus import ReweightedClassifier, cronus
from costframe_cronus.cascade import CascadeSettings
from costframe_cronus.chain import Chain
from costframe_cronus.flow import Flow
from costframe_cronus.own_order import in_own_order
from costframe_cronus.refit import dropped, refit

OPTIMIZATIONS = ("none", "cyclic", "full")


def train(bank, optimize, *, costs=COSTS, own=None, seed=1, n=400, classes=True, **more):
    """Train on rows with others to choose by; return the tree, the steps, and the chain that the tree was made of."""
    chosen = CascadeSettings(**{"tradeoff": 2e-3, "n_stages": 4, "rejected": 0.3} | more)
    parts = []
    for number in (seed, seed + 50):
        X, y = table(number, n)
        parts.append(Rows(X, y if classes else 2.0 * y - 1, np.random.default_rng(number).uniform(0.5, 2, n)))
    data = TrainingData(parts[0], parts[1], costs, costs.select(NAMES), 2 if classes else 0)
    chains = []
    with pytest.MonkeyPatch.context() as patch:
        make = cronus.as_stage_tree
        patch.setattr(
            cronus, "as_stage_tree", lambda bank, chain, *rest: chains.append(chain) or make(bank, chain, *rest)
        )
        trained = cronus.train_cronus(data, parts[1], bank, own, chosen, (), optimize, None)
    return trained, chains[-1], parts


@pytest.fixture(scope="module")
def bank():
    return boosted(40, 800)


@pytest.fixture(scope="module", params=OPTIMIZATIONS)
def case(request, bank):
    return (request.param, *train(bank, request.param))


def test_the_cases_have_stages_to_speak_of(case):
    _, trained, chain, _ = case
    assert len(chain.threshold) >= 1
    assert np.isfinite(chain.threshold).all()
    assert len(trained.tree.stages) == 2 * len(chain.weights) - 1


def test_soft_cost_by_learners_is_the_01_form(case, bank):
    _, trained, chain, (rows, _) = case
    costs = evolve(COSTS, learner=0.3)
    report = cf.ExpectedCost(costs, routing="soft", acquisition="learner").evaluate(
        trained.tree, rows.X, sample_weight=rows.weight
    )
    scores = bank.outputs(rows.X) @ chain.weights.T + chain.intercept
    d = rows.weight @ Flow.of(scores, chain.threshold, 50.0).passes / rows.weight.sum()
    groups = PricedGroups.of_bank(bank, costs.select(NAMES))
    charged = RelaxedCost.chain(groups, len(chain.weights)).charged(chain.weights, d)
    assert report.mean == pytest.approx(charged, rel=1e-9)
    assert charged > 0.5


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_hard_cost_is_what_is_fetched(case, acquisition):
    """Row by row, from a source that charges once for each feature and resource."""
    optimize, trained, _, (rows, _) = case
    report = cf.ExpectedCost(evolve(COSTS, learner=0.0), acquisition=acquisition).evaluate(trained.tree, rows.X[:60])
    for row, paid in zip(rows.X, report.per_row, strict=False):
        source = CountingSource(dict(zip(NAMES, row.tolist(), strict=True)), COSTS)
        inquiry = trained.tree.inquire(COSTS, acquisition)
        while inquiry.needs:
            inquiry.supply(source(inquiry.needs))
        assert source.charged == pytest.approx(paid, rel=1e-12)
    assert len(set(report.per_row)) > 1 or optimize == "cyclic"  # which may buy everything at once


def judged(bank, rows, costs=COSTS, **more):
    return judge_of(bank, rows.X, rows.y, costs, weight=rows.weight, **more)


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_the_judge_measures_cost_as_the_evaluator(case, bank, acquisition):
    """With prices of all kinds; what is paid once is spread over the rows."""
    _, trained, chain, (_, rows) = case
    measured = judged(bank, rows, EVERY_PRICE, acquisition=acquisition).measure(chain)
    report = cf.ExpectedCost(EVERY_PRICE, acquisition=acquisition).evaluate(
        trained.tree, rows.X, sample_weight=rows.weight
    )
    once = EVERY_PRICE.select(NAMES).once / rows.weight.sum()
    spread = float(rows.weight @ report.acquired @ once) / rows.weight.sum()
    assert measured.cost == pytest.approx(report.mean + spread, rel=1e-9)
    assert measured.total == pytest.approx(measured.loss + 2e-3 * measured.cost)
    assert spread > 0


def test_the_judge_measures_loss_as_the_answers_lose(case, bank):
    _, trained, chain, (_, rows) = case
    chances = trained.tree.predict(rows.X)
    chosen = np.where(rows.y == 1, chances, 1 - chances)
    expected = -float(np.average(np.log(chosen), weights=rows.weight))
    assert judged(bank, rows).measure(chain).loss == pytest.approx(expected, rel=1e-9)
    assert 0.05 < expected < 0.45


def test_of_targets_the_loss_is_that_of_the_scores_at_the_exits(bank):
    trained, chain, (_, rows) = train(bank, "none", classes=False)
    values = trained.tree.predict(rows.X)
    level = np.round(values)
    half = values - level
    scores = 2 * half / (1 - 2 * np.abs(half))
    emphasis = np.where(rows.y > 0, 3.5, 1.0)
    expected = 0.5 * np.average((rows.y - scores) ** 2, weights=rows.weight * emphasis)
    assert judged(bank, rows, classes=False).measure(chain).loss == pytest.approx(expected, rel=1e-9)
    assert len(chain.threshold) >= 1


def test_objectives_fall_at_every_accepted_step(case):
    optimize, trained, _, _ = case
    assert bool(trained.steps) == (optimize != "none")
    values = [step.objective for step in trained.steps]
    if optimize == "cyclic":
        assert (np.diff(values) < 0).all()
        assert {step.phase for step in trained.steps} == {"cyclic"}
    for step in trained.steps:
        assert np.isfinite([step.objective, step.loss, step.cost]).all()
        assert step.cost > 0


@pytest.mark.parametrize("tradeoff", [0.0, 3e-4, 3e-3, 3e-2])
@pytest.mark.parametrize(("seed", "classes"), [(1, True), (2, True), (1, False)])
def test_optimizing_is_never_worse_than_its_start_on_the_rows_it_chooses_by(bank, tradeoff, seed, classes):
    totals = []
    for optimize, own in (("none", None), ("full", None), ("full", np.ones(40))):
        _, chain, (_, rows) = train(bank, optimize, seed=seed, own=own, tradeoff=tradeoff, classes=classes)
        totals.append(judged(bank, rows, classes=classes, tradeoff=tradeoff).measure(chain).total)
    assert totals[1] <= totals[0]
    assert totals[2] <= totals[0]


def test_optimizing_helps(bank):
    totals = {"none": [], "full": []}
    for tradeoff in (3e-4, 3e-3, 3e-2):
        for optimize, found in totals.items():
            _, chain, (_, rows) = train(bank, optimize, tradeoff=tradeoff)
            found.append(judged(bank, rows, tradeoff=tradeoff).measure(chain).total)
    assert sum(totals["full"]) < 0.999 * sum(totals["none"])


def test_what_only_worsens_is_not_taken(bank, monkeypatch):
    """Were the optimizer no good at all, its start would be left as it is."""
    start = train(bank, "none")[1]
    worse = evolve(start, weights=0 * start.weights)
    monkeypatch.setattr(cronus, "_candidates", lambda *_: [(worse, False), (worse, True), (start, False)])
    found = train(bank, "full")[1]
    np.testing.assert_array_equal(found.weights, start.weights)
    np.testing.assert_array_equal(found.threshold, start.threshold)


def test_answers_are_calibrated_among_those_who_leave_there(case, bank):
    """The chances of a stage's answers are right on average, among rows weighted by their probability to exit.

    Where these are few, what is right for all exits draws them.
    """
    _, _, chain, (_, rows) = case
    judge = judged(bank, rows)
    scores = chain.scores(judge.rows)
    exits = np.diff(1 - np.hstack([naive_cronus.passes(scores, chain.threshold, 50.0), np.zeros((len(scores), 1))]))
    for k, (slope, constant) in enumerate(judge.links(chain)):
        w = rows.weight * exits[:, k]
        told = (rows.y * w.sum() + 0.5) / (w.sum() + 1)
        chances = 1 / (1 + np.exp(-(slope * scores[:, k] + constant)))
        assert np.average(chances, weights=w) == pytest.approx(np.average(told, weights=w), abs=5 / (w.sum() + 1))
        assert slope >= 0


def small_chain(seed, n=200):
    """Stages over columns, some weights too small to matter."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((n, 5))
    target = np.sign(H[:, 0] + H[:, 1] + 0.5 * rng.standard_normal(n))
    rows = plain_rows(H, target, rng.uniform(0.5, 2, n), np.where(target > 0, 3.5, 1.0))
    weights = np.where(rng.random((4, 5)) < 0.4, 1e-5, rng.standard_normal((4, 5)))
    return H, rows, Chain(weights, 0.2 * rng.standard_normal(4), 0.3 * rng.standard_normal(3))


@settings(max_examples=40)
@given(st.integers(0, 10_000))
@example(971)  # scores far from their thresholds
def test_refitted_stages_keep_what_matters_and_their_pass_rates(seed):
    H, rows, chain = small_chain(seed)
    found = refit(chain, rows, 1e-2, 50.0)
    deviation = np.sqrt(np.cov(H.T, aweights=rows.in_mean, ddof=0).diagonal())
    unit = np.sqrt(np.cov(rows.target, aweights=rows.in_mean, ddof=0))
    matters = np.where(np.abs(chain.weights) * deviation >= 1e-3 * unit, chain.weights, 0.0)
    np.testing.assert_array_equal(dropped(chain, rows), matters)
    before = rows.share @ naive_cronus.passes(chain.scores(rows), chain.threshold, 50.0)
    rates = before[1:] / before[:-1]
    end = next((k for k, rate in enumerate(rates) if rate < 1e-3), 3)
    kept = [k for k in range(end) if matters[k].any() and rates[k] < 1 - 1e-3]
    assert len(found.weights) == len(kept) + 1 == len(found.threshold) + 1
    passes = naive_cronus.passes(found.scores(rows), found.threshold, 50.0)
    after = rows.share @ passes
    np.testing.assert_allclose(after[1:] / after[:-1], rates[kept], rtol=1e-6)
    for place, k in enumerate([*kept, end]):
        used = np.flatnonzero(matters[k])
        w = rows.in_mean * passes[:, place]
        spread = np.cov(H.T, aweights=w, ddof=0).diagonal()[used]
        unit = 1e-2 * np.median(spread) if len(used) else 0.0
        twin = naive_linear.ridge_fit(H, rows.target[:, None], w, used, unit)[:, 0]
        np.testing.assert_allclose(found.weights[place], twin, rtol=1e-6, atol=1e-9)
        best = np.average(rows.target - H @ twin, weights=w)
        assert found.intercept[place] == pytest.approx(best, rel=1e-6, abs=1e-9)


def test_refitting_leaves_out_what_decides_nothing():
    _, rows, chain = small_chain(0)
    chain = evolve(chain, weights=np.ones((4, 5)))
    for threshold, left in [
        ((-50.0, 0.0, 50.0), [1, 2]),  # passes all; divides; passes none, and so is the last
        ((50.0, 0.0, 0.0), [0]),
        ((-50.0, -50.0, -50.0), [3]),
    ]:
        chain = evolve(chain, intercept=np.zeros(4), threshold=np.array(threshold))
        chain = evolve(chain, weights=np.eye(5)[:4] + 1e-9)
        found = refit(chain, rows, 1e-2, 50.0)
        assert [int(np.flatnonzero(one)[0]) for one in found.weights] == left
    nothing = refit(evolve(chain, weights=np.zeros((4, 5))), rows, 1e-2, 50.0)
    assert nothing.weights.shape == (1, 5)
    assert not nothing.weights.any()
    assert nothing.intercept[0] == pytest.approx(rows.in_mean @ rows.target)


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_a_model_in_its_own_order_buys_more_and_more_and_ends_as_itself(bank, acquisition):
    X, y = table(5, 600)
    model = ReweightedClassifier(COSTS, 1e-3, bank=bank).fit(X, y)
    own = own_weights(model, model.bank_)
    judge = judge_of(model.bank_, X, y, acquisition=acquisition)
    prices = judge.pricing.at(judge.rows.share)
    chain = in_own_order(judge.rows, own, prices, 4)
    used = chain.weights != 0
    assert 2 <= len(used) <= 4
    assert (chain.threshold == -np.inf).all()
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
    last = chain.scores(judge.rows)[:, -1]
    slope, constant = np.polyfit(model.decision_function(X), last, 1)
    assert slope > 0
    np.testing.assert_allclose(last, slope * model.decision_function(X) + constant, atol=1e-9)
    fitted = np.average(judge.rows.target - chain.scores(judge.rows)[:, 0], weights=judge.rows.in_mean)
    assert fitted == pytest.approx(0, abs=1e-9)


def test_own_weights_are_those_of_the_model(bank):
    X, y = table(5, 300)
    model = ReweightedClassifier(COSTS, 1e-3, bank=bank).fit(X, y)
    scores = model.bank_.outputs(X) @ own_weights(model, model.bank_) + model.predictor_.stages[0].intercept
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9)
    np.testing.assert_array_equal(own_weights(None, bank), np.ones(40))
    assert own_weights("columns", cf.WeakLearnerBank.columns(NAMES)) is None
    assert own_weights(None, cf.WeakLearnerBank.columns(NAMES, [])) is None
    trained, _, _ = train(bank, "none")
    assert own_weights(trained.tree, trained.tree.bank) is None
