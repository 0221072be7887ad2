"""What tests of pages share: a frontier of small cascades, with names from a hostile file."""

from __future__ import annotations

import numpy as np

import costframe as cf
from costframe.choices import Frontier, Point
from costframe.core.errors import printable
from costframe.report.frontier_page import frontier_page
from costframe.report.model_page import model_page
from costframe.report.page import render_page

__all__ = ["frontier_page", "model_page", "printable", "render_page"]

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"onmouseover="alert(1)',
    "\x1b[31mred\x1b[0m\u2028\x00",
    "\u202egnp.exe",
    "<img src=x onerror=alert(1)>&amp;",
    "]]><!--",
)
PLAIN = ("age", "pulse", "chol", "scan", "x-ray", "score")


def prices(names=PLAIN):
    """Prices of features, some of which need a resource whose name is hostile if theirs are."""
    drawn = f"draw of {names[2]}"
    features = {name: {"cost": float(i), "needs": [drawn] if i in (2, 3) else []} for i, name in enumerate(names)}
    return cf.CostModel.from_dict({"unit": "CAD", "features": features, "resources": {drawn: 4.0}})


def cascade(n_columns, names=PLAIN):
    """One look at the first column, and at the first n for every second row."""
    bank, every = cf.WeakLearnerBank.columns(names), list(range(n_columns))
    if n_columns < 2:
        return cf.StageTree(bank, [cf.Answer(every, np.ones((n_columns, 1)), [0.0])], prices(names))
    stages = [cf.Route([0], [1.0], 0.0, 0.0, 1.0, 1, 2), cf.Answer([0], [[1.0]], [0.0])]
    return cf.StageTree(bank, [*stages, cf.Answer(every, np.ones((n_columns, 1)), [0.0])], prices(names))


def rows(n=40, d=6, seed=0):
    """Rows of d features."""
    return np.random.default_rng(seed).normal(size=(n, d))


def frontier(n=12, names=PLAIN, algorithms=("miser", "cegb")):
    """Points whose scores grow with their costs, not all of them, with influences so that near ones may tie."""
    rng, points, influences = np.random.default_rng(1), [], []
    for i in range(n):
        cost = 3.0 * i / max(n, 1)
        score = 0.5 if i == 0 else 0.8 + 0.15 * i / n + rng.normal(scale=0.02)
        moved = rng.normal(scale=0.02, size=50) / np.sqrt(50)
        algorithm = algorithms[i % len(algorithms)]
        point = Point(
            algorithm=algorithm, tradeoff=0.1 * i, score=score, score_error=0.015 if i else 0.0,
            cost=cost, test_score=score - 0.01, test_error=0.02, test_cost=1.02 * cost, fixed=0.0,
            n_features=min(i, len(names)), n_learners=i, rounds=1.0, seconds=0.1, name=f"{algorithm}-{i}",
        )  # fmt: skip
        points.append(point)
        influences.append(moved)
    models = tuple(cf.FittedEstimator(cascade(min(i, len(names)), names)) for i in range(n))
    return Frontier(tuple(points), "roc_auc", "CAD", prices(names).full_cost(), models, tuple(influences))
