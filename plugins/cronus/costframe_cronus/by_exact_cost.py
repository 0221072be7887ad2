"""The default training: Algorithm 2 by exact cost, then descent of weights and thresholds; held-out rows choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve
from scipy.special import expit

from costframe.core.accurate_sums import coarse, sum_over_rows
from costframe.core.exact_sums import exact_sum
from costframe.stagewise.calibration import calibrate_at_exits, place_thresholds
from costframe.stagewise.descent import SupportObjective, descend
from costframe.stagewise.fitting import fit_at_price, fit_ridge
from costframe.stagewise.normal import NormalEquations
from costframe.stagewise.picking import pick
from costframe.stagewise.rows import Squared
from costframe.stagewise.soft_tree import SoftTree
from costframe.stagewise.thresholds import passing_threshold
from costframe.stagewise.topology import Flow
from costframe.training.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from numpy.typing import NDArray

    from costframe.core.cost.sampled_prices import SampledPrices
    from costframe.stagewise.evaluation import Evaluation
    from costframe.stagewise.rows import BankRows
    from costframe_cronus.train import CascadeSettings

__all__ = ["CHOICES", "as_cascade", "emphasize", "initialize", "pick_settings", "train_by_exact_cost"]

CHOICES = {"rejected": (0.15, 0.3, 0.5), "ridge": (0.01, 0.1, 1.0)}

_STEEPNESS = 50.0
_VARIES = 1e-12  # of a sum's mean: a smaller deviation is rounding
_NOBODY = 1e-9  # of the mean: a stage ignores rows of less weight, to save time
_CAUTION = 0.5  # standard errors of a difference that simpler cascades are allowed
_ROUNDS = 40  # few, so that rounding has no effect


def train_by_exact_cost(
    train: Evaluation, held_out: Evaluation, own: NDArray[np.float64] | None, settings: CascadeSettings, verbose: int
) -> SoftTree:
    """Choose the cascade of fewest stages within half a standard error of the best, by halves of held-out rows.

    Parameters
    ----------
    train, held_out : Evaluation
    own : float64 (C,), optional
        Weights of the bank's outputs in its model.
    settings : CascadeSettings
    verbose : int
    """

    def answering(rows: Evaluation, tree: SoftTree, *, place: bool) -> SoftTree:
        """Calibrate answers on some rows, perhaps after placing thresholds there."""
        placed = place_thresholds(rows, tree, settings.steepness) if place else tree
        return calibrate_at_exits(rows, placed, settings.steepness)

    start = initialize(train.rows, train.pricing.at, settings, verbose)
    found = []
    for tree, place in [(start, False), *_candidates(start, own, train, held_out, settings)]:
        parts = held_out.cross_fit_rows(lambda rows: answering(rows, tree, place=place))  # noqa: B023
        placed = place_thresholds(held_out, tree, settings.steepness) if place else tree
        found.append((len(placed), float(parts.sum()), parts, placed))
    least = min(found, key=lambda one: one[1])
    near = [one for one in found if one[1] - least[1] <= _CAUTION * held_out.error(one[2] - least[2])]
    return min(near, key=lambda one: one[:2])[3]


def initialize(
    rows: BankRows,
    price_at: Callable[[NDArray[np.float64]], SampledPrices],
    settings: CascadeSettings,
    verbose: int = 0,
) -> SoftTree:
    """Fit each stage as if it were the last, by exact price, to pass on 1 - epsilon; leave out empty stages.

    Parameters
    ----------
    rows : BankRows
    price_at : callable
        Returns prices, in units of cost, for rows drawn by weights (n,).
    settings : CascadeSettings
    verbose : int
    """
    outputs, share, loss_weight = rows.outputs, rows.share, rows.loss_weight
    passes, bought = np.ones(len(share)), np.zeros(outputs.shape[1], np.bool_)
    weights, intercepts, thresholds = [], [], []
    normal, prices = NormalEquations.of(outputs, rows.target, loss_weight), price_at(share)
    for k in track(range(settings.n_stages), "Cronus", verbose=verbose):
        last = k == settings.n_stages - 1
        reach, here = float(share @ passes), float((loss_weight * passes).sum())
        price = min(settings.tradeoff_at(k) / here, 1e300) * reach  # the sums are means over the remaining rows
        fitted = fit_at_price(normal, prices.after(bought), price, settings.ridge)
        if last or fitted.any():
            weights.append(fitted[:, 0])
            intercepts.append(float(normal.intercept(fitted)[0]))
        if not last and fitted.any():
            scores = rows.scores(fitted, np.array(intercepts[-1:]))[:, 0]
            thresholds.append(passing_threshold(scores, share * passes, 1 - settings.rejected, settings.steepness))
            passes = passes * expit(settings.steepness * (scores - thresholds[-1]))
            bought |= weights[-1] != 0
            come = np.where(passes > _NOBODY * float(loss_weight @ passes), passes, 0.0)
            normal, prices = NormalEquations.of(outputs, rows.target, loss_weight * come), price_at(share * passes)
    return SoftTree.chain(np.array(weights), np.array(intercepts), np.array(thresholds))


def _candidates(
    start: SoftTree,
    own: NDArray[np.float64] | None,
    train: Evaluation,
    held_out: Evaluation,
    settings: CascadeSettings,
) -> Iterator[tuple[SoftTree, bool]]:
    """Yield trees to choose from, and whether to place their thresholds."""
    yield initialize(train.rows, train.pricing.at, evolve(settings, n_stages=1)), False
    starts = [start]
    if own is not None:
        starts.append(as_cascade(train.rows, own, train.pricing.at(train.rows.share), settings.n_stages))
        yield starts[-1].without_idle_routes(), False
    for one in starts:
        yield one, True
        placed = place_thresholds(held_out, one, settings.steepness)
        for begin in (one, placed) if np.isfinite(one.threshold).all() else (placed,):
            yield _at_supports(begin, train, held_out, settings), True


def as_cascade(rows: BankRows, own: NDArray[np.float64], prices: SampledPrices, n_stages: int) -> SoftTree:
    """Turn a model into a cascade: at most `n_stages` sums of its first outputs, with weights `own`, float64 (C,).

    It fits each sum to the target by a slope and a constant. Each stage ends when its purchases pass an equal part of
    the cost, which leaves the largest purchases to the last. No stage rejects rows yet.
    """
    spent = prices.one_by_one()
    spent = np.cumsum(spent / (spent.sum() or 1.0) + 1e-3 / len(own))
    ends = np.unique(np.searchsorted(spent, spent[-1] * np.arange(1, n_stages + 1) / n_stages * (1 - 1e-12)))
    weights = np.where(np.arange(len(own)) <= ends[:, np.newaxis], own, 0.0)
    scores = rows.outputs.times(weights.T)
    w, target = rows.loss_weight, rows.target[:, 0]
    mean = w @ scores
    variance = w @ np.square(scores - mean)
    varies = np.sqrt(variance) > _VARIES * np.abs(mean)
    slope = np.divide((w * target) @ (scores - mean), variance, out=np.zeros(len(ends)), where=varies)
    keep = slope > 0
    keep[-1] = True
    slope, mean, weights = np.maximum(slope, 0.0)[keep], mean[keep], weights[keep]
    return SoftTree.chain(slope[:, np.newaxis] * weights, w @ target - slope * mean, np.full(len(weights) - 1, -np.inf))


def _at_supports(tree: SoftTree, train: Evaluation, held_out: Evaluation, settings: CascadeSettings) -> SoftTree:
    """Move all weights and thresholds together; each stage may use all learners of the stages before it."""
    used = np.flatnonzero(tree.used.any(axis=0))
    if not len(used):
        return tree
    start = tree.columns(used).coarse()

    def objective(at: Evaluation) -> SupportObjective:
        rows = emphasize(at.rows, settings.positive_weight).columns(used)
        return SupportObjective(rows, Squared(), at.costs(tree), settings.tradeoff, settings.steepness)

    on_train = objective(train)
    passes = Flow.of(
        start.topology, start.routing(start.scores(on_train.rows)), start.threshold, settings.steepness
    ).passes
    reach = sum_over_rows(passes, on_train.rows.loss_weight)
    penalty = settings.ridge * float(np.median(on_train.rows.variance)) * reach
    free = np.logical_or.accumulate(start.used, axis=0)
    found = descend(on_train, start, free, penalty, objective(held_out), _ROUNDS)
    return found.spread(used, tree.weights.shape[1])


def emphasize(rows: BankRows, positive_weight: float) -> BankRows:
    """Multiply the loss of each row by 1 at target -1, by w+ at 1, and by values between for others."""
    share = (rows.target[:, 0] + 1.0) / 2.0
    more = (positive_weight * share + (1.0 - share)) * rows.weight
    return evolve(rows, loss_weight=more / exact_sum(more))


def pick_settings(
    settings: CascadeSettings, free: Collection[str], train: Evaluation, held_out: Evaluation, verbose: int
) -> CascadeSettings:
    """Choose free settings by the start, after placing its thresholds.

    The steepness is 50 for scores with a deviation of one, as labels have. So it is 50 over the deviation of the scores
    of a single stage without prices.
    """
    if "steepness" in free:
        settings = evolve(settings, steepness=_STEEPNESS / _spread(train.rows, settings.ridge))

    def total(at: CascadeSettings) -> float:
        start = initialize(train.rows, train.pricing.at, at)
        return held_out.cross_fit(
            lambda rows: calibrate_at_exits(rows, place_thresholds(rows, start, at.steepness), at.steepness)
        )

    grid = {name: values for name, values in CHOICES.items() if name in free}
    starts = {name: values if name == "rejected" else values[:1] for name, values in grid.items()}
    return pick(settings, grid, starts, total, 1, "Cronus: settings", verbose)


def _spread(rows: BankRows, ridge: float) -> float:
    """Return the deviation of the scores of a single stage, in (0, 1]."""
    normal = NormalEquations.of(rows.outputs, rows.target, rows.loss_weight)
    weights = fit_ridge(normal, normal.varies, ridge * normal.unit)
    variance = float((weights * (normal.gram @ weights)).sum())
    return float(coarse(np.sqrt(variance))) if 0 < variance <= 1 else 1.0
