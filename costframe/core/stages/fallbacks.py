"""Fallbacks: expected outputs of learners and stages that a row cannot finish within its limits."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen

from costframe.core.arrays import F8, frozen_floats
from costframe.core.errors import StageError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.stages.set_losses import SetLosses
from costframe.core.stages.stages import Stage
from costframe.core.tables.row_draws import sample_rows
from costframe.core.workers import ALONE, Workers

_MOST_ROWS, _FEW = 4000, 1000  # kept for a spare ensemble, and for all else


@frozen(eq=False)
class Fallbacks:
    """Expected outputs and scores, learned from rows without labels.

    A learner given up counts with its expected outputs; for a tree, those of the node it was left at. They give an
    unfinished stage a partial score p; q is the score of the route before it, 0 at the root. The expected final score
    is a + b p + c q, where a, b and c change linearly with the share of the stage's learners that are finished,
    between `knots`. It is moved towards `mean` until it lies between `low` and `high`.

    The final score of an answer is its score. The final score of a route is the score of the row's answer if all
    answers have one link and level; else the prediction for ranked answers, and the log odds for others.
    """

    # (outputs of all inner nodes of trees,): node by node, the outputs of its tree
    node_values: F8 = field(converter=frozen_floats)
    column_values: F8 = field(converter=frozen_floats)  # (columns,)
    opaque_values: F8 = field(converter=frozen_floats)  # (outputs of all opaque learners,)
    knots: F8 = field(converter=frozen_floats)  # (J,): ascending from 0 to 1, J > 1
    # offset, slope, carry (stages * J, K): a, b and c, stage by stage
    offset: F8 = field(converter=frozen_floats)
    slope: F8 = field(converter=frozen_floats)
    carry: F8 = field(converter=frozen_floats)
    # mean, low, high (stages, K): of final scores; `low` and `high` may be infinite
    mean: F8 = field(converter=frozen_floats)
    low: F8 = field(converter=frozen_floats)
    high: F8 = field(converter=frozen_floats)
    # Under a cap, a row first buys of the set of features of least expected loss that costs at most the cap times a
    # factor, as paths leave some out; see `rank_features`. Factors, (C,), are for caps from shares, (C,) ascending, of
    # the price of all features on; an infinite one leaves the choice to the order of the learners.
    set_losses: SetLosses  # of the U features that the stages use
    cap_shares: F8 = field(converter=frozen_floats)
    cap_factors: F8 = field(converter=frozen_floats)

    def check(self, bank: WeakLearnerBank, stages: tuple[Stage, ...]) -> None:
        """Refuse fallbacks of another model, and values that are not finite, by the name of the array."""
        trees, knots = bank.trees, len(self.knots)
        inner = int(trees.width[trees.tree_of_node[trees.feature >= 0]].sum())
        outputs = max(len(stage.intercept) for stage in stages)
        by_knot, by_stage = (len(stages) * knots, outputs), (len(stages), outputs)
        shapes = {
            "node_values": (inner,),
            "column_values": (len(bank.column_feature),),
            "opaque_values": (sum(learner.width for learner in bank.opaques),),
            "knots": (knots,),
            **dict.fromkeys(("offset", "slope", "carry"), by_knot),
            **dict.fromkeys(("mean", "low", "high"), by_stage),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape:
                raise StageError(f"fallbacks: {name}: expected the shape {shape}, got {array.shape}")
            bad = np.isnan(array) if name in {"low", "high"} else ~np.isfinite(array)
            if bad.any():
                raise StageError(f"fallbacks: {name}: expected finite numbers, got {array[bad][0]}")
        if knots < 2 or self.knots[0] != 0 or self.knots[-1] != 1 or (np.diff(self.knots) <= 0).any():
            raise StageError(f"fallbacks: knots: expected numbers that ascend from 0 to 1, got {self.knots.tolist()}")
        self.set_losses.check()
        shares, factors = self.cap_shares, self.cap_factors
        if not len(shares) == len(factors) > 0 or not (np.diff(shares) >= 0).all() or not np.isfinite(shares).all():
            raise StageError(f"fallbacks: cap_shares: expected {len(factors)} ascending numbers, got {shares}")
        if not (factors >= 1).all():
            raise StageError(f"fallbacks: cap_factors: expected numbers >= 1, got {factors}")
        if not ((self.low <= self.mean) & (self.mean <= self.high)).all():
            raise StageError("fallbacks: mean: expected numbers between low and high")


@frozen(eq=False)
class FallbackRows:
    """Rows from which fallbacks, and what stands in for unavailable features, are learned at their first use."""

    X: F8  # (rows, d)
    weight: F8  # (rows,)
    shares: F8 | None = None  # (rows, K): of the classes, by the rows' labels

    @classmethod
    def of(cls, X: F8, weight: F8 | None, workers: Workers = ALONE, shares: F8 | None = None) -> FallbackRows:
        """Keep at most four thousand rows of all workers, by a hash of their values, and their shares of classes."""
        rows, mass, kept = sample_rows(X, weight, _MOST_ROWS, workers, shares)
        return cls(rows, mass, None if shares is None else kept)

    @property
    def few(self) -> FallbackRows:
        """At most a thousand of them."""
        return FallbackRows(self.X[:_FEW], self.weight[:_FEW])
