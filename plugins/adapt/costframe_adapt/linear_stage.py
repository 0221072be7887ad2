"""A stage of linear models: as the paper prints it, or from several starts and penalties."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen

from costframe import StageTree, WeakLearnerBank
from costframe.gates import Candidate, GatedPair
from costframe.plugin import F8, PricedGroups, TrainingData
from costframe.stagewise import BankRows, find_bank
from costframe_adapt.judge import Judge
from costframe_adapt.linear import LinearPair, fit_pair, refit_pair
from costframe_adapt.linear_objective import GateProblem
from costframe_adapt.linear_starts import best_start
from costframe_adapt.settings import AdaptSettings

_ROUNDS = 50
_LIMITS = (0.3, 0.6)  # of the share, to try if the price decides it
_ROUNDS_TRIED = 10  # of the alternation at these limits
PENALTIES = (1.0, 0.3, 3.0)  # times the tradeoff: the norm of weights is not the cost of their columns


@frozen(eq=False)
class JudgedColumns:
    """All columns of training rows and of held-out rows."""

    judge: Judge
    bank: WeakLearnerBank  # the columns
    # H, held (n, C) or (n', C): of the training rows, and of the held-out rows
    H: F8
    held: F8
    problem: GateProblem  # of the training rows, with the settings' share
    priced: PricedGroups

    @classmethod
    def of(cls, judge: Judge) -> JudgedColumns:
        """Read the columns."""
        settings, data = judge.settings, judge.data
        bank, H, priced = _read(data, settings.n_threads)
        held = BankRows.outputs_of(bank, judge.held.X, settings.n_threads).dense
        problem = GateProblem.of(judge.rows, data.n_classes, judge.expensive.train.loss, settings.full_share)
        return cls(judge, bank, H, held, problem, priced)

    def fit(
        self, full_share: float | None, penalty: float, max_rounds: int, *, starts: bool, start: LinearPair | None
    ) -> LinearPair:
        """Fit a pair at a limit of the share and a multiple of the penalty; see `fit_pair`."""
        judge, problem = self.judge, evolve(self.problem, full_share=full_share)
        if full_share is None:  # the cost of f0 decides the share
            account, prices = judge.expensive.train.account, judge.data.prices
            cost = account.cost(prices) + account.batch(prices) / judge.rows.total_weight
            problem = evolve(problem, loss0=problem.loss0 + judge.settings.tradeoff * cost)
        groups = self.priced.times(judge.settings.tradeoff * penalty)
        return fit_pair(
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
    asked = settings.full_share
    if settings.paper:
        pair = columns.fit(asked, 1.0, _ROUNDS, starts=False, start=None)
        return [columns.evaluate(pair)], (), pair.bounds.tolist()
    candidates: list[Candidate] = []
    solutions: list[LinearPair] = []
    shares = (None, *_LIMITS) if asked is None else (asked,)
    for share, start in zip(shares, warm or [None] * len(shares), strict=True):
        rounds = _ROUNDS if share == asked else _ROUNDS_TRIED
        pair = columns.fit(share, 1.0, rounds, starts=True, start=start)
        solutions.append(pair)
        for penalty in PENALTIES if share == asked else PENALTIES[:1]:
            if penalty != 1:
                pair = columns.fit(share, penalty, rounds, starts=True, start=pair)
            candidates += [columns.evaluate(pair), columns.evaluate(refit_pair(columns.H, columns.problem, pair))]
    return candidates, tuple(solutions), solutions[0].bounds.tolist()


def train_linear_alone(data: TrainingData, settings: AdaptSettings) -> StageTree:
    """Fit the cheap model alone: logistic regression with the penalty."""
    bank, H, priced = _read(data, settings.n_threads)
    problem = GateProblem.of(data.train, data.n_classes, np.zeros(len(H)), 0.0)
    pair = fit_pair(H, problem, priced.times(settings.tradeoff))
    return _gated(bank, pair).cheap_tree()


def _read(data: TrainingData, n_threads: int) -> tuple[WeakLearnerBank, F8, PricedGroups]:
    """Return all columns as a bank, their values in the training rows, float64 (n, C), and their prices."""
    bank = find_bank("columns", data, {})
    H = BankRows.outputs_of(bank, data.train.X, n_threads).dense
    return bank, H, PricedGroups.of_bank(bank, data.costs.select(bank.feature_names), n_rows=data.train.total_weight)


def _gated(bank: WeakLearnerBank, pair: LinearPair) -> GatedPair:
    (gate, *cheap), (constant, *constants) = pair.weights[:, :-1], pair.weights[:, -1]
    return GatedPair(bank, np.stack(cheap, axis=1), np.array(constants), gate, float(constant))
