"""Walks of a stage tree's rows under limits: a hard cap, and unavailable features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from costframe import engine
from costframe.core.prices.exact_prices import WHOLE
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.run_stages import StageRunner
from costframe.core.stages.walk import StageWalker
from costframe.core.threads import over_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.exact_prices import ExactPrices
    from costframe.core.prices.price_arrays import Limits, PriceArrays
    from costframe.core.stages.stage_model import StageModel

_MARGIN = 1e-9  # of a cap: more than sums of millions of doubles are off


def capped_scores(
    tree: StageModel, prices: PriceArrays, limits: Limits, X: NDArray[np.float64], n_jobs: int | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return scores, float64 (rows, K), and exits, int64 (rows,), under limits, with path acquisition."""
    rows = walk_under_limits(tree, prices, limits, X, by_path=True, n_jobs=n_jobs)
    return rows.final_scores(tree.layout, tree.fallbacks), rows.exits


def walk_under_limits(
    tree: StageModel,
    prices: PriceArrays,
    limits: Limits,
    X: NDArray[np.float64],
    *,
    by_path: bool,
    n_jobs: int | None = None,
    caps: NDArray[np.float64] | None = None,
) -> CappedRows:
    """Walk rows, float64 (rows, d), through a stage tree under limits; `caps`, (rows,), gives each row its own cap.

    The engine counts money in doubles: in whole units of the prices, which is exact, or where these are too many, up to
    a margin. Rows that the margin could change are walked with Python's numbers, as are all rows whose opaque learners
    may not be called.
    """
    X, caps = np.ascontiguousarray(X, np.float64), np.full(len(X), limits.max_cost) if caps is None else caps
    barred_opaque = any(limits.unavailable.intersection(learner.features) for learner in tree.bank.opaques)
    if tree.layout.n_opaque and (tree.fallbacks is None or barred_opaque):
        found, unsure = CappedRows.empty(tree.layout, len(X)), np.ones(len(X), np.bool_)
    else:
        found, unsure = _walk_by_engine(tree, prices, limits, X, caps, by_path=by_path, n_jobs=n_jobs)
    by_hand = np.flatnonzero(unsure)

    def step(part: slice) -> None:
        _step_rows(tree, prices, limits, X, caps, found, by_hand[part], by_path=by_path)

    over_chunks(step, len(by_hand), n_jobs)
    return found


def _walk_by_engine(
    tree: StageModel,
    prices: PriceArrays,
    limits: Limits,
    X: NDArray[np.float64],
    caps: NDArray[np.float64],
    *,
    by_path: bool,
    n_jobs: int | None,
) -> tuple[CappedRows, NDArray[np.bool_]]:
    """Walk rows by the engine; return their ends, and the rows that its rounding of money could change."""
    exact = tree.exact(prices)
    limit = {cap: exact.limit(cap) for cap in np.unique(caps).tolist()}
    is_exact = all(units <= WHOLE // 2 or units == np.inf for units in limit.values())
    bill = _make_bill(tree, prices, limits, evolve(exact, per_unit=1) if is_exact else exact, by_path=by_path)
    layout = tree.capped_model.layout
    structs = layout.nodes.packed, layout.packed, bill  # made before there are threads

    def walk(limit: NDArray[np.float64]) -> CappedRows:
        found = CappedRows.empty(tree.layout, len(X))

        def chunk(part: slice) -> None:
            runner = StageRunner(tree.layout, X[part])
            codes, opaque = np.ascontiguousarray(runner.codes.T), runner.opaque_outputs()
            ends = found.rows(part)
            engine.walk_capped(
                X[part], codes, opaque, limit[part], *structs, ends.exits, ends.cut, ends.share, ends.scores,
                ends.route_scores, ends.masks, ends.spent,
            )  # fmt: skip

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
    tree: StageModel,
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


def _make_bill(
    tree: StageModel, prices: PriceArrays, limits: Limits, exact: ExactPrices, *, by_path: bool
) -> engine.Record:
    """Return prices, in the unit of `exact`, and unavailable features in the order of the layout."""
    layout, bank, model = tree.layout, tree.bank, tree.capped_model
    used = layout.used
    barred = np.zeros(len(tree.feature_names), np.bool_)
    barred[sorted(limits.unavailable)] = True
    reads = bank.F[used][:, layout.learner].tocsc().sorted_indices()
    evaluation, comparisons = tree.weights[1][layout.learner], prices.comparisons[1][used]
    return engine.Bill.of(
        prices.direct_needs.restrict(used),
        model,
        cost=np.array([exact.money(exact.cost[f]) for f in used.tolist()], np.float64),
        split=exact.money(exact.split) * comparisons,
        comparisons=comparisons,
        barred=barred[used],
        resource_cost=np.array([exact.money(price) for price in exact.resource_cost], np.float64),
        reuse=exact.money(exact.reuse),
        own=exact.money(exact.learner) * evaluation,
        evaluation=evaluation,
        read_first=reads.indptr.astype(np.int64),
        read=reads.indices.astype(np.int64),
        by_path=by_path,
        expects=tree.fallbacks is not None,
    )
