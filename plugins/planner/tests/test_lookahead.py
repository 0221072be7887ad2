"""Plans of backward induction, made of many rows only where a sample says that they pay."""

from types import SimpleNamespace

import numpy as np
import pytest

from costframe_planner import PlannerClassifier, lookahead

QUICK = {"n_jobs": 1, "n_estimators": 60, "n_sets": 6, "max_tries": 60}
COSTS = [4.0, 10.0, 1.0]


def table(tells, n=3000):
    """Draw a cheap feature that tells a little, and with `tells` for which rows the dear one tells all."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 2, n), random.normal(size=n), random.normal(size=n)])
    told = np.where(X[:, 0] > 0, 8.0, 0.0) if tells else 3.0
    return X, (random.random(n) < 1 / (1 + np.exp(-told * X[:, 1] - 1.2 * (X[:, 0] - 0.5)))).astype(int)


@pytest.mark.parametrize("tells", [False, True])
def test_many_rows_have_plans_of_induction_where_they_pay(tells, monkeypatch):
    monkeypatch.setattr(lookahead, "_FEW", 0)
    monkeypatch.setattr(lookahead, "_SAMPLE", 1500)
    path = PlannerClassifier(COSTS, **QUICK).fit_path(*table(tells))
    assert not path.kept.trained.parted
    assert any(point.key.induced for point in path.points) == tells


def test_few_rows_always_have_them():
    path = PlannerClassifier(COSTS, **QUICK).fit_path(*table(tells=False))
    assert any(point.key.induced for point in path.points)


def test_they_are_tried_where_costs_lie_apart():
    plan = lambda tradeoff, cost: SimpleNamespace(  # noqa: E731 - a name for a value
        key=SimpleNamespace(stop=-1), tradeoff=tradeoff, cost=cost, objective_cost=cost
    )
    single = SimpleNamespace(key=SimpleNamespace(stop=0), tradeoff=0.0, cost=5.0, objective_cost=5.0)
    points = [
        single,
        *(plan(k + 1.0, 100.0 - k) for k in range(15)),
        plan(20.0, 50.0),
        plan(21.0, 50.0),
        plan(30.0, 0.0),
    ]
    assert lookahead._spread(points) == [1.0, 3.0, 5.0, 7.0, 10.0, 12.0, 14.0, 21.0]
    assert lookahead._spread([single]) == []
