"""Algorithm 1, of linear models: the proximal map, the M-step, the q-step, the bound that does not rise, and starts."""

import naive_adapt_linear as naive
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_adapt_linear import parts, priced, some_groups
from scipy.special import expit, logit

from costframe.engine import MOST_PASSES, minimize_quadratic, shrink
from costframe.gates import GroupNorms
from costframe_adapt.judge import SURE, solve_shares
from costframe_adapt.linear import fit_pair, refit_pair
from costframe_adapt.linear_objective import GateProblem
from costframe_adapt.linear_starts import best_start

SEEDS = st.integers(0, 2**32 - 1)

# --- kernels -----------------------------------------------------------------------------------------------------


def proximal(a, metric, groups):
    """Return the proximal point by the kernel."""
    width = a.shape[1]
    penalty = GroupNorms.of_groups(priced(groups, width), np.arange(width), np.ones(width))
    dual, zero = np.zeros((len(a), len(penalty.member))), np.zeros(width, bool)
    residual = metric * a
    arrays = (penalty.first, penalty.member, penalty.radius, dual)
    while shrink(residual, metric, *arrays, False, zero) == MOST_PASSES:
        pass  # a map that is cut short goes on where it stood
    return np.where(zero, 0.0, residual / metric)


@pytest.mark.engine
@settings(deadline=None, max_examples=12)
@given(SEEDS, st.integers(1, 3), st.booleans())
def test_the_proximal_map_of_overlapping_groups(seed, n_outputs, equal):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n_outputs, 5))
    metric = np.ones_like(a) if equal else rng.uniform(0.2, 3, a.shape)
    groups = some_groups(rng, 5, [0, 0.05, 0.2, 0.5])
    found = proximal(a, metric, groups)
    wanted, zero = naive.proximal(a, metric, [(held, price) for held, price in groups if price])
    assert np.allclose(found, wanted, atol=1e-5)
    assert (found[:, zero] == 0).all()
    assert (found[np.abs(wanted) > 1e-5] != 0).all()


@pytest.mark.engine
def test_a_group_at_the_border_of_its_ball_is_zero():
    """Where groups cross, the passes settle with 1e-12 of it left."""
    rng = np.random.default_rng(14)
    a = rng.normal(size=(1, 5))
    groups = some_groups(rng, 5, [0, 0.05, 0.2, 0.5])
    _, zero = naive.proximal(a, np.ones_like(a), [(held, price) for held, price in groups if price])
    assert zero.any()
    assert (proximal(a, np.ones_like(a), groups)[:, zero] == 0).all()


@pytest.mark.engine
@settings(deadline=None, max_examples=15)
@given(SEEDS, st.booleans())
def test_a_quadratic_is_minimized(seed, disjoint):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(2, 8, 4))
    hessian = np.einsum("kri,krj->kij", factor, factor) / 8 + 0.01 * np.eye(4)
    gradient, start, scale = rng.normal(size=(2, 4)), rng.normal(size=(2, 4)), np.append(rng.uniform(0.5, 2, 3), 1.0)
    groups = [(held, price) for held, price in some_groups(rng, 3, [0, 0.3, 1]) if price]
    groups = [each for each in groups if len(each[0]) == 1] if disjoint else groups  # whose map is one pass
    penalty = GroupNorms.of_groups(priced(groups, 3), np.arange(3), scale[:3])

    def value(weights, smooth=0.0):
        D = weights - start
        squares = sum(p * np.sqrt((((weights / scale)[:, list(h)]) ** 2).sum() + smooth) for h, p in groups)
        return (gradient * D).sum() + np.einsum("ki,kij,kj", D, hessian, D) / 2 + squares

    dual = np.zeros((2, len(penalty.member)))
    arrays = (scale, penalty.first, penalty.member, penalty.radius, dual, penalty.disjoint)
    found, steepest = np.empty_like(start), np.ascontiguousarray(np.linalg.eigvalsh(hessian)[:, -1])
    minimize_quadratic(hessian, gradient, start, steepest, *arrays, 5000, 1e-9, found)
    best = naive.smallest(lambda w: value(w.reshape(2, 4), 1e-10), start.ravel())
    assert best - 1e-4 <= value(found) <= best + 1e-7


# --- the q-step --------------------------------------------------------------------------------------------------

LOSSES = st.one_of(st.floats(0, 20), st.sampled_from([0.0, 1.0, 700.0, 1e6]))
SHARES = st.sampled_from([None, 0.0, 1e-9, 1e-3, 0.2, 0.5, 0.9, 1.0])


@given(st.data(), st.integers(1, 12), SHARES)
def test_shares_have_their_closed_form_and_keep_the_constraint_exactly(data, n, full_share):
    below, above = (np.array(data.draw(st.lists(LOSSES, min_size=n, max_size=n))) for _ in range(2))
    weight = np.array(data.draw(st.lists(st.sampled_from([1e-6, 0.5, 1.0, 2.0, 1e6]), min_size=n, max_size=n)))
    found = solve_shares(below, above, weight, full_share)
    assert ((found >= 0) & (found <= 1 - SURE)).all()
    free = np.clip(expit(below - above), SURE, 1 - SURE)
    mean, unbound = (float(q @ (weight / weight.sum())) for q in (found, free))
    if full_share == 0:
        assert not found.any()
    elif full_share is None or unbound <= full_share:
        np.testing.assert_array_equal(found, free)
    else:
        assert mean == pytest.approx(full_share, rel=1e-9, abs=1e-12)
        assert mean <= full_share * (1 + 1e-12)


@given(SEEDS, st.sampled_from([0.1, 0.4, 0.8]))
def test_a_share_that_binds_divides_all_odds_by_the_same_factor(seed, full_share):
    below, above, weight = np.random.default_rng(seed).uniform(0.2, 3, (3, 8))
    shift = logit(solve_shares(below, above, weight, full_share)) - (below - above)
    np.testing.assert_allclose(shift, shift.mean(), atol=1e-6)
    assert shift.mean() <= 1e-6


# --- the alternation ---------------------------------------------------------------------------------------------


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
    return H, GateProblem(y, n_classes, weight / weight.mean(), loss0, full_share), groups


def spread_of(H, problem):
    share = problem.weight / problem.weight.sum()
    return np.sqrt(share @ (H - share @ H) ** 2)


@settings(deadline=None, max_examples=8)
@given(SEEDS, st.integers(2, 4), st.sampled_from([None, 0.2, 0.6, 1.0]), st.booleans())
def test_the_bound_does_not_rise_and_is_what_it_says(seed, n_classes, full_share, units):
    H, problem, groups = table(seed, n_classes=n_classes, full_share=full_share, units=units)
    model = fit_pair(H, problem, priced(groups, 4), max_rounds=6, choose_start=best_start)
    assert 1 <= len(model.bounds) <= 6
    assert (np.diff(model.bounds) <= 1e-11).all()
    J = naive.bound(H, problem, groups, model, spread=spread_of(H, problem))
    assert model.bounds[-1] == pytest.approx(J, rel=1e-8)
    if full_share is not None:
        assert problem.mean(model.q) <= full_share + 1e-12


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_other_weights_have_a_lower_bound_for_the_same_shares(n_classes):
    H, problem, groups = table(5, n_classes=n_classes, n_columns=3, full_share=0.4)
    H = (H - H.mean(axis=0)) / H.std(axis=0) * np.array([0.5, 1, 2])
    model = fit_pair(H, problem, priced(groups, 3), choose_start=best_start)
    for _ in range(5):  # M-steps of many classes are cut short: go on until they end
        model = fit_pair(H, problem, priced(groups, 3), start=model)
    paid, spread = [(held, price) for held, price in groups if price], spread_of(H, problem)

    def value(x):
        return naive.bound(H, problem, paid, evolve(model, weights=x.reshape(4, -1).T), spread=spread)

    assert model.bounds[-1] <= naive.smallest(value, model.weights.T.ravel() + 1e-3, 2) + 1e-5


def clusters(seed, n=240):
    """Draw Synthetic-2."""
    rng = np.random.default_rng(seed)
    cluster = rng.choice(4, n, p=[0.26, 0.26, 0.24, 0.24])
    X = np.array([(0, 1.9), (1, 1.9), (1, 0.9), (1, 0)])[cluster] + 0.1 * rng.normal(size=(n, 2))
    return X, GateProblem(np.array([0, 1, 0, 1])[cluster], 2, np.ones(n), np.full(n, -np.log(0.999)), 0.55)


@pytest.mark.parametrize("price", [0.005, 0.02])
def test_several_starts_find_the_good_solution_of_synthetic_2(price):
    groups = priced([((0,), price), ((1,), price)], 2)
    for seed in range(3):
        X, problem = clusters(seed)
        model, alone = fit_pair(X, problem, groups, choose_start=best_start), fit_pair(X, problem, groups)
        assert not model.weights[:, 0].any()
        full = model.scores(X).gate > 0
        assert (full | ((model.scores(X).cheap[:, 0] > 0) == (problem.y == 1))).all()
        assert 0.42 <= full.mean() <= 0.58
        assert alone.weights[:, 0].any()
        assert alone.bounds[-1] > model.bounds[-1]


def test_a_refit_keeps_columns_and_shares_and_undoes_shrinkage():
    H, problem, _ = table(9, n=120, full_share=0.3, units=False)
    model = fit_pair(H, problem, priced([((c,), 0.04) for c in range(4)], 4), choose_start=best_start)
    larger = refit_pair(H, problem, model)
    used = parts(model).cheap[:, 0] != 0
    assert used.any()
    assert not used.all()
    assert ((parts(larger).cheap[:, 0] != 0) == used).all()
    assert larger.q is model.q
    spread = spread_of(H, problem)
    sizes = [np.linalg.norm(parts(one).cheap[:, 0] * spread) for one in (larger, model)]
    assert sizes[0] > 1.1 * sizes[1]
    bounds = [naive.bound(H, problem, [], one, spread=spread, ridge=0) for one in (larger, model)]
    assert bounds[0] < bounds[1]
