"""One stage of linear models: as the paper prints it, or from several starts and at several penalties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.gates import ROUGH, GatedPair, minimize
from costframe.plugin import PricedGroups, draw_rows, hash_rows
from costframe.stagewise import find_bank, outputs_on
from costframe_adapt.linear import LinearPair, Problem, alternate, fit_linear, refit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.gates import Candidate
    from costframe.plugin import StageTree, TrainingData, WeakLearnerBank
    from costframe_adapt.judge import Judge
    from costframe_adapt.linear import LinearObjective
    from costframe_adapt.settings import AdaptSettings

    F8 = NDArray[np.float64]

__all__ = ["PENALTIES", "JudgedColumns", "best_start", "extreme_shares", "fit_linear_stage", "train_linear_alone"]

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
    """All columns of training rows and of held-out rows.

    Attributes
    ----------
    judge : Judge
    bank : WeakLearnerBank
        The columns.
    H, held : float64 (n, C), float64 (n', C)
        Of the training rows, and of the held-out rows.
    problem : Problem
        Of the training rows, with the settings' share.
    priced : PricedGroups
    """

    judge: Judge
    bank: WeakLearnerBank
    H: NDArray[np.float64]
    held: NDArray[np.float64]
    problem: Problem
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


def _read(data: TrainingData, n_threads: int) -> tuple[WeakLearnerBank, NDArray[np.float64], PricedGroups]:
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
