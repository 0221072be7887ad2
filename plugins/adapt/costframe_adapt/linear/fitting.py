"""One stage of linear models over the columns: fitted at some penalties around the tradeoff, and refitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from costframe.core.groups import PricedGroups
from costframe.linear.banks import find_bank, outputs_on
from costframe_adapt.linear.judged_columns import JudgedColumns, linear_front
from costframe_adapt.linear.models import Linear, fit_linear, refit
from costframe_adapt.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictor import StageTree
    from costframe.core.training import TrainingData
    from costframe_adapt.candidate import Candidate
    from costframe_adapt.judge import Judge
    from costframe_adapt.settings import AdaptSettings

__all__ = ["PENALTIES", "fit_linearly", "linear_alone"]

PENALTIES = (1.0, 0.3, 3.0)  # times the tradeoff: the norm of weights is not what their columns cost


def fit_linearly(judge: Judge, warm: Linear | None = None) -> tuple[list[Candidate], Linear, list[float]]:
    """Fit at the tradeoff from several starts, or from a solution nearby, and from there at other penalties.

    Each solution is looked at with its weights as they are, and refitted without the penalty on the same columns. With
    the paper's threshold there is one solution, as it is.

    Returns
    -------
    list of Candidate, Linear, list of float
        All that was looked at; the solution at the tradeoff; and its bound after each round.
    """
    settings, columns = judge.settings, JudgedColumns.of(judge)
    H, problem = columns.H, columns.problem
    price = _full_price(judge)
    distance: Literal["kl", "squares"] = "kl" if settings.variant == "lin" else "squares"
    found: list[Candidate] = []
    first = model = warm
    for penalty in PENALTIES[:1] if settings.zero_threshold else PENALTIES:
        model = fit_linear(
            H,
            problem,
            columns.priced.times(settings.tradeoff * penalty),
            price,
            distance=distance,
            standardize=settings.standardize,
            start=model,
            max_rounds=settings.max_rounds,
        )
        first = model if penalty == 1 else first
        refitted = () if settings.zero_threshold else (refit(H, problem, model, distance=distance),)
        found += [columns.look_at(one) for one in (model, *refitted)]
    assert first is not None  # noqa: S101 - there is at least one penalty
    return found, first, first.bounds.tolist()


def linear_alone(data: TrainingData, settings: AdaptSettings) -> StageTree:
    """Fit the cheap model alone: logistic regression with the penalty; for "l1" it only chooses the columns."""
    rows = data.train
    bank = find_bank("columns", data, {})
    H, n = outputs_on(bank, rows.X, settings.n_threads).dense, rows.total_weight
    nothing = np.zeros(len(rows))
    problem = Problem(rows.y, data.n_classes, rows.weight * (len(rows) / n), nothing, 0.0)
    priced = PricedGroups.of_bank(bank, data.costs.select(bank.feature_names), n_rows=n).times(settings.tradeoff)
    model = fit_linear(H, problem, priced, nothing, distance="kl", standardize=settings.standardize)
    if settings.variant == "l1":
        model = refit(H, problem, model, distance="kl")
    return linear_front(bank, model).alone()


def _full_price(judge: Judge) -> NDArray[np.float64]:
    """Return what the expensive model's cost is worth in loss, (n,); nothing where its share is limited instead."""
    account, prices = judge.full.train.account, judge.data.prices
    if judge.settings.full_share is not None:
        return np.zeros(len(judge.rows))
    return judge.settings.tradeoff * (account.cost(prices) + account.batch(prices) / judge.rows.total_weight)
