"""Plans against those found by trying everything, where conditional losses are exact; and ladders of plans."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st
from naive_costs import full_cost

import costframe as cf
from costframe.plugin import PathPoint, Rows, Rung
from costframe.sets import SetPrices
from costframe.trees import BinnedData, ManyFolds, TreeSettings
from costframe_planner import trained as induction
from costframe_planner.gains import _slope, regress
from costframe_planner.plan_points import PlanKey, ladder_around
from costframe_planner.realised import induce_apart, share_realised
from costframe_planner.routes import Routes, follow, steps_on
from costframe_planner.trained import Trained, induce

STOPS = [(), (0,), (0, 1), (0, 1, 2)]
COSTS = cf.CostModel.from_dict(
    {
        "features": {"a": 0.5, "b": {"cost": 1.0, "needs": ["lab"]}, "c": {"cost": 2.0, "needs": ["lab"]}},
        "resources": {"lab": 0.7},
    }
)


@frozen(eq=False)
class Problem:
    """A joint distribution of three features of two values and two classes, in which the first feature tells most."""

    values: np.ndarray
    weights: np.ndarray
    losses: list

    @classmethod
    def drawn(cls, seed):
        random = np.random.default_rng(seed)
        values = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
        weights, classes = random.dirichlet(np.full(8, 3.0)), random.dirichlet((0.5, 0.5), size=8)
        problem = cls(values, weights, [])
        for stop in STOPS:  # the log loss of the exact conditional probabilities, in each state
            predicted = problem.mean_given(stop, classes)
            problem.losses.append(-(classes * np.log(predicted)).sum(axis=1))
        return problem

    def alike(self, features, states=range(8)):
        """Divide states by the values of features."""
        key = lambda state: tuple(self.values[state, sorted(features)])  # noqa: E731 - a name for a formula
        return [list(part) for _, part in itertools.groupby(sorted(states, key=key), key)]

    def mean_given(self, features, numbers):
        """The conditional expectation of numbers (8, m)."""
        found = np.empty_like(numbers)
        for part in self.alike(features):
            found[part] = np.average(numbers[part], axis=0, weights=self.weights[part])
        return found

    def plan(self, tradeoff, *, optimal, stop=0, bought=frozenset(), states=range(8)):
        """Sum of weight * (loss + tradeoff * what is still paid) over states that look alike.

        By trying every action; or by going where loss plus price is least as if the row answered there.
        """
        states = list(states)
        w, chosen = self.weights[states], (self.weights[states] @ self.losses[stop][states],) * 2
        for later in range(stop + 1, len(STOPS)):
            more = bought | set(STOPS[later])
            paid, had = (full_cost(COSTS, {COSTS.names[f] for f in each}) for each in (more, bought))
            extra = tradeoff * (paid - had) * w.sum()
            rest = [
                self.plan(tradeoff, optimal=optimal, stop=later, bought=more, states=part)
                for part in self.alike(more, states)
            ]
            believed = extra + (sum(rest) if optimal else w @ self.losses[later][states])
            if believed < chosen[0] - 1e-12:
                chosen = believed, extra + sum(rest)
        return chosen[1]


@frozen
class Model:
    features: tuple
    losses: np.ndarray

    @property
    def realised(self):
        return self.losses


def trained_exactly(problem, monkeypatch):
    """A plan whose regressions predict exact conditional means."""

    def regress(_problem, seen, targets, *_, **__):
        mean, place = targets.mean(axis=0), np.zeros(len(targets), np.int64)
        return ManyFolds(problem.mean_given(seen, targets), mean[np.newaxis], place, mean, None)

    monkeypatch.setattr(induction, "regress", regress)
    models = [Model(stop, problem.losses[k]) for k, stop in enumerate(STOPS)]
    gains = [
        regress(None, model.features, np.stack([later.losses - model.losses for later in models[k + 1 :]], axis=1))
        for k, model in enumerate(models[:-1])
    ]
    routes = Routes(SetPrices.of(COSTS.select(COSTS.names), 1.0), tuple(frozenset(stop) for stop in STOPS))
    return Trained(models, list(STOPS), gains, routes, None)


def value(problem, trained, gains, tradeoff):
    at, visited = follow(trained.routes, [each.predictions for each in gains], tradeoff)
    lost = np.stack([model.losses for model in trained.models])[at, np.arange(len(at))]
    return float(problem.weights @ (lost + tradeoff * trained.routes.cost(visited)))


def test_induction_is_the_optimum_on_nested_sets_and_loss_to_go_the_open_loop_plan(monkeypatch):
    better = 0
    for seed in range(8):
        problem = Problem.drawn(seed)
        trained = trained_exactly(problem, monkeypatch)
        for tradeoff in (0.01, 0.05, 0.1, 0.2):
            induced = induce(SimpleNamespace(n_threads=1), trained, tradeoff)
            best, to_go = (value(problem, trained, gains, tradeoff) for gains in (induced, trained.gains))
            assert best == pytest.approx(problem.plan(tradeoff, optimal=True), abs=1e-12)
            assert to_go == pytest.approx(problem.plan(tradeoff, optimal=False), abs=1e-12)
            better += best < to_go - 1e-9
    assert better > 0


# --- regressions of gains ----------------------------------------------------------------------------------------


def rows_of(random, n=300):
    return Rows(random.normal(size=(n, 3)), random.normal(size=n), np.ones(n))


def test_gains_that_only_seem_to_depend_on_the_row_are_means():
    random = np.random.default_rng(0)
    rows = rows_of(random)
    slopes = [_slope(rows, *random.normal(size=(2, 300))) for _ in range(300)]
    assert 0.08 < np.mean(np.array(slopes) > 0) < 0.25  # a standard error is exceeded by 16 %
    moved = random.normal(size=300)
    assert 0.6 < _slope(rows, moved, 0.8 * moved + random.normal(size=300)) < 0.8
    assert _slope(rows, moved, 3 * moved) == 1.0
    assert _slope(rows, moved, 1e250 * random.normal(size=300)) in {0.0, 1.0}


def test_gains_in_money_are_shrunk_by_what_errors_really_cost():
    random = np.random.default_rng(0)
    rows = rows_of(random)
    data = BinnedData.of(rows, TreeSettings())
    problem = SimpleNamespace(n_rows=300, rows=rows, fold=np.arange(300) % 5)
    expected = rows.X[:, :1]
    real, none = (regress(problem, data, expected, truths) for truths in (expected, np.zeros((300, 1))))
    assert np.corrcoef(real.predictions[:, 0], expected[:, 0])[0, 1] > 0.9
    assert np.ptp(none.trees.values) == 0
    assert len(np.unique(none.predictions)) <= 3  # the means outside each part


# --- gains that rows realise ------------------------------------------------------------------------------------

FREE = cf.CostModel.from_dict({"features": dict.fromkeys("abcdefgh", 0.0)})


@frozen(eq=False)
class Rowed:
    """Rows that look alike, in five folds."""

    rows: Rows
    fold: np.ndarray
    n_threads: int = 1

    @property
    def n_rows(self):
        return len(self.rows)

    def of_rows(self, chosen):
        return Rowed(self.rows.take(chosen), self.fold[chosen])


@frozen(eq=False)
class Noisy:
    """A model whose losses of its rows are those of any other rows beside noise."""

    losses: np.ndarray
    realised: np.ndarray
    nested: np.ndarray
    scores: np.ndarray
    features: tuple = ()


def drawn_plan(random, n=300, n_sets=5):
    """Draw models of sets that all lower the loss of the first one by .1, beside noise of .5."""
    problem = Rowed(Rows(np.zeros((n, 1)), np.zeros(n), np.ones(n)), np.arange(n) % 5)
    losses = 0.5 * random.normal(size=(n_sets + 1, n)) - np.r_[0.0, np.full(n_sets, 0.1)][:, np.newaxis]
    models = [Noisy(*[each] * 3, np.zeros((n, 1))) for each in losses]
    seen = BinnedData.of(problem.rows, TreeSettings())
    routes = Routes(SetPrices.of(FREE.select(FREE.names), 1.0), tuple(frozenset(range(k)) for k in range(n_sets + 1)))
    gains = [regress(problem, seen, *[(losses[k + 1 :] - losses[k]).T] * 2) for k in range(n_sets)]
    return problem, Trained(models, [seen] * n_sets, gains, routes, None)


@pytest.mark.parametrize("induced", [False, True])
def test_the_largest_of_many_gains_is_stated_as_far_as_rows_realise_it(induced):
    """All sets gain .1, so that the steps of a row realise .1 in sum, however noise sends it on."""
    random, stated, true = np.random.default_rng(0), [], []
    for _ in range(40):
        problem, trained = drawn_plan(random)
        found = induce(problem, trained, 1.0) if induced else trained.gains
        gains = induce_apart(problem, trained, 1.0) if induced else [folds.predictions for folds in found]
        share = share_realised(problem.rows, trained.models, gains, trained.routes, 1.0, net=induced)
        steps = [*steps_on(trained.routes, [folds.intercept[np.newaxis] for folds in found], 1.0)]
        gained = sum(step.gain.sum() for step in steps)
        stated.append([gained, gained * share])
        true.append(0.1 * sum(len(step.rows) for step in steps if step.stop == 0))
    excess = np.array(stated) - np.array(true)[:, np.newaxis]
    (before, after), error = excess.mean(axis=0), excess.std(axis=0) / np.sqrt(len(excess))
    assert before > 3 * error[0]
    assert abs(after) < 2 * error[1]


# --- ladders -----------------------------------------------------------------------------------------------------

NUMBERS = st.integers(0, 6).map(float)


def plan(tradeoff, cost, loss, stop=-1, induced=False):
    return PathPoint(1, tradeoff, loss, cost, -loss, key=PlanKey(stop, induced))


def rung_at(ladder, tradeoff):
    return [rung for rung in ladder if rung.least <= tradeoff][-1]


@given(
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8), st.integers(0, 7), st.sampled_from((0.0, 0.5, 2.0))
)
def test_costs_fall_the_given_plan_is_at_its_tradeoff_and_others_have_the_least_objective(drawn, which, tradeoff):
    points = [plan(1.0 + k, cost, loss) for k, (cost, loss) in enumerate(drawn)]
    found = {point.tradeoff: point for point in points}
    own = points[which % len(points)]
    ladder = ladder_around(own, tradeoff, points)
    least = [rung.least for rung in ladder]
    assert least[0] == 0
    assert least == sorted(set(least))
    assert not any(rung.planned for rung in ladder)
    assert rung_at(ladder, tradeoff).tradeoff == own.tradeoff
    costs = [found[rung.tradeoff].cost for rung in ladder]
    assert costs == sorted(costs, reverse=True)
    own = min(points, key=lambda point: (point.loss + tradeoff * point.cost, point.cost))
    ladder = ladder_around(own, tradeoff, points)
    for asked in (0.0, 0.1, 0.45, 1.3, 2.7, 11.0):
        point = found[rung_at(ladder, asked).tradeoff]
        best = min(each.loss + asked * each.cost for each in points)
        assert point.loss + asked * point.cost == pytest.approx(best, abs=1e-6)


def test_plans_for_own_prices_are_planned_rungs():
    others = [plan(0.1, 5.0, 1.0), plan(3.0, 1.0, 3.0)]
    assert ladder_around(plan(0.7, 3.0, 1.5, induced=True), 0.5, others) == [
        Rung(0.0, 0.1), Rung(0.25, 0.7, planned=True), Rung(0.75, 3.0),
    ]  # fmt: skip
    assert ladder_around(plan(0.0, 3.0, 1.5, stop=2), 0.5, others)[1] == Rung(0.25, 0.5, planned=True)
    low, high = ladder_around(plan(0.7, 1.0, 9.0, induced=True), 0.5, [plan(0.2, 9.0, 0.0)])
    assert (low, high.tradeoff, high.least) == (Rung(0.0, 0.2), 0.7, 0.5)  # worse at 0.5, but its own plan there
