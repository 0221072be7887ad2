"""Walks of a stage tree's rows under limits: a hard cap, and unavailable features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from attrs import evolve

from costframe.core.learners.bits import word_count
from costframe.core.learners.tree_table import COLUMN, OPAQUE
from costframe.core.prices.exact_prices import WHOLE
from costframe.core.stages.layout import lay_out
from costframe.core.stages.run_stages import StageRunner
from costframe.core.stages.walk import StageWalker
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.caps.capped_kernels import Bill, Model
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.core.prices.exact_prices import ExactPrices
    from costframe.core.prices.price_arrays import Limits, PriceArrays

_MARGIN = 1e-9  # of a cap: more than sums of millions of doubles are off


class CappedRows(NamedTuple):
    """Ends of rows under limits, and their purchases."""

    exits: NDArray[np.int64]  # (rows,): the answer reached, or the stage at which the row was cut
    cut: NDArray[np.bool_]  # (rows,): whether the row gave up a learner
    share: NDArray[np.float64]  # (rows,): share of the last stage's learners that are finished
    # (rows, K): of the last stage, with expected outputs of learners given up; a route's is in the first column
    scores: NDArray[np.float64]
    route_scores: NDArray[np.float64]  # (rows,): of the route before
    masks: NDArray[np.uint64]  # (rows, W): features acquired, of those that the tree uses
    # (rows, 3): sum of e_t of evaluated learners, price of comparisons, pairs of a learner and a feature that it read
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
        some: list[Any] = [each[part] for each in self]
        return CappedRows(*some)

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
    """Walk rows, float64 (rows, d), through a stage tree under limits; `caps`, (rows,), gives each row its own cap.

    The kernel counts money in doubles: in whole units of the prices, which is exact, or where these are too many, up to
    a margin. Rows that the margin could change are walked with Python's numbers, as are all rows whose opaque learners
    may not be called.
    """
    X, caps = np.ascontiguousarray(X, np.float64), np.full(len(X), limits.max_cost) if caps is None else caps
    barred_opaque = any(limits.unavailable.intersection(learner.features) for learner in tree.bank.opaques)
    if tree.layout.n_opaque and (tree.fallbacks is None or barred_opaque):
        found, unsure = CappedRows.empty(tree, len(X)), np.ones(len(X), np.bool_)
    else:
        found, unsure = _run_kernel(tree, prices, limits, X, caps, by_path=by_path, n_jobs=n_jobs)
    by_hand = np.flatnonzero(unsure)

    def step(part: slice) -> None:
        _step_rows(tree, prices, limits, X, caps, found, by_hand[part], by_path=by_path)

    over_chunks(step, len(by_hand), n_jobs)
    return found


def _run_kernel(
    tree: StageTree,
    prices: PriceArrays,
    limits: Limits,
    X: NDArray[np.float64],
    caps: NDArray[np.float64],
    *,
    by_path: bool,
    n_jobs: int | None,
) -> tuple[CappedRows, NDArray[np.bool_]]:
    """Walk rows by the kernel; return their ends, and the rows that its rounding of money could change."""
    exact = tree.exact(prices)
    limit = {cap: exact.limit(cap) for cap in np.unique(caps).tolist()}
    is_exact = all(units <= WHOLE // 2 or units == np.inf for units in limit.values())
    bill = make_bill(tree, prices, limits, evolve(exact, per_unit=1) if is_exact else exact)
    model, expects = tree.capped_model, tree.fallbacks is not None  # made before there are threads

    def walk(limit: NDArray[np.float64]) -> CappedRows:
        found = CappedRows.empty(tree, len(X))

        def chunk(part: slice) -> None:
            from costframe.core.caps.capped_kernels import walk_capped

            runner = StageRunner(tree.bank, tree.layout, X[part])
            codes, opaque = np.ascontiguousarray(runner.codes.T), runner.opaque_outputs()
            walk_capped(X[part], codes, opaque, limit[part], found.rows(part), model, bill, by_path, expects)

        over_chunks(chunk, len(X), n_jobs)
        return found

    if is_exact:
        return walk(np.array([limit[cap] for cap in caps.tolist()], np.float64)), np.zeros(len(X), np.bool_)
    found, other = walk(caps * (1.0 - _MARGIN)), walk(caps * (1.0 + _MARGIN))
    unsure = np.zeros(len(X), np.bool_)
    for one, two in zip(found, other, strict=True):
        differs = (one != two) & ~((one != one) & (two != two))  # noqa: PLR0124 - NaN
        unsure |= differs.reshape(len(X), -1).any(axis=1)
    return found, unsure


def _step_rows(
    tree: StageTree,
    prices: PriceArrays,
    limits: Limits,
    X: NDArray[np.float64],
    caps: NDArray[np.float64],
    found: CappedRows,
    rows: NDArray[np.int64],
    *,
    by_path: bool,
) -> None:
    """Step through rows one by one, and record their ends in `found`."""
    place = {int(f): u for u, f in enumerate(tree.layout.used)}
    found.masks[rows] = 0
    for i in rows.tolist():
        own = evolve(limits, max_cost=float(caps[i]))
        walker = StageWalker(tree, prices, own, by_path=by_path, known_values={})
        while needs := walker.needs:
            walker.advance({f: float(X[i, f]) for f in needs})
            for f in needs:
                found.masks[i, place[f] >> 6] |= np.uint64(1) << np.uint64(place[f] & 63)
        end = walker.end
        found.exits[i], found.cut[i] = end.stage, bool(end.given_up)
        found.scores[i, : len(end.scores or ())] = end.scores
        found.share[i], found.route_scores[i] = walker.share, end.route_score
        found.spent[i] = end.weight, end.comparisons, end.uses


def lay_out_capped(tree: StageTree) -> Model:
    """Lay out a stage tree for walks under limits, once a model."""
    from costframe.core.caps.capped_kernels import Model

    bank, known = tree.bank, tree.expected_outputs
    layout = tree.layout if known is None else lay_out(bank, tree.stages, (known.value, known.values))
    expected, expected_opaque = np.zeros(len(layout.learner)), np.zeros(layout.n_opaque)
    if known is not None:
        for use in np.flatnonzero(layout.kind == COLUMN):
            expected[use] = known.of(int(layout.learner[use]), -1)[0]
        for use in np.flatnonzero(layout.kind == OPAQUE):
            place = int(layout.place[use])
            expected_opaque[place : place + layout.width[use]] = known.of(int(layout.learner[use]), -1)
    slot = np.unique(layout.learner, return_inverse=True)[1].astype(np.int64)
    return Model(layout, slot, expected, expected_opaque)


def make_bill(tree: StageTree, prices: PriceArrays, limits: Limits, exact: ExactPrices) -> Bill:
    """Return prices, in the unit of `exact`, and unavailable features in the order of the layout."""
    from costframe.core.caps.capped_kernels import Bill

    layout, bank = tree.layout, tree.bank
    used = layout.used
    barred = np.zeros(len(tree.feature_names), np.bool_)
    barred[sorted(limits.unavailable)] = True
    needs = prices.direct_needs.restrict(used)
    reads = bank.F[used][:, layout.learner].tocsc().sorted_indices()
    evaluation, comparisons = tree.weights[1][layout.learner], prices.comparisons[1][used]
    return Bill(
        np.array([exact.money(exact.cost[f]) for f in used.tolist()], np.float64),
        exact.money(exact.split) * comparisons,
        comparisons,
        barred[used],
        needs,
        np.array([exact.money(price) for price in exact.resource_cost], np.float64),
        exact.money(exact.reuse),
        exact.money(exact.learner) * evaluation,
        evaluation,
        reads.indptr.astype(np.int64),
        reads.indices.astype(np.int64),
    )
