"""Fits, and the score and exact cost of the model that the first trees of each make."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import paper_tables
from attrs import frozen

import costframe as cf
from costframe.training.scoring import score_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from costframe.datasets import Dataset

PREFIXES = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 100)  # rounds, in per cent


@frozen
class Variant:
    """A way to train.

    Attributes
    ----------
    label : str
        For a figure.
    algorithm : str
    settings : tuple of (str, object)
    trained : {"true", "comparisons", "equal"}
        Prices in training, see `paper_tables.costs_for`.
    paid : {"true", "comparisons"}
        Prices at prediction.
    plain : bool
        Whether to train at tradeoff 0 only.
    """

    label: str
    algorithm: str = "cegb"
    settings: tuple[tuple[str, Any], ...] = (("max_leaves", 16),)
    trained: str = "true"
    paid: str = "true"
    plain: bool = False


@frozen
class Job:
    """One fit of one variant on one split of one table."""

    table: str
    split: int
    variant: Variant
    tradeoff: float
    rounds: int


@frozen
class Point:
    """A model: the first trees of a fit."""

    tradeoff: float
    trees: int
    valid_cost: float
    valid_score: float
    test_cost: float
    test_score: float


def run(jobs: Iterable[Job], workers: int) -> dict[Job, list[Point]]:
    """Do the jobs, each with one thread; those of one split had better follow each other."""
    jobs = list(dict.fromkeys(jobs))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return dict(zip(jobs, pool.map(points, jobs), strict=True))


def points(job: Job) -> list[Point]:
    """Fit once, and measure the constant and the models of more and more of its trees on valid and test rows."""
    data = paper_tables.load(job.table, job.split)
    train = data.part("train")
    settings = {"n_estimators": job.rounds, "learning_rate": 0.1, "n_jobs": 1, **dict(job.variant.settings)}
    settings["min_samples_leaf"] = int(np.clip(len(train) // 200, 5, 20))
    costs = paper_tables.costs_for(data, job.variant.trained)
    model = cf.estimator(job.variant.algorithm, data.task, costs=costs, tradeoff=job.tradeoff, **settings)
    model.fit(train.X, train.y, **({} if train.qid is None else {"qid": train.qid}))
    answer = model.predictor_.stages[0]
    counts = dict.fromkeys(len(answer.learners) * share // 100 for share in (0, *PREFIXES))
    return [_point(job, data, model.predictor_, count) for count in counts]


def _point(job: Job, data: Dataset, predictor: cf.StageTree, count: int) -> Point:
    answer, trees = predictor.stages[0], np.arange(count)
    weights = answer.weights[:count]
    prefix = cf.StageTree(predictor.bank.restrict(trees), (cf.Answer(trees, weights, answer.intercept, answer.link),))
    evaluator = cf.ExpectedCost(paper_tables.costs_for(data, job.variant.paid))
    measured: list[float] = []
    for name in ("valid", "test"):
        part = data.part(name)
        report = evaluator.evaluate(prefix, part.X, n_jobs=1)
        score = score_named(paper_tables.SCORES[job.table])
        measured += [report.mean, score(data.codes(part.y), report.predictions, None, part.qid)]
    return Point(job.tradeoff, count, *measured)


def at_budgets(found: Iterable[Point], budgets: np.ndarray) -> np.ndarray:
    """Return the test score of the best model on valid within each budget, mean cost per row on valid."""
    found = sorted(found, key=lambda point: (-point.valid_score, point.valid_cost))
    return np.array([next(p.test_score for p in found if p.valid_cost <= budget) for budget in budgets])
