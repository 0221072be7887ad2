"""The columns that linear models of one stage are fitted to and looked at on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

from costframe.core.cost.groups import PricedGroups
from costframe.stagewise.banks import find_bank, outputs_on
from costframe_adapt.candidate import Scores
from costframe_adapt.front import Front
from costframe_adapt.problem import Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.training.data import TrainingData
    from costframe_adapt.candidate import Candidate
    from costframe_adapt.judge import Judge
    from costframe_adapt.linear.models import Linear

__all__ = ["JudgedColumns", "linear_front", "read_columns"]


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
        settings, data, rows = judge.settings, judge.data, judge.rows
        bank, H, priced = read_columns(data, settings.n_threads)
        held = outputs_on(bank, judge.seen.X, settings.n_threads).dense
        problem = Problem.of(rows, data.n_classes, judge.full.train.loss, settings.full_share)
        return cls(judge, bank, H, held, problem, priced)

    @property
    def alone(self) -> Problem:
        """The problem of a cheap model that answers all rows."""
        return evolve(self.problem, full_share=0.0)

    def look_at(self, model: Linear) -> Candidate:
        """See what a gate and a cheap model are worth."""
        train, seen = (
            Scores(rows @ model.cheap + model.cheap_intercept, rows @ model.gate + model.gate_intercept)
            for rows in (self.H, self.held)
        )
        return self.judge.candidate(linear_front(self.bank, model), train, seen)


def read_columns(data: TrainingData, n_threads: int) -> tuple[WeakLearnerBank, NDArray[np.float64], PricedGroups]:
    """Return all columns as a bank, their values in the training rows, float64 (n, C), and their prices."""
    bank = find_bank("columns", data, {})
    H = outputs_on(bank, data.train.X, n_threads).dense
    return bank, H, PricedGroups.of_bank(bank, data.costs.select(bank.feature_names), n_rows=data.train.total_weight)


def linear_front(bank: WeakLearnerBank, model: Linear) -> Front:
    """Return a gate and a cheap model over columns."""
    return Front(bank, model.cheap, model.cheap_intercept, model.gate, model.gate_intercept)
