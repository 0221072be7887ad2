"""A model on a path of models from one fit, as its algorithm measures it."""

from __future__ import annotations

from typing import Any

from attrs import Factory, field, frozen

from costframe.core.arrays import F8


@frozen
class PathPoint:
    """A model on a path, measured on held-out rows.

    With an `error`, `score` and `cost` are the algorithm's own estimates on held-out rows, and sweeps do not measure
    them on valid, because the models may have been trained on valid.
    """

    n_rounds: int  # rounds, trees or stops; zero for a constant
    tradeoff: float  # of the last round of training; 0 without prices
    loss: float  # mean loss
    cost: float  # exact mean cost per row on valid, or the algorithm's estimate
    score: float  # on valid, or the algorithm's estimate; higher is better
    key: Any = None  # tells the models of a path apart: a branch, a threshold, a share of rows, a plan
    # mean cost with each row's share of once-prices, as in the objective
    objective_cost: float = field(default=Factory(lambda self: self.cost, takes_self=True), repr=False)
    error: float | None = None  # standard error of the score, if known
    cost_error: float = 0.0
    # (rows of train, then of valid,): influence of each row on the score; see `costframe.training.influences`
    influence: F8 | None = field(default=None, eq=False, repr=False)
    spent: F8 | None = field(default=None, eq=False, repr=False)  # the same on the cost, for the errors of bills
    rows_lacked: float = field(default=0.0, repr=False)  # share of the rows that the models of the score did not have

    def objective(self, tradeoff: float) -> float:
        """Return loss + tradeoff * cost, with the share of once-prices."""
        return self.loss + tradeoff * self.objective_cost

    @property
    def rank(self) -> tuple[float, float, float]:
        """The key that sorts points: score, then cost, then loss; the best is the largest."""
        return (self.score, -self.cost, -self.loss)
