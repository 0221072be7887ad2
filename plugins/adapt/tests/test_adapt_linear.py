"""Linear variants of Adapt: the M-step, the bound that does not rise, starts, and laws of weights."""

import naive_adapt_linear as naive
import numpy as np
import pytest
from adapt_groups import priced, some_groups
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_adapt_linear import parts

from costframe.core.errors import DataError
from costframe.gates.penalized import GroupNorms
from costframe_adapt.linear import Problem, fit_linear, refit
from costframe_adapt.linear_stage import best_start, extreme_shares

SEEDS = st.integers(0, 2**32 - 1)


def test_groups_of_the_same_columns_are_one_and_what_is_free_is_none():
    groups = [((1, 0), 1.0), ((2,), 0.0), ((0, 1), 0.5), ((), 3.0), ((3,), 2.0)]
    penalty = GroupNorms.of_groups(priced(groups, 4), np.arange(4), np.ones(4))
    assert penalty.radius.tolist() == [2.0, 1.5]
    assert penalty.member.tolist() == [3, 0, 1]
    weights = np.array([[3.0, 0, 7, 1], [0, 4, 7, 0]])
    assert penalty.value(weights) == pytest.approx(2 * 1 + 1.5 * 5)
    assert penalty.disjoint


def table(seed, n=40, n_classes=2, n_columns=4, full_share=None, units=True):
    """Draw columns, of very different units or of one, a problem with prices of f0, and groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    y = np.argmax(X[:, :1] * np.arange(n_classes) + rng.gumbel(size=(n, n_classes)) + (X[:, 1:2] > 0), axis=1)
    weight = rng.choice([0.5, 1, 2, 3], n)
    loss0 = np.where(rng.random(n) < 0.1, -np.log(1e-6), rng.exponential(0.2, n) + 1e-6)
    groups = some_groups(rng, n_columns, [0, 0.01, 0.05])
    unit = 10.0 ** rng.integers(-3, 6, n_columns)
    H = X * (unit if units else 1.0) + rng.normal(size=n_columns)
    loss0 += rng.uniform(0, 0.2, n) * (full_share is None)
    return H, Problem(y, n_classes, weight / weight.mean(), loss0, full_share), groups


def of_rows(problem, rows, weight=None):
    weight = problem.weight[rows] if weight is None else weight
    return evolve(problem, y=problem.y[rows], loss0=problem.loss0[rows], weight=weight / weight.mean())


@settings(deadline=None, max_examples=12)
@given(SEEDS, st.integers(2, 4), st.sampled_from([None, 0.2, 0.6, 1.0]), st.booleans())
def test_the_bound_does_not_rise_and_is_what_it_says(seed, n_classes, full_share, units):
    H, problem, groups = table(seed, n_classes=n_classes, full_share=full_share, units=units)
    model = fit_linear(H, problem, priced(groups, 4), max_rounds=6, choose_start=best_start)
    assert 1 <= len(model.bounds) <= 6
    assert (np.diff(model.bounds) <= 1e-11).all()
    spread = np.sqrt(
        np.average((H - np.average(H, axis=0, weights=problem.weight)) ** 2, axis=0, weights=problem.weight)
    )
    J = naive.bound(H, problem, groups, model, spread=spread)
    assert model.bounds[-1] == pytest.approx(J, rel=1e-8)
    if full_share is not None:
        assert problem.mean(model.q) <= full_share + 1e-12


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_other_weights_have_a_lower_bound_for_the_same_shares(n_classes):
    H, problem, groups = table(5, n_classes=n_classes, n_columns=3, full_share=0.4)
    H = (H - H.mean(axis=0)) / H.std(axis=0) * np.array([0.5, 1, 2])
    model = fit_linear(H, problem, priced(groups, 3), choose_start=best_start)
    for _ in range(5):  # M-steps of many classes are cut short: go on until they end
        model = fit_linear(H, problem, priced(groups, 3), start=model)
    share = problem.weight / problem.weight.sum()
    spread = np.sqrt(share @ (H - share @ H) ** 2)
    K = problem.n_scores

    def value(x):
        x = x.reshape(4, 1 + K)
        other = evolve(model, weights=x.T)
        smoothed = [(held, price) for held, price in groups if price]
        return naive.bound(H, problem, smoothed, other, spread=spread)

    best = naive.smallest(value, model.weights.T.ravel() + 1e-3, 2)
    assert model.bounds[-1] <= best + 1e-5


def clusters(seed, n=240):
    """Draw Synthetic-2."""
    rng = np.random.default_rng(seed)
    cluster = rng.choice(4, n, p=[0.26, 0.26, 0.24, 0.24])
    X = np.array([(0, 1.9), (1, 1.9), (1, 0.9), (1, 0)])[cluster] + 0.1 * rng.normal(size=(n, 2))
    y = np.array([0, 1, 0, 1])[cluster]
    return X, Problem(y, 2, np.ones(n), np.full(n, -np.log(0.999)), 0.55)


def routed(model, X, problem):
    """Return the accuracy and the mean cost of prediction, where all features cost one, and f0 is right."""
    full = model.scores(X).gate > 0
    right = (model.scores(X).cheap[:, 0] > 0) == (problem.y == 1)
    used = model.weights[:, :-1].any(axis=0)
    return np.mean(full | right), np.mean(np.where(full, X.shape[1], used.sum()))


@pytest.mark.parametrize("price", [0.005, 0.01, 0.02])
def test_several_starts_find_the_good_solution_of_synthetic_2(price):
    groups = priced([((0,), price), ((1,), price)], 2)
    for seed in range(5):
        X, problem = clusters(seed)
        model = fit_linear(X, problem, groups, choose_start=best_start)
        assert parts(model).gate[0] == 0
        assert not parts(model).cheap[0].any()
        accuracy, cost = routed(model, X, problem)
        assert accuracy == 1
        assert 1.42 <= cost <= 1.58
        alone = fit_linear(X, problem, groups)
        assert routed(alone, X, problem)[1] > 1.7
        assert alone.bounds[-1] > model.bounds[-1]


def weights_of(model):
    return model.weights.ravel()


def assert_alike(one, other, H, tolerance=1e-6):
    """Compare scores, as the columns' units differ much."""
    for model in (one, other):
        assert np.isfinite(weights_of(model)).all()
    assert np.allclose(one.scores(H).gate, other.scores(H).gate, atol=tolerance)
    assert np.allclose(one.scores(H).cheap, other.scores(H).cheap, atol=tolerance)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_of_weight_two_is_two_rows_and_the_order_does_not_matter(n_classes):
    H, problem, groups = table(11, n=60, n_classes=n_classes, full_share=0.3, units=False)
    whole = problem.weight / problem.weight.min()
    once = fit_linear(H, problem, priced(groups, 4), choose_start=best_start)
    rows = np.repeat(np.arange(60), whole.round().astype(int))
    again = of_rows(problem, rows, np.ones(len(rows)))
    assert_alike(once, fit_linear(H[rows], again, priced(groups, 4), choose_start=best_start), H)
    rows = np.random.default_rng(0).permutation(60)
    other = fit_linear(H[rows], of_rows(problem, rows), priced(groups, 4), choose_start=best_start)
    assert_alike(once, other, H)
    assert np.allclose(once.q[rows], other.q, atol=1e-6)


def test_the_order_of_rows_does_not_matter_where_starts_see_a_sample(monkeypatch):
    monkeypatch.setattr("costframe_adapt.linear_stage._ROWS", 30)
    H, problem, groups = table(2, n=90, full_share=0.3, units=False)
    rows = np.random.default_rng(0).permutation(90)
    one = fit_linear(H, problem, priced(groups, 4), choose_start=best_start)
    other = fit_linear(H[rows], of_rows(problem, rows), priced(groups, 4), choose_start=best_start)
    assert_alike(one, other, H)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_nothing_for_f0_is_a_penalized_logistic_model(n_classes):
    H, problem, groups = table(4, n_classes=n_classes, full_share=0.0, units=False)
    model = fit_linear(H, problem, priced(groups, 4), choose_start=best_start)
    assert not model.q.any()
    assert not parts(model).gate.any()
    assert parts(model).gate_intercept < 0
    shareless = evolve(problem, full_share=1e-9)
    near = fit_linear(H, shareless, priced(groups, 4))
    assert np.allclose(model.scores(H).cheap, near.scores(H).cheap, atol=2e-3)
    assert parts(refit(H, problem, model)).gate_intercept == parts(model).gate_intercept


@pytest.mark.parametrize("full_share", [None, 0.5, 1.0])
def test_separable_rows_free_columns_and_constants_stay_finite(full_share):
    rng = np.random.default_rng(6)
    H = np.column_stack([rng.normal(size=50), np.full(50, 7.7), rng.normal(size=50) * 1e5])
    loss0 = np.where(H[:, 2] > 0, -np.log(1e-6), 1e-6)
    problem = Problem((H[:, 0] > 0).astype(np.int64), 2, np.ones(50), loss0, full_share)
    model = fit_linear(H, problem, priced([((0,), 0.0)], 3))
    assert np.isfinite(weights_of(model)).all()
    assert parts(model).gate[1] == 0
    assert parts(model).cheap[1, 0] == 0
    assert ((model.scores(H).cheap > 0)[:, 0] == (problem.y == 1)).mean() > 0.9


def test_a_refit_keeps_columns_and_shares_and_undoes_shrinkage():
    H, problem, _ = table(9, n=120, full_share=0.3, units=False)
    groups = priced([((c,), 0.04) for c in range(4)], 4)
    model = fit_linear(H, problem, groups, choose_start=best_start)
    larger = refit(H, problem, model)
    used = parts(model).cheap[:, 0] != 0
    assert used.any()
    assert not used.all()
    assert ((parts(larger).cheap[:, 0] != 0) == used).all()
    assert larger.q is model.q
    assert np.linalg.norm(parts(larger).cheap[:, 0] * H.std(axis=0)) > 1.1 * np.linalg.norm(
        parts(model).cheap[:, 0] * H.std(axis=0)
    )
    assert naive.bound(H, problem, [], larger, spread=H.std(axis=0), ridge=0) < naive.bound(
        H, problem, [], model, spread=H.std(axis=0), ridge=0
    )


def test_a_warm_start_ends_where_it_began():
    H, problem, groups = table(12, full_share=0.4, units=False)
    model = fit_linear(H, problem, priced(groups, 4), choose_start=best_start)
    again = fit_linear(H, problem, priced(groups, 4), start=model)
    assert again.bounds[-1] <= model.bounds[-1] + 1e-12
    assert_alike(model, again, H, 0.2)
    closed = fit_linear(H, evolve(problem, full_share=0.0), priced(groups, 4), start=model)
    assert not parts(closed).gate.any()
    assert parts(fit_linear(H, problem, priced(groups, 4), start=closed)).gate.any()


def test_extreme_shares_split_ties_evenly():
    values = np.array([1.0, 2.0, 2.0, 3.0])
    q = extreme_shares(values, np.array([1.0, 1.0, 1.0, 2.0]), 0.6)
    assert q == pytest.approx([0.05, 0.5, 0.5, 0.95])


def test_groups_must_fit_columns():
    H, problem, groups = table(1)
    with pytest.raises(DataError, match="groups: expected 3 columns, got 4"):
        fit_linear(H[:, :3], problem, priced(groups, 4), choose_start=best_start)
