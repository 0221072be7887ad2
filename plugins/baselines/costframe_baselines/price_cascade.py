"""Training of cascades whose stages may read dearer and dearer features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from scipy.special import expit

from costframe import StageTree
from costframe.plugin import B1, F8, ParameterError, Rows, Sampling, loss_for
from costframe.stagewise import (
    BankRows,
    BankTask,
    Evaluation,
    Flow,
    Slopes,
    SoftTree,
    WeightedSum,
    calibrate_at_exits,
    descend,
    place_thresholds,
)

_STEEPNESS = 1.0  # sigma(s) itself is the probability that a stage accepts a row
_ROUNDS = 100
_EVEN = (1e-6, 1 - 1e-6)  # limits of the share of positive rows, for a finite start
_LEAST = 1e-300  # of a probability of rejection


@frozen
class PriceCascade:
    """Settings of both cascades."""

    expected_cost: bool  # whether training minimizes lambda times the expected cost too
    ridge: float  # penalty of squared weights, in units of the outputs' median variance
    n_stages: int  # most stages; without effect if there are bounds
    bounds: tuple[float, ...] | None = None  # highest price of a feature in each stage, ascending


def lose_at_worst_stage(scores: F8) -> tuple[F8, F8]:
    """Return a positive row's loss max_k -log sigma(s_k), and its derivatives.

    Stages that are equally bad share the derivative.

    Parameters
    ----------
    scores : float64 (n, K)

    Returns
    -------
    float64 (n,), float64 (n, K)
    """
    least = scores.min(axis=1, keepdims=True)
    worst = scores == least
    return np.logaddexp(0.0, -least[:, 0]), -expit(-least) * worst / worst.sum(axis=1, keepdims=True)


def lose_by_noisy_or(scores: F8) -> tuple[F8, F8]:
    """Return a negative row's loss -log(1 - prod_k sigma(s_k)), and its derivatives: shapes of `lose_at_worst_stage`.

    1 - prod_k sigma(s_k), the noisy-or of the rejections, is the probability that some stage rejects the row.
    """
    accepted = -np.logaddexp(0.0, -scores).sum(axis=1)
    rejected = np.maximum(-np.expm1(accepted), _LEAST)
    return -np.log(rejected), (np.exp(accepted) / rejected)[:, np.newaxis] * expit(-scores)


@frozen(eq=False)
class CascadeObjective:
    """Mean loss of all stages together, and lambda times the mean expected cost, for fixed supports."""

    rows: BankRows  # targets are from -1 to 1; a row counts as positive by the share (target + 1) / 2
    costs: F8  # (n, K): what each stage adds for each row that reaches it
    tradeoff: float  # lambda

    def total(self, tree: SoftTree) -> float:
        """Return mean loss + lambda * mean expected cost."""
        loss, cost, _ = self.gradient(tree)
        return loss + self.tradeoff * cost

    def gradient(self, tree: SoftTree) -> tuple[float, float, Slopes]:
        """Return mean loss, mean expected cost, and the derivatives of loss + lambda * cost; thresholds stay zero."""
        rows, scores = self.rows, tree.scores(self.rows)[:, :, 0]
        positive = rows.loss_weight * (rows.target[:, 0] + 1.0) / 2.0
        negative = rows.loss_weight - positive
        (accept, accept_slope), (reject, reject_slope) = lose_at_worst_stage(scores), lose_by_noisy_or(scores)
        flow = Flow.of(tree.topology, scores, tree.threshold, _STEEPNESS)
        priced = rows.share[:, np.newaxis] * self.costs
        slope = positive[:, np.newaxis] * accept_slope + negative[:, np.newaxis] * reject_slope
        if self.tradeoff:
            slope += flow.score_gradient(np.zeros_like(priced), self.tradeoff * priced)
        by_weights = rows.rmatvec(slope).T[:, :, np.newaxis]
        slopes = Slopes(by_weights, slope.sum(axis=0)[:, np.newaxis], np.zeros(len(tree)))
        return float(positive @ accept + negative @ reject), float((flow.passes * priced).sum()), slopes


def learner_prices(on: Evaluation) -> F8:
    """Return the price of each learner's dearest feature, with the resources that it needs: float64 (T,)."""
    pricing = on.pricing
    alone, reads = pricing.spread_prices.alone, pricing.bank.F.tocsc()
    prices = np.zeros(len(pricing.bank))
    for learner, (begin, end) in enumerate(zip(reads.indptr[:-1], reads.indptr[1:], strict=True)):
        prices[learner] = alone[reads.indices[begin:end]].max(initial=0.0)
    return prices


def stage_bounds(prices: F8, n_stages: int) -> tuple[float, ...]:
    """Return at most `n_stages` of the distinct prices (T,), evenly by their ranks; the last is the highest."""
    distinct = np.unique(prices)
    ranks = -(-np.arange(1, n_stages + 1) * len(distinct) // n_stages) - 1
    return tuple(distinct[np.unique(ranks)].tolist())


def train_by_price(task: BankTask, held_out: Rows, settings: PriceCascade) -> StageTree:
    """Train a cascade for two classes, or for targets -1 and 1 with answers that rank.

    Held-out rows end the descent, calibrate answers, place thresholds by exact cost, and choose between the cascade and
    a constant answer.
    """
    train = task.on(task.data.train)
    chosen_by = evolve(task.on(held_out), loss=loss_for(2), half=Sampling(task.data).halves(held_out))
    n_outputs = int(task.bank.widths.sum())
    constant = SoftTree.single(WeightedSum(np.zeros((n_outputs, 1)), np.zeros(1)))
    supports, tree = _supports(train, settings), constant
    if supports.any():
        cascade = _descend(train, chosen_by, supports, settings)
        if _total(chosen_by, cascade) < _total(chosen_by, constant):
            tree = place_thresholds(chosen_by, cascade, _STEEPNESS)
    tree = calibrate_at_exits(chosen_by, tree, _STEEPNESS)
    return task.finish(tree, "sigmoid" if task.data.n_classes else "ranked", _STEEPNESS)


def _supports(train: Evaluation, settings: PriceCascade) -> B1:
    """Return the outputs that each stage may use, bool (K, C); leave out stages that may use no more than others."""
    prices = learner_prices(train)
    if not len(prices):
        return np.zeros((0, 0), np.bool_)
    bounds: Sequence[float] = settings.bounds or stage_bounds(prices, settings.n_stages)
    admitted = np.unique(prices <= np.array(bounds)[:, np.newaxis], axis=0)
    admitted = admitted[np.argsort(admitted.sum(axis=1))]
    if not admitted.any():
        raise ParameterError(
            f"bounds: expected the last to be at least the price of the cheapest learner's dearest feature, "
            f"{prices.min():g}, got {bounds[-1]:g}"
        )
    return np.repeat(admitted[admitted.any(axis=1)], train.pricing.bank.widths, axis=1)


def _descend(train: Evaluation, held_out: Evaluation, supports: B1, settings: PriceCascade) -> SoftTree:
    """Minimize the objective from weights of zero; return the iterate that is best on held-out rows."""
    used, n_stages = np.flatnonzero(supports.any(axis=0)), len(supports)
    supports, n_outputs = supports[:, used], supports.shape[1]
    share = float(np.clip(train.rows.loss_weight @ (train.rows.target[:, 0] + 1.0) / 2.0, *_EVEN))
    of_stage = share ** (1.0 / n_stages)
    constants = np.full(n_stages, np.log(of_stage) - np.log1p(-of_stage))
    full = SoftTree.chain(supports.astype(np.float64), constants, np.zeros(n_stages - 1))
    start = evolve(full, weights=np.zeros_like(full.weights))

    def objective(at: Evaluation) -> CascadeObjective:
        priced = (
            at.costs(full.spread(used, n_outputs)) if settings.expected_cost else np.zeros((len(at.rows.target), 1))
        )
        tradeoff = at.tradeoff if settings.expected_cost else 0.0
        return CascadeObjective(at.rows.columns(used), priced, tradeoff)

    on_train = objective(train)
    penalty = np.full(n_stages, settings.ridge * float(np.median(on_train.rows.variance)))
    return descend(on_train, start, supports, penalty, objective(held_out), _ROUNDS).spread(used, n_outputs)


def _total(held_out: Evaluation, tree: SoftTree) -> float:
    """Return loss + lambda * cost of a tree with thresholds and answers from the other half of the rows."""
    return held_out.cross_fit(
        lambda rows: calibrate_at_exits(rows, place_thresholds(rows, tree, _STEEPNESS), _STEEPNESS)
    )
