"""ADAPT-LIN: Algorithm 1, for a gate and a cheap model that are linear in columns.

It alternates between the shares q of rows for the expensive model (OPT1) and both models given q (OPT2), with norms of
the weights as the price of acquisitions. A stage is as the paper prints it, or from several starts and penalties.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray
from scipy.special import entr, expit

from costframe.gates import (
    REFIT,
    RIDGE,
    ROUGH,
    SURE,
    TIGHT,
    TURN,
    Candidate,
    Effort,
    GatedPair,
    GroupNorms,
    Scores,
    Standardized,
    cheap_losses,
    cross_entropy_slopes,
    minimize,
    penalty_of,
    scores_of,
)
from costframe.plugin import (
    F8,
    I8,
    DataError,
    PricedGroups,
    Rows,
    StageTree,
    TrainingData,
    WeakLearnerBank,
    draw_rows,
    hash_rows,
    sum_over_rows,
)
from costframe.stagewise import find_bank, outputs_on
from costframe_adapt.judge import AdaptSettings, Judge, solve_shares

_ACCURACY = 1e-5
_SHARES = 1e-4


@frozen(eq=False)
class Problem:
    """Rows to divide between a cheap model and the expensive one."""

    y: I8  # (n,): class codes 0..M-1
    # M. For two classes a cheap model f1 has K = 1 score, the log odds of class 1; for more, K = M (softmax)
    n_classes: int
    weight: F8  # (n,): positive, of mean one
    # (n,): -log P(y_i | x_i; f0), of the clipped probability; without P, plus the cost of f0 in units of loss
    loss0: F8
    full_share: float | None  # P, the largest mean share of rows for f0; None if only the cost of f0 decides
    key: NDArray[np.uint64] | None = None  # (n,): of each row, for samples; by default of its columns

    @classmethod
    def of(cls, rows: Rows, n_classes: int, loss0: F8, full_share: float | None) -> Problem:
        """Scale weights to a mean of one."""
        weight = rows.weight * (len(rows) / rows.total_weight)
        return cls(rows.y, n_classes, weight, loss0, full_share, hash_rows(rows.X.T, len(rows)))

    @property
    def n_scores(self) -> int:
        """K."""
        return 1 if self.n_classes == 2 else self.n_classes

    def mean(self, values: F8) -> float:
        """Return the weighted mean of values, (n,)."""
        return float(sum_over_rows(values[:, np.newaxis], self.weight)[0]) / len(self.weight)


@frozen(eq=False)
class LinearObjective:
    """A problem with its columns and shares q. Weights are (1 + K, C + 1): the gate's, then f1's; intercepts last."""

    columns: F8  # (n, C): of mean zero and variance one
    problem: Problem
    norms: GroupNorms
    q: F8  # (n,): shares of f0
    # the objective has half of it times the sum of squares of all weights; for intercepts at most RIDGE
    ridge: float = RIDGE

    @property
    def gated(self) -> bool:
        """Whether f0 may get rows."""
        return self.problem.full_share != 0

    @property
    def ridges(self) -> F8:
        """The ridge of each weight: float64 (C + 1,)."""
        return np.append(np.full(self.columns.shape[1], self.ridge), RIDGE)

    def solve_shares(self, scores: F8) -> F8:
        """Solve (OPT1) for scores of the gate and f1, float64 (1 + K, n)."""
        below = cheap_losses(scores[1:].T, self.problem.y) + np.logaddexp(0.0, scores[0])
        above = self.problem.loss0 + np.logaddexp(0.0, -scores[0])
        return solve_shares(below, above, self.problem.weight, self.problem.full_share)

    def smooth(self, scores: F8) -> float:
        """Return the objective of (OPT2) without the norms."""
        losses = (1 - self.q) * cheap_losses(scores[1:].T, self.problem.y)
        if self.gated:
            losses += (1 - self.q) * np.logaddexp(0.0, scores[0]) + self.q * np.logaddexp(0.0, -scores[0])
        return self.problem.mean(losses)

    def bound(self, weights: F8, scores: F8) -> float:
        """Return mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] + penalty."""
        fixed = self.q * self.problem.loss0 - entr(self.q) - entr(1 - self.q)
        return self.smooth(scores) + self.problem.mean(fixed) + penalty_of(self, weights)

    def slopes(self, scores: F8) -> tuple[F8, F8]:
        """Return the derivatives of the smooth part by each score, and curvatures: float64 (1 + K, n) each."""
        slope, curvature = np.zeros_like(scores), np.zeros_like(scores)
        share = self.problem.weight / len(self.columns)
        if self.gated:
            gate = expit(scores[0])
            slope[0], curvature[0] = share * (gate - self.q), share * gate * (1 - gate)
        kept = share * (1 - self.q)
        slope[1:], curvature[1:] = (kept * part for part in cross_entropy_slopes(self.problem.y, scores[1:]))
        return slope, curvature

    def accuracy(self, scores: F8) -> float:
        """Return the accuracy of f1."""
        chosen = scores[1] > 0 if len(scores) == 2 else scores[1:].argmax(axis=0)
        return self.problem.mean((chosen == self.problem.y).astype(np.float64))


@frozen(eq=False)
class LinearPair:
    """A gate g and a cheap model f1 over C columns, and the state of their alternation."""

    # (1 + K, C + 1): the gate's, then f1's; intercepts last. Zeros are exact: a column with only zeros is not
    # acquired
    weights: F8
    q: F8  # (n,): probability of sending each training row to f0
    # (rounds,): mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] + penalty after each round; it does not rise
    bounds: F8 = field(factory=lambda: np.empty(0))
    converged: bool = False

    @property
    def used(self) -> I8:
        """The columns with a weight."""
        return np.flatnonzero(self.weights[:, :-1].any(axis=0))

    def scores(self, H: F8) -> Scores:
        """Return the scores of rows with columns H, (n, C)."""
        gate, *cheap = scores_of(H, self.weights)
        return Scores(np.stack(cheap, axis=1), gate)


def alternate(objective: LinearObjective, pair: LinearPair, most: int, effort: Effort = TURN) -> LinearPair:
    """Alternate until accuracy changes by less than 1e-5 and q by less than 1e-4 per row, or for `most` rounds."""
    weights, q, bounds, converged = pair.weights, pair.q, pair.bounds.tolist(), False
    scores = scores_of(objective.columns, weights)
    accuracy = objective.accuracy(scores)
    for _ in range(most):
        before, q = q, objective.solve_shares(scores)
        step = evolve(objective, q=q)
        weights = minimize(step, weights, effort)
        scores = scores_of(objective.columns, weights)
        known, accuracy = accuracy, objective.accuracy(scores)
        bounds.append(step.bound(weights, scores))
        converged = abs(accuracy - known) < _ACCURACY and objective.problem.mean(np.abs(q - before)) < _SHARES
        if converged:
            break
    return LinearPair(weights, q, np.array(bounds), converged)


def finish(objective: LinearObjective, pair: LinearPair) -> LinearPair:
    """Minimize both models for the last q to full precision, and append the bound."""
    step = evolve(objective, q=pair.q)
    weights = minimize(step, pair.weights, TIGHT)
    bound = step.bound(weights, scores_of(objective.columns, weights))
    return evolve(pair, weights=weights, bounds=np.append(pair.bounds[:-1], bound))


def fit_linear(
    H: F8,
    problem: Problem,
    groups: PricedGroups,
    *,
    choose_start: Callable[[LinearObjective, F8], F8] | None = None,
    start: LinearPair | None = None,
    max_rounds: int = 50,
) -> LinearPair:
    """Alternate between the shares q (OPT1), and the gate and f1 given q (OPT2).

    For given q, g and f1 minimize mean_i [(1 - q_i) (l(f1_i, y_i) + log(1 + exp(g_i))) + q_i log(1 + exp(-g_i))]
    + sum_G price_G * sqrt(sum of squares of all weights of the columns of group G). Intercepts have no price. If f0 may
    get no rows, the gate is a constant.

    Parameters
    ----------
    H : float64 (n, C)
        Finite columns in any units.
    problem : Problem
    groups : PricedGroups
        Of the C columns, with prices in units of loss.
    choose_start : callable, optional
        Chooses weights to begin with, from f1 fitted to all rows and a gate of 0, which are the start by default.
    start : LinearPair, optional
        A solution of a similar problem, and then the only start.
    max_rounds : int
    """
    if groups.member.shape[1] != H.shape[1]:
        raise DataError(f"groups: expected {H.shape[1]} columns, got {groups.member.shape[1]}")
    columns = Standardized.of(H, problem.weight)
    norms = GroupNorms.of_groups(groups, columns.chosen, columns.spread)
    objective = LinearObjective(columns.columns(H), problem, norms, np.zeros(len(H)))
    nothing = np.zeros((1 + problem.n_scores, len(columns.chosen) + 1))
    weights = nothing if start is None else columns.weights(start.weights)
    if start is None or not (objective.gated and (start.q > 0).any()):
        weights[0] = 0.0
        weights = minimize(evolve(objective, problem=evolve(problem, full_share=0.0)), weights, TURN)
        if objective.gated and choose_start is not None and start is None:
            weights = choose_start(objective, weights)
    pair = finish(objective, alternate(objective, LinearPair(weights, np.zeros(len(H))), max_rounds))
    return _in_units(pair, columns, objective, H.shape[1])


def refit(H: F8, problem: Problem, pair: LinearPair) -> LinearPair:
    """Fit again without the penalty's shrinkage: for the same q and columns, with a small ridge in its place.

    Parameters
    ----------
    H : float64 (n, C)
    problem : Problem
    pair : LinearPair
        A solution for these rows.
    """
    kept, few = np.append(pair.used, H.shape[1]), H[:, pair.used]
    problem = evolve(problem, full_share=None if (pair.q > 0).any() else 0.0)
    columns = Standardized.of(few, problem.weight)
    objective = LinearObjective(columns.columns(few), problem, GroupNorms.none(len(columns.chosen)), pair.q, REFIT)
    weights = columns.weights(pair.weights[:, kept])
    if not objective.gated:
        weights[0] = 0.0
    found = evolve(pair, weights=minimize(objective, weights))
    spread = np.zeros_like(pair.weights)
    spread[:, kept] = _in_units(found, columns, objective, few.shape[1]).weights
    return evolve(pair, weights=spread)


def _in_units(pair: LinearPair, columns: Standardized, objective: LinearObjective, n_columns: int) -> LinearPair:
    weights = columns.raw(pair.weights, n_columns)
    if not objective.gated:
        weights[0, -1] = np.log(SURE / (1 - SURE))
    return evolve(pair, weights=weights)


_ROUNDS = 50
_LIMITS = (0.3, 0.6)  # of the share, to try if the price decides it
_ROUNDS_TRIED = 10  # of the alternation at these limits
PENALTIES = (1.0, 0.3, 3.0)  # times the tradeoff: the norm of weights is not the cost of their columns
_ROWS = 2000  # on which starts are compared
_PROMISING = 8  # starts that get more than one round
_ROUNDS_OF_STARTS = 2  # of each of them before the worse half is dropped
_HIGH, _LOW = 0.95, 0.05


@frozen(eq=False)
class JudgedColumns:
    """All columns of training rows and of held-out rows."""

    judge: Judge
    bank: WeakLearnerBank  # the columns
    # H, held (n, C) or (n', C): of the training rows, and of the held-out rows
    H: F8
    held: F8
    problem: Problem  # of the training rows, with the settings' share
    priced: PricedGroups

    @classmethod
    def of(cls, judge: Judge) -> JudgedColumns:
        """Read the columns."""
        settings, data = judge.settings, judge.data
        bank, H, priced = _read(data, settings.n_threads)
        held = outputs_on(bank, judge.held.X, settings.n_threads).dense
        problem = Problem.of(judge.rows, data.n_classes, judge.expensive.train.loss, settings.full_share)
        return cls(judge, bank, H, held, problem, priced)

    def fit(
        self, full_share: float | None, penalty: float, max_rounds: int, *, starts: bool, start: LinearPair | None
    ) -> LinearPair:
        """Fit a pair at a limit of the share and a multiple of the penalty; see `fit_linear`."""
        judge, problem = self.judge, evolve(self.problem, full_share=full_share)
        if full_share is None:  # the cost of f0 decides the share
            account, prices = judge.expensive.train.account, judge.data.prices
            cost = account.cost(prices) + account.batch(prices) / judge.rows.total_weight
            problem = evolve(problem, loss0=problem.loss0 + judge.settings.tradeoff * cost)
        groups = self.priced.times(judge.settings.tradeoff * penalty)
        return fit_linear(
            self.H, problem, groups, choose_start=best_start if starts else None, start=start, max_rounds=max_rounds
        )

    def evaluate(self, pair: LinearPair) -> Candidate:
        """Evaluate a gate and a cheap model on the held-out rows."""
        return self.judge.candidate(_gated(self.bank, pair), pair.scores(self.H), pair.scores(self.held))


def fit_linear_stage(
    judge: Judge, warm: tuple[LinearPair, ...] = ()
) -> tuple[list[Candidate], tuple[LinearPair, ...], list[float]]:
    """Fit at the tradeoff from several starts, or from similar solutions, and from there at other penalties.

    It evaluates each solution as it is, and refitted without the penalty on the same columns. If the price decides the
    share, it also tries some shares as limits, which find sharp gates: their norms cost more than they save. The
    paper's recipe has one solution, from the plain start.

    Returns
    -------
    list of Candidate, tuple of LinearPair, list of float
        All candidates; the solution at the tradeoff for each limit; the bound of the first after each round.
    """
    settings, columns = judge.settings, JudgedColumns.of(judge)
    own = settings.full_share
    if settings.paper:
        pair = columns.fit(own, 1.0, _ROUNDS, starts=False, start=None)
        return [columns.evaluate(pair)], (), pair.bounds.tolist()
    found: list[Candidate] = []
    solutions: list[LinearPair] = []
    shares = (None, *_LIMITS) if own is None else (own,)
    for share, start in zip(shares, warm or [None] * len(shares), strict=True):
        rounds = _ROUNDS if share == own else _ROUNDS_TRIED
        pair = columns.fit(share, 1.0, rounds, starts=True, start=start)
        solutions.append(pair)
        for penalty in PENALTIES if share == own else PENALTIES[:1]:
            if penalty != 1:
                pair = columns.fit(share, penalty, rounds, starts=True, start=pair)
            found += [columns.evaluate(pair), columns.evaluate(refit(columns.H, columns.problem, pair))]
    return found, tuple(solutions), solutions[0].bounds.tolist()


def train_linear_alone(data: TrainingData, settings: AdaptSettings) -> StageTree:
    """Fit the cheap model alone: logistic regression with the penalty."""
    bank, H, priced = _read(data, settings.n_threads)
    problem = Problem.of(data.train, data.n_classes, np.zeros(len(H)), 0.0)
    pair = fit_linear(H, problem, priced.times(settings.tradeoff))
    return _gated(bank, pair).cheap_tree()


def _read(data: TrainingData, n_threads: int) -> tuple[WeakLearnerBank, F8, PricedGroups]:
    """Return all columns as a bank, their values in the training rows, float64 (n, C), and their prices."""
    bank = find_bank("columns", data, {})
    H = outputs_on(bank, data.train.X, n_threads).dense
    return bank, H, PricedGroups.of_bank(bank, data.costs.select(bank.feature_names), n_rows=data.train.total_weight)


def _gated(bank: WeakLearnerBank, pair: LinearPair) -> GatedPair:
    (gate, *cheap), (constant, *constants) = pair.weights[:, :-1], pair.weights[:, -1]
    return GatedPair(bank, np.stack(cheap, axis=1), np.array(constants), gate, float(constant))


def extreme_shares(values: F8, weight: F8, share: float) -> F8:
    """Return q = .95 on the rows of the highest values, of total weight `share`, and .05 elsewhere.

    Rows of equal values get equal q, perhaps in between: the order of rows has no effect.
    """
    distinct, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weight, len(distinct)) / weight.sum()
    above = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)
    part = np.clip((share - above) / mass, 0.0, 1.0)[place]
    return np.asarray(_LOW + (_HIGH - _LOW) * part)


def best_start(objective: LinearObjective, plain: F8) -> F8:
    """Return the starting weights with the lowest bound after alternations on a sample of rows.

    It tries a plain f1 with a gate of zero, and for each column and direction the best models for a q that sends the
    extreme rows to f0. It keeps the best eight after one round, and the better half after every two more.

    Parameters
    ----------
    objective : LinearObjective
    plain : float64 (1 + K, C + 1)
        Of the plain f1, with a gate of zero.
    """
    sample = _sample(objective)
    share = sample.problem.full_share
    part = 0.5 if share is None or share == 1 else share
    extremes = [
        extreme_shares(values, sample.problem.weight, part)
        for column in sample.columns.T
        for values in (column, -column)
    ]
    begun = [LinearPair(plain, np.zeros(len(sample.columns)))]
    begun += [LinearPair(minimize(evolve(sample, q=q), plain, ROUGH), q) for q in extremes]
    tried = _lowest([alternate(sample, pair, 1, ROUGH) for pair in begun], _PROMISING)
    while len(tried) > 1:
        tried = [pair if pair.converged else alternate(sample, pair, _ROUNDS_OF_STARTS) for pair in tried]
        tried = _lowest(tried, len(tried) // 2)
    return tried[0].weights


def _lowest(tried: list[LinearPair], most: int) -> list[LinearPair]:
    """Keep the pairs with the lowest bounds, the first of equal ones."""
    return [tried[i] for i in np.argsort([pair.bounds[-1] for pair in tried], kind="stable")[:most]]


def _sample(objective: LinearObjective) -> LinearObjective:
    """Draw a subsample of rows by weight, spread over class and loss of f0; their order has no effect."""
    problem = objective.problem
    key = hash_rows(objective.columns.T, len(problem.y)) if problem.key is None else problem.key
    n_bits = (problem.n_classes - 1).bit_length()
    loss = problem.loss0.view(np.uint64) >> np.uint64(46)  # the bits of doubles >= 0 are in order
    stratum = problem.y.astype(np.uint64) << np.uint64(17) | loss
    key = stratum << np.uint64(47 - n_bits) | key >> np.uint64(17 + n_bits)
    draw = draw_rows(key, problem.weight, _ROWS)
    columns, loss0, q = map(draw.of, (objective.columns, problem.loss0, objective.q))
    y = draw.of(problem.y)
    order = np.lexsort((draw.share, *columns.T[::-1], loss0, y))
    weight = draw.share[order] * (len(order) / draw.share.sum())
    few = evolve(problem, y=y[order], weight=weight, loss0=loss0[order], key=None)
    return evolve(objective, columns=np.ascontiguousarray(columns[order]), problem=few, q=q[order])
