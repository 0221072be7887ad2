"""Where a gate divides: training's accounts of both sides are what the composite costs, and the best place is found."""

import naive
import numpy as np
import pytest
from adapt_cases import EVERY_PRICE, LINEAR, QUICK, expensive, table, total, uneven
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import costframe as cf
from costframe.gates import GateCurve, GatedPair
from costframe.gates.curve import BOTH, ModelOutputs
from costframe.plugin import Account, Rows
from costframe.testing import strategies
from costframe_adapt import AdaptClassifier
from costframe_adapt.growing_pair import GateLoss
from costframe_adapt.judge import SURE

pytestmark = pytest.mark.usefixtures("few_rounds")


@st.composite
def fronts(draw):
    """Draw a gate and a cheap model over trees, what stands behind them, prices, rows, losses and weights."""
    names = draw(strategies.feature_names(4))
    d, n_outputs = len(names), draw(st.sampled_from((1, 3)))
    bank = cf.WeakLearnerBank.from_trees(draw(strategies.tree_tables(d, widths=(1,))), names)
    size = st.sampled_from((0.0, 1.0, -0.5, 2.0))
    T = len(bank)
    gate = np.array(draw(st.lists(size, min_size=T, max_size=T)), float)
    cheap = np.array(draw(st.lists(size, min_size=T * n_outputs, max_size=T * n_outputs)), float).reshape(T, n_outputs)
    if draw(st.booleans()):  # a tree of boosting is either's
        cheap[gate != 0] = 0
    front = GatedPair(bank, cheap, np.zeros(n_outputs), gate, draw(size))
    trees = cf.WeakLearnerBank.from_trees(draw(strategies.tree_tables(d, widths=(1, 2))), names)
    full = draw(strategies.stage_trees(trees, 2, n_outputs).filter(lambda tree: "ranked" not in tree.links))
    n = draw(st.integers(1, 7))
    values = st.sampled_from((-1.0, 0.0, 0.5, 1.0, 2.0, 1e300, np.nan, np.inf))
    X = np.array(draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=n, max_size=n)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return (
        front,
        full,
        draw(strategies.cost_models(names)),
        X,
        rng.exponential(size=(2, n)),
        rng.choice([0.5, 1.0, 3.0], n),
    )


def curve_of(front, full, costs, X, losses, weight):
    """Do as the judge does."""
    on = ModelOutputs(np.zeros(len(X)), losses[1], Account.of(full, costs, X))
    scores, rows = front.gate_tree().decision_function(X), Rows(X, X[:, 0], weight)
    prices = costs.select(full.feature_names)
    return GateCurve.of(scores, losses[0], on, front.accounts(costs, X), rows, prices), scores


def close(value):
    return pytest.approx(value, rel=1e-9, abs=1e-6)  # prices go up to a million


@settings(max_examples=40)
@given(fronts(), st.sampled_from((-np.inf, np.inf, 0, 1, 2, 3)))
def test_both_sides_of_a_gate_cost_what_the_composite_does(case, place):
    front, full, costs, X, losses, weight = case
    curve, scores = curve_of(*case)
    threshold = np.sort(scores)[place % len(scores)] if np.isfinite(place) else place
    prices = costs.select(full.feature_names)
    point, goes = curve.at(threshold), scores > threshold
    assert point.loss == pytest.approx(np.average(np.where(goes, losses[1], losses[0]), weights=weight))
    np.testing.assert_array_equal(curve.goes_on(point), goes)
    if np.isfinite(threshold):
        tree = front.in_front_of(full, threshold)
        report = tree.cost(X, costs, sample_weight=weight)
        assert point.cost == close(report.mean)
        for row, paid in zip(X, report.per_row, strict=True):  # and what is held against is no mistake itself
            assert paid == close(naive.hard_cost(tree, row, costs, "path")[0])
        np.testing.assert_array_equal(tree.exits(X) >= 2, goes)
        cheap, gate = front.accounts(costs, X)  # as in a stage that stands behind another one
        both, composed = Account.of(full, costs, X).where(goes, cheap) | gate, Account.of(tree, costs, X)
        np.testing.assert_array_equal(both.acquired, composed.acquired)
        np.testing.assert_allclose(both.cost(prices), composed.cost(prices), rtol=1e-9, atol=1e-6)
        np.testing.assert_allclose(both.batch(prices), composed.batch(prices), rtol=1e-9)
    for kind, alone in (("cheap", front.cheap_tree()), ("expensive", full)):
        one, report = curve.without_gate(kind), alone.cost(X, costs, sample_weight=weight)
        assert one.cost == close(report.mean)
        assert one.loss == pytest.approx(np.average(losses[int(kind == "expensive")], weights=weight))
        assert one.batch == close(float(weight @ report.acquired @ prices.once) / weight.sum() ** 2)
        assert curve.goes_on(one).all() == (kind == "expensive")


@settings(max_examples=30)
@given(fronts(), st.sampled_from((0.0, 1e-3, 0.1, 1e300)), st.sampled_from((None, 0.0, 0.1, 0.3, 0.5, 1.0)))
def test_the_best_place_is_the_best_of_all_and_a_grid_looks_at_those_that_meet_the_share(case, tradeoff, full_share):
    share = case[-1] / case[-1].sum()
    curve, scores = curve_of(*case)
    best = curve.best(tradeoff, full_share)

    def allowed(point):
        going = float(share @ curve.goes_on(point))
        if point.kind == BOTH and not 0 < going < 1:
            return False
        return full_share is None or going <= full_share + 1e-12

    every = [curve.at(score) for score in scores] + [curve.without_gate("cheap"), curve.without_gate("expensive")]
    assert allowed(best)
    least = min(point.total(tradeoff) for point in every if allowed(point))
    assert best.total(tradeoff) == pytest.approx(least, rel=1e-9, abs=1e-9)
    if tradeoff < 1e300:  # also where a gate of few distinct scores can send on many rows or none
        places = list(curve.points(best, tradeoff, full_share))
        assert "cheap" in [point.kind for point in places]
        assert "expensive" not in [point.kind for point in places]
        assert all(full_share is None or share @ curve.goes_on(each) <= full_share + 1e-12 for each in places)


def test_the_best_round_is_kept_and_shares_are_of_rows_held_out():
    """No round, nor the expensive model alone, has a lower objective; at most P of the validation rows go on."""
    (X, y), (rows, labels), weight = table(1, 300), table(4, 200), uneven(200)
    given, proba = expensive("cegb")
    asked = {"expensive": given} | QUICK
    model = AdaptClassifier(EVERY_PRICE, 2e-3, **asked)
    model.fit(X, y, X_val=rows, y_val=labels, expensive_proba=proba(X))
    found, alone = (
        total(tree, rows, labels, 2e-3, EVERY_PRICE) for tree in (model.predictor_, model.expensive_predictor_)
    )
    assert found <= min(model.objective_.min(), alone) * (1 + 1e-9)
    for more in ({}, LINEAR):
        for full_share in (0.05, 0.3):
            model = AdaptClassifier(EVERY_PRICE, 1e-5, full_share=full_share, **asked | more)
            model.fit(X, y, X_val=rows, y_val=labels, sample_weight_val=weight, expensive_proba=proba(X))
            assert len(model.predictor_.stages) > 1
            assert 0 < weight @ (model.predictor_.exits(rows) >= 2) / weight.sum() <= full_share + 1e-12


@given(st.lists(st.floats(-15, 15), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_a_gate_is_grown_by_the_cross_entropy_of_shares(gate, seed):
    gate = np.array(gate)[:, np.newaxis]
    q = np.random.default_rng(seed).uniform(SURE, 1 - SURE, len(gate))
    p, loss = expit(gate[:, 0]), GateLoss()
    np.testing.assert_allclose(
        loss.mean(q, gate), -(q * np.log(p) + (1 - q) * np.log1p(-p)).mean(), rtol=1e-8, atol=1e-9
    )
    gradients, hessians = loss.gradients(q, gate)
    by_hand = len(gate) * (loss.mean(q, gate + 1e-4) - loss.mean(q, gate - 1e-4)) / 2e-4
    np.testing.assert_allclose(gradients.sum(), by_hand, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessians[:, 0], p * (1 - p), rtol=1e-9, atol=1e-15)
