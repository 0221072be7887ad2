"""The start of a cascade, by Algorithm 2, with either fit of its stages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from attrs import evolve
from scipy.optimize import brentq
from scipy.special import expit

from costframe.plugin import F8, PricedGroups, SampledPrices, exact_sum, track
from costframe.stagewise import BankRows, Evaluation, NormalEquations, SoftTree, WeightedSum, fit_at_price, fit_relaxed
from costframe_cronus.settings import CascadeSettings

FitStage = Callable[[int, F8], WeightedSum | None]
_NO_REACH = 1e-12  # a smaller share of the rows counts as none
_NOBODY = 1e-9  # of the mean: a stage ignores rows of less weight, to save time


def start_cascade(train: Evaluation, settings: CascadeSettings, *, printed: bool = False, verbose: int = 0) -> SoftTree:
    """Return the start of a cascade, by Algorithm 2."""
    rows, pricing = train.rows, train.pricing
    fit = relaxed_stages(rows, pricing.groups, settings) if printed else exact_stages(rows, pricing.at, settings)
    return fit_stages(rows, fit, settings, verbose=verbose)


def fit_stages(rows: BankRows, fit: FitStage, settings: CascadeSettings, *, verbose: int = 0) -> SoftTree:
    """Run Algorithm 2: fit each stage as if it were the last; it passes on 1 - epsilon of its rows.

    Parameters
    ----------
    rows : BankRows
    fit : callable
        Of the number of a stage and the probabilities to reach it, float64 (n,): its weighted sum, or None for an empty
        stage, which is left out.
    settings : CascadeSettings
    verbose : int
    """
    passes = np.ones(len(rows.target))
    stages: list[WeightedSum] = []
    thresholds: list[float] = []
    for k in track(range(settings.n_stages), "Cronus", verbose=verbose):
        stage = fit(k, passes)
        if stage is None:
            continue
        stages.append(stage)
        if k < settings.n_stages - 1:
            scores = stage.scores(rows.outputs)[:, 0]
            theta = passing_threshold(scores, rows.share * passes, 1 - settings.rejected, settings.steepness)
            passes = passes * expit(settings.steepness * (scores - theta))
            thresholds.append(theta)
    return SoftTree.chain(
        np.array([stage.weights[:, 0] for stage in stages]),
        np.array([stage.constant[0] for stage in stages]),
        np.array(thresholds[: len(stages) - 1]),
    )


def passing_threshold(scores: F8, weight: F8, share: float, steepness: float) -> float:
    """Solve weighted mean of sigma(gamma (s - theta)) = `share`, in (0, 1), for theta."""
    total = float(weight.sum())
    margin = (abs(np.log(share)) + abs(np.log1p(-share)) + 1.0) / steepness
    low = np.nextafter(scores.min() - margin, -np.inf)  # beyond all scores, however small the margin
    high = np.nextafter(scores.max() + margin, np.inf)

    def missing(theta: float) -> float:
        with np.errstate(over="ignore"):
            return float(weight @ expit(steepness * (scores - theta))) / total - share

    return float(brentq(missing, low, high, xtol=1e-13))


def exact_stages(rows: BankRows, price_at: Callable[[F8], SampledPrices], settings: CascadeSettings) -> FitStage:
    """Return the default fit of a stage: by the exact price of what no earlier stage has bought.

    `price_at` returns prices, in units of cost, for rows drawn by weights, float64 (n,).
    """
    share, loss_weight = rows.share, rows.loss_weight
    bought = np.zeros(rows.outputs.shape[1], np.bool_)
    known: tuple[F8, NormalEquations, SampledPrices] | None = None

    def fit(k: int, passes: F8) -> WeightedSum | None:
        nonlocal bought, known
        reach, arriving = float(share @ passes), float((loss_weight * passes).sum())
        if known is None or known[0] is not passes:
            come = np.where(passes > _NOBODY * float(loss_weight @ passes), passes, 0.0)
            normal = NormalEquations.of(rows.outputs, rows.target, loss_weight * come)
            known = passes, normal, price_at(share * passes)
        _, normal, prices = known
        price = min(settings.tradeoff_at(k) / arriving, 1e300) * reach  # the sums are means over the remaining rows
        fitted = fit_at_price(normal, prices.after(bought), price, settings.ridge)
        if k < settings.n_stages - 1 and not fitted.any():
            return None
        bought = bought | (fitted[:, 0] != 0)
        return WeightedSum(fitted, normal.intercept(fitted))

    return fit


def relaxed_stages(rows: BankRows, prices: PricedGroups, settings: CascadeSettings) -> FitStage:
    """Return the printed fit of a stage, by eqs. 13 and 14; prices are in units of cost."""
    bought, rho = np.zeros(len(prices.price)), l1_of_stages(settings)

    def fit(k: int, passes: F8) -> WeightedSum | None:
        nonlocal bought
        reach = float(rows.share @ passes)  # d_k
        if reach < _NO_REACH:
            return None
        inflated = prices.in_loss(settings.tradeoff_at(k))
        stage = fit_relaxed(rows, passes, inflated, float(rho[k]), bought, reach)
        bought = bought + reach**2 * prices.energies(stage.weights)  # a of eq. 12
        return stage

    return fit


def emphasize(rows: BankRows, positive_weight: float) -> BankRows:
    """Multiply the loss of each row by 1 at target -1, by w+ at 1, and by values between for others."""
    share = (rows.target[:, 0] + 1.0) / 2.0
    more = (positive_weight * share + (1.0 - share)) * rows.weight
    return evolve(rows, loss_weight=more / exact_sum(more))


def l1_of_stages(settings: CascadeSettings) -> F8:
    """Return rho of each stage: float64 (K,)."""
    return np.append(np.full(settings.n_stages - 1, settings.l1), settings.l1_last)
