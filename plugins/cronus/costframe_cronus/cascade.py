"""The initialization of the cascade (Algorithm 2): stage after stage, each fitted as if it were the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.optimize import brentq
from scipy.special import expit

from costframe.core.groups import PricedGroups
from costframe.core.progress import track
from costframe.core.relaxed import RelaxedCost
from costframe_cronus.normal import NormalEquations
from costframe_cronus.single_stage import (
    STRENGTHS,
    USUAL_RIDGE,
    Reweighting,
    fit_best,
    fit_ridge,
    hopeless,
    in_loss,
    relaxed_supports,
    scale_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.outputs import BankOutputs

__all__ = ["Cascade", "CascadeSettings", "initialize", "threshold_for"]


@frozen
class CascadeSettings:
    """Numbers of the algorithm.

    Attributes
    ----------
    tradeoff : float
        lambda.
    n_stages : int
        K.
    rejected : float
        epsilon, the share of a stage's rows that it rejects.
    inflation : float
        delta: stage k is fitted with lambda delta^(K-k), as it is not really the last.
    steepness : float
        gamma.
    l1, l1_last : float
        rho of all stages but the last, and of the last.
    ridge : float
        Of each stage's last fit, in units of its outputs' mean variance.
    paper_scale : bool
        Leave the relaxed cost as it is.
    verbose : int
    """

    tradeoff: float
    n_stages: int = 10
    rejected: float = 0.15
    inflation: float = 1.3
    steepness: float = 50.0
    l1: float = 0.0
    l1_last: float = 0.0
    ridge: float = USUAL_RIDGE
    paper_scale: bool = False
    verbose: int = 0


@frozen(eq=False)
class Cascade:
    """Stages in order; what does not decide anything is left out. The last one answers, the others reject.

    Attributes
    ----------
    weights : float64 (K, C)
    intercept : float64 (K,)
    threshold : float64 (K - 1,)
        theta: a row is rejected where its score is less.
    passes : float64 (K, n)
        p_i^k, of the training rows.
    reach : float64 (K,)
        d_k.
    """

    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    threshold: NDArray[np.float64]
    passes: NDArray[np.float64]
    reach: NDArray[np.float64]


def initialize(
    outputs: BankOutputs,
    target: NDArray[np.float64],
    weight: NDArray[np.float64],
    emphasis: NDArray[np.float64],
    groups: PricedGroups,
    settings: CascadeSettings,
) -> Cascade:
    """Fit stages one after another, and place each threshold so that d_{k+1} = (1 - epsilon) d_k.

    Parameters
    ----------
    outputs : BankOutputs
    target : float64 (n,)
        -1 and 1.
    weight : float64 (n,)
        Of rows, in means.
    emphasis : float64 (n,)
        What the loss of a row is multiplied by besides; normalized to a mean of one.
    groups : PricedGroups
        In units of cost.
    settings : CascadeSettings
    """
    share = weight / weight.sum()
    in_mean = share * emphasis / (share @ emphasis)
    groups = in_loss(groups, settings.tradeoff)
    scale = 1.0
    found: list[tuple[NDArray[np.float64], float]] = []
    thresholds: list[float] = []
    passes = [np.ones(len(target))]
    normal: NormalEquations | None = None
    for k in track(range(settings.n_stages), "Cronus", verbose=settings.verbose):
        last = k == settings.n_stages - 1
        if normal is None:  # else the stage before rejects nothing
            normal = NormalEquations.of(outputs, target[:, np.newaxis], in_mean * passes[-1])
        if k == 0 and not settings.paper_scale:
            scale = _scale(normal, groups, settings.ridge)
        reach = np.array([share @ one for one in passes])
        loss_here = float((in_mean * passes[-1]).sum())  # the sums above are means over the rows that are left
        inflated = groups.times(settings.inflation ** (settings.n_stages - 1 - k) / loss_here)
        earlier = np.array([one for one, _ in found]).reshape(len(found), outputs.shape[1], 1)
        l1 = (settings.l1_last if last else settings.l1) / loss_here
        weights = _stage(
            normal,
            inflated,
            earlier,
            reach,
            Reweighting(settings.tradeoff, l1, paper_scale=settings.paper_scale),
            scale,
            settings.ridge,
        )
        intercept = float(normal.intercept(weights)[0])
        if last or weights.any():
            found.append((weights[:, 0], intercept))
        if not last and weights.any():
            scores = _scores(outputs, weights[:, 0], intercept)
            thresholds.append(threshold_for(scores, share * passes[-1], 1 - settings.rejected, settings.steepness))
            passes.append(passes[-1] * expit(settings.steepness * (scores - thresholds[-1])))
            normal = None  # before the next one is made: they are large
    return Cascade(
        np.array([one for one, _ in found]),
        np.array([constant for _, constant in found]),
        np.array(thresholds),
        np.array(passes),
        np.array([share @ one for one in passes]),
    )


def threshold_for(scores: NDArray[np.float64], weight: NDArray[np.float64], share: float, steepness: float) -> float:
    """Return theta such that the weighted mean of sigma(gamma (s - theta)) is `share`, in (0, 1)."""
    total = float(weight.sum())
    margin = (abs(np.log(share)) + abs(np.log1p(-share)) + 1.0) / steepness

    def missing(theta: float) -> float:
        return float(weight @ expit(steepness * (scores - theta))) / total - share

    return float(brentq(missing, scores.min() - margin, scores.max() + margin, xtol=1e-13))


def _stage(
    normal: NormalEquations,
    groups: PricedGroups,
    earlier: NDArray[np.float64],
    reach: NDArray[np.float64],
    settings: Reweighting,
    scale: float,
    ridge: float,
) -> NDArray[np.float64]:
    """Fit one stage as if it were the last: weights, float64 (C, 1).

    Which learners to keep is relaxed (eqs. 11 to 14); their weights, and what is removed, go by the exact price of what
    no earlier stage has bought, paid by the rows that reach the stage.
    """
    varying, weights = np.flatnonzero(normal.varies), np.zeros(normal.right.shape)
    if not len(varying):
        return weights
    part, offered, before = normal.columns(varying), groups.restrict(varying), earlier[:, varying]
    bought = groups.used(earlier).any(axis=0)
    fresh = PricedGroups(offered.member, np.where(bought, 0.0, offered.price * reach[-1]))
    unit = ridge * float(np.diag(part.gram).mean())
    if hopeless(part, fresh, unit):
        return weights
    supports = [] if settings.l1 else [np.ones(len(varying), np.bool_)]
    strengths = (1.0,) if settings.paper_scale else STRENGTHS
    if fresh.price.any() or settings.l1:
        costs = [RelaxedCost.chain(offered.times(scale * strength), len(reach)) for strength in strengths]
        supports += relaxed_supports(part, costs, settings, before, reach)
    weights[varying] = fit_best(part, fresh, supports, unit)
    return weights


def _scale(normal: NormalEquations, groups: PricedGroups, ridge: float) -> float:
    varying = normal.varies
    full = fit_ridge(normal, varying, ridge * float(np.diag(normal.gram).sum()) / max(1, int(varying.sum())))
    return scale_of(groups, full)


def _scores(outputs: BankOutputs, weights: NDArray[np.float64], intercept: float) -> NDArray[np.float64]:
    used = np.flatnonzero(weights)
    return outputs.columns(used).times(weights[used]) + intercept
