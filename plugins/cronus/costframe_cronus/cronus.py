"""Cronus: a cascade over weak learners, in the paper's order.

`train_cronus` is the algorithm. Two of its steps have a printed form beside the default one, for `recipe="paper"`: the
fit of a stage in Algorithm 2 (`relaxed_stages` beside `exact_stages`), and what improves the start (`minimize_eq_8`,
Algorithm 1, beside `improve`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from math import exp, log

import numpy as np
from attrs import evolve, frozen
from scipy.special import expit

from costframe.plugin import (
    F8,
    PricedGroups,
    Rows,
    SampledPrices,
    StageTree,
    WeakLearnerBank,
    coarse,
    exact_sum,
    halves,
    sample_by_hash,
    sum_over_rows,
    track,
)
from costframe.stagewise import (
    MOST_LEARNERS,
    USUAL_RIDGE,
    BankRows,
    BankTask,
    Evaluation,
    Flow,
    Logistic,
    Loss,
    NormalEquations,
    RelaxedObjective,
    SoftTree,
    Squared,
    Step,
    SupportObjective,
    WeightedSum,
    as_stage_tree,
    calibrate_at_exits,
    cycle,
    descend,
    drop_zeros,
    energies,
    fit_at_price,
    fit_relaxed,
    fit_ridge,
    groups_in_loss,
    passing_threshold,
    pick,
    place_thresholds,
)

FitStage = Callable[[int, F8], WeightedSum | None]

CHOICES = {"rejected": (0.15, 0.3, 0.5), "ridge": (0.01, 0.1, 1.0)}
PAPER_CHOICES = {"l1": (0.0, 1e-4, 1e-3), "l1_last": (0.0, 1e-4, 1e-3)}  # section 3.4, chosen by the start alone
REJECTED = -1.0  # the printed answer to rejected rows

_MOST = 1e300  # largest lambda: products with zero stay zero
_MOST_ROWS = 20_000  # for the choice of settings
_STEEPNESS = 50.0
_NO_REACH = 1e-12  # a smaller share of the rows counts as none
_NOBODY = 1e-9  # of the mean: a stage ignores rows of less weight, to save time
_CYCLES = 100  # of Algorithm 1
_VARIES = 1e-12  # of a sum's mean: a smaller deviation is rounding
_CAUTION = 0.5  # standard errors of a difference that simpler cascades are allowed
_ROUNDS = 40  # few, so that rounding has no effect


@frozen
class CascadeSettings:
    """Numbers of the algorithm."""

    tradeoff: float  # lambda
    n_stages: int = 10  # K
    rejected: float = 0.15  # epsilon, the share of its rows that each stage rejects at first
    inflation: float = 1.3  # delta: stage k starts at lambda delta^(K-k), as it is not really the last
    steepness: float = 50.0  # gamma
    positive_weight: float = 3.5  # w+, the factor of the loss of a row of target 1; that of target -1 is 1
    # l1, l1_last: rho of all stages but the last, and of the last, as printed
    l1: float = 0.0
    l1_last: float = 0.0
    ridge: float = USUAL_RIDGE  # of fits by exact cost, in units of the outputs' median variance

    def tradeoff_at(self, stage: int) -> float:
        """Return lambda_k of a stage, from 0, at most 1e300."""
        later = self.n_stages - 1 - stage
        inflated = min(later * log(self.inflation), log(_MOST))
        return min(self.tradeoff * exp(inflated), _MOST)


def train_cronus(
    task: BankTask,
    held_out: Rows,
    own: F8 | None,
    settings: CascadeSettings,
    free: Collection[str],
    steps: list[Step],
    *,
    optimize: bool = True,
) -> StageTree:
    """Train a cascade for two classes, or for targets from -1 to 1 with answers that rank.

    Parameters
    ----------
    task : BankTask
    held_out : Rows
        For calibration and choices.
    own : float64 (C,), optional
        Weights of the bank's outputs in its model.
    settings : CascadeSettings
    free : collection of str
        Settings to choose.
    steps : list of Step
        Gets the accepted steps of Algorithm 1.
    optimize : bool
        Whether to improve the start of the cascade.
    """
    data, bank, verbose, printed = task.data, task.bank, task.verbose, task.as_printed

    def fitting(rows: Rows, learners: WeakLearnerBank = bank) -> Evaluation:
        found = task.on(rows, learners)
        return evolve(found, rows=emphasize(found.rows, settings.positive_weight))

    def choosing(rows: Rows, learners: WeakLearnerBank = bank) -> Evaluation:
        if data.n_classes and not printed:
            return evolve(task.on(rows, learners), loss=Logistic(), half=halves(rows, data))
        return evolve(fitting(rows, learners), half=halves(rows, data))

    few = bank.restrict(np.arange(min(len(bank), MOST_LEARNERS)))
    fewer, few_held_out = (sample_by_hash(rows, data, _MOST_ROWS) for rows in (data.train, held_out))
    settings = pick_settings(
        settings, free, fitting(fewer, few), choosing(few_held_out, few), printed=printed, verbose=verbose
    )
    train = fitting(data.train)
    tree = _start(train, settings, printed=printed, verbose=verbose)
    if printed:
        if optimize:
            tree = minimize_eq_8(train.rows, train.loss, train.pricing.groups, tree.coarse(), settings, steps)
        return task.finish_printed(reject(tree, train.rows), settings.steepness)
    chosen_by = choosing(held_out)
    if optimize:
        tree = improve(tree, own, train, chosen_by, settings)
    tree = calibrate_at_exits(chosen_by, tree, settings.steepness)
    return as_stage_tree(bank, tree, "sigmoid" if data.n_classes else "ranked", settings.steepness)


def pick_settings(
    settings: CascadeSettings,
    free: Collection[str],
    train: Evaluation,
    held_out: Evaluation,
    *,
    printed: bool,
    verbose: int,
) -> CascadeSettings:
    """Choose free settings by the start alone, as in section 3.4: by default after placing its thresholds.

    The steepness is 50 for scores with a deviation of one, as labels have. So it is 50 over the deviation of the scores
    of a single stage without prices; in the paper it is 50.
    """
    if "steepness" in free and not printed:
        settings = evolve(settings, steepness=_STEEPNESS / _spread(train.rows, settings.ridge))

    def total(at: CascadeSettings) -> float:
        start = _start(train, at, printed=printed)
        if printed:
            return held_out.total(reject(start, train.rows))
        return held_out.cross_fit(lambda rows: _answering(rows, start, at, place=True))

    grid = {name: values for name, values in (PAPER_CHOICES if printed else CHOICES).items() if name in free}
    starts = {name: values if name == "rejected" else values[:1] for name, values in grid.items()}
    return pick(settings, grid, starts, total, 1, "Cronus: settings", verbose)


def _start(train: Evaluation, settings: CascadeSettings, *, printed: bool = False, verbose: int = 0) -> SoftTree:
    """Return the start of a cascade, by Algorithm 2."""
    rows, pricing = train.rows, train.pricing
    fit = relaxed_stages(rows, pricing.groups, settings) if printed else exact_stages(rows, pricing.at, settings)
    return initialize(rows, fit, settings, verbose=verbose)


def initialize(rows: BankRows, fit: FitStage, settings: CascadeSettings, *, verbose: int = 0) -> SoftTree:
    """Run Algorithm 2: fit each stage as if it were the last; it passes on 1 - epsilon of its rows.

    Parameters
    ----------
    rows : BankRows
    fit : callable
        Of the number of a stage and the probabilities to reach it, float64 (n,): its weighted sum, or None for an empty
        stage, which is left out.
    settings : CascadeSettings
    verbose : int
    """
    passes = np.ones(len(rows.target))
    stages: list[WeightedSum] = []
    thresholds: list[float] = []
    for k in track(range(settings.n_stages), "Cronus", verbose=verbose):
        stage = fit(k, passes)
        if stage is None:
            continue
        stages.append(stage)
        if k < settings.n_stages - 1:
            scores = stage.scores(rows.outputs)[:, 0]
            theta = passing_threshold(scores, rows.share * passes, 1 - settings.rejected, settings.steepness)
            passes = passes * expit(settings.steepness * (scores - theta))
            thresholds.append(theta)
    return SoftTree.chain(
        np.array([stage.weights[:, 0] for stage in stages]),
        np.array([stage.constant[0] for stage in stages]),
        np.array(thresholds[: len(stages) - 1]),
    )


def exact_stages(rows: BankRows, price_at: Callable[[F8], SampledPrices], settings: CascadeSettings) -> FitStage:
    """Return the default fit of a stage: by the exact price of what no earlier stage has bought.

    `price_at` returns prices, in units of cost, for rows drawn by weights, float64 (n,).
    """
    share, loss_weight = rows.share, rows.loss_weight
    bought = np.zeros(rows.outputs.shape[1], np.bool_)
    known: tuple[F8, NormalEquations, SampledPrices] | None = None

    def fit(k: int, passes: F8) -> WeightedSum | None:
        nonlocal bought, known
        reach, here = float(share @ passes), float((loss_weight * passes).sum())
        if known is None or known[0] is not passes:
            come = np.where(passes > _NOBODY * float(loss_weight @ passes), passes, 0.0)
            normal = NormalEquations.of(rows.outputs, rows.target, loss_weight * come)
            known = passes, normal, price_at(share * passes)
        _, normal, prices = known
        price = min(settings.tradeoff_at(k) / here, 1e300) * reach  # the sums are means over the remaining rows
        fitted = fit_at_price(normal, prices.after(bought), price, settings.ridge)
        if k < settings.n_stages - 1 and not fitted.any():
            return None
        bought = bought | (fitted[:, 0] != 0)
        return WeightedSum(fitted, normal.intercept(fitted))

    return fit


def relaxed_stages(rows: BankRows, prices: PricedGroups, settings: CascadeSettings) -> FitStage:
    """Return the printed fit of a stage, by eqs. 13 and 14; prices are in units of cost."""
    bought, rho = np.zeros(len(prices.price)), _rho(settings)

    def fit(k: int, passes: F8) -> WeightedSum | None:
        nonlocal bought
        reach = float(rows.share @ passes)  # d_k
        if reach < _NO_REACH:
            return None
        inflated = groups_in_loss(prices, settings.tradeoff_at(k))
        stage = fit_relaxed(rows, passes, inflated, float(rho[k]), bought, reach)
        bought = bought + reach**2 * energies(prices, stage.weights)  # a of eq. 12
        return stage

    return fit


def improve(
    start: SoftTree, own: F8 | None, train: Evaluation, held_out: Evaluation, settings: CascadeSettings
) -> SoftTree:
    """Choose the cascade of fewest stages within half a standard error of the best, by halves of held-out rows.

    It stands in the place of Algorithm 1: thresholds move, then all weights at fixed supports, by exact cost.
    """
    found = []
    for tree, place in [(start, False), *_candidates(start, own, train, held_out, settings)]:
        parts = held_out.cross_fit_rows(lambda rows: _answering(rows, tree, settings, place=place))  # noqa: B023
        placed = place_thresholds(held_out, tree, settings.steepness) if place else tree
        found.append((len(placed), float(parts.sum()), parts, placed))
    least = min(found, key=lambda one: one[1])
    near = [one for one in found if one[1] - least[1] <= _CAUTION * held_out.error(one[2] - least[2])]
    return min(near, key=lambda one: one[:2])[3]


def _answering(rows: Evaluation, tree: SoftTree, settings: CascadeSettings, *, place: bool) -> SoftTree:
    """Calibrate answers on some rows, perhaps after placing thresholds there."""
    placed = place_thresholds(rows, tree, settings.steepness) if place else tree
    return calibrate_at_exits(rows, placed, settings.steepness)


def _candidates(
    start: SoftTree, own: F8 | None, train: Evaluation, held_out: Evaluation, settings: CascadeSettings
) -> Iterator[tuple[SoftTree, bool]]:
    """Yield trees to choose from, and whether to place their thresholds."""
    yield _start(train, evolve(settings, n_stages=1)), False
    starts = [start]
    if own is not None:
        starts.append(as_cascade(train.rows, own, train.pricing.at(train.rows.share), settings.n_stages))
        yield starts[-1].without_idle_routes(), False
    for one in starts:
        yield one, True
        placed = place_thresholds(held_out, one, settings.steepness)
        for begin in (one, placed) if np.isfinite(one.threshold).all() else (placed,):
            yield _at_supports(begin, train, held_out, settings), True


def as_cascade(rows: BankRows, own: F8, prices: SampledPrices, n_stages: int) -> SoftTree:
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


def _spread(rows: BankRows, ridge: float) -> float:
    """Return the deviation of the scores of a single stage, in (0, 1]."""
    normal = NormalEquations.of(rows.outputs, rows.target, rows.loss_weight)
    weights = fit_ridge(normal, normal.varies, ridge * normal.unit)
    variance = float((weights * (normal.gram @ weights)).sum())
    return float(coarse(np.sqrt(variance))) if 0 < variance <= 1 else 1.0


def minimize_eq_8(
    rows: BankRows, loss: Loss, prices: PricedGroups, start: SoftTree, settings: CascadeSettings, steps: list[Step]
) -> SoftTree:
    """Run Algorithm 1: alternate between one stage's weights and the auxiliaries of eq. 11, until eq. 8 stops falling.

    Prices are in units of cost; `steps` gets the accepted steps.
    """
    rho = _rho(settings)[-len(start) :]  # a start may have fewer stages
    eq_8 = RelaxedObjective.of_chain(rows, loss, groups_in_loss(prices, settings.tradeoff), rho, settings.steepness)
    return cycle(eq_8, start, _CYCLES, steps)


def _rho(settings: CascadeSettings) -> F8:
    return np.append(np.full(settings.n_stages - 1, settings.l1), settings.l1_last)


def reject(tree: SoftTree, rows: BankRows) -> SoftTree:
    """Set negligible weights to zero, leave out stages without weights, and answer rejected rows with -1."""
    tree = drop_zeros(tree, rows)
    empty = ~tree.used.any(axis=1) & tree.topology.routes
    passing: F8 = np.where(tree.intercept[:, 0] > tree.threshold, -np.inf, np.inf)
    tree = tree.with_threshold(np.where(empty, passing, tree.threshold)).without_idle_routes()
    for node in np.flatnonzero(tree.topology.routes)[::-1].tolist():
        tree = tree.with_leaf(node, WeightedSum(np.zeros(tree.weights.shape[1:]), np.array([REJECTED])))
    return tree
