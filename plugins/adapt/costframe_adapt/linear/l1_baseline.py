"""The paper's baseline: l1-regularized logistic regression chooses columns, then a cheap model, then a gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve
from scipy import sparse

from costframe.core.cost.groups import PricedGroups
from costframe_adapt.linear.columns import JudgedColumns
from costframe_adapt.linear.fitting import PENALTIES
from costframe_adapt.linear.models import LinearPair, fit_linear, refit
from costframe_adapt.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.gates.composite import Candidate
    from costframe_adapt.judge import Judge

__all__ = ["fit_l1_stage", "fit_where_wrong"]


def fit_l1_stage(judge: Judge) -> tuple[list[Candidate], list[float]]:
    """Choose columns at the tradeoff, and at others nearby; on each choice fit f1, then a gate to where f1 is wrong.

    As the paper prints it there is one choice. For two classes and prices of columns alone the penalty is the
    weighted l1 norm, tradeoff * sum_f c_f |w_f|; for more classes, and for resources, it is that of groups.

    Returns
    -------
    list of Candidate, list of float
        All that was looked at; and the objective of the choice at the tradeoff.
    """
    settings, columns = judge.settings, JudgedColumns.of(judge)
    H, problem, nothing = columns.H, evolve(columns.problem, full_share=0.0), np.zeros(len(columns.H))
    found: list[Candidate] = []
    objective: list[float] = []
    chosen: LinearPair | None = None
    for penalty in PENALTIES[:1] if settings.paper else PENALTIES:
        chosen = fit_linear(H, problem, columns.priced.times(settings.tradeoff * penalty), nothing, start=chosen)
        objective = objective or chosen.bounds[-1:].tolist()
        found.append(columns.look_at(fit_where_wrong(H, problem, refit(H, problem, chosen))))
    return found, objective


def fit_where_wrong(H: NDArray[np.float64], problem: Problem, pair: LinearPair) -> LinearPair:
    """Return a cheap model with a gate of the same columns: logistic regression, of where it is wrong.

    Where it is always right, or always wrong, nothing tells rows apart, and the gate's weights are zero.

    Parameters
    ----------
    H : float64 (n, C)
    problem : Problem
    pair : LinearPair
        Of which the cheap model is taken.
    """
    scores = H @ pair.cheap + pair.cheap_intercept
    answers = scores[:, 0] > 0 if problem.n_scores == 1 else scores.argmax(axis=1)
    wrong = (answers != problem.y).astype(np.int64)
    gate = np.zeros(H.shape[1])
    if wrong.min() == wrong.max():
        return evolve(pair, gate=gate, gate_intercept=0.0)
    used = np.flatnonzero((pair.cheap != 0).any(axis=1))
    nothing = np.zeros(len(H))
    of_wrong = Problem(wrong, 2, problem.weight, nothing, 0.0)
    free = PricedGroups(sparse.csr_array((0, len(used))), np.empty(0))
    fitted = refit(H[:, used], of_wrong, fit_linear(H[:, used], of_wrong, free, nothing))
    gate[used] = fitted.cheap[:, 0]
    return evolve(pair, gate=gate, gate_intercept=float(fitted.cheap_intercept[0]))
