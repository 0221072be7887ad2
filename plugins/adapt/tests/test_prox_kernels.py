"""The proximal map of overlapping groups, and quadratics with it."""

import naive_adapt_linear as naive
import numpy as np
import pytest
from adapt_groups import priced, some_groups
from hypothesis import given, settings
from hypothesis import strategies as st

from costframe import engine
from costframe.gates.penalized import GroupNorms

pytestmark = pytest.mark.engine

SEEDS = st.integers(0, 2**32 - 1)


def proximal(a, metric, groups, once=False):
    """Return the proximal point by the kernel, with the dual's value."""
    width = a.shape[1]
    penalty = GroupNorms.of_groups(priced(groups, width), np.arange(width), np.ones(width))
    dual, zero = np.zeros((len(a), len(penalty.member))), np.zeros(width, bool)
    residual = metric * a
    arrays = (penalty.first, penalty.member, penalty.radius, dual)
    while engine.shrink(residual, metric, *arrays, once, zero) == engine.MOST_PASSES:
        pass  # a map that is cut short goes on where it stood
    return np.where(zero, 0.0, residual / metric), dual, penalty


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(1, 3), st.booleans())
def test_the_proximal_map_of_overlapping_groups(seed, n_outputs, equal):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n_outputs, 5))
    metric = np.ones_like(a) if equal else rng.uniform(0.2, 3, a.shape)
    groups = some_groups(rng, 5, [0, 0.05, 0.2, 0.5])
    found, _, _ = proximal(a, metric, groups)
    wanted, zero = naive.proximal(a, metric, [(held, price) for held, price in groups if price])
    assert np.allclose(found, wanted, atol=1e-5)
    assert (found[:, zero] == 0).all()
    assert (found[np.abs(wanted) > 1e-5] != 0).all()


@settings(deadline=None, max_examples=50)
@given(SEEDS, st.integers(1, 3), st.floats(0, 1))
def test_no_point_is_nearer_by_duality(seed, n_outputs, decades):
    rng = np.random.default_rng(seed)
    metric = np.repeat(10 ** rng.uniform(-decades, decades, (1, 6)), n_outputs, axis=0)
    a = rng.normal(size=(n_outputs, 6)) / np.sqrt(metric)
    groups = [(held, price) for held, price in some_groups(rng, 6, [0.1, 0.5, 2]) if price]
    found, dual, penalty = proximal(a, metric, groups)
    total = np.zeros_like(a)
    for g, radius in enumerate(penalty.radius):
        held = slice(penalty.first[g], penalty.first[g + 1])
        assert np.sqrt((dual[:, held] ** 2).sum()) <= radius * (1 + 1e-12)
        total[:, penalty.member[held]] += dual[:, held]
    primal = (metric / 2 * (found - a) ** 2).sum() + naive.norms(found, groups)
    below = (total * a - total**2 / metric / 2).sum()
    assert below - 1e-9 * (1 + abs(below)) <= primal <= below + 1e-6 * (1 + abs(below))


def test_one_pass_is_enough_for_equal_metrics_and_nested_groups():
    a = 2 * np.random.default_rng(1).normal(size=(2, 6))
    groups = [
        *(((c,), 3.0 if c == 1 else 0.3) for c in range(6)),
        ((0, 1), 0.4),
        ((2, 3, 4), 0.2),
        (tuple(range(6)), 0.5),
    ]
    once, _, _ = proximal(a, np.full_like(a, 0.7), groups, once=True)
    assert np.allclose(once, proximal(a, np.full_like(a, 0.7), groups)[0], atol=1e-12)
    assert ((once == 0) == (np.arange(6) == 1)).all()


@settings(deadline=None, max_examples=15)
@given(SEEDS)
def test_a_quadratic_is_minimized(seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(2, 8, 4))
    hessian = np.einsum("kri,krj->kij", factor, factor) / 8 + 0.01 * np.eye(4)
    gradient, start, scale = rng.normal(size=(2, 4)), rng.normal(size=(2, 4)), np.append(rng.uniform(0.5, 2, 3), 1.0)
    groups = [(held, price) for held, price in some_groups(rng, 3, [0, 0.3, 1]) if price]
    penalty = GroupNorms.of_groups(priced(groups, 3), np.arange(3), scale[:3])

    def value(weights, smooth=0.0):
        D = weights - start
        squares = sum(p * np.sqrt((((weights / scale)[:, list(h)]) ** 2).sum() + smooth) for h, p in groups)
        return (gradient * D).sum() + np.einsum("ki,kij,kj", D, hessian, D) / 2 + squares

    dual = np.zeros((2, len(penalty.member)))
    arrays = (scale, penalty.first, penalty.member, penalty.radius, dual, penalty.disjoint)
    lipschitz, found = np.linalg.eigvalsh(hessian)[:, -1].copy(), np.empty((2, 4))
    engine.minimize_quadratic(hessian, gradient, start, lipschitz, *arrays, 5000, 1e-9, found)
    best = naive.smallest(lambda w: value(w.reshape(2, 4), 1e-10), start.ravel())
    assert value(found) <= best + 1e-7
    assert value(found) >= best - 1e-4


def test_a_group_at_the_border_of_its_ball_is_zero():
    """Where groups cross, the passes settle with 1e-12 of it left."""
    rng = np.random.default_rng(14)
    a = rng.normal(size=(1, 5))
    groups = some_groups(rng, 5, [0, 0.05, 0.2, 0.5])
    _, zero = naive.proximal(a, np.ones_like(a), [(held, price) for held, price in groups if price])
    assert zero.any()
    assert (proximal(a, np.ones_like(a), groups)[0][:, zero] == 0).all()
