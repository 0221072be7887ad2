"""Cronus as its paper prints it: Algorithm 2 starts a cascade, and Algorithm 1 minimizes eq. 8 over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from costframe.stagewise.descent import cycle
from costframe.stagewise.fitting import groups_in_loss
from costframe.stagewise.objective import RelaxedObjective
from costframe.stagewise.printed import drop_zeros, energies, fit_relaxed
from costframe.stagewise.soft_tree import SoftTree, WeightedSum
from costframe.stagewise.thresholds import passing_threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.groups import PricedGroups
    from costframe.stagewise.descent import Step
    from costframe.stagewise.rows import BankRows, Loss
    from costframe_cronus.train import CascadeSettings

__all__ = ["PAPER_CHOICES", "finish", "initialize", "optimize"]

PAPER_CHOICES = {"l1": (0.0, 1e-4, 1e-3), "l1_last": (0.0, 1e-4, 1e-3)}  # section 3.4, chosen by the start alone
REJECTED = -1.0  # the answer to rejected rows

_CYCLES = 100
_NOBODY = 1e-12  # a smaller share of the rows counts as none


def optimize(
    rows: BankRows, loss: Loss, prices: PricedGroups, start: SoftTree, settings: CascadeSettings, steps: list[Step]
) -> SoftTree:
    """Run Algorithm 1: alternate between one stage's weights and the auxiliaries of eq. 11, until eq. 8 stops falling.

    Parameters
    ----------
    rows : BankRows
    loss : Loss
    prices : PricedGroups
        In units of cost.
    start : SoftTree
    settings : CascadeSettings
    steps : list of Step
        Gets the accepted steps.
    """
    rho = _rho(settings)[-len(start) :]  # a start may have fewer stages
    eq_8 = RelaxedObjective.of_chain(rows, loss, groups_in_loss(prices, settings.tradeoff), rho, settings.steepness)
    return cycle(eq_8, start, _CYCLES, steps)


def initialize(rows: BankRows, prices: PricedGroups, settings: CascadeSettings) -> SoftTree:
    """Run Algorithm 2: fit each stage as if it were the last (eqs. 13 and 14); it passes on 1 - epsilon of its rows."""
    passes, bought = np.ones(len(rows.target)), np.zeros(len(prices.price))
    stages: list[WeightedSum] = []
    thresholds: list[float] = []
    for k, rho in enumerate(_rho(settings)):
        reach = float(rows.share @ passes)  # d_k
        if reach < _NOBODY:
            break
        inflated = groups_in_loss(prices, settings.tradeoff_at(k))
        stages.append(fit_relaxed(rows, passes, inflated, float(rho), bought, reach))
        bought = bought + reach**2 * energies(prices, stages[k].weights)  # a of eq. 12
        if k < settings.n_stages - 1:
            scores = stages[k].scores(rows.outputs)[:, 0]
            theta = passing_threshold(scores, rows.share * passes, 1 - settings.rejected, settings.steepness)
            passes = passes * expit(settings.steepness * (scores - theta))
            thresholds.append(theta)
    return SoftTree.chain(
        np.array([stage.weights[:, 0] for stage in stages]),
        np.array([stage.constant[0] for stage in stages]),
        np.array(thresholds[: len(stages) - 1]),
    )


def finish(tree: SoftTree, rows: BankRows) -> SoftTree:
    """Set negligible weights to zero, leave out stages without weights, and answer rejected rows with -1."""
    tree = drop_zeros(tree, rows)
    empty = ~tree.used.any(axis=1) & tree.topology.routes
    passing: NDArray[np.float64] = np.where(tree.intercept[:, 0] > tree.threshold, -np.inf, np.inf)
    tree = tree.with_threshold(np.where(empty, passing, tree.threshold)).without_idle_routes()
    for node in np.flatnonzero(tree.topology.routes)[::-1].tolist():
        tree = tree.with_leaf(node, WeightedSum(np.zeros(tree.weights.shape[1:]), np.array([REJECTED])))
    return tree


def _rho(settings: CascadeSettings) -> NDArray[np.float64]:
    return np.append(np.full(settings.n_stages - 1, settings.l1), settings.l1_last)
