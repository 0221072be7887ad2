"""Trees that stand in for a model where features are unavailable: its own scores, learned from rows that lack some.

The model teaches: copies of a row learn the model's probabilities, or its score, so no label of the rows is needed; if
there are labels, they count as much as the probabilities. How many rounds, and which size of trees, is what rows that
were held out, and their copies, lose least with: weak features that are left are soon noise, and strong ones need many
trees. The trees read no feature that the model does not read. Prices fall while the trees grow, until rows pay for
these trees what they pay for the model; from then on, rows read what they have paid for. What a copy lacks is free.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import B1, F8
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.stages.run_stages import predict_rows
from costframe.core.stages.stages import Answer
from costframe.core.sums import exact_mean
from costframe.core.tables.row_hashes import hash_table, mix
from costframe.training.data import Rows
from costframe.training.losses import LogisticLoss, PointwiseLoss, SoftmaxLoss, SquaredLoss
from costframe.training.shares import ShareLoss
from costframe.trees.absent_copies import lack_at_random
from costframe.trees.bin_mapper import BinnedData
from costframe.trees.boosting_run import BoostingRun, Grow
from costframe.trees.ensemble import Ensemble
from costframe.trees.growing import tree_grower
from costframe.trees.paid_by_row import LazyPrices
from costframe.trees.patience import Patience
from costframe.trees.prices import NoPrices, SplitPrices
from costframe.trees.settings import TreeSettings
from costframe.trees.spare_losses import fit_spare_losses

_FEWEST_ROWS = 50
_CELLS, _COPIES = 32_000, (3, 15)  # rows and copies of rows, about; fewest and most copies of a row
_PARTS = 5  # one of which is held out
_TREES = TreeSettings(
    n_estimators=300,
    learning_rate=0.05,
    max_leaves=16,
    min_hessian_leaf=1e-3,
    max_bins=63,
    n_iter_no_change=25,
)
_DRAWN = 0.5, 6, 24  # features of each tree: this share, at least and at most so many
_TRUTH = 0.5  # weight of labels, beside what the model says
_FEW_CLASSES = 3
_FEW = _TREES, evolve(_TREES, learning_rate=0.1, max_leaves=64)
_MANY = (evolve(_TREES, n_estimators=100, learning_rate=0.2, n_iter_no_change=8),)
_SURELY = 0.05  # of the decrease of the loss, by which larger trees must be better
_MORE = 4  # times the copies for these, which learn more from them
_FEWEST_FALLING = 40  # rounds in which prices fall
_ROWS_IN_LEAF = 5  # not counting copies
_NEARLY_ALL = 0.9  # share of the price of all that a model reads, from which prices choose little
_LAST = 1e-3  # tradeoff after the fall, as a share of the first one
_FALLING = 0.75  # share of the rounds in which prices fall
_NO_MORE = 1e6  # the same, where rows shall pay for nothing more
_ROUNDING = 1e-6


def train_spare_trees(tree: StageTree, rows: FallbackRows) -> StageTree | None:
    """Return trees that stand in for a model with one answer; see `StandIn`.

    It returns None for several stages, opaque learners, and answers whose scores do not follow from their predictions;
    also if fewer than fifty rows have finite scores.
    """
    answer = tree.stages[0]
    if len(tree.stages) > 1 or not isinstance(answer, Answer) or answer.divisor is None or answer.class_scores:
        return None
    if tree.layout.n_opaque or not len(tree.layout.used):
        return None
    scores = predict_rows(tree.layout, rows.X, None)[0]
    known = np.isfinite(scores).all(axis=1) & (rows.weight > 0)
    if known.sum() < _FEWEST_ROWS:
        return None
    taught = _teach(answer, answer.divisor, scores[known], has_classes=tree.classes is not None)
    if taught is None:
        return None
    loss, values = taught
    if rows.shares is not None and not isinstance(loss, SquaredLoss) and rows.shares.shape[1] == values.shape[1]:
        values = _TRUTH * rows.shares[known] + (1.0 - _TRUTH) * values
    return _grow(tree, FallbackRows(rows.X[known], rows.weight[known]), loss, values)


def _teach(answer: Answer, divisor: float, scores: F8, *, has_classes: bool) -> tuple[PointwiseLoss, F8] | None:
    """Return the loss, and what it learns, from scores (n, K): probabilities of all classes, or numbers (n, 1)."""
    predictions = answer.predictions(scores)
    if scores.shape[1] > 1:
        total = predictions.sum(axis=1)
        is_share = predictions.min() >= 0 and np.abs(total - 1.0).max() < _ROUNDING
        return (SoftmaxLoss(scores.shape[1]), predictions) if is_share else None
    is_chance = has_classes and answer.link == "identity" and predictions.min() >= 0 and predictions.max() <= 1
    if answer.link == "sigmoid" or is_chance:
        return LogisticLoss(), np.hstack([1.0 - predictions, predictions])
    return SquaredLoss(), scores / divisor


def _grow(tree: StageTree, kept: FallbackRows, loss: PointwiseLoss, taught: F8) -> StageTree:
    names = tree.used_features
    prices = CostModel.of(tree.costs, tree.feature_names).select(names)
    copies = _Copies.of(tree, kept, loss, taught, prices.needs)
    small, *larger = _FEW if taught.shape[1] <= _FEW_CLASSES else _MANY
    settings = copies.choose(small, larger)
    if settings.max_leaves != small.max_leaves:
        copies = _Copies.of(tree, kept, loss, taught, prices.needs, _MORE)
    made = copies.grow(settings, prices, _Falling.of(tree, kept, prices, copies.constant)).finish(names)
    losses = fit_spare_losses(made, copies.lost, kept.X[:, tree.layout.used], kept.weight, prices)
    made = evolve(made, set_losses=losses).over(tree.feature_names, None)
    return evolve(made, bank=evolve(made.bank, categories=tree.bank.categories))


@frozen(eq=False)
class _Copies:
    """Rows, and copies of them that lack features, from which trees learn."""

    rows: Rows
    binned: BinnedData
    loss: ShareLoss | SquaredLoss
    absent: B1  # (n, d): what they lack
    held_out: B1  # (n,): a row and its copies are on the same side
    per_row: int

    @classmethod
    def of(
        cls, tree: StageTree, kept: FallbackRows, loss: PointwiseLoss, taught: F8, needs: B1, times: int = 1
    ) -> _Copies:
        """Copy rows, with the columns that the model reads; `times` as often as usual."""
        count = times * int(np.clip(_CELLS // len(kept.X), *_COPIES))
        numbers, at = hash_table(kept.X), np.tile(np.arange(len(kept.X)), 1 + count)
        binned, absent = lack_at_random(_binned(tree, kept), numbers, needs, count)
        is_number = isinstance(loss, SquaredLoss)
        y = taught[at, 0] if is_number else np.zeros(len(at), np.int64)
        shares = loss if isinstance(loss, SquaredLoss) else ShareLoss(loss, taught[at])
        held_out = (mix(numbers) % np.uint64(_PARTS) == 0)[at]
        return cls(Rows(np.empty((len(at), 0)), y, kept.weight[at]), binned, shares, absent, held_out, 1 + count)

    @property
    def constant(self) -> float:
        """Loss of the best constant."""
        scores = np.tile(self.loss.baseline(self.rows), (len(self.rows), 1))
        return self.loss.mean(self.rows.y, scores, self.rows.weight)

    def choose(self, chosen: TreeSettings, others: Sequence[TreeSettings]) -> TreeSettings:
        """Return settings, others if they surely lose less, and rounds of least loss, on rows that are held out."""
        if self.held_out.all() or not self.held_out.any():
            return chosen
        best = self._judge(chosen)
        for other in others:
            found = self._judge(other)
            if found.best < best.best - _SURELY * (best.constant - best.best):
                chosen, best = other, found
        return evolve(chosen, n_estimators=max(1, best.n_best))

    def _judge(self, settings: TreeSettings) -> Patience:
        """Return the held-out losses of trees that grow without the rows held out."""
        out, rows = self.held_out, self.rows
        run, grow = self._begin(settings, out)

        def lost() -> float:
            return exact_mean(self.loss.by_row(rows.y, run.boosted.scores)[out], rows.weight[out])

        constant = lost()
        patience = Patience(settings.n_iter_no_change, constant, constant)
        for _ in run.rounds(settings, title="spare trees"):
            run.add_round(grow)
            patience.note(np.array([lost()]))
            if patience.is_over:
                break
        return patience

    def grow(self, settings: TreeSettings, prices: PriceArrays, falling: _Falling | None) -> Ensemble:
        """Grow trees on all rows, at prices that fall, if any do."""
        rows = self.rows
        if falling is None:
            run, grow = self._begin(settings)
            for _ in run.rounds(settings, title="spare trees"):
                run.add_round(grow)
            return run.ensemble
        settings = evolve(settings, n_estimators=max(settings.n_estimators, _FEWEST_FALLING))
        paid = LazyPrices(prices, 0.0, len(rows), rows.uneven_weight)
        paid.mark_had(np.hstack([self.absent, ~prices.direct_needs.of_rows(~self.absent)]))
        run, grow = self._begin(settings, paid=paid)
        for number in run.rounds(settings, title="spare trees"):
            paid.tradeoff = falling.at(number / settings.n_estimators, paid.spent / rows.total_weight)
            run.add_round(grow)
        return run.ensemble

    def lost(self, scores: F8) -> F8:
        """Return the losses of the first rows, float64 (any,), with scores, (any, K)."""
        some = slice(0, len(scores))
        loss = self.loss if isinstance(self.loss, SquaredLoss) else evolve(self.loss, shares=self.loss.shares[some])
        return loss.by_row(self.rows.y[some], scores)

    def _begin(
        self, settings: TreeSettings, held_out: B1 | None = None, paid: SplitPrices | None = None
    ) -> tuple[BoostingRun, Grow]:
        """Return a run without trees, and what grows one."""
        (share, least, most), d = _DRAWN, self.binned.bins.shape[1]
        drawn = min(1.0, float(np.clip(share * d, least, most)) / d)
        settings = evolve(settings, min_samples_leaf=_ROWS_IN_LEAF * self.per_row, max_features=drawn)
        grow, random = tree_grower(self.rows, self.binned, settings, held_out), np.random.default_rng(0)
        prices = NoPrices() if paid is None else paid
        run = BoostingRun.begin(self.rows, self.loss, settings)
        run.counts_idle = True  # other draws, or lower prices, may split
        return run, lambda gradients, hessians: grow(gradients, hessians, prices, random)


def _binned(tree: StageTree, kept: FallbackRows) -> BinnedData:
    """Put the columns that the model reads into bins."""
    categorical = np.array([name in tree.categories for name in tree.used_features])
    rows = Rows(np.ascontiguousarray(kept.X[:, tree.layout.used]), np.zeros(len(kept.X)), kept.weight)
    return BinnedData.of(rows, _TREES, categorical if categorical.any() else None)


@frozen
class _Falling:
    """Tradeoffs that fall while trees grow, until rows have paid `budget` in the mean."""

    highest: float
    budget: float

    @classmethod
    def of(cls, tree: StageTree, kept: FallbackRows, prices: PriceArrays, loss: float) -> _Falling | None:
        """Return those for what rows pay for a model; None where they pay for nearly all that it reads, or nothing."""
        model = CostModel.of(tree.costs, tree.feature_names)
        budget = tree.cost(kept.X, model, sample_weight=kept.weight, made=True).mean
        if not 0 < budget < _NEARLY_ALL * prices.of_set(np.arange(len(prices.cost))):
            return None
        return cls(loss / budget, budget)

    def at(self, share: float, spent: float) -> float:
        """Return the tradeoff after a share of the rounds, when rows have spent something in the mean."""
        if spent >= self.budget:
            return self.highest * _NO_MORE
        return self.highest * float(_LAST ** min(1.0, share / _FALLING))
