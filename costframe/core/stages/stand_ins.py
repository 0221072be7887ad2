"""What stands in for a stage tree where features are unavailable: spare trees, in which an absent value is missing.

A row is answered by its own tree as long as that needs nothing unavailable. Where it gives up a learner for want of a
feature, the spare trees answer from all that the row has and may still buy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from costframe.core.arrays import F8
from costframe.core.errors import StageError
from costframe.core.learners.bits import bits_of
from costframe.core.learners.tree_table import TREE
from costframe.core.machine import over_chunks
from costframe.core.prices.limits import Limits
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.capped_layout import CappedRows
from costframe.core.stages.left_out import may_stand_in
from costframe.core.stages.run_stages import StageRunner, marks_for
from costframe.core.stages.stage_model import StageModel
from costframe.core.stages.stages import Answer


class StandIn(NamedTuple):
    """Spare trees for rows that cannot have some columns, which miss them."""

    tree: Any  # the StageModel that it stands in for
    spare: Any  # the spare trees, a StageModel of one answer
    barred: tuple[int, ...]  # unavailable, or left out for a cap

    @classmethod
    def of(cls, tree: StageModel, prices: PriceArrays, limits: Limits | None) -> StandIn | None:
        """Return what stands in within limits, or None.

        Nothing does where nothing barred is used; where the tree has no spare trees; under a cap that may bind (see
        `StageModel.binding`), as a row would have to know before what it pays for both; and where evaluation or a
        further round has a price.
        """
        if limits is None or np.isfinite(limits.cap) or not may_stand_in(prices):
            return None
        barred = limits.barred.intersection(tree.layout.used.tolist())
        if not barred or tree.spare is None:
            return None
        return cls(tree, tree.spare, tuple(sorted(barred | limits.left_out)))

    def own_scores(self, scores: F8) -> F8:
        """Return scores of the spare trees, float64 (rows, K), as scores of the tree's answer."""
        (own,), (spare,) = self.tree.stages, self.spare.stages
        found = spare.predictions(scores) if own.link == "identity" else scores
        return np.asarray(found * own.divisor, np.float64)

    def answer(self, X: F8, rows: CappedRows, prices: PriceArrays, acquisition: str, n_jobs: int | None) -> CappedRows:
        """Return rows, float64 (rows, d), after their walk, where it has answered those that were cut.

        They have bought what it reads, too.
        """
        cut, layout = np.flatnonzero(rows.cut), self.spare.layout
        final, masks, marks = rows.final.copy(), rows.masks.copy(), marks_for(layout, prices, acquisition)

        def chunk(part: slice) -> None:
            some = cut[part]
            known = X[some]
            known[:, self.barred] = np.nan
            runner = StageRunner(layout, known, marks)
            final[some] = self.own_scores(runner.run(0, np.arange(len(some))))
            masks[some] |= self._renumber(runner.masks)

        over_chunks(chunk, len(cut), n_jobs)
        return rows._replace(final=final, masks=masks)

    def _renumber(self, masks: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return what rows read of the features of the spare trees as what they buy of those of the tree."""
        own, used = self.tree.layout, self.spare.layout.used
        bought = np.zeros((len(masks), 64 * own.n_words), np.uint8)
        bought[:, np.searchsorted(own.used, used)] = bits_of(masks, len(used))
        bought[:, np.searchsorted(own.used, self.barred)] = 0
        return np.packbits(bought, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def check_spare(tree: StageModel, spare: StageModel) -> None:
    """Refuse spare trees that do not fit a tree: with other columns, features that it does not use, or other scores."""
    if len(tree.stages) > 1 or len(spare.stages) > 1 or spare.spare is not None:
        raise StageError("spare: expected one answer of a model with one answer")
    if spare.feature_names != tree.feature_names or (spare.bank.kind != TREE).any():
        raise StageError(f"spare: expected trees over the features of the model, got {spare.bank!r}")
    if unused := set(spare.used_features).difference(tree.used_features):
        raise StageError(f"spare: expected features that the model uses, got {min(unused)!r}")
    (own,), (other,) = tree.stages, spare.stages
    assert isinstance(own, Answer)  # noqa: S101 - a root that is the only stage
    assert isinstance(other, Answer)  # noqa: S101 - the same
    if len(own.intercept) != len(other.intercept) or own.divisor is None or other.is_alone:
        raise StageError(f"spare: expected {len(own.intercept)} scores, whose predictions follow from the link")
    spare.set_losses.check()
