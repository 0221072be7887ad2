"""One stage of linear models over the columns: fitted at some penalties around the tradeoff, and refitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from attrs import evolve, frozen

from costframe_adapt.linear.judged_columns import JudgedColumns, linear_front, read_columns
from costframe_adapt.linear.models import Linear, fit_linear, refit
from costframe_adapt.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import TrainingData
    from costframe_adapt.candidate import Candidate
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import AdaptSettings

__all__ = ["PENALTIES", "fit_linearly", "linear_alone"]

_LIMITS = (0.3, 0.6)  # of the share, tried where the price decides it
_TRIED = 10  # rounds of the alternation at these
PENALTIES = (1.0, 0.3, 3.0)  # times the tradeoff: the norm of weights is not what their columns cost


def fit_linearly(
    judge: Judge, warm: tuple[Linear, ...] = ()
) -> tuple[list[Candidate], tuple[Linear, ...], list[float]]:
    """Fit at the tradeoff from several starts, or from a solution nearby, and from there at other penalties.

    Each solution is looked at with its weights as they are, and refitted without the penalty on the same columns. Where
    the price decides the share, some shares are tried as limits too: a gate that is sharp enough costs more norm than
    it saves, and a limit finds it nevertheless. With the paper's threshold there is one solution, as it is.

    Returns
    -------
    list of Candidate, tuple of Linear, list of float
        All that was looked at; the solution at the tradeoff for each limit; the bound of the first after each round.
    """
    settings, columns = judge.settings, JudgedColumns.of(judge)
    paper = settings.zero_threshold
    shares = (None, *_LIMITS) if settings.full_share is None and not paper else (settings.full_share,)
    found: list[Candidate] = []
    solutions: list[Linear] = []
    for share, start in zip(shares, warm or [None] * len(shares), strict=True):
        task = _Linear(columns, judge, share)
        model = task.fit(1.0, start)
        solutions.append(model)
        for penalty in (1.0,) if paper or share != settings.full_share else PENALTIES:
            model = model if penalty == 1 else task.fit(penalty, model)
            found += [columns.look_at(one) for one in (model, *(() if paper else (task.refit(model),)))]
    return found, tuple(solutions), solutions[0].bounds.tolist()


@frozen(eq=False)
class _Linear:
    """The fits of one limit of the share."""

    columns: JudgedColumns
    judge: Judge
    full_share: float | None

    @property
    def problem(self) -> Problem:
        return evolve(self.columns.problem, full_share=self.full_share)

    @property
    def distance(self) -> Literal["kl", "squares"]:
        return "kl" if self.judge.settings.variant == "lin" else "squares"

    def fit(self, penalty: float, start: Linear | None = None) -> Linear:
        settings = self.judge.settings
        return fit_linear(
            self.columns.H,
            self.problem,
            self.columns.priced.times(settings.tradeoff * penalty),
            self._full_price(),
            distance=self.distance,
            standardize=settings.standardize,
            start=start,
            max_rounds=min(settings.max_rounds, _TRIED)
            if self.full_share != settings.full_share
            else settings.max_rounds,
        )

    def refit(self, model: Linear) -> Linear:
        return refit(self.columns.H, self.problem, model, distance=self.distance)

    def _full_price(self) -> NDArray[np.float64]:
        """Return what the expensive model's cost is worth in loss, (n,); nothing where its share is limited instead."""
        judge = self.judge
        account, prices = judge.full.train.account, judge.data.prices
        if self.full_share is not None:
            return np.zeros(len(judge.rows))
        return judge.settings.tradeoff * (account.cost(prices) + account.batch(prices) / judge.rows.total_weight)


def linear_alone(data: TrainingData, settings: AdaptSettings) -> StageTree:
    """Fit the cheap model alone: logistic regression with the penalty; for "l1" it only chooses the columns."""
    bank, H, priced = read_columns(data, settings.n_threads)
    nothing = np.zeros(len(H))
    problem = Problem.of(data.train, data.n_classes, nothing, 0.0)
    prices = priced.times(settings.tradeoff)
    model = fit_linear(H, problem, prices, nothing, distance="kl", standardize=settings.standardize)
    if settings.variant == "l1":
        model = refit(H, problem, model, distance="kl")
    return linear_front(bank, model).alone()
