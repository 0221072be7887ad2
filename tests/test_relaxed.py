"""The relaxed cost: against loops, finite differences, and the evaluator's exact cost."""

import naive_relaxed
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_relaxed import differences

import costframe as cf
from costframe.core.cost.groups import PricedGroups
from costframe.core.errors import BankError
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.stages.stages import Route
from costframe.stagewise.relaxed import RelaxedCost, auxiliary, floored_root
from costframe.testing import strategies as kit

NAMES = ("a", "b", "c", "d")
PATHS = ([[1]], [[1, 1, 1]], [[1, 1, 0], [1, 0, 1]], [[1, 1, 0, 1, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 1]])


@st.composite
def problems(draw):
    bank, costs = draw(kit.banks(NAMES)), draw(kit.cost_models(NAMES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    paths = np.array(draw(st.sampled_from(PATHS)), bool)
    weights = rng.choice([0.0, 0.0, 1.0, -0.3, 1e-3, 5.0], (paths.shape[1], bank.widths.sum(), draw(st.integers(1, 2))))
    reach, share = np.sort(rng.random(paths.shape[1]))[::-1], rng.random(len(paths))
    more = {"n_rows": draw(st.sampled_from([10.0, np.inf])), "comparisons": rng.random(len(bank))}
    return bank, costs, paths, weights, reach, share, more


@settings(max_examples=80)
@given(problems(), st.sampled_from([0.0, 0.5]))
def test_equals_its_naive_twin(problem, floor):
    bank, costs, paths, weights, reach, share, more = problem
    relaxed = RelaxedCost(PricedGroups.of_bank(bank, costs.select(NAMES), **more), paths, floor)
    twin = naive_relaxed.relaxed(bank, costs, weights, paths, reach, share, floor, **more)
    assert relaxed.value(weights, reach, share) == pytest.approx(twin, rel=1e-12)
    twin = naive_relaxed.charged(bank, costs, weights, paths, reach, share, **more)
    assert relaxed.exact_cost(weights, reach, share) == pytest.approx(twin, rel=1e-12)


def drawn(seed, paths=PATHS[3], n_outputs=1, floor=0.0):
    """A problem away from the points where a norm has no slope."""
    rng = np.random.default_rng(seed)
    F = rng.random((3, 6)) < 0.5
    bank = cf.WeakLearnerBank.opaque(
        NAMES[:3],
        [OpaqueLearner(str(t), len, np.flatnonzero(F[:, t])) for t in range(6)],
        evaluation=rng.random(6),
    )
    table = {"features": {"a": {"cost": 2, "needs": ["r"]}, "b": {"cost": 1, "needs": ["s"]}, "c": 0.5}}
    costs = cf.CostModel.from_dict(table | {"resources": {"r": 3.0, "s": {"cost": 1, "needs": ["r"]}}, "learner": 0.3})
    paths = np.array(paths, bool)
    relaxed = RelaxedCost(PricedGroups.of_bank(bank, costs.select(NAMES[:3])), paths, floor)
    weights = rng.standard_normal((paths.shape[1], 6, n_outputs))
    return relaxed, weights, rng.uniform(0.1, 1, paths.shape[1]), rng.uniform(0.1, 1, len(paths))


@pytest.mark.parametrize("paths", PATHS)
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("floor", [0.0, 1.5])
def test_gradient_agrees_with_finite_differences(paths, n_outputs, floor):
    relaxed, weights, d, p = drawn(3, paths, n_outputs, floor)
    slopes = relaxed.gradient(weights, relaxed.auxiliaries(weights, d), d, p)
    near = {"rtol": 1e-6, "atol": 1e-7}
    np.testing.assert_allclose(slopes.weights, differences(lambda w: relaxed.value(w, d, p), weights), **near)
    np.testing.assert_allclose(slopes.reach, differences(lambda d: relaxed.value(weights, d, p), d), **near)
    np.testing.assert_allclose(slopes.share, differences(lambda p: relaxed.value(weights, d, p), p), **near)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.7]))
def test_auxiliaries_bound_the_cost_and_touch_it(seed, floor):
    relaxed, weights, d, p = drawn(seed, floor=floor)
    z, value = relaxed.auxiliaries(weights, d), relaxed.value(weights, d, p)

    def bound(weights, z):
        return p @ relaxed.gradient(weights, z, d, p).share

    assert bound(weights, z) == pytest.approx(value)
    other = np.maximum(z * np.random.default_rng(seed).uniform(0.2, 5, z.shape), floor)
    assert bound(weights, other) >= value * (1 - 1e-12)
    curvature = relaxed.curvature(z, d, p)[:, :, np.newaxis]
    np.testing.assert_allclose(curvature * weights, relaxed.gradient(weights, z, d, p).weights, rtol=1e-12)
    step = np.random.default_rng(seed).standard_normal(weights.shape)  # the bound is quadratic, without mixed terms
    change = bound(weights + step, z) - bound(weights, z)
    assert change == pytest.approx((curvature * (weights * step + step**2 / 2)).sum(), rel=1e-9, abs=1e-9)


def ways(tree):
    """Stages on the way to each answer, and whether each passes above."""
    found, waiting = [], [(0, [])]
    while waiting:
        stage, before = waiting.pop()
        part = tree.stages[stage]
        if isinstance(part, Route):
            waiting += [(part.below, [*before, (stage, False)]), (part.above, [*before, (stage, True)])]
        else:
            found.append([*before, (stage, True)])
    return found


@settings(max_examples=80)
@given(st.data())
def test_charged_is_the_evaluators_soft_cost(data):
    """Sum over ways of their mean probability times what is on them; every kind of price but comparisons."""
    bank = data.draw(kit.banks(NAMES))
    tree = data.draw(kit.stage_trees(bank))
    costs = data.draw(kit.cost_models(NAMES))
    prices = [evolve(f, cost=max(f.cost, costs.reuse), split=0.0) for f in costs.features]
    costs = evolve(costs, features=tuple(prices), reuse=0.0)
    X = np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal((7, len(NAMES)))
    first = np.cumsum(bank.widths) - bank.widths
    outputs, n_outputs = bank.outputs(X), max(len(part.intercept) for part in tree.stages)
    weights, passes = np.zeros((len(tree.stages), int(bank.widths.sum()), n_outputs)), []
    for k, part in enumerate(tree.stages):
        columns = [c for t in part.learners for c in range(first[t], first[t] + bank.widths[t])]
        weights[k, columns, : part.weights.shape[1]] = part.weights
        score = outputs[:, columns] @ part.weights[:, 0] + part.intercept[0]
        power = np.clip(getattr(part, "steepness", 1) * (score - getattr(part, "threshold", 0)), -700, 700)
        passes.append(1 / (1 + np.exp(-power)))
    found = ways(tree)
    paths, share = np.zeros((len(found), len(tree.stages)), bool), np.empty(len(found))
    for way, steps in enumerate(found):
        paths[way, [stage for stage, _ in steps]] = True
        share[way] = np.prod(
            [passes[k] if up else 1 - passes[k] for k, up in steps[:-1]] or [np.ones(7)], axis=0
        ).mean()
    relaxed = RelaxedCost(PricedGroups.of_bank(bank, costs.select(NAMES)), paths)
    exact = tree.cost(X, costs, routing="soft", acquisition="learner").mean
    assert relaxed.exact_cost(weights, share=share) == pytest.approx(exact, rel=1e-6, abs=1e-9)


def test_a_further_use_costs_reuse():
    bank = cf.WeakLearnerBank.columns(("a", "b"), [0, 1])
    bank = bank + cf.WeakLearnerBank.opaque(("a", "b"), [OpaqueLearner("both", lambda X: X.sum(axis=1), (0, 1))])
    costs = cf.CostModel.from_dict({"features": {"a": 1.0, "b": 2.0}, "reuse": 0.25})
    tree = cf.StageTree(bank, [cf.Answer([0, 1, 2], [1.0, 1.0, 1.0], [0.0])])
    relaxed = RelaxedCost(PricedGroups.of_bank(bank, costs.select(("a", "b"))))
    assert relaxed.exact_cost(np.ones((1, 3, 1))) == 3.5
    assert tree.cost(np.ones((2, 2)), costs, acquisition="learner").mean == 3.5


def test_groups_are_restricted_and_scaled():
    relaxed, weights, _, _ = drawn(1, PATHS[0])
    groups, chosen = relaxed.groups, np.array([4, 1])
    there = np.zeros_like(weights)
    there[:, chosen] = weights[:, chosen]
    found = RelaxedCost(groups.restrict(chosen).times(2.0)).value(weights[:, chosen])
    assert found == pytest.approx(2 * relaxed.value(there))


def test_roots_are_closed_forms():
    squares = np.array([0.0, 0.01, 0.25, 4.0])
    assert floored_root(squares, 0.0).tolist() == np.sqrt(squares).tolist()
    grid = np.linspace(0.5, 3, 200_001)
    for square, root, z in zip(squares, floored_root(squares, 0.5), auxiliary(squares, 0.5), strict=True):
        values = 0.5 * (square / grid + grid)
        assert root == pytest.approx(values.min())
        assert z == pytest.approx(grid[values.argmin()], abs=1e-4)


def test_groups_that_do_not_fit_are_refused():
    relaxed, *_ = drawn(0)
    with pytest.raises(BankError, match="price: expected finite numbers >= 0"):
        relaxed.groups.times(-1.0)
    with pytest.raises(BankError, match="price: expected one a group"):
        PricedGroups(relaxed.groups.member, np.ones(2))
    bank = cf.WeakLearnerBank.columns(("a", "b"))
    with pytest.raises(BankError, match="prices: expected those of the features"):
        PricedGroups.of_bank(bank, cf.CostModel.uniform(("b", "a")).select(("b", "a")))
