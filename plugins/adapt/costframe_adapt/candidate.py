"""A trained gate and cheap model, and what becomes of them: a stage tree, or the expensive model of the next stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.cost.report import squeezed
from costframe.core.learners.links import apply_link
from costframe_adapt.expensive import Full, FullOn, log_losses
from costframe_adapt.sides import BOTH, CHEAP, FULL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import Rows, TrainingData
    from costframe_adapt.accounts import Account
    from costframe_adapt.front import Front
    from costframe_adapt.sides import Placed, Sides

__all__ = ["Candidate", "Scores", "composed", "said", "stacked"]


@frozen(eq=False)
class Scores:
    """What both models say of some rows.

    Attributes
    ----------
    cheap : float64 (n, K)
    gate : float64 (n,)
    """

    cheap: NDArray[np.float64]
    gate: NDArray[np.float64]


@frozen(eq=False)
class Candidate:
    """A gate and a cheap model.

    Attributes
    ----------
    front : Front
    train, seen : Scores
        Of the training rows, and of the rows held out.
    accounts : (Account, Account)
        What the cheap model and the gate do on the rows held out.
    sides : Sides
        Both ways, on the rows held out.
    placed : Placed
        Where the gate divides.
    """

    front: Front
    train: Scores
    seen: Scores
    accounts: tuple[Account, Account]
    sides: Sides
    placed: Placed


def composed(front: Front, placed: Placed, full: Full) -> StageTree:
    """Return the model of a gate that divides there."""
    if placed.kind == FULL:
        return full.tree
    if placed.kind == CHEAP:
        return front.alone()
    return front.before(full.tree, placed.threshold)


def said(cheap: NDArray[np.float64], full: NDArray[np.float64], goes: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the probabilities of a composite, (n,) or (n, M): of scores (n, K) where rows stay, else of `full`."""
    own = squeezed(apply_link("sigmoid" if cheap.shape[1] == 1 else "softmax", cheap))
    return np.where(goes if own.ndim == 1 else goes[:, np.newaxis], full, own)


def stacked(candidate: Candidate, full: Full, data: TrainingData, seen: Rows, n_jobs: int | None) -> Full:
    """Let a candidate and what stands behind it serve as the expensive model."""
    front, placed = candidate.front, candidate.placed
    accounts = front.accounts(data.costs, data.train.X, n_jobs)
    goes = np.full(len(data.train), placed.kind == FULL)
    if placed.kind == BOTH:
        goes = candidate.train.gate > placed.threshold
    train = _on(candidate.train, goes, data.train, full.train, accounts, placed.kind)
    goes = candidate.sides.goes(placed)
    held = _on(candidate.seen, goes, seen, full.seen, candidate.accounts, placed.kind)
    return Full(composed(front, placed, full), train, held)


def _on(
    scores: Scores, goes: NDArray[np.bool_], rows: Rows, full: FullOn, accounts: tuple[Account, ...], kind: str
) -> FullOn:
    own, gate = accounts
    account = full.account.where(goes, own)
    proba = said(scores.cheap, full.proba, goes)
    return FullOn(proba, log_losses(proba, rows.y), account if kind != BOTH else account | gate)
