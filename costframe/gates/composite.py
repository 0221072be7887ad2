"""A trained gate and cheap model, and what becomes of them: a stage tree, or the expensive model of the next stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.stages.stages import apply_link, squeeze
from costframe.gates.expensive import ExpensiveModel, ModelOutputs
from costframe.gates.gate_curve import BOTH, CHEAP, EXPENSIVE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.cost.accounts import Account
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.gates.gate_curve import GateCurve, OperatingPoint
    from costframe.gates.pair import GatedPair
    from costframe.training.data import Rows, TrainingData

__all__ = ["Candidate", "Predictions", "Scores", "compose", "mix_predictions", "stack"]


@frozen(eq=False)
class Scores:
    """Scores of some rows.

    Attributes
    ----------
    cheap : float64 (n, K)
    gate : float64 (n,)
    """

    cheap: NDArray[np.float64]
    gate: NDArray[np.float64]


@frozen(eq=False)
class Predictions:
    """Held-out rows, and a model's probabilities there."""

    rows: Rows
    predictions: NDArray[np.float64]


@frozen(eq=False)
class Candidate:
    """A gate and a cheap model.

    Attributes
    ----------
    pair : GatedPair
    train, held : Scores
        Of the training rows, and of the held-out rows.
    accounts : (Account, Account)
        What the cheap model and the gate do on the held-out rows.
    curve : GateCurve
        On the held-out rows.
    point : OperatingPoint
        Where the gate divides.
    """

    pair: GatedPair
    train: Scores
    held: Scores
    accounts: tuple[Account, Account]
    curve: GateCurve
    point: OperatingPoint


def compose(pair: GatedPair, point: OperatingPoint, expensive: StageTree) -> StageTree:
    """Return the model of a gate that divides there."""
    if point.kind == EXPENSIVE:
        return expensive
    if point.kind == CHEAP:
        return pair.cheap_tree()
    return pair.in_front_of(expensive, point.threshold)


def mix_predictions(
    cheap: NDArray[np.float64], expensive: NDArray[np.float64], goes_on: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return a composite's probabilities, (n,) or (n, M): of scores (n, K) where rows stay, else of `expensive`."""
    own = squeeze(apply_link("sigmoid" if cheap.shape[1] == 1 else "softmax", cheap))
    return np.where(goes_on if own.ndim == 1 else goes_on[:, np.newaxis], expensive, own)


def stack(
    candidate: Candidate, expensive: ExpensiveModel, data: TrainingData, held: Rows, n_jobs: int
) -> ExpensiveModel:
    """Let a candidate and what stands behind it serve as the expensive model."""
    pair, point, rows = candidate.pair, candidate.point, data.train
    going = np.full(len(rows), point.kind == EXPENSIVE)
    if point.kind == BOTH:
        going = candidate.train.gate > point.threshold
    accounts = pair.accounts(data.costs, rows.X, n_jobs)
    train = _mix(candidate.train, going, rows, expensive.train, accounts, point.kind)
    going = candidate.curve.goes_on(point)
    on_held = _mix(candidate.held, going, held, expensive.held, candidate.accounts, point.kind)
    return ExpensiveModel(compose(pair, point, expensive.tree), train, on_held)


def _mix(
    scores: Scores,
    going: NDArray[np.bool_],
    rows: Rows,
    expensive: ModelOutputs,
    accounts: tuple[Account, Account],
    kind: str,
) -> ModelOutputs:
    cheap, gate = accounts
    account = expensive.account.where(going, cheap)
    proba = mix_predictions(scores.cheap, expensive.proba, going)
    return ModelOutputs.of(proba, rows.y, account if kind != BOTH else account | gate)
