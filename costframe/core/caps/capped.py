"""Predictions and charges of a stage tree's rows under limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import fields, frozen

from costframe.core.caps.capped_layout import make_bill
from costframe.core.caps.capped_walk import CappedWalker
from costframe.core.cost.hard import price_masks
from costframe.core.cost.report import Charges
from costframe.core.learners.bits import bits_of, word_count
from costframe.core.stages.run_stages import StageRunner
from costframe.core.stages.stages import Route
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.caps.capped_kernels import Bill, Model
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.limits import Limits
    from costframe.core.prices.price_arrays import PriceArrays

__all__ = ["CappedRows", "capped_charges", "capped_scores", "walk_under_limits"]


@frozen(eq=False)
class CappedRows:
    """Ends of rows under limits, and their purchases.

    Attributes
    ----------
    exits : int64 (rows,)
        The answer reached, or the stage at which the row was cut.
    cut : bool (rows,)
        Rows that gave up a learner.
    share : float64 (rows,)
        Share of the last stage's learners that are finished.
    scores : float64 (rows, K)
        Scores of the last stage, with expected outputs of learners given up; a route's score is in the first column.
    route_scores : float64 (rows,)
        Scores of the route before.
    masks : uint64 (rows, W)
        Features acquired, of those that the tree uses.
    spent : float64 (rows, 3)
        Sum of e_t of evaluated learners, price of comparisons, and number of pairs (learner, feature read).
    """

    exits: NDArray[np.int64]
    cut: NDArray[np.bool_]
    share: NDArray[np.float64]
    scores: NDArray[np.float64]
    route_scores: NDArray[np.float64]
    masks: NDArray[np.uint64]
    spent: NDArray[np.float64]

    @classmethod
    def empty(cls, tree: StageTree, count: int) -> CappedRows:
        """Make empty arrays for `count` rows."""
        return cls(
            np.zeros(count, np.int64),
            np.zeros(count, np.bool_),
            np.ones(count),
            np.zeros((count, tree.n_outputs)),
            np.zeros(count),
            np.zeros((count, word_count(len(tree.layout.used))), np.uint64),
            np.zeros((count, 3)),
        )

    def rows(self, part: slice | NDArray[np.int64]) -> CappedRows:
        """Return some rows; a view for a slice."""
        return CappedRows(*(getattr(self, each.name)[part] for each in fields(CappedRows)))

    def final_scores(self, tree: StageTree) -> NDArray[np.float64]:
        """Return the scores of the answers, expected ones for rows that were cut: float64 (rows, K)."""
        rows = np.flatnonzero(self.cut)
        if tree.fallbacks is None or not len(rows):
            return self.scores
        found, exits = self.scores.copy(), self.exits[rows]
        partial = self.scores[rows]
        partial[tree.layout.below[exits] >= 0] = partial[tree.layout.below[exits] >= 0, :1]
        found[rows] = tree.fallbacks.scores(exits, self.share[rows], partial, self.route_scores[rows])
        return found


def capped_scores(
    tree: StageTree, prices: PriceArrays, limits: Limits, X: NDArray[np.float64], n_jobs: int | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return scores, float64 (rows, K), and exits, int64 (rows,), under limits, with path acquisition."""
    rows = walk_under_limits(tree, prices, limits, X, by_path=True, n_jobs=n_jobs)
    return rows.final_scores(tree), rows.exits


def walk_under_limits(
    tree: StageTree,
    prices: PriceArrays,
    limits: Limits,
    X: NDArray[np.float64],
    *,
    by_path: bool,
    n_jobs: int | None = None,
    caps: NDArray[np.float64] | None = None,
) -> CappedRows:
    """Walk rows, float64 (rows, d), through a stage tree under limits; `caps`, (rows,), gives each row its own cap."""
    found = CappedRows.empty(tree, len(X))
    X = np.ascontiguousarray(X, np.float64)
    limit = np.full(len(X), limits.threshold) if caps is None else caps
    barred_opaque = any(limits.unavailable.intersection(learner.features) for learner in tree.bank.opaques)
    by_kernel = not tree.layout.n_opaque or not (tree.fallbacks is None or barred_opaque)
    # made before there are threads
    read = make_bill(tree, prices, limits), tree.capped_model, tree.fallbacks is not None

    def chunk(part: slice) -> None:
        if by_kernel:
            _run_kernel(tree, *read, X[part], limit[part], found.rows(part), by_path=by_path)
        else:
            _step_rows(tree, prices, limits, X, found, part, by_path=by_path)

    over_chunks(chunk, len(X), n_jobs)
    return found


def _run_kernel(
    tree: StageTree,
    bill: Bill,
    model: Model,
    expects: bool,
    X: NDArray[np.float64],
    limit: NDArray[np.float64],
    found: CappedRows,
    *,
    by_path: bool,
) -> None:
    from costframe.core.caps.capped_kernels import Table, walk_capped

    runner = StageRunner(tree.bank, tree.layout, X)
    if tree.layout.n_opaque:
        for _ in runner.routed():  # calls opaque learners for all rows that reach them without limits
            pass
    opaque = runner.opaque if tree.layout.n_opaque else np.empty((len(X), 0))
    table = Table(
        X, runner.codes, opaque, limit, found.exits, found.cut, found.share, found.scores, found.route_scores,
        found.masks, found.spent,
    )  # fmt: skip
    walk_capped(table, model, bill, by_path, expects)


def _step_rows(
    tree: StageTree,
    prices: PriceArrays,
    limits: Limits,
    X: NDArray[np.float64],
    found: CappedRows,
    part: slice,
    *,
    by_path: bool,
) -> None:
    """Step through rows one by one, and record their ends in `found`."""
    place = {int(f): u for u, f in enumerate(tree.layout.used)}
    for i in range(part.start, part.stop):
        walker = CappedWalker(tree, prices, limits, by_path=by_path, known_values={})
        while needs := walker.needs:
            walker.advance({f: float(X[i, f]) for f in needs})
            for f in needs:
                found.masks[i, place[f] >> 6] |= np.uint64(1) << np.uint64(place[f] & 63)
        walker.note(i, found)


def capped_charges(
    tree: StageTree,
    prices: PriceArrays,
    limits: Limits,
    X: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    by_path: bool,
    n_jobs: int | None,
) -> Charges:
    """Charge rows under limits; see `Predictor.charges`."""
    rows = walk_under_limits(tree, prices, limits, X, by_path=by_path, n_jobs=n_jobs)
    used = tree.layout.used
    acquisition, features, resources = price_masks(tree.layout, prices, rows.masks, weight)
    bits = bits_of(rows.masks, len(used))
    acquired, feature_weight = np.zeros((len(X), len(tree.feature_names)), np.bool_), np.zeros(len(tree.feature_names))
    acquired[:, used], feature_weight[used] = bits, features
    return Charges(
        acquired,
        acquisition,
        prices.learner * rows.spent[:, 0],
        rows.spent[:, 1],
        prices.reuse * (rows.spent[:, 2] - bits.sum(axis=1)),
        feature_weight,
        resources,
        _weigh_stages(tree, rows.exits, weight),
        tree.linked(rows.final_scores(tree), rows.exits),
        rows.cut,
    )


def _weigh_stages(tree: StageTree, exits: NDArray[np.int64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of the rows that reach each stage, given their exits: float64 (stages,)."""
    reached = np.bincount(exits, weights=weight, minlength=len(tree.stages)).astype(np.float64)
    for number in range(len(tree.stages) - 1, -1, -1):  # children come after their parent
        stage = tree.stages[number]
        if isinstance(stage, Route):
            reached[number] += reached[stage.below] + reached[stage.above]
    return reached
