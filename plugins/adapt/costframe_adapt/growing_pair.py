"""The ensembles of a cheap model and of its gate while they grow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, evolve, frozen
from numpy.typing import ArrayLike
from scipy.special import expit

from costframe.gates import GatedPair, Scores
from costframe.plugin import F8, Account, PointwiseLoss, Rows, loss_for
from costframe.trees import Boosted, BoostingRun, Ensemble, EnsembleRun, NoPrices, Running, SplitPrices, tree_grower
from costframe_adapt.judge import Judge
from costframe_adapt.settings import AdaptTrees

_LEAST_HESSIAN = 1e-16


@frozen
class GateLoss:
    """(1 - q) log(1 + exp(g)) + q log(1 + exp(-g)): the cross-entropy of q and sigma(g), with q in place of labels."""

    def gradients(self, y: ArrayLike, scores: F8, *, n_threads: int = 1) -> tuple[F8, F8]:
        """(n, 1) each: sigma(g) - q, and sigma(g) (1 - sigma(g))."""
        del n_threads  # one thread is enough
        sure = expit(scores)
        return sure - np.asarray(y, np.float64)[:, np.newaxis], np.maximum(sure * (1 - sure), _LEAST_HESSIAN)

    def mean(self, y: ArrayLike, scores: F8, weight: ArrayLike | None = None) -> float:
        """Return the weighted mean of the cross-entropy."""
        losses = np.logaddexp(0.0, scores[:, 0]) - np.asarray(y, np.float64) * scores[:, 0]
        return float(np.average(losses, weights=None if weight is None else np.asarray(weight, np.float64)))


@define(eq=False)
class GrowingPair:
    """The ensembles of the cheap model and of the gate while they grow."""

    # cheap, gate: with scores of held-out rows; the labels of the gate are q
    cheap: EnsembleRun
    gate: EnsembleRun
    tradeoff: float
    rebuilds: bool  # whether the cheap model grows too

    @classmethod
    def begin(cls, judge: Judge, trees: AdaptTrees, q: F8, cheap: SplitPrices, gate: SplitPrices) -> GrowingPair:
        """Begin both at their best constants for shares q, each with its prices."""
        staying, loss = evolve(judge.rows, weight=judge.rows.weight * (1 - q)), loss_for(judge.data.n_classes)
        boosted = Boosted.constant(staying, loss, trees.learning_rate)
        first = _run(judge, trees, staying, loss.for_rows(staying), boosted, cheap)
        return cls(first, _gate_run(judge, trees, q, gate), judge.settings.tradeoff, rebuilds=True)

    @classmethod
    def behind(
        cls, judge: Judge, trees: AdaptTrees, q: F8, cheap: Boosted, running: Running, gate: SplitPrices
    ) -> GrowingPair:
        """Begin a gate at its best constant for shares q, for a fixed cheap model, known on the held-out rows too."""
        loss = loss_for(judge.data.n_classes).for_rows(judge.rows)
        first = _run(judge, trees, judge.rows, loss, cheap, NoPrices(), running)
        return cls(first, _gate_run(judge, trees, q, gate), judge.settings.tradeoff, rebuilds=False)

    def add_round(self) -> bool:
        """Add a tree per output to the cheap model, then one to the gate; return False if none of them splits."""
        cheap = self.rebuilds and self.cheap.add_round(self.tradeoff)
        return self.gate.add_round(self.tradeoff) or cheap

    def scores(self) -> tuple[Scores, Scores]:
        """Return the scores of training rows and of held-out rows."""
        cheap, gate = self.cheap, self.gate
        return (
            Scores(cheap.boosting.boosted.scores.copy(), gate.boosting.boosted.scores[:, 0].copy()),
            Scores(cheap.running.scores.copy(), gate.running.scores[:, 0].copy()),
        )

    def accounts(self) -> tuple[Account, Account]:
        """Return the accounts of the cheap model and of the gate on the held-out rows."""
        return Account.of_prefix(self.cheap.running.paid), Account.of_prefix(self.gate.running.paid)

    def pair(self, feature_names: Sequence[str]) -> GatedPair:
        """Return the cheap model and the gate at this round."""
        cheap, gate = (run.ensemble.finish(feature_names) for run in (self.cheap, self.gate))
        return GatedPair.of(cheap, gate)


def _gate_run(judge: Judge, trees: AdaptTrees, q: F8, prices: SplitPrices) -> EnsembleRun:
    """Begin a gate at the log odds of the mean of q."""
    rows = judge.rows
    share = rows.mean(q)
    start = np.array([np.log(share) - np.log1p(-share)])
    boosted = Boosted(Ensemble(start, trees.learning_rate, "sigmoid"), np.tile(start, (len(rows), 1)))
    return _run(judge, trees, evolve(rows, y=q), GateLoss(), boosted, prices)


def _run(
    judge: Judge,
    trees: AdaptTrees,
    rows: Rows,
    loss: PointwiseLoss | GateLoss,
    boosted: Boosted,
    prices: SplitPrices,
    running: Running | None = None,
) -> EnsembleRun:
    grow = tree_grower(judge.rows, judge.binned, trees)  # its leaves count all rows, also those that go on
    if running is None:
        running = Running(judge.held, loss_for(judge.data.n_classes), judge.data.prices)
        running.begin(boosted.ensemble.intercept)
    return EnsembleRun(BoostingRun(rows, loss, boosted, trees.n_threads), grow, prices, running)
