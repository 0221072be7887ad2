"""Fits of cascades and of what they are compared with, and the score and exact cost of each on valid and test rows."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import cascade_banks
import cascade_tables
import numpy as np
from attrs import frozen
from cascade_banks import BOOSTED, Source
from cascade_scores import score

import costframe as cf
import costframe_cronus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cascade_tables import Part, Table

PREFIXES = tuple(dict.fromkeys(np.geomspace(1, 1000, 22).astype(int).tolist()))  # trees, in thousandths of all
NAMES = {"reweighted": "Reweighted", "cronus": "Cronus"}
LEAST, MOST = 0.02, 2.0  # tradeoffs, in units of `Table.loss` per cost of all features


@frozen
class Variant:
    """A way to make models of a bank.

    Attributes
    ----------
    estimator : {"greedy", "reweighted", "cronus"}
        The constant, and the bank's trees as they were added; the single stage; a cascade.
    settings : tuple of (str, object)
    """

    estimator: str
    settings: tuple[tuple[str, Any], ...] = ()


@frozen
class Job:
    """One fit; the tradeoff is in units of `Table.loss` per cost of all features."""

    table: str
    split: int
    variant: Variant
    tradeoff: float = 0.0
    source: Source = BOOSTED
    acquisition: str = "path"
    quick: bool = False


@frozen(eq=False)
class Stages:
    """What test rows meet in a cascade.

    Attributes
    ----------
    reach : float64 (K,)
        Share of rows that come to each stage.
    positives : float64 (K,)
        Likewise of those that are relevant.
    bought : bool (K, d)
        Features that trees of this stage or an earlier one read.
    """

    reach: np.ndarray
    positives: np.ndarray
    bought: np.ndarray


@frozen(eq=False)
class Point:
    """A model.

    Attributes
    ----------
    source : Source
        Of its trees.
    trees : int
        That it evaluates, if for all rows.
    valid_cost, test_cost : float
    valid_scores, test_scores : tuple of float
        One for each score of the table.
    at : int
        Which of them is looked at.
    stages : Stages, optional
    """

    source: Source
    trees: int
    valid_cost: float
    valid_scores: tuple[float, ...]
    test_cost: float
    test_scores: tuple[float, ...]
    at: int = 0
    stages: Stages | None = None

    @property
    def valid_score(self) -> float:
        """On rows to choose by."""
        return self.valid_scores[self.at]

    @property
    def test_score(self) -> float:
        """On rows to report."""
        return self.test_scores[self.at]


def tradeoffs(count: int) -> tuple[float, ...]:
    """Return a geometric row, the largest first."""
    return tuple(np.geomspace(MOST, LEAST, count).tolist())


def run(jobs: Iterable[Job], workers: int = 2) -> dict[Job, list[Point]]:
    """Do the jobs, each with one thread; those of one table and split had better follow each other."""
    jobs = list(dict.fromkeys(jobs))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return dict(zip(jobs, pool.map(points, jobs), strict=True))


def points(job: Job) -> list[Point]:
    """Fit once and measure: a cascade or single stage is one model, greedy boosting one for each of some counts.

    A model that bought nothing is no bank, and makes the constant only.
    """
    data = cascade_tables.load(job.table, job.split, quick=job.quick)
    model = cascade_banks.model(job.source, job.table, job.split, quick=job.quick)
    if job.variant.estimator != "greedy":
        return [_point(job, data, _fitted(job, data, model))] if len(model.bank) else []
    counts = dict.fromkeys(min(len(model.bank), 1 + len(model.bank) * share // 1000) for share in PREFIXES)
    return [_point(job, data, _prefix(model, count)) for count in {0: None} | counts]


def _fitted(job: Job, data: Table, bank: cf.StageTree) -> cf.StageTree:
    """Fit to the training rows that the trees have not seen, or to all if they have seen all.

    The cascade of a ranking is a ranker, the single stage a classifier.
    """
    rows = cascade_tables.training_rows(data, "all" if job.source.rows == "all" else "train")
    seen, name = data.parts["choice"], NAMES[job.variant.estimator]
    weights = {"sample_weight": rows.weight, "sample_weight_val": seen.weight}
    settings = {"costs": data.costs, "tradeoff": job.tradeoff * data.loss / data.full_cost, "bank": bank, "n_jobs": 1}
    settings |= dict(job.variant.settings)
    if data.kind.ranking and hasattr(costframe_cronus, f"{name}Ranker"):
        model = getattr(costframe_cronus, f"{name}Ranker")(relevant=data.kind.relevant, **settings)
        model.fit(rows.X, rows.grade, X_val=seen.X, y_val=seen.grade, qid=rows.qid, qid_val=seen.qid, **weights)
    else:
        model = getattr(costframe_cronus, f"{name}Classifier")(**settings)
        model.fit(rows.X, rows.relevant, X_val=seen.X, y_val=seen.relevant, **weights)
    fitted = model.predictor_
    assert isinstance(fitted, cf.StageTree)  # noqa: S101 - that is what these estimators make
    return fitted


def _prefix(model: cf.StageTree, count: int) -> cf.StageTree:
    answer, trees = model.stages[0], np.arange(count)
    assert isinstance(answer, cf.Answer)  # noqa: S101 - a boosted model has no other stage
    return cf.StageTree(
        model.bank.restrict(trees), (cf.Answer(trees, answer.weights[:count], answer.intercept, answer.link),)
    )


def _point(job: Job, data: Table, model: cf.StageTree) -> Point:
    evaluator = cf.ExpectedCost(data.costs, acquisition=job.acquisition)
    costs, scores = [], []
    for part in (data.parts["valid"], data.parts["test"]):
        costs.append(evaluator.evaluate(model, part.X, sample_weight=part.weight, n_jobs=1).mean)
        predictions = model.decision_function(part.X, n_jobs=1)
        scores.append(tuple(score(name, part, predictions) for name in data.kind.scores))
    met = stages(model, data.parts["test"]) if len(model.stages) > 1 else None
    return Point(job.source, len(model.bank), costs[0], scores[0], costs[1], scores[1], stages=met)


def stages(model: cf.StageTree, part: Part) -> Stages:
    """Follow rows along the chain of stages: every route passes on, or rejects by an answer."""
    exits, reads = model.exits(part.X, n_jobs=1), model.bank.F.toarray().astype(bool)
    left, bought = np.ones(len(part), bool), np.zeros(len(reads), bool)
    reach, positives, seen, at = [], [], [], 0
    while True:
        stage = model.stages[at]
        bought = bought | reads[:, stage.learners].any(axis=1)
        reach.append(part.weight[left].sum() / part.weight.sum())
        positives.append(part.relevant[left].sum() / part.relevant.sum())
        seen.append(bought)
        if isinstance(stage, cf.Answer):
            return Stages(np.array(reach), np.array(positives), np.array(seen))
        left = left & (exits != stage.below)
        at = stage.above
