"""Policies of the field, written from their papers for benchmarks: they buy what tells, and pay for it as all do."""

import importlib
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

import costframe as cf
from costframe.comparison import Outsider, SeenTable
from costframe.errors import CostframeError, OutsiderError
from costframe.testing import expect_as_reported, inquire

ROOT = Path(__file__).resolve().parents[1]
PRICES = {
    "resources": {"visit": 1, "blood": {"cost": 2, "needs": ["visit"]}},
    "features": {
        "free": 0, "which": {"cost": 1, "needs": ["visit"]}, "left": {"cost": 1, "needs": ["blood"]},
        "right": {"cost": 1, "needs": ["blood"]}, "noise": 2,
    },
}  # fmt: skip


@pytest.fixture
def harness(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield lambda name: importlib.import_module(f"harness.{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "harness"]:
        sys.modules.pop(name)


def table(n=900, task="classification"):
    """Draw rows in which one feature says which of two others tells the class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[:, 1] = rng.integers(0, 2, n)
    y = np.where(np.where(X[:, 1] > 0.5, X[:, 3], X[:, 2]) > 0, "yes", "no")
    X[rng.random((n, 5)) < 0.02] = np.nan
    y = y if task == "classification" else (y == "yes").astype(float)
    return cf.datasets.Dataset.from_arrays(X, y, PRICES, feature_names=tuple(PRICES["features"]), task=task)


def figures(data, models):
    """Return accuracies and costs on test rows, of which some are fetched and paid one by one too."""
    test, found = data.part("test"), []
    for model in models:
        report = cf.ExpectedCost(data.costs).evaluate(model, test.X, rounds=True)
        for row in range(0, len(test.X), 30):
            expect_as_reported(report, row, *inquire(model, test.X[row], data.costs), f"row {row}")
        found.append((((report.predictions > 0.5) == (test.y == "yes")).mean(), report.mean, report))
    return found


def test_a_knapsack_has_the_most_worth_within_its_budget(harness):
    costs, names = cf.CostModel.of(PRICES), tuple(PRICES["features"])
    prices = costs.select(names)
    sets = [np.array(chosen) for chosen in itertools.product([False, True], repeat=len(names))]
    for seed, budget in itertools.product(range(3), np.arange(0.0, 9.5)):
        worth = np.random.default_rng(seed).random(len(names))
        best = max(worth[chosen].sum() for chosen in sets if prices.of_set(np.flatnonzero(chosen)) <= budget)
        found = harness("knapsack").fill(worth, costs, names, budget)
        assert prices.of_set(np.flatnonzero(found)) <= budget
        assert worth[found].sum() == pytest.approx(best)


def test_next_prices_are_those_of_the_ledger(harness):
    costs = cf.CostModel.of(PRICES)
    prices = harness("prices_next").NextPrices.of(costs)
    sets = np.array(list(itertools.product([False, True], repeat=5)))
    names = np.array(costs.names)
    full = np.array([costs.full_cost(names[each].tolist()) for each in sets])
    for has, paid in zip(sets, full, strict=True):
        union = [costs.full_cost(names[has | each].tolist()) for each in sets]
        assert prices.of_sets(has, sets) == pytest.approx(np.array(union) - paid)


def test_aaco_looks_ahead_and_pays_for_what_tells(harness, monkeypatch):
    module = harness("aaco")
    monkeypatch.setattr(module, "ROWS", 6000)
    data, outsider = table(), module.AACO(sets=20)
    assert isinstance(outsider, Outsider)
    models = outsider.fit(SeenTable.of(data, "accuracy", 3))
    found = figures(data, models[2::4])
    costs = [cost for _, cost, _ in found]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 0.5
    right, cost, report = max(found[1:], key=lambda one: one[0])
    assert right > 0.85
    assert cost < 6.5  # not all of 8
    bought = dict(zip(data.feature_names, report.acquired.mean(axis=0), strict=True))
    assert min(bought["which"], bought["left"], bought["right"]) > 0.5 > 2 * bought["noise"]
    again = outsider.fit(SeenTable.of(data, "accuracy", 3))[6]
    assert again.predict(data.part("test").X).tolist() == found[1][2].predictions.tolist()
    with pytest.raises(CostframeError, match="AACO is for classes, not for a regression"):
        outsider.fit(SeenTable.of(table(task="regression"), "r2", 3))


def torch_outsiders(harness, monkeypatch):
    """Return the module of outsiders in PyTorch, of which this environment, or COSTFRAME_TORCH, has some."""
    python = os.environ.get("COSTFRAME_TORCH", sys.executable)
    found = shutil.which(python) and subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)  # noqa: S603
    if not found or found.returncode:
        pytest.skip("needs torch, in this environment or in that of the Python that COSTFRAME_TORCH names")
    monkeypatch.setenv("COSTFRAME_TORCH", python)
    return harness("torch_outsiders")


@pytest.mark.deep
@pytest.mark.parametrize("name", ["dime", "gdfs"])
def test_learned_policies_keep_budgets_and_pay_for_what_tells(harness, monkeypatch, name):
    data, outsider = table(), getattr(torch_outsiders(harness, monkeypatch), name)(epochs=12)
    models = outsider.fit(SeenTable.of(data, "accuracy", 3))
    assert len(models) == 28
    by_threshold, by_budget = figures(data, models[0:16:5]), figures(data, models[16::4])
    for found in (by_threshold, by_budget[::-1]):
        costs = [cost for _, cost, _ in found]
        assert costs == sorted(costs)
    assert max(right for right, *_ in by_threshold) > 0.8
    for share, (*_, report) in zip([0.65 ** (4 * k) for k in range(3)], by_budget, strict=True):
        assert report.per_row.max() <= 8 * share + 1e-4
    with pytest.raises(OutsiderError, match=f"fit: it refuses: {outsider.name} is for classes, not for a regressor"):
        outsider.fit(SeenTable.of(table(task="regression"), "r2", 3))


@pytest.mark.deep
def test_gdfs_buys_as_many_features_as_a_benchmark_asks_for(harness, monkeypatch):
    data, counts = table(300), (0, 1, 3, 4, 5)
    data = evolve(data, costs=cf.CostModel.uniform(data.feature_names))
    models = torch_outsiders(harness, monkeypatch).gdfs(budgets=counts, epochs=1).fit(SeenTable.of(data, "accuracy", 3))
    found = [set(report.per_row) for *_, report in figures(data, models)]
    assert found == [{float(count)} for count in counts]
