"""Trained models as predictors with stops, and what the kept models decide on the rows they were trained on.

Models without a fold decide otherwise than the kept ones, so their mean cost is that of other plans. A plan's cost
hardly depends on labels, so its own rows cost what fresh ones do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from costframe import Answer, WeakLearnerBank
from costframe.plugin import (
    F8,
    I8,
    OpaqueLearner,
    PlannedPredictor,
    Rows,
    Rung,
    Sampling,
    Spare,
    Stop,
    TrainingData,
    TreeTable,
)
from costframe.trees import ManyFolds
from costframe_planner.problem import Problem
from costframe_planner.routes import follow
from costframe_planner.set_models import SetModel
from costframe_planner.spare import SpareOfFit
from costframe_planner.trained import Trained

Gains = Sequence[F8]

_AT_ANY_PRICE = -1e300  # a gain
NAME = "base"  # name of opaque learners in saved models, followed by a number
_MOST_ROWS = 20_000
_OWN = 0.01  # further error, as a share: gains were fitted to the same rows


def make_single(
    data: TrainingData, nothing: SetModel, model: SetModel, spare: SpareOfFit, problem: Problem
) -> PlannedPredictor:
    """Return a predictor that answers all rows by the model of one set, trained on a problem's.

    A base model may refuse rows with missing features, so the constant `nothing` answers rows that are cut by a cap;
    all others go on from there, because of the mean decrease of the loss.
    """
    gain = problem.rows.mean(nothing.losses - model.losses)
    models = [model] if isinstance(model.learners, TreeTable) else [nothing, model]
    bank, answers = _answers(data, models)
    stops = [Stop(model.features, answer) for model, answer in zip(models, answers, strict=True)]
    if len(models) > 1:
        onwards = min(-gain, -np.finfo(np.float64).tiny)
        stops[0] = evolve(stops[0], gains=_sum(np.empty(0, np.int64), np.array([onwards])))
    gains, unit = _gains_bank(data, [], len(model.answer.intercept)), problem.gain_unit
    ensemble = Spare.later(spare.learn, [problem.rows.mean(each.losses) for each in models])
    return PlannedPredictor(bank, gains, stops, costs=data.costs, gain_unit=unit, spare=ensemble)


def make_planned(
    data: TrainingData,
    trained: Trained,
    tradeoff: float,
    plan: Sequence[ManyFolds] | int | None = None,
    ladder: Sequence[Rung] = (),
    gain_unit: str = "loss",
    losses: Sequence[float] | None = None,
    realised: tuple[float, float] = (1.0, 1.0),
) -> PlannedPredictor:
    """Return a planned predictor; its planned rungs follow the regressions of an induction, or go to one stop.

    With expected `losses` of its stops it has a spare ensemble.
    """
    models, later = trained.models, len(trained.models) - 1
    bank, answers = _answers(data, models)
    induced = [] if plan is None or isinstance(plan, int) else [*plan]
    regressions = [*trained.gains, *induced]
    tables = [folds.trees.remap_features(_columns(data, models[k % later])) for k, folds in enumerate(regressions)]
    uses = [_sum(count, folds.intercept) for count, folds in zip(_spans(tables), regressions, strict=True)]
    planned: list[Answer | None] = [*uses[later:]] if induced else [None] * later
    if isinstance(plan, int):
        nothing = np.empty(0, np.int64)
        planned = [_sum(nothing, np.zeros(later - k)) for k in range(later)]
        if plan:
            planned[0] = _sum(nothing, np.where(np.arange(1, later + 1) == plan, _AT_ANY_PRICE, 0.0))
    stops = [
        Stop(model.features, answer, *terms)
        for model, answer, terms in zip(models, answers, [*zip(uses, planned, strict=False), ()], strict=True)
    ]
    gains = _gains_bank(data, tables, len(models[0].answer.intercept))
    rows = trained.routes.prices.n_rows
    batch = rows if data.prices.once.any() else None
    whole = PlannedPredictor(bank, gains, stops, tradeoff, data.costs, batch, ladder=ladder, gain_unit=gain_unit)
    whole = evolve(whole, realised=realised)
    return whole if losses is None else evolve(whole, spare=Spare.later(trained.spare.learn, losses))


def _answers(data: TrainingData, models: Sequence[SetModel]) -> tuple[WeakLearnerBank, list[Answer]]:
    """Return one bank with the learners of all models, and the answer of each model over it."""
    banks = [_bank(model, f"{NAME} {number}", data.feature_names) for number, model in enumerate(models)]
    answers = [evolve(model.answer, learners=learners) for learners, model in zip(_spans(banks), models, strict=True)]
    return evolve(WeakLearnerBank.concatenate(banks), categories=data.categories), answers


def _bank(model: SetModel, title: str, names: tuple[str, ...]) -> WeakLearnerBank:
    if isinstance(model.learners, TreeTable):
        return WeakLearnerBank.from_trees(model.learners, names)
    n_outputs = len(model.answer.intercept)
    return WeakLearnerBank.opaque(names, [OpaqueLearner(title, model.learners, model.features, n_outputs)])


def _gains_bank(data: TrainingData, tables: Sequence[TreeTable], n_scores: int) -> WeakLearnerBank:
    names = (*data.feature_names, *_score_names(data, n_scores))
    return WeakLearnerBank.from_trees(TreeTable.concatenate(list(tables)), names)


def _score_names(data: TrainingData, count: int) -> tuple[str, ...]:
    """Return names of the score columns that no feature has."""
    mark = "score "
    while any(f"{mark}{k}" in data.feature_names for k in range(count)):
        mark = f"_{mark}"
    return tuple(f"{mark}{k}" for k in range(count))


def _columns(data: TrainingData, model: SetModel) -> NDArray[np.int32]:
    """Return the columns of the gains' bank for a regression's columns: the set's features, then the scores."""
    d, n_scores = len(data.feature_names), len(model.answer.intercept)
    return np.array([*model.features, *range(d, d + n_scores)], np.int32)


def _spans(parts: Sequence[TreeTable | WeakLearnerBank]) -> list[I8]:
    """Return the numbers of each part's learners, one part after another."""
    ends = np.cumsum([0, *(len(part) for part in parts)])
    return [np.arange(first, last) for first, last in pairwise(ends)]


def _sum(learners: I8, intercept: F8) -> Answer:
    """Return an answer that adds up all outputs of its learners."""
    return Answer(learners, np.tile(np.eye(len(intercept)), (len(learners), 1)), intercept)


@frozen(eq=False)
class KeptPlan:
    """The decisions of the kept models on rows they were trained on.

    Copies of a base model may know their own rows by heart, so models without a fold decide in their place.
    """

    problem: Problem
    trained: Trained
    data: TrainingData
    rows: Rows
    scores: list[F8]  # scores of each stop's model
    gains: Gains  # of each stop except the last, without prices

    @classmethod
    def of(cls, problem: Problem, trained: Trained, data: TrainingData) -> KeptPlan:
        """Let the kept models decide on at most 20,000 rows."""
        models = trained.models
        if problem.base is not None:
            out_of_fold = [folds.predictions for folds in trained.gains]
            return cls(problem, trained, data, problem.rows, [model.scores for model in models], out_of_fold)
        rows = problem.rows.take(np.sort(Sampling.least(problem.keys, _MOST_ROWS)))
        planned = make_planned(data, trained, 0.0)
        table = np.empty((len(rows), rows.X.shape[1] + problem.loss.n_outputs))
        table[:, : rows.X.shape[1]] = rows.X
        scores, gains = [], []
        for number, stop in enumerate(planned.stops):
            scores.append(planned.layout.score(number, table))
            if stop.gains is not None:
                gains.append(planned.layout.expected_gains(number, table, planned=False))
        return cls(problem, trained, data, rows, scores, gains)

    def model_of(self, stop: int) -> SetModel:
        """Return the model of a set that answers all rows."""
        return self.trained.all_models[stop]

    def induced(self, made: Sequence[ManyFolds]) -> Gains:
        """Return the gains of a plan of backward induction: one array for each stop except the last."""
        if self.problem.base is not None:
            return [folds.predictions for folds in made]
        layout = make_planned(self.data, evolve(self.trained, gains=[*made]), 0.0).layout
        table, gains = np.hstack([self.rows.X, self.scores[0]]), []
        for number, scores in enumerate(self.scores[:-1]):
            table[:, self.rows.X.shape[1] :] = scores
            gains.append(layout.expected_gains(number, table, planned=False))
        return gains

    def cost(self, gains: Gains, tradeoff: float) -> tuple[float, float, float]:
        """Return the mean cost of a plan, its standard error, and its mean with shares of once-prices."""
        routes = self.trained.routes
        visited = follow(routes, gains, tradeoff)[1] if gains else np.ones(len(self.rows), np.int64)
        paid = evolve(routes, prices=self.problem.paid).cost(visited)
        mean, moved = self.rows.mean(paid), self.rows.influence(paid)
        error = float(np.hypot(np.sqrt(moved @ moved), _OWN * mean))
        return mean, error, self.rows.mean(routes.cost(visited))
