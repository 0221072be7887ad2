"""Rows that end with the first set of features that a cap buys, many at once: trees are cut where more is held back."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.bits import bits_of
from costframe.core.learners.cut_trees import cut_trees
from costframe.core.learners.tree_table import TREE
from costframe.core.prices.basket import price_exactly
from costframe.core.prices.limits import Limits
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.layout import StageLayout, lay_out
from costframe.core.stages.left_out import may_stand_in
from costframe.core.stages.run_stages import LeftOutputs, StageRunner, marks_for
from costframe.core.stages.stage_model import StageModel
from costframe.core.stages.stages import Answer

FEWEST = 200_000  # rows times trees from which cutting the trees is worth it
_KEPT = 8  # cut layouts of a model


@frozen(eq=False)
class FirstSet:
    """A stage tree of trees alone, with one answer, whose rows can all pay for a first set of features."""

    tree: StageModel
    prices: PriceArrays
    held: I8  # columns that are held back, and not barred
    limit: int  # of what rows spend, in whole units
    layout: StageLayout  # of the trees cut at all other features; its last output counts finished ones
    marks: engine.Record  # of what rows read there

    @classmethod
    def of(cls, tree: StageModel, prices: PriceArrays, limits: Limits) -> FirstSet | None:
        """Return the first set within limits; None where rows may have to choose within it, or evaluation has a price.

        Without fallbacks, a learner that is given up has no outputs that are expected.
        """
        if np.isinf(limits.cap) or not may_stand_in(prices) or tree.fallbacks is None or len(tree.stages) > 1:
            return None
        used, ranks = tree.layout.used, tree.ranks(prices, limits)
        if (
            not len(used)
            or (tree.layout.kind != TREE).any()
            or (tree.bank.evaluation[tree.layout.learner] != 1.0).any()
        ):
            return None
        barred = np.isin(used, [*limits.barred])
        assert ranks is not None  # noqa: S101 - there is a cap
        first = (ranks == 0) & ~barred
        exact, limit = tree.bill(prices).exact, int(tree.bill(prices).exact.limit(limits.cap))
        if price_exactly(exact, prices.direct_needs, used[first].tolist()) > limit:
            return None
        layout = _cut(tree, ~first)
        return cls(tree, prices, used[~first & ~barred], limit, layout, marks_for(layout, prices, "path"))

    def walk(self, X: F8) -> tuple[CappedRows, B1]:
        """Return the ends of rows, float64 (n, d), and which of these hold: of rows that cannot pay for more."""
        runner = StageRunner(self.layout, X, self.marks)
        scores, rows = runner.run(0, np.arange(len(X))), CappedRows.empty(self.tree.layout, len(X))
        finished, size = scores[:, -1], len(self.layout.learner)
        rows.scores[:], rows.share[:], rows.cut[:] = scores[:, :-1], finished / size, finished < size
        engine.set_final_scores(self.tree.capped_model.expected, rows.scores, rows.cut, rows.share, rows.final)
        rows.masks[:] = self._renumber(runner.masks)
        rows.spent[:, 0] = finished
        return rows, ~rows.cut | self._is_all(rows.masks)

    def _is_all(self, masks: NDArray[np.uint64]) -> B1:
        """Return of rows, by what they bought, whether none of what is held back is within the limit beside it."""
        exact, needs, used = self.tree.bill(self.prices).exact, self.prices.direct_needs, self.tree.layout.used
        axis = 0 if masks.shape[1] > 1 else None  # sorting rows takes longer
        distinct, place = np.unique(masks, axis=axis, return_inverse=True)
        found = []
        for bought in bits_of(distinct.reshape(-1, masks.shape[1]), len(used)):
            features = used[bought].tolist()
            found.append(all(price_exactly(exact, needs, [*features, f]) > self.limit for f in self.held.tolist()))
        return np.array(found, np.bool_)[place.reshape(-1)]

    def _renumber(self, masks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        own, used = self.tree.layout, self.layout.used
        bought = np.zeros((len(masks), 64 * own.n_words), np.uint8)
        bought[:, np.searchsorted(own.used, used)] = bits_of(masks, len(used))
        return np.packbits(bought, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _cut(tree: StageModel, gone: B1) -> StageLayout:
    """Lay out the trees of a model cut at tests of some of the features that it uses, bool (U,)."""
    known, key = tree.cut_layouts, gone.tobytes()
    if key in known:
        return known[key]
    layout, bank, (answer,) = tree.layout, tree.bank, tree.stages
    assert isinstance(answer, Answer)  # noqa: S101 - a root that is the only stage
    assert tree.fallbacks is not None  # noqa: S101 - callers know
    held = np.zeros(len(bank.feature_names), np.bool_)
    held[layout.used[gone]] = True
    left, numbers = LeftOutputs(bank, tree.fallbacks), bank.index[layout.learner].astype(np.int64)
    nodes = np.concatenate([np.arange(bank.trees.first[t], bank.trees.first[t + 1]) for t in numbers.tolist()])
    table = cut_trees(bank.trees.restrict(numbers), held, left.value[nodes], left.values)
    widths = layout.width.astype(np.int64)
    ends = np.cumsum(widths + 1)
    weights = np.zeros((int(ends[-1]), layout.n_outputs + 1))
    weights[ends - 1, -1] = 1.0
    own = np.ones(len(weights), np.bool_)
    own[ends - 1] = False
    weights[own, :-1] = np.concatenate([
        layout.weight_rows[row : row + width] for row, width in zip(layout.row.tolist(), widths.tolist(), strict=True)
    ])  # fmt: skip
    counted = Answer(np.arange(len(table)), weights, [*answer.intercept, 0.0])
    if len(known) == _KEPT:
        known.clear()
    known[key] = lay_out(WeakLearnerBank.from_trees(table, bank.feature_names), (counted,))
    return known[key]
