"""The initialization of the cascade (Algorithm 2): stage after stage, each fitted as if it were the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from scipy.special import expit

from costframe.stagewise.forward import take_up
from costframe.stagewise.relaxed import RelaxedCost
from costframe.stagewise.relaxing import STRENGTHS, Reweighting, relaxed_supports, scale_of
from costframe.stagewise.single_stage import USUAL_RIDGE, fit_best, fit_ridge, hopeless, in_loss
from costframe.stagewise.weighted_sums import WeightedSums
from costframe.training.progress import track
from costframe_cronus.chain import Chain
from costframe_cronus.thresholds import threshold_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe.core.cost.sampled_prices import SampledPrices
    from costframe.core.learners.outputs import BankOutputs
    from costframe.stagewise.normal import NormalEquations
    from costframe.stagewise.seen import SeenRows

__all__ = ["CascadeSettings", "Started", "initialize"]


_MOST = 1e300  # of lambda: products with zero stay zero


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
        Of each stage's last fit, in units of its outputs' median variance.
    paper_scale : bool
        Leave the relaxed cost as it is, and choose learners by it alone.
    relaxed : bool
        Whether to choose learners by the relaxed cost too, which takes longer, and not only by taking them up.
    positive_weight : float
        w+, what the loss of a row of target 1 is multiplied by; that of target -1 by 1.
    acquisition : {"path", "learner"}
        How prices are paid.
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
    relaxed: bool = True
    positive_weight: float = 3.5
    acquisition: str = "path"
    verbose: int = 0


@frozen(eq=False)
class Started:
    """A cascade, and what the relaxed cost was multiplied by to be exact for a single stage without prices."""

    chain: Chain
    scale: float


def initialize(
    rows: SeenRows, price_at: Callable[[NDArray[np.float64]], SampledPrices], settings: CascadeSettings
) -> Started:
    """Fit stages one after another, and place each threshold so that d_{k+1} = (1 - epsilon) d_k.

    Parameters
    ----------
    rows : SeenRows
    price_at : callable
        Prices, in units of cost, for rows drawn by weights (n,).
    settings : CascadeSettings
    """
    outputs, target, share, in_mean = rows.outputs, rows.target, rows.share, rows.in_mean
    scale = 1.0
    found: list[tuple[NDArray[np.float64], float]] = []
    thresholds: list[float] = []
    passes = [np.ones(len(target))]
    sums, prices = WeightedSums.of(outputs, target[:, np.newaxis], in_mean), price_at(share)
    for k in track(range(settings.n_stages), "Cronus", verbose=settings.verbose):
        last = k == settings.n_stages - 1
        reach = np.array([share @ one for one in passes])
        loss_here = float((in_mean * passes[-1]).sum())  # the sums above are means over the rows that are left
        inflated = min(settings.tradeoff * _power(settings.inflation, settings.n_stages - 1 - k) / loss_here, _MOST)
        if not found and not settings.paper_scale:
            scale = _scale(sums.normal, prices.priced(np.ones(outputs.shape[1], np.bool_)), settings.ridge)
        earlier = np.array([one for one, _ in found]).reshape(len(found), outputs.shape[1], 1)
        l1 = (settings.l1_last if last else settings.l1) / loss_here
        chosen = Reweighting(inflated, l1, paper_scale=settings.paper_scale, relaxed=settings.relaxed)
        weights = _stage(sums.normal, prices, earlier, reach, chosen, scale, settings.ridge)
        intercept = float(sums.normal.intercept(weights)[0])
        if last or weights.any():
            found.append((weights[:, 0], intercept))
        if not last and weights.any():
            scores = _scores(outputs, weights[:, 0], intercept)
            thresholds.append(threshold_for(scores, share * passes[-1], 1 - settings.rejected, settings.steepness))
            passes.append(passes[-1] * expit(settings.steepness * (scores - thresholds[-1])))
            sums, prices = sums.left(in_mean * passes[-1]), price_at(share * passes[-1])
    chain = Chain(np.array([one for one, _ in found]), np.array([free for _, free in found]), np.array(thresholds))
    return Started(chain, scale)


def _power(base: float, exponent: int) -> float:
    """Return base^exponent for a base >= 1, or what is as good as infinite."""
    return float(np.exp(min(exponent * np.log(base), np.log(_MOST))))


def _stage(
    normal: NormalEquations,
    prices: SampledPrices,
    earlier: NDArray[np.float64],
    reach: NDArray[np.float64],
    settings: Reweighting,
    scale: float,
    ridge: float,
) -> NDArray[np.float64]:
    """Fit one stage as if it were the last: weights, float64 (C, 1).

    Which learners to keep is relaxed (eqs. 11 to 14), and tried one at a time; their weights, and what is removed, go
    by the exact price of what no earlier stage has bought, paid by the rows that reach the stage.
    """
    varying, weights = np.flatnonzero(normal.varies), np.zeros(normal.right.shape)
    if not len(varying):
        return weights
    part, everything = normal.columns(varying), np.ones(len(varying), np.bool_)
    fresh = in_loss(prices.after(np.asarray(earlier.any(axis=(0, 2)))), settings.tradeoff * reach[-1]).restrict(varying)
    unit = ridge * part.unit
    if hopeless(part, fresh, unit):
        return weights
    supports = [] if settings.l1 else [everything]
    if not settings.l1 and not settings.paper_scale:
        supports.append(take_up(part, fresh, unit))
    strengths = (1.0,) if settings.paper_scale else STRENGTHS
    if (fresh.groups.price.any() and settings.relaxed) or settings.l1:
        offered = in_loss(prices, settings.tradeoff * scale).restrict(varying).priced(everything)
        costs = [RelaxedCost.chain(offered.times(strength), len(reach)) for strength in strengths]
        supports += relaxed_supports(part, costs, settings, earlier[:, varying], reach)
    weights[varying] = fit_best(part, fresh, supports, unit)
    return weights


def _scale(normal: NormalEquations, groups: PricedGroups, ridge: float) -> float:
    varying = normal.varies
    return scale_of(groups, fit_ridge(normal, varying, ridge * normal.unit))


def _scores(outputs: BankOutputs, weights: NDArray[np.float64], intercept: float) -> NDArray[np.float64]:
    used = np.flatnonzero(weights)
    return outputs.columns(used).times(weights[used]) + intercept
