"""ADAPT-LIN and ADAPT-LSTSQ: a linear gate and a linear cheap model, that share what they acquire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from attrs import evolve, frozen

from costframe.core.errors import DataError
from costframe_adapt.linear.alternation import Turns, alternate, begin, finish
from costframe_adapt.linear.division import Division
from costframe_adapt.linear.newton import TURN, minimize
from costframe_adapt.linear.penalty import GroupPenalty
from costframe_adapt.linear.starts import best_start
from costframe_adapt.problem import SURE, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups

    F8 = NDArray[np.float64]

__all__ = ["Linear", "fit_linear", "refit"]

_ALIKE = 1e-12  # standard deviation, relative to the largest value, of a column that counts as constant
_REFIT = 1e-3  # ridge that takes the place of the penalty


@frozen(eq=False)
class Linear:
    """A gate g(x) = gate @ x + gate_intercept and a cheap model f1(x) = x @ cheap + cheap_intercept.

    Attributes
    ----------
    gate : float64 (C,)
        Of columns as they were given. Zeros are exact: a column is free if `gate` and `cheap` have zeros for it.
    gate_intercept : float
    cheap : float64 (C, K)
    cheap_intercept : float64 (K,)
    q : float64 (n,)
        Probability of sending each training row to f0.
    shift : float
        b of the last q-step; infinite where f0 may get nothing, and then the gate is a constant.
    bounds : float64 (rounds,)
        J after each round: mean of (1 - q) A + q B - H(q), with the penalty. For "kl" it does not rise.
    """

    gate: F8
    gate_intercept: float
    cheap: F8
    cheap_intercept: F8
    q: F8
    shift: float
    bounds: F8


@frozen(eq=False)
class _Columns:
    """Columns that vary, and how to standardize them: mean and standard deviation, float64 (C',) each."""

    chosen: NDArray[np.int64]
    mean: F8
    spread: F8

    @classmethod
    def of(cls, H: F8, weight: F8) -> _Columns:
        share = weight / weight.sum()
        mean = share @ H
        spread = np.sqrt(share @ np.square(H - mean))
        chosen = np.flatnonzero(spread > _ALIKE * np.abs(H).max(axis=0, initial=0.0))
        return cls(chosen, mean[chosen], spread[chosen])

    def standardize(self, H: F8) -> F8:
        return np.ascontiguousarray((H[:, self.chosen] - self.mean) / self.spread)

    def weights(self, model: Linear) -> F8:
        """Return a model's weights for standardized columns: float64 (1 + K, C' + 1)."""
        raw = np.column_stack([model.gate, model.cheap]).T[:, self.chosen]
        intercept = np.append(model.gate_intercept, model.cheap_intercept) + raw @ self.mean
        return np.column_stack([raw * self.spread, intercept])

    def model(self, turns: Turns, n_columns: int) -> Linear:
        """Return the model of weights for standardized columns."""
        raw = np.zeros((len(turns.weights), n_columns))
        raw[:, self.chosen] = turns.weights[:, :-1] / self.spread
        intercept = turns.weights[:, -1] - raw[:, self.chosen] @ self.mean
        gate_intercept = float(intercept[0]) if np.isfinite(turns.shift) else float(np.log(SURE / (1 - SURE)))
        return Linear(raw[0], gate_intercept, raw[1:].T.copy(), intercept[1:], turns.q, turns.shift, turns.bounds)


def fit_linear(
    H: F8,
    problem: Problem,
    groups: PricedGroups,
    full_price: F8,
    *,
    distance: Literal["kl", "squares"],
    standardize: bool,
    starts: bool = True,
    start: Linear | None = None,
    max_rounds: int = 50,
) -> Linear:
    """Alternate between the shares q, and the gate and f1 given q.

    For given q, g and f1 minimize mean_i [(1 - q_i) (l(f1_i, y_i) + log(1 + exp(g_i))) + q_i log(1 + exp(-g_i))]
    + sum_G price_G * sqrt(sum of squares of all weights of the columns of group G), with "squares" in place of the
    gate's terms mean_i (g_i - log(q_i / (1 - q_i)))^2 / 2. Intercepts are free.

    Parameters
    ----------
    H : float64 (n, C)
        Finite columns of any units.
    problem : Problem
    groups : PricedGroups
        Of the C columns; prices times what a cost unit is worth in loss.
    full_price : float64 (n,)
        What the cost of f0 is worth in loss, row by row.
    distance : "kl" or "squares"
        ADAPT-LIN or ADAPT-LSTSQ.
    standardize : bool
        Whether the penalty is on the weights of standardized columns, not of columns as given.
    starts : bool
        Whether each column and direction is tried as a start too.
    start : Linear, optional
        A solution of a problem nearby, and then the only start.
    max_rounds : int
    """
    if groups.member.shape[1] != H.shape[1]:
        raise DataError(f"groups: expected {H.shape[1]} columns, got {groups.member.shape[1]}")
    columns = _Columns.of(H, problem.weight)
    scale = np.ones(len(columns.chosen)) if standardize else columns.spread
    penalty = GroupPenalty.of_groups(groups, columns.chosen, scale)
    division = Division(columns.standardize(H), problem, full_price, penalty, distance)
    if start is not None and np.isfinite(start.shift) and division.gated:
        weights = columns.weights(start)
    else:
        weights = _plain(division, None if start is None else columns.weights(start))
        if division.gated and starts and start is None:
            weights = best_start(division, weights)
    turns = alternate(division, begin(division, weights), max_rounds)
    return columns.model(finish(division, turns), H.shape[1])


def _plain(division: Division, weights: F8 | None) -> F8:
    """Fit f1 to all rows, with a gate of zero."""
    alone = evolve(division, problem=evolve(division.problem, full_share=0.0))
    weights = division.nothing if weights is None else weights.copy()
    weights[0] = 0.0
    return minimize(alone, np.zeros(len(division.Z)), weights, TURN)


def refit(H: F8, problem: Problem, model: Linear, *, distance: Literal["kl", "squares"]) -> Linear:
    """Undo the penalty's shrinkage: the same q and the same columns, with a small ridge in place of the penalty.

    Parameters
    ----------
    H : float64 (n, C)
    problem : Problem
    model : Linear
        Fitted to them.
    distance : "kl" or "squares"
    """
    used = np.flatnonzero((model.gate != 0) | (model.cheap != 0).any(axis=1))
    columns = _Columns.of(H[:, used], problem.weight)
    kept = Linear(model.gate[used], model.gate_intercept, model.cheap[used], *_rest(model))
    penalty = GroupPenalty.none(len(columns.chosen))
    nothing = np.zeros(len(H))
    division = Division(columns.standardize(H[:, used]), problem, nothing, penalty, distance, _REFIT)
    weights = columns.weights(kept)
    if not division.gated:
        weights[0] = 0.0
    weights = minimize(division, model.q, weights)
    found = columns.model(Turns(weights, model.q, model.shift, model.bounds), len(used))
    gate, cheap = np.zeros_like(model.gate), np.zeros_like(model.cheap)
    gate[used], cheap[used] = found.gate, found.cheap
    return evolve(found, gate=gate, cheap=cheap)


def _rest(model: Linear) -> tuple[F8, F8, float, F8]:
    return model.cheap_intercept, model.q, model.shift, model.bounds
