"""Cronus as its paper prints it, against optima worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import costframe as cf
from costframe.core.learners.outputs import BankOutputs
from costframe.plugin import PricedGroups
from costframe.stagewise import BankRows
from costframe.training.losses import SquaredLoss
from costframe_cronus import CronusClassifier, CronusRanker, ReweightedRegressor
from costframe_cronus.cronus import minimize_eq_8
from costframe_cronus.settings import CascadeSettings
from costframe_cronus.start import fit_stages, passing_threshold, relaxed_stages

NAMES = tuple("abcde")
COSTS = cf.CostModel.from_dict({"features": dict(zip(NAMES, (0.5, 1.0, 2.0, 2.0, 4.0), strict=True)), "learner": 0.1})
SIGNS = np.array([[int(bit) * 2.0 - 1 for bit in f"{i:05b}"] for i in range(32)])  # orthogonal columns of variance one


def test_eq_7_of_orthogonal_columns_is_a_soft_threshold():
    """1/2 (b - 1)^2 + lambda (e + c) |b| falls to max(|b| - lambda (e + c), 0), column by column."""
    slopes, tradeoff, rho = np.array([0.5, -0.4, 0.6, 0.9, 0.4]), 0.1, 0.02
    y = SIGNS @ slopes + 3.0
    by_hand = np.sign(slopes) * np.maximum(np.abs(slopes) - tradeoff * (0.1 + np.array([0.5, 1, 2, 2, 4])) - rho, 0)
    model = ReweightedRegressor(COSTS, tradeoff, bank="columns", recipe="paper", l1=rho).fit(SIGNS, y)
    np.testing.assert_allclose(model.predict(SIGNS), SIGNS @ by_hand + 3.0, atol=1e-5)
    assert np.count_nonzero(by_hand) == 4
    assert model.cost(SIGNS).mean == pytest.approx(5.5 + 4 * 0.1)  # nothing more is removed


def test_eq_7_of_a_shared_feature_shrinks_a_group():
    """Columns that need one resource: beta / |beta| max(|beta| - lambda C, 0) of the whole group, all or nothing."""
    table = {name: {"cost": 0.0, "needs": ["lab" if name in "ab" else "scan"]} for name in NAMES}
    costs = cf.CostModel.from_dict({"features": table, "resources": {"lab": 1.0, "scan": 6.0}})
    slopes = np.array([0.3, -0.4, 0.3, 0.3, 0.3])
    y = SIGNS @ slopes
    by_hand = np.concatenate([slopes[:2] * (0.5 - 0.1) / 0.5, np.zeros(3)])  # |slopes[2:]| = .52 < .1 * 6
    model = ReweightedRegressor(costs, 0.1, bank="columns", recipe="paper").fit(SIGNS, y)
    np.testing.assert_allclose(model.predict(SIGNS), SIGNS @ by_hand, atol=1e-5)
    assert model.cost(SIGNS).mean == pytest.approx(1.0)


def eq_8(x, H, y, w, c, rho, tradeoff, gamma):
    """Eq. 8 of two stages over columns: weights and constants of both, and the threshold of the first."""
    d = H.shape[1]
    b1, b2, a1, a2, theta = x[:d], x[d : 2 * d], *x[2 * d :]
    s1, s2 = H @ b1 + a1, H @ b2 + a2
    on = 1 / (1 + np.exp(-gamma * (s1 - theta)))
    loss = 0.5 * w @ ((1 - on) * (y - s1) ** 2 + on * (y - s2) ** 2)
    return loss + rho * np.abs(x[: 2 * d]).sum() + tradeoff * c @ np.sqrt(b1**2 + (on.mean() * b2) ** 2)


def two_stages(seed):
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((60, 3)) @ np.array([[1, 0.4, 0.2], [0, 1, 0.3], [0, 0, 1]])
    y = np.sign(H @ np.array([1.0, 0.7, 0.5]) - 0.8)
    w = np.where(y > 0, 3.5, 1.0)
    bank = cf.WeakLearnerBank.columns(NAMES[:3])
    costs = cf.CostModel.from_dict({"features": {"a": 0.2, "b": 1.0, "c": 2.0}})
    groups = PricedGroups.of_bank(bank, costs.select(NAMES[:3]))
    rows = BankRows(BankOutputs.of(bank, H), y[:, None], np.ones(60), w / w.sum())
    return H, y, w / w.sum(), rows, groups


@pytest.mark.parametrize("seed", range(2))
def test_algorithm_1_ends_at_an_optimum_of_eq_8(seed):
    H, y, w, rows, groups = two_stages(seed)
    settings = CascadeSettings(0.05, n_stages=2, rejected=0.3, steepness=8.0, l1=0.005, l1_last=0.005)
    start, steps = fit_stages(rows, relaxed_stages(rows, groups, settings), settings), []
    tree = minimize_eq_8(rows, SquaredLoss(), groups, start, settings, steps)

    def vector(at):
        return np.concatenate([at.weights[0, :, 0], at.weights[1, :, 0], at.intercept[:, 0], at.threshold[:1]])

    def value(x):
        return eq_8(x, H, y, w, np.array([0.2, 1.0, 2.0]), 0.005, 0.05, 8.0)

    assert steps[-1].objective == pytest.approx(value(vector(tree)), abs=1e-4)
    better = minimize(value, vector(tree), method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-6})
    assert better.fun >= value(vector(tree)) - 2e-3 * value(vector(start))
    assert value(vector(tree)) < value(vector(start))


def test_algorithm_2_solves_eq_14_and_passes_on_its_share():
    """Without price a stage is weighted least squares; the second one's rows weigh what the first passes on."""
    H, y, w, rows, groups = two_stages(0)
    settings = CascadeSettings(0.0, n_stages=2, rejected=0.3, steepness=8.0)
    tree = fit_stages(rows, relaxed_stages(rows, groups, settings), settings)
    X, on = np.column_stack([H, np.ones(60)]), np.ones(60)
    for k in range(2):
        by_hand = np.linalg.solve(X.T @ ((w * on)[:, None] * X), X.T @ (w * on * y))
        np.testing.assert_allclose(np.append(tree.weights[k, :, 0], tree.intercept[k]), by_hand, rtol=1e-6)
        on = 1 / (1 + np.exp(-8.0 * (X @ by_hand - tree.threshold[k])))
        assert k or on.mean() == pytest.approx(0.7)


def test_rejected_rows_answer_minus_one_and_no_fit_follows():
    X = np.random.default_rng(1).standard_normal((600, 5))
    y = (X @ [1.0, 0.5, 0.5, 0.5, 0.5] > 1.5).astype(int)
    ranker = CronusRanker(COSTS, 0.003, bank="columns", n_stages=3, relevant=1, recipe="paper", l1=0.0, l1_last=0.0)
    values = ranker.fit(X, 1.0 * y, X_val=X, y_val=1.0 * y).predict(X)
    assert (values == -1.0).any()
    assert (values != -1.0).any()
    classifier = CronusClassifier(COSTS, 0.003, bank="columns", n_stages=3, recipe="paper", l1=0.0, l1_last=0.0)
    classifier.fit(X, y, X_val=X, y_val=y)
    np.testing.assert_allclose(classifier.decision_function(X), 2 * values, atol=1e-12)
    np.testing.assert_array_equal(classifier.predict(X), values > 0)
    steps = [step.objective for step in classifier.steps_]
    assert steps == sorted(steps, reverse=True)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.99), st.sampled_from([1.0, 50.0, 1e4]))
def test_a_threshold_passes_the_share_asked_for(seed, share, steepness):
    rng = np.random.default_rng(seed)
    scores, weight = rng.choice(rng.standard_normal(5), 20), rng.random(20) + 0.01
    beyond = passing_threshold(np.arange(3.0), np.ones(3), 0.5, 1e308)
    assert beyond == pytest.approx(1.0)  # a margin below the last bit
    theta = passing_threshold(scores, weight, share, steepness)
    on = 1 / (1 + np.exp(-np.clip(steepness * (scores - theta), -700, 700)))
    assert np.average(on, weights=weight) == pytest.approx(share, abs=1e-6)
