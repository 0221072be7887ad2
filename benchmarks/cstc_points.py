"""Fits of trees of classifiers and of what they are compared with: the score and exact cost of each on two parts."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import cstc_banks
import cstc_levels
import numpy as np
import paper_tables
from attrs import frozen

import costframe as cf
from costframe.training.scoring import score_named

if TYPE_CHECKING:
    from cascade_points import Stages

    from costframe.datasets import Dataset

SINGLE, CASCADE, TREE = "single stage", "Cronus", "CSTC"
ALGORITHMS = {SINGLE: "reweighted", CASCADE: "cronus", TREE: "cstc"}
PATHS = {"Greedy Miser": "miser", "CEGB": "cegb"}
MOST, LEAST = 5.0, 0.02  # tradeoffs, in units of the constant's loss per cost of all features


@frozen
class Plan:
    """What to fit on one split of a table.

    Attributes
    ----------
    table : str
    split : int
    tradeoffs : tuple of float
        In units of the constant's loss per cost of all features.
    depth : int or None
        Of trees.
    quick : bool
    """

    table: str
    split: int
    tradeoffs: tuple[float, ...]
    depth: int | None = None
    quick: bool = False

    @property
    def data(self) -> Dataset:
        """The table."""
        return cstc_banks.load(self.table, self.split, quick=self.quick)


@frozen(eq=False)
class Point:
    """A model.

    Attributes
    ----------
    tradeoff : float
        NaN if it is of a path.
    valid_cost, valid_score, test_cost, test_score : float
    seconds : float
        Of the fit, without the bank; of a path, in equal parts.
    levels, on_average : Stages, optional
        Of a tree: what is acquired at each depth for any test row, and for the mean one.
    """

    tradeoff: float
    valid_cost: float
    valid_score: float
    test_cost: float
    test_score: float
    seconds: float = 0.0
    levels: Stages | None = None
    on_average: Stages | None = None


def way(algorithm: str, bank: str) -> str:
    """Name an algorithm over a bank."""
    return {"CEGB": f"{algorithm} over CEGB"}.get(bank, f"{algorithm}, {bank} trees")


def tradeoffs(count: int) -> tuple[float, ...]:
    """Return a geometric row, the largest first."""
    return tuple(np.geomspace(MOST, LEAST, count).tolist())


def algorithms(data: Dataset) -> tuple[str, ...]:
    """Name those that go over a bank; the cascade is for two classes and for rankings."""
    return tuple(name for name in ALGORITHMS if name != CASCADE or data.task == "ranking" or len(data.classes) == 2)


def points(plan: Plan) -> dict[str, list[Point]]:
    """Do all fits on one split with one thread; every way also has the constant, which costs nothing."""
    data = plan.data
    found: dict[str, list[Point]] = {name: _along(plan, algorithm) for name, algorithm in PATHS.items()}
    for kind in cstc_banks.BANKS:
        for tradeoff in plan.tradeoffs:
            bank = cstc_banks.bank(kind, _priced(data, TREE, tradeoff), plan.table, plan.split, quick=plan.quick)
            if len(bank.bank if isinstance(bank, cf.StageTree) else bank):
                for name in algorithms(data):
                    found.setdefault(way(name, kind), []).append(_fitted(plan, name, tradeoff, bank))
        print(f"{plan.table}, split {plan.split}: {kind} done", file=sys.stderr, flush=True)
    constant = _measured(data, plan.table, np.nan, _constant(data), 0.0)
    return {name: [constant, *several] for name, several in found.items()}


def constant_loss(data: Dataset, algorithm: str) -> float:
    """Return the loss of the best constant on training rows, as the algorithm has it: half the square, or entropy."""
    labels = data.part("train").y
    if not data.classes:
        return float(np.var(labels) / 2 * (2 / labels.max() if algorithm == CASCADE else 1) ** 2)
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    if algorithm == TREE:
        return float(-share @ np.log(share))
    return float(share @ (1 - share) / (1 if len(share) == 2 else 2))  # of labels -1 and 1, or a column a class


def _priced(data: Dataset, algorithm: str, tradeoff: float) -> float:
    return tradeoff * constant_loss(data, algorithm) / data.full_cost


def _along(plan: Plan, algorithm: str) -> list[Point]:
    start = time.perf_counter()
    path = cstc_banks.path(algorithm, plan.table, plan.split, quick=plan.quick)
    seconds = time.perf_counter() - start
    models = [path.predictor(point) for point in path.frontier()]
    print(f"{plan.table}, split {plan.split}: {algorithm} in {seconds:.0f} s", file=sys.stderr, flush=True)
    return [_measured(plan.data, plan.table, np.nan, model, seconds / len(models)) for model in models]


def _fitted(plan: Plan, name: str, tradeoff: float, bank: Any) -> Point:
    """Fit over a bank; the single stage of a ranking is a regression of its grades."""
    data, start = plan.data, time.perf_counter()
    task = "regression" if name == SINGLE and data.task == "ranking" else data.task
    settings = {"depth": plan.depth} if name == TREE else {}
    asked = _priced(data, name, tradeoff)
    model = cf.estimator(ALGORITHMS[name], task, costs=data.costs, tradeoff=asked, bank=bank, n_jobs=1, **settings)
    rows, named = cstc_banks.given(data, queries=task == "ranking")
    model.fit(*rows, **named)
    seconds = time.perf_counter() - start
    return _measured(data, plan.table, tradeoff, model.predictor_, seconds, levels=name == TREE)


def _constant(data: Dataset) -> cf.StageTree:
    """Answer with the mean, or the shares of classes."""
    bank = cf.WeakLearnerBank.columns(data.feature_names).restrict([])
    labels = data.codes(data.part("train").y)
    if not data.classes:
        return cf.StageTree(bank, (cf.Answer([], np.empty((0, 1)), [labels.mean()]),))
    log_share = np.log(np.bincount(labels) / len(labels))
    if len(log_share) == 2:
        return cf.StageTree(bank, (cf.Answer([], np.empty((0, 1)), [log_share[1] - log_share[0]], "sigmoid"),))
    return cf.StageTree(bank, (cf.Answer([], np.empty((0, len(log_share))), log_share, "softmax"),))


def _measured(
    data: Dataset, table: str, tradeoff: float, model: cf.StageTree, seconds: float, *, levels: bool = False
) -> Point:
    score, found = score_named(paper_tables.SCORES[table]), []
    for name in ("valid", "test"):
        part = data.part(name)
        report = cf.ExpectedCost(data.costs).evaluate(model, part.X, n_jobs=1)
        found += [report.mean, float(score(data.codes(part.y), report.predictions, None, part.qid))]
    met = cstc_levels.levels(model, data.costs, data.part("test").X) if levels else (None, None)
    return Point(tradeoff, *found, seconds, *met)
