"""The step of a model, a depth, stop or round, in which each row acquires each feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError
from costframe.core.machine import over_chunks
from costframe.core.predictors.fitted import as_predictor
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.run_stages import StageRunner, check_acquisition
from costframe.core.stages.stages import Route
from costframe.core.tables.preparation import Preparation
from costframe.core.tables.rows import as_rows
from costframe.report.stage_statistics import visit_stages

MOST_REPLAYED = 500  # rounds are counted row by row, which is slow


@frozen(eq=False)
class RowSteps:
    """Rows of a model with the step in which each row acquires each feature."""

    # {"depth", "stop", "round"}: kind of step. The depth of a stage is the number of stages before it on the
    # path
    word: str
    first: int  # number of the first step
    acquired: NDArray[np.int32]  # (n, d): step, counted from zero; -1 if the row does not acquire the feature
    last: I8  # (n,): last step of each row; after it, the row acquires nothing and goes nowhere else
    rows: I8  # (n,): positions of the rows in the table
    n_given: int  # rows of the table; of a large one, some are followed if steps are rounds
    per_row: F8  # (n,): cost of each row
    prices: PriceArrays

    @property
    def count(self) -> int:
        """Number of steps."""
        return int(self.last.max()) + 1

    @property
    def numbers(self) -> range:
        """Numbers of the steps, for readers."""
        return range(self.first, self.first + self.count)


def follow_rows(
    model: Any, X: Any, costs: object = None, *, acquisition: str = "path", n_jobs: int | None = None
) -> RowSteps:
    """Send rows through a model, and note the step in which each acquires each feature.

    A stage tree with routes has depths, a plan stops; a model of one answer, or one that can only be stepped, has the
    rounds of its inquiries. A model over prepared columns has the steps of its inner model, with raw columns.

    Parameters
    ----------
    model : Predictor, or a fitted estimator whose `predictor_` is one
    X : float64 (n, d), or data frame
    costs : CostModel, or anything `CostModel.of` accepts
        By default the model's own.
    acquisition : {"path", "learner"}
        As for `Predictor.inquire`.
    n_jobs : int, optional
        Threads.

    Raises
    ------
    ParameterError
        If the model is none of costframe.
    DataError
        If the columns of X are not the model's, or there is no row.
    """
    predictor = as_predictor(model, "estimator")
    check_acquisition(acquisition)
    if X is None:
        raise DataError("X: expected rows, got None")
    rows = as_rows(X, predictor.feature_names, predictor.categories, predictor.used_features)
    if not len(rows):
        raise DataError("X: expected at least one row, got none")
    prices = CostModel.of(predictor.costs if costs is None else costs, predictor.feature_names)
    word, at, last, followed = _follow(predictor, rows, prices, acquisition, n_jobs)
    per_row = predictor.cost(rows[followed], prices, acquisition=acquisition, made=True).per_row
    return RowSteps(
        word, int(word == "round"), at, last, followed, len(rows), per_row, prices.select(predictor.feature_names)
    )


def _follow(
    predictor: Predictor, X: F8, costs: CostModel, acquisition: str, n_jobs: int | None
) -> tuple[str, NDArray[np.int32], I8, I8]:
    """Return the kind of step, `acquired`, `last` and `rows`; see `RowSteps`."""
    all_rows = np.arange(len(X))
    if isinstance(predictor, PlannedPredictor):
        return "stop", *_follow_plan(predictor, X, costs, n_jobs), all_rows
    if isinstance(predictor, StageTree) and isinstance(predictor.stages[0], Route):
        prices = costs.select(predictor.feature_names)
        return "depth", *_follow_tree(predictor, X, prices, acquisition, n_jobs), all_rows
    if isinstance(predictor, PreparedPredictor):
        inner, preparation = predictor.with_costs(costs).priced, predictor.preparation
        used = set(inner.used_features)
        places = [place for place, name in enumerate(preparation.names) if name in used]
        word, made, last, _ = _follow(inner, preparation.fill(X, places), inner.costs, acquisition, n_jobs)
        if word != "round":
            return word, _raw_columns(made, places, preparation, X.shape[1]), last, all_rows
    replayed = np.unique(np.linspace(0, len(X) - 1, min(len(X), MOST_REPLAYED)).astype(np.int64))
    return "round", *_replay(predictor, X[replayed], costs, acquisition), replayed


def _raw_columns(made: NDArray[np.int32], places: list[int], preparation: Preparation, n_raw: int) -> NDArray[np.int32]:
    """Return the steps of raw columns, int32 (n, n_raw): each comes with the first made column that reads it."""
    at = np.full((len(made), n_raw), -1, np.int32)
    for place in places:
        for f in preparation.reads[place]:
            at[:, f] = first_step(np.column_stack([at[:, f], made[:, place]]))
    return at


def _follow_tree(
    tree: StageTree, X: F8, prices: PriceArrays, acquisition: str, n_jobs: int | None
) -> tuple[NDArray[np.int32], I8]:
    """Return `acquired` and `last`; an answer that acquires nothing for a row is no step of it."""
    marks, layout = tree.marks(prices, acquisition), tree.layout
    depth = np.zeros(len(tree.stages), np.int64)
    for number, stage in enumerate(tree.stages):
        if isinstance(stage, Route):
            depth[[stage.below, stage.above]] = depth[number] + 1
    at, last = np.full(X.shape, -1, np.int32), np.zeros(len(X), np.int64)

    def chunk(part: slice) -> None:
        for stage, rows, _, then, now in visit_stages(StageRunner(layout, X[part], marks)):
            new = now & ~then
            row, place = np.nonzero(new)
            at[part.start + rows[row], layout.used[place]] = depth[stage]
            on = rows if isinstance(tree.stages[stage], Route) else rows[new.any(axis=1)]
            last[part.start + on] = depth[stage]

    over_chunks(chunk, len(X), n_jobs)
    return at, last


def _follow_plan(plan: PlannedPredictor, X: F8, costs: CostModel, n_jobs: int | None) -> tuple[NDArray[np.int32], I8]:
    terms, begin = plan.terms(costs, n_jobs=n_jobs), 0
    at, last = np.full(X.shape, -1, np.int32), np.zeros(len(X), np.int64)
    at[:, sorted(plan.plan_terms(terms).first_features)] = 0
    for part in plan.walk(X, terms):
        for next_stops in part.to.T:
            for to in np.unique(next_stops[next_stops >= 0]):
                cells = np.ix_(begin + np.flatnonzero(next_stops == to), plan.stops[to].features)
                at[cells] = np.where(at[cells] < 0, to, at[cells])
        last[begin : begin + len(part.exits)] = part.exits
        begin += len(part.exits)
    return at, last


def _replay(predictor: Predictor, X: F8, costs: CostModel, acquisition: str) -> tuple[NDArray[np.int32], I8]:
    column = {name: f for f, name in enumerate(predictor.feature_names)}
    at, last = np.full(X.shape, -1, np.int32), np.zeros(len(X), np.int64)
    for i, row in enumerate(X):
        inquiry, number = predictor.inquire(costs, acquisition), 0
        while needs := inquiry.needs:
            at[i, [column[name] for name in needs]] = last[i] = number
            inquiry.supply({name: float(row[column[name]]) for name in needs})
            number += 1
    return at, last


def first_step(at: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the least step of each row, int32 (n, any), that is not -1, or -1 if all are: int32 (n,)."""
    never = np.iinfo(np.int32).max
    first = np.where(at >= 0, at, never).min(axis=1, initial=never)
    return np.where(first < never, first, -1).astype(np.int32)
