"""A linear gate and a linear cheap model, fitted together: they share what they acquire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.errors import DataError
from costframe.gates.expensive import SURE
from costframe.proximal.group_norms import GroupNorms
from costframe.proximal.newton import TURN, minimize
from costframe_adapt.linear.alternation import Alternation, alternate, begin, finish
from costframe_adapt.linear.objective import LinearObjective
from costframe_adapt.linear.starts import best_start

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe_adapt.problem import Problem

    F8 = NDArray[np.float64]

__all__ = ["LinearPair", "fit_linear", "refit"]

_ALIKE = 1e-12  # standard deviation, relative to the largest value, of a column that counts as constant
_REFIT = 1e-3  # ridge that takes the place of the penalty


@frozen(eq=False)
class LinearPair:
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
        mean_i [(1 - q_i) A_i + q_i B_i - H(q_i)] and the penalty after each round, which do not rise.
    """

    gate: F8
    gate_intercept: float
    cheap: F8
    cheap_intercept: F8
    q: F8
    shift: float
    bounds: F8

    @property
    def used(self) -> NDArray[np.int64]:
        """The columns that are read."""
        return np.flatnonzero((self.gate != 0) | (self.cheap != 0).any(axis=1))


@frozen(eq=False)
class _Standardized:
    """Columns that vary, and how to standardize them: mean and standard deviation, float64 (C',) each."""

    chosen: NDArray[np.int64]
    mean: F8
    spread: F8

    @classmethod
    def of(cls, H: F8, weight: F8) -> _Standardized:
        share = weight / weight.sum()
        mean = share @ H
        spread = np.sqrt(share @ np.square(H - mean))
        chosen = np.flatnonzero(spread > _ALIKE * np.abs(H).max(axis=0, initial=0.0))
        return cls(chosen, mean[chosen], spread[chosen])

    def columns(self, H: F8) -> F8:
        return np.ascontiguousarray((H[:, self.chosen] - self.mean) / self.spread)

    def weights(self, pair: LinearPair) -> F8:
        """Return a pair's weights for standardized columns: float64 (1 + K, C' + 1)."""
        raw = np.column_stack([pair.gate, pair.cheap]).T[:, self.chosen]
        intercept = np.append(pair.gate_intercept, pair.cheap_intercept) + raw @ self.mean
        return np.column_stack([raw * self.spread, intercept])

    def pair(self, state: Alternation, n_columns: int) -> LinearPair:
        """Return the pair of weights for standardized columns."""
        raw = np.zeros((len(state.weights), n_columns))
        raw[:, self.chosen] = state.weights[:, :-1] / self.spread
        intercept = state.weights[:, -1] - raw[:, self.chosen] @ self.mean
        gate_intercept = float(intercept[0]) if np.isfinite(state.shift) else float(np.log(SURE / (1 - SURE)))
        return LinearPair(raw[0], gate_intercept, raw[1:].T.copy(), intercept[1:], state.q, state.shift, state.bounds)


def fit_linear(
    H: F8,
    problem: Problem,
    groups: PricedGroups,
    full_price: F8,
    *,
    starts: bool = True,
    start: LinearPair | None = None,
    max_rounds: int = 50,
) -> LinearPair:
    """Alternate between the shares q (OPT1), and the gate and f1 given q (OPT2).

    For given q, g and f1 minimize mean_i [(1 - q_i) (l(f1_i, y_i) + log(1 + exp(g_i))) + q_i log(1 + exp(-g_i))]
    + sum_G price_G * sqrt(sum of squares of all weights of the columns of group G). Intercepts are free.

    Parameters
    ----------
    H : float64 (n, C)
        Finite columns of any units.
    problem : Problem
    groups : PricedGroups
        Of the C columns; prices times what a cost unit is worth in loss.
    full_price : float64 (n,)
        What the cost of f0 is worth in loss, row by row.
    starts : bool
        Whether each column and direction is tried as a start too; else f1 begins as fitted to all rows, the gate at 0.
    start : LinearPair, optional
        A solution of a problem nearby, and then the only start.
    max_rounds : int
    """
    if groups.member.shape[1] != H.shape[1]:
        raise DataError(f"groups: expected {H.shape[1]} columns, got {groups.member.shape[1]}")
    columns = _Standardized.of(H, problem.weight)
    norms = GroupNorms.of_groups(groups, columns.chosen, columns.spread)
    objective = LinearObjective(columns.columns(H), problem, full_price, norms, np.zeros(len(H)))
    if start is not None and np.isfinite(start.shift) and objective.gated:
        weights = columns.weights(start)
    else:
        weights = _plain(objective, None if start is None else columns.weights(start))
        if objective.gated and starts and start is None:
            weights = best_start(objective, weights)
    state = alternate(objective, begin(objective, weights), max_rounds)
    return columns.pair(finish(objective, state), H.shape[1])


def _plain(objective: LinearObjective, weights: F8 | None) -> F8:
    """Fit f1 to all rows, with a gate of zero."""
    alone = evolve(objective, problem=evolve(objective.problem, full_share=0.0))
    weights = objective.nothing if weights is None else weights.copy()
    weights[0] = 0.0
    return minimize(alone, weights, TURN)


def refit(H: F8, problem: Problem, pair: LinearPair) -> LinearPair:
    """Undo the penalty's shrinkage: the same q and the same columns, with a small ridge in place of the penalty.

    Parameters
    ----------
    H : float64 (n, C)
    problem : Problem
    pair : LinearPair
        Fitted to them.
    """
    used = pair.used
    columns = _Standardized.of(H[:, used], problem.weight)
    norms = GroupNorms.none(len(columns.chosen))
    objective = LinearObjective(columns.columns(H[:, used]), problem, np.zeros(len(H)), norms, pair.q, _REFIT)
    weights = columns.weights(evolve(pair, gate=pair.gate[used], cheap=pair.cheap[used]))
    if not objective.gated:
        weights[0] = 0.0
    state = Alternation(minimize(objective, weights), pair.q, pair.shift, pair.bounds)
    found = columns.pair(state, len(used))
    gate, cheap = np.zeros_like(pair.gate), np.zeros_like(pair.cheap)
    gate[used], cheap[used] = found.gate, found.cheap
    return evolve(found, gate=gate, cheap=cheap)
