"""The cascade's initialization: against twins, the evaluator, and its own laws."""

import naive_cronus
import numpy as np
import pytest
from cronus_cases import COSTS, NAMES, bank_rows, boosted, start_at, table
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.core.cost.sampled_prices import SampledPrices
from costframe.core.errors import CostframeError
from costframe.core.learners.outputs import BankOutputs
from costframe.stagewise.fitting import fit_at_price
from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.relaxed import RelaxedCost, energies, relax
from costframe.stagewise.thresholds import passing_threshold
from costframe.stagewise.topology import Flow, Topology
from costframe_cronus import CronusClassifier
from costframe_cronus.cronus import CascadeSettings


@pytest.fixture(scope="module")
def bank():
    return boosted()


@pytest.fixture(scope="module")
def started(bank):
    X, y = table(1, 1500)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    rows = bank_rows(BankOutputs.of(bank, X), 2.0 * y - 1, weight, np.where(y == 1, 3.5, 1))
    groups = PricedGroups.of_bank(bank, COSTS.select(NAMES))
    chosen = CascadeSettings(tradeoff=2e-3, n_stages=5, rejected=0.3)
    chain = start_at(rows, groups, chosen)
    passes = Flow.of(Topology.chain(len(chain)), chain.scores(rows)[:, :, 0], chain.threshold, 50.0).passes
    return X, weight, rows, groups, chain, passes


def test_each_stage_passes_its_share(started):
    _, weight, rows, _, chain, passes = started
    assert len(chain) >= 3
    scores = rows.outputs.times(chain.weights[:, :, 0].T) + chain.intercept[:, 0]
    twin = naive_cronus.passes(scores, chain.threshold[:-1], 50.0)
    np.testing.assert_allclose(passes, twin, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(twin.T @ weight / weight.sum(), 0.7 ** np.arange(len(chain.weights)), rtol=1e-9)


def test_early_stages_are_cheap_and_what_is_bought_is_used_again(started):
    _, _, _, groups, chain, _ = started
    used = groups.used(chain.weights)
    lab = len(groups.price) - 1
    assert not used[0, lab]
    assert used[-1, lab]
    assert (used[0] & used[-1]).any()


def test_of_one_stage_it_is_the_single_stage(started):
    _, weight, rows, groups, _, _ = started
    target = 2.0 * table(1, 1500)[1] - 1
    chosen = CascadeSettings(tradeoff=1e-3, n_stages=1)
    chain = start_at(bank_rows(rows.outputs, target, weight), groups, chosen)
    normal = NormalEquations.of(rows.outputs, target[:, None], weight)
    alone = fit_at_price(normal, SampledPrices.whole(groups), 1e-3, 1e-2)
    np.testing.assert_allclose(chain.weights[0], alone, rtol=1e-6, atol=1e-9)
    assert chain.weights.any()
    assert len(chain) == 1


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 2))
def test_a_last_stage_is_the_optimum_of_eq_8(seed, before):
    rng = np.random.default_rng(seed)
    H, w = rng.standard_normal((40, 4)), rng.uniform(0.5, 2, 40)
    y = H @ rng.standard_normal(4) + 0.3 * rng.standard_normal(40)
    bank = cf.WeakLearnerBank.columns(NAMES[:4])
    table = {name: {"cost": float(rng.choice([0.02, 0.2])), "needs": ["r"]} for name in NAMES[:4]}
    costs = cf.CostModel.from_dict({"features": table, "resources": {"r": 0.1}, "learner": 0.03})
    groups = PricedGroups.of_bank(bank, costs.select(NAMES[:4]))
    normal = NormalEquations.of(BankOutputs.of(bank, H), y[:, None], w)
    earlier, d = rng.choice([0.0, 0.5, 1], (before, 4)), 0.6 ** np.arange(before + 1)
    cost = RelaxedCost.chain(groups, before + 1)
    bought = sum(share**2 * energies(groups, one[:, None]) for share, one in zip(d, earlier, strict=False))
    found = relax(normal, groups, 0.0, bought, float(d[-1]), rounds=3000, floor=1e-9)
    value = normal.loss(found) + cost.value(np.concatenate([earlier[:, :, None], found[None]]), d)
    assert value == pytest.approx(naive_cronus.last_stage_optimum(H, y, w, groups, earlier, d), rel=2e-3, abs=1e-4)


@given(st.integers(0, 10_000), st.floats(0.01, 0.99), st.sampled_from([1.0, 50.0, 1e4]))
def test_thresholds_pass_the_share_asked_for(seed, share, steepness):
    rng = np.random.default_rng(seed)
    scores, weight = rng.choice(rng.standard_normal(5), 20), rng.random(20) + 0.01
    theta = passing_threshold(scores, weight, share, steepness)
    on = 1 / (1 + np.exp(-np.clip(steepness * (scores - theta), -700, 700)))
    assert np.average(on, weights=weight) == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize("steepness", [1e12, 1e20, 1e308])
def test_a_threshold_is_found_where_the_margin_is_below_the_last_bit(steepness):
    theta = passing_threshold(np.array([1.0, 2.0, 3.0]), np.ones(3), 0.5, steepness)
    assert theta == pytest.approx(2.0)


def test_it_rejects_cheaply_what_a_single_look_would_pay_for(bank):
    X, y = table(1, 1500)
    fresh, truth = table(2, 3000)
    model = CronusClassifier(COSTS, 2e-3, bank=bank, n_stages=5, rejected=0.3).fit(X, y)
    full = CronusClassifier(COSTS, 0.0, bank=bank, n_stages=1).fit(X, y)
    report = model.cost(fresh)
    assert report.mean < 0.75 * full.cost(fresh).mean
    scores = [average_precision_score(truth, one.predict_proba(fresh)[:, 1]) for one in (model, full)]
    assert scores[0] > 0.9 * scores[1]
    soft = model.predictor_.cost(fresh, routing="soft", acquisition="learner").mean
    assert soft == pytest.approx(model.cost(fresh, acquisition="learner").mean, rel=0.12)


def test_what_makes_no_sense_is_refused():
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.raises(CostframeError, match="y: expected two classes"):
        CronusClassifier().fit(X, np.arange(30) % 3)
    wrong = {"n_stages": 0, "rejected": 1.0, "inflation": 0.5, "positive_weight": 0, "l1_last": -1, "steepness": 1e308}
    for name, value in wrong.items():
        recipe = "paper" if name == "l1_last" else None
        with pytest.raises(CostframeError, match=f"{name}: expected"):
            CronusClassifier(recipe=recipe, **{name: value}).fit(X, X[:, 0] > 0)
