"""Steps of one row through a stage tree: the model side of its inquiry, around the engine's steps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from struct import pack, unpack_from

import numpy as np

from costframe.core.arrays import F8
from costframe.core.prices.limits import COMPLETE, REASONS, Limits
from costframe.core.prices.price_arrays import ZERO, PriceArrays
from costframe.core.stages.layout import N_ACCOUNT
from costframe.core.stages.stage_model import RowWalk, StageModel

MOST_BEGUN = 16  # first states that are kept


class StageStepper:
    """One row on its way through a stage tree: a walker whose state is the engine's; see `RowWalk`."""

    __slots__ = ("needs", "state", "tree", "walk")

    def __init__(self, tree: StageModel, walk: RowWalk, state: bytes, needs: tuple[int, ...]) -> None:
        self.tree, self.walk, self.state, self.needs = tree, walk, state, needs

    @classmethod
    def begin(
        cls,
        tree: StageModel,
        prices: PriceArrays,
        by_path: bool,
        known_values: Mapping[int, float],
        limits: Limits | None = None,
        paid: tuple[Collection[int], Collection[int]] = ((), ()),
        walk: RowWalk | None = None,
    ) -> StageStepper:
        """Begin a row.

        All learners of a stage go on together; under limits they follow one another, because what one buys is no longer
        there for the next. With `by_path`, trees acquire features split by split; else all of them before they are
        evaluated. Columns and resources `paid` cost nothing. The `walk` is by default the tree's own.
        """
        walk = tree.walk(prices, limited=limits is not None) if walk is None else walk
        key, is_plain = (by_path, limits), not (known_values or paid[0] or paid[1])
        now = walk.begun.get(key) if is_plain else None
        if now is None:
            limit = None if limits is None else tree.bill(prices).limit(limits.cap)
            barred, left_out = ((), ()) if limits is None else (limits.barred, limits.left_out)
            ranks = None if limits is None else tree.ranks(prices, limits)
            now = walk.go_on(bytes(walk.begin(by_path, known_values, barred, paid, limit, ranks, left_out)))
            if is_plain and not tree.layout.n_opaque:
                if len(walk.begun) == MOST_BEGUN:
                    walk.begun.clear()
                walk.begun[key] = now
        return cls(tree, walk, *now)

    def after(self, values: Sequence[float]) -> StageStepper:
        """Return the row with the values of all features in `needs` too, gone on."""
        walk = self.walk
        return StageStepper(self.tree, walk, *walk.go_on(self.state, pack(f"{len(values)}d", *values)))

    @property
    def _end(self) -> tuple[int, int]:
        """The stage, and the number of the reason."""
        stage, _, why = unpack_from("3q", self.state, self.walk.stage)
        return stage, why

    @property
    def place(self) -> int | None:
        """Number of the class, where the prediction does not tell it; else None."""
        if (decider := self.tree.own_classes) is None:
            return None
        scores = unpack_from(f"{self.tree.n_outputs}d", self.state, self.walk.scores)
        return decider.place(scores, self._row, whole=self._end[1] == COMPLETE)

    def _row(self) -> F8:
        """Return the values of the row, float64 (1, d); those that no learner has read may be any."""
        row = np.full((1, len(self.tree.feature_names)), np.nan)
        row[0, self.walk.used] = np.frombuffer(self.state, np.float64, len(self.walk.used))
        return row

    @property
    def reason(self) -> str:
        """Why the row ended; see `Prediction`."""
        return REASONS[self._end[1]]

    @property
    def answer(self) -> tuple[float | F8, int]:
        """Prediction and exit."""
        tree, stage = self.tree, self._end[0]
        scores = np.frombuffer(self.state, np.float64, tree.n_outputs, self.walk.scores)[None]
        return tree.prediction(scores, stage), stage

    @property
    def evaluated(self) -> Fraction:
        """Price of what was evaluated so far."""
        walk = self.walk
        if walk.exact is None:
            return ZERO
        weight, comparisons, uses, n_used = unpack_from(f"{N_ACCOUNT}d", self.state, walk.account)
        return Fraction(walk.exact.evaluated(weight, comparisons, uses - n_used), walk.exact.per_unit)
