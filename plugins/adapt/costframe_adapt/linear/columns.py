"""All columns as linear models see them: what they are fitted to, priced by, and looked at on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.cost.groups import PricedGroups
from costframe.gates.composite import Scores
from costframe.gates.pair import GatedPair
from costframe.stagewise.banks import find_bank, outputs_on
from costframe_adapt.linear.models import LinearPair, fit_linear, refit
from costframe_adapt.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.gates.composite import Candidate
    from costframe.training.data import TrainingData
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import AdaptSettings

__all__ = ["JudgedColumns", "train_linear_alone"]


@frozen(eq=False)
class JudgedColumns:
    """All columns, of training rows and of rows held out.

    Attributes
    ----------
    judge : Judge
    bank : WeakLearnerBank
        The columns.
    H, held : float64 (n, C), float64 (n', C)
        Of the training rows, and of the rows held out.
    problem : Problem
        Of the training rows, with the share of the settings.
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
        """Fit a pair at a limit of the share, and a penalty times the tradeoff; see `fit_linear`."""
        judge = self.judge
        full_price = np.zeros(len(judge.rows))
        if full_share is None:  # then what f0 costs decides the share
            account, prices = judge.expensive.train.account, judge.data.prices
            cost = account.cost(prices) + account.batch(prices) / judge.rows.total_weight
            full_price = judge.settings.tradeoff * cost
        return fit_linear(
            self.H,
            evolve(self.problem, full_share=full_share),
            self.priced.times(judge.settings.tradeoff * penalty),
            full_price,
            starts=starts,
            start=start,
            max_rounds=max_rounds,
        )

    def refit(self, pair: LinearPair, full_share: float | None) -> LinearPair:
        """Undo the penalty's shrinkage of a pair fitted at this limit."""
        return refit(self.H, evolve(self.problem, full_share=full_share), pair)

    def look_at(self, pair: LinearPair) -> Candidate:
        """See what a gate and a cheap model are worth."""
        train, held = (
            Scores(rows @ pair.cheap + pair.cheap_intercept, rows @ pair.gate + pair.gate_intercept)
            for rows in (self.H, self.held)
        )
        return self.judge.candidate(_gated(self.bank, pair), train, held)


def train_linear_alone(data: TrainingData, settings: AdaptSettings) -> StageTree:
    """Fit the cheap model alone: logistic regression with the penalty; for "l1" it only chooses the columns."""
    bank, H, priced = _read(data, settings.n_threads)
    nothing = np.zeros(len(H))
    problem = Problem.of(data.train, data.n_classes, nothing, 0.0)
    pair = fit_linear(H, problem, priced.times(settings.tradeoff), nothing)
    if settings.variant == "l1":
        pair = refit(H, problem, pair)
    return _gated(bank, pair).cheap_tree()


def _read(data: TrainingData, n_threads: int) -> tuple[WeakLearnerBank, NDArray[np.float64], PricedGroups]:
    """Return all columns as a bank, their values in the training rows, float64 (n, C), and their prices."""
    bank = find_bank("columns", data, {})
    H = outputs_on(bank, data.train.X, n_threads).dense
    return bank, H, PricedGroups.of_bank(bank, data.costs.select(bank.feature_names), n_rows=data.train.total_weight)


def _gated(bank: WeakLearnerBank, pair: LinearPair) -> GatedPair:
    return GatedPair(bank, pair.cheap, pair.cheap_intercept, pair.gate, pair.gate_intercept)
