"""The figures of the algorithms' pages, score against cost of each on the embedded data, and of the concepts.

`python docs/_build/figures.py` writes the latter, `docs/concepts.svg`.
"""

from __future__ import annotations

import io
import itertools
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import costframe as cf
from costframe import Answer, Route, StageTree, WeakLearnerBank

if TYPE_CHECKING:
    from costframe.study.points import Point

# Two frontiers of a plugin have different marks, too: colors alone are not for everybody.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#222222")
STYLES = ("o-", "s--", "^-.", "D:", "v-", "P--", "*-")


def sweep() -> dict[str, list[Point]]:
    """Return the non-dominated points of each algorithm by name, on validation rows."""
    chosen: dict[str, list[Point]] = defaultdict(list)
    for name, algorithm in cf.algorithms().items():
        if algorithm.classifier is not None:
            found = cf.Frontier.sweep("breast-cancer", [name], points=8, cv=0, references=False)
            chosen[name] = sorted(found.non_dominated(), key=lambda point: point.cost)
    return chosen


def plugin_of(algorithm: str) -> str:
    """Return the name of the plugin that has an algorithm."""
    return str(cf.algorithms()[algorithm].classifier.__module__).split(".")[0].removeprefix("costframe_")


def draw(points: dict[str, list[Point]], plugin: str) -> bytes:
    """Return a figure as SVG: a plugin's algorithms in color, all others in grey."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "costframe"}):
        figure = Figure(figsize=(7, 3.6), layout="constrained")
        axes = figure.subplots()
        styles = itertools.cycle(zip(COLORS, STYLES, strict=True))
        for name in sorted(points, key=lambda name: plugin_of(name) == plugin):
            costs = [point.cost for point in points[name]]
            scores = [point.score for point in points[name]]
            if plugin_of(name) == plugin:
                color, style = next(styles)
                axes.plot(costs, scores, style, color=color, label=name)
            else:
                axes.plot(costs, scores, "-", color="0.8", zorder=0)
        axes.set(xlabel="mean cost per row, minutes", ylabel="ROC AUC on validation rows", ylim=(0.85, 1.0))
        axes.set_title("The embedded data; the other algorithms are grey", fontsize="medium")
        axes.legend(loc="lower right")
        axes.spines[["top", "right"]].set_visible(False)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def draw_concepts() -> bytes:
    """Return the stage tree of the page of concepts as SVG, with drawn rows."""
    bank = WeakLearnerBank.columns(("age", "chol", "fbs"), [0, 1])
    old = Route([0], [1.0], -50.0, threshold=0.0, steepness=1.0, below=1, above=2)
    tree = StageTree(bank, (old, Answer([], np.empty((0, 1)), [0.1]), Answer([1], [1.0], [0.0])))
    prices = {"age": 1.0, "chol": {"cost": 5.0, "needs": ["blood"]}, "fbs": {"cost": 3.0, "needs": ["blood"]}}
    costs = cf.CostModel.of({"features": prices, "resources": {"blood": 2.0}})
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(30, 70, 400), rng.normal(220, 40, 400), np.zeros(400)])
    return cf.plot.StagesDisplay.from_estimator(tree, rows, costs=costs).to_bytes("svg")


if __name__ == "__main__":
    Path(__file__).resolve().parents[1].joinpath("concepts.svg").write_bytes(draw_concepts())
