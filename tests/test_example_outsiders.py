"""The example policies: short, as good as they say, and charged for exactly what they fetch."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.metrics import roc_auc_score

import costframe as cf
from costframe.comparison import Outsider, SeenTable
from costframe.programs import OutsiderProgram
from costframe.testing import expect_as_reported, inquire

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "outsiders"


def torch_python():
    """Return a Python that has PyTorch: COSTFRAME_TORCH, or this one."""
    python = os.environ.get("COSTFRAME_TORCH", sys.executable)
    found = shutil.which(python) and subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)  # noqa: S603
    if not found or found.returncode:
        pytest.skip("needs torch, in this environment or in that of the Python that COSTFRAME_TORCH names")
    return python


def hand_made_order(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    order = importlib.import_module("sklearn_order").HandMadeOrder()
    assert isinstance(order, Outsider)
    return order


OUTSIDERS = {  # the outsider, its number of models, and the least area under the curve of the best of them
    "sklearn_order": (hand_made_order, 5, 0.99),
    "physician_rule": (lambda _: OutsiderProgram("rule", [sys.executable, str(FOLDER / "physician_rule.py")]), 1, 0.96),
    "torch_policy": (lambda _: OutsiderProgram("torch", [torch_python(), str(FOLDER / "torch_policy.py")]), 5, 0.94),
}


@pytest.mark.parametrize("name", OUTSIDERS)
def test_an_example_pays_what_it_fetches_and_learns(name, monkeypatch):
    make, count, least = OUTSIDERS[name]
    data = cf.datasets.load("breast-cancer")
    models = make(monkeypatch).fit(SeenTable.of(data, "roc_auc", 0))
    assert len(models) == count
    test, scores, costs = data.part("test"), [], []
    for model in models:
        report = cf.ExpectedCost(data.costs).evaluate(model, test.X, rounds=True)
        for row in range(0, len(test.X), 5):
            expect_as_reported(report, row, *inquire(model, test.X[row], data.costs), f"row {row}")
        scores.append(roc_auc_score(test.y == "malignant", report.predictions))
        costs.append(report.mean)
    assert max(scores) > least
    assert costs == sorted(costs)
    assert 5 < costs[-1] < 15


def test_examples_have_at_most_fifty_lines():
    scripts = list(FOLDER.glob("*.py"))
    assert {script.stem for script in scripts} == OUTSIDERS.keys()
    assert all(len(script.read_text().splitlines()) <= 50 for script in scripts)
