"""Cascades: the kit's laws, their start, what optimizing does, calibrated answers, and models in their own order."""

import numpy as np
import pytest
from bank_cases import CHOOSING, COSTS, NAMES, boosted, table
from kit_cases import parametrize_laws
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import average_precision_score
from stagewise_cases import bank_rows, evaluation_of

import costframe as cf
from costframe.core.learners.outputs import BankOutputs
from costframe.plugin import PricedGroups, Rows, SampledPrices, TrainingData
from costframe.stagewise import Flow, NormalEquations, calibrate_at_exits, estimator, fit_at_price
from costframe.testing.check import checks
from costframe_cronus import CronusClassifier, ReweightedClassifier
from costframe_cronus import cronus as training
from costframe_cronus.improve import as_cascade
from costframe_cronus.own_weights import ensemble_weights
from costframe_cronus.settings import CascadeSettings
from costframe_cronus.start import exact_stages, fit_stages

BANK = boosted(40, 800)
GROUPS = PricedGroups.of_bank(BANK, COSTS.select(NAMES))


@parametrize_laws("cronus", settings={"n_stages": 3, "ridge": 0.1, "rejected": 0.5})  # not chosen: half the time
def test_laws_of_the_cascade(check):
    check()


@pytest.mark.parametrize(
    "check",
    [
        each
        for each in checks("cronus", settings={"n_stages": 3})
        if each.law.name in CHOOSING and each.case.title == "classifier-2"
    ],
    ids=lambda check: check.title,
)
def test_laws_where_settings_are_chosen(check):
    check()


def start_at(rows, groups, settings):
    """Algorithm 2 by exact cost, where every learner acquires all it may read, whatever the rows are."""
    return fit_stages(rows, exact_stages(rows, lambda _: SampledPrices.whole(groups), settings), settings)


def test_each_stage_passes_its_share_early_ones_are_cheap_and_what_is_bought_is_used_again():
    X, y = table(1, 1500)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    rows = bank_rows(BankOutputs.of(BANK, X), 2.0 * y - 1, weight, np.where(y == 1, 3.5, 1))
    chain = start_at(rows, GROUPS, CascadeSettings(tradeoff=2e-3, n_stages=5, rejected=0.3))
    assert len(chain) >= 3
    passes = Flow.of(chain.topology, chain.scores(rows)[:, :, 0], chain.threshold, 50.0).passes
    np.testing.assert_allclose(passes.T @ weight / weight.sum(), 0.7 ** np.arange(len(chain)), rtol=1e-9)
    used, lab = GROUPS.used(chain.weights), len(GROUPS.price) - 1
    assert used[:, lab].tolist() == sorted(used[:, lab].tolist())
    assert not used[0, lab]
    assert used[-1, lab]
    assert (used[0] & used[-1]).any()
    alone = start_at(rows, GROUPS, CascadeSettings(tradeoff=1e-3, n_stages=1))  # of one stage, the single stage
    normal = NormalEquations.of(rows.outputs, rows.target, rows.loss_weight)
    fitted = fit_at_price(normal, SampledPrices.whole(GROUPS), 1e-3, 1e-2)
    np.testing.assert_allclose(alone.weights[0], fitted, rtol=1e-6, atol=1e-9)
    assert fitted.any()


def test_it_rejects_cheaply_what_a_single_look_would_pay_for():
    (X, y), (fresh, truth) = table(1, 1500), table(2, 3000)
    model = CronusClassifier(COSTS, 2e-3, bank=BANK, n_stages=5, rejected=0.3).fit(X, y)
    full = CronusClassifier(COSTS, 0.0, bank=BANK, n_stages=1).fit(X, y)
    assert model.cost(fresh).mean < 0.75 * full.cost(fresh).mean
    scores = [average_precision_score(truth, one.predict_proba(fresh)[:, 1]) for one in (model, full)]
    assert scores[0] > 0.9 * scores[1]
    soft = model.predictor_.cost(fresh, routing="soft", acquisition="learner").mean
    assert soft == pytest.approx(model.cost(fresh, acquisition="learner").mean, rel=0.12)


# --- trained chains ----------------------------------------------------------------------------------------------


def train(*, optimize=True, own=None, classes=True, tradeoff=2e-3):
    """Train on rows with others to choose by; return the chain of which the tree is made, and how it is measured."""
    chosen, parts = CascadeSettings(tradeoff, n_stages=4, rejected=0.3), []
    for number in (1, 51):
        X, y = table(number, 400)
        parts.append(Rows(X, y if classes else 2.0 * y - 1, np.random.default_rng(number).uniform(0.5, 2, 400)))
    data, chains = TrainingData(parts[0], parts[1], COSTS, COSTS.select(NAMES), 2 if classes else 0), []
    with pytest.MonkeyPatch.context() as patch:
        make = estimator.BankTask.finish
        keep = lambda task, chain, *rest: chains.append(chain) or make(task, chain, *rest)  # noqa: E731
        patch.setattr(estimator.BankTask, "finish", keep)
        task = estimator.BankTask(data, BANK, tradeoff, False, "path")
        training.train_cronus(task, parts[1], own, chosen, (), [], optimize=optimize)
    rows = parts[1]
    more = {"weight": rows.weight, "tradeoff": tradeoff}
    judge = (
        evaluation_of(BANK, rows.X, rows.y, **more)
        if classes
        else evaluation_of(BANK, rows.X, rows.y, loss="squared", emphasis=3.5, **more)
    )
    return chains[-1], judge


@pytest.mark.parametrize(("tradeoff", "classes"), [(3e-2, True), (3e-3, False)])
def test_optimizing_helps_and_is_never_surely_worse_on_the_rows_it_chooses_by(tradeoff, classes):
    start, judge = train(optimize=False, tradeoff=tradeoff, classes=classes)
    totals = judge.row_totals(start)
    for own in (None, np.ones(40)):
        found = judge.row_totals(train(own=own, tradeoff=tradeoff, classes=classes)[0])
        assert (found - totals).sum() <= 2 * judge.error(found - totals)
    assert found.sum() < 1.001 * totals.sum()


def test_answers_are_calibrated_among_those_who_leave_there():
    """The chances of a stage's answers are right on average, among rows weighted by their probability to exit.

    Where these are few, what is right for all exits draws them.
    """
    chain, judge = train()
    assert len(chain) >= 2
    scores, label = chain.scores(judge.rows)[:, :, 0], (judge.rows.target[:, 0] + 1) / 2
    exits = Flow.of(chain.topology, scores, chain.threshold, 50.0).exits
    for k, (slope, constant) in enumerate(calibrate_at_exits(judge, chain, 50.0).calibration):
        w = judge.rows.weight * exits[:, k]
        told = (label * w.sum() + 0.5) / (w.sum() + 1)
        chances = 1 / (1 + np.exp(-(slope * scores[:, k] + constant)))
        assert np.average(chances, weights=w) == pytest.approx(np.average(told, weights=w), abs=5 / (w.sum() + 1))
        assert slope >= 0


@pytest.mark.parametrize("acquisition", ["path", "learner"])
def test_a_model_in_its_own_order_buys_more_and_more_and_ends_as_itself(acquisition):
    X, y = table(5, 600)
    model = ReweightedClassifier(COSTS, 1e-3, bank=BANK).fit(X, y)
    own = ensemble_weights(model, model.bank_)
    judge = evaluation_of(model.bank_, X, y, acquisition=acquisition)
    prices = judge.pricing.at(judge.rows.share)
    chain = as_cascade(judge.rows, own, prices, 4)
    assert 2 <= len(chain) <= 4
    assert (chain.threshold[:-1] == -np.inf).all()
    ends = chain.used.sum(axis=1)
    assert (np.diff([prices.cost(one) for one in chain.used]) > 0).all()
    assert ends[-1] == len(own)
    assert all(one[:end].all() for one, end in zip(chain.used, ends, strict=True))
    scores = chain.scores(judge.rows)[:, :, 0]
    slope, constant = np.polyfit(model.decision_function(X), scores[:, -1], 1)
    assert slope > 0
    np.testing.assert_allclose(scores[:, -1], slope * model.decision_function(X) + constant, atol=1e-9)
    fitted = np.average(judge.rows.target[:, 0] - scores[:, 0], weights=judge.rows.loss_weight)
    assert fitted == pytest.approx(0, abs=1e-9)


def test_ensemble_weights_are_those_of_the_model():
    X, y = table(5, 300)
    model = ReweightedClassifier(COSTS, 1e-3, bank=BANK).fit(X, y)
    scores = model.bank_.outputs(X) @ ensemble_weights(model, model.bank_) + model.predictor_.stages[0].intercept
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9)
    np.testing.assert_array_equal(ensemble_weights(None, BANK), np.ones(40))
    assert ensemble_weights("columns", cf.WeakLearnerBank.columns(NAMES)) is None
    forest = cf.adopt(RandomForestRegressor(4, max_depth=2, random_state=0).fit(X[:, :3], X[:, 0]))
    mean = forest.bank.outputs(X[:, :3]) @ ensemble_weights(forest, forest.bank)
    np.testing.assert_allclose(mean, forest.predict(X[:, :3]))
