"""A gate and a cheap model before an expensive model.

The composite is a stage tree, which can be the expensive model of another gate. A row pays once for a feature that
several of the models read.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from costframe.core.arrays import B1, F8
from costframe.core.cost.accounts import Account
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.links import apply_link, squeeze
from costframe.gates.curve import BOTH, EXPENSIVE, GateCurve, ModelOutputs, OperatingPoint
from costframe.gates.pair import GatedPair
from costframe.training.data import Rows, TrainingData


@frozen(eq=False)
class ExpensiveModel:
    """The expensive model, or a composite in its place.

    Attributes
    ----------
    tree : StageTree
        It reads the data's features and predicts the probability of class 1, or those of more classes.
    train, held : ModelOutputs
        Outputs on training rows, out of fold if possible, and on held-out rows.
    """

    tree: StageTree
    train: ModelOutputs
    held: ModelOutputs

    def behind(self, candidate: Candidate, data: TrainingData, held: Rows, n_jobs: int) -> ExpensiveModel:
        """Make one expensive model of a candidate and this one behind it."""
        pair, point, rows = candidate.pair, candidate.point, data.train
        going = np.full(len(rows), point.kind == EXPENSIVE)
        if point.kind == BOTH:
            going = candidate.train.gate > point.threshold
        accounts = pair.accounts(data.costs, rows.X, n_jobs)
        train = _mix(candidate.train, going, rows, self.train, accounts, point.kind)
        going = candidate.curve.goes_on(point)
        on_held = _mix(candidate.held, going, held, self.held, candidate.accounts, point.kind)
        return ExpensiveModel(pair.at(point, self.tree), train, on_held)


@frozen(eq=False)
class Scores:
    """Scores of some rows.

    Attributes
    ----------
    cheap : float64 (n, K)
    gate : float64 (n,)
    """

    cheap: F8
    gate: F8

    @classmethod
    def without_gate(cls, cheap: F8) -> Scores:
        """Join scores of a cheap model, (n,) or (n, K), with gate scores of zero."""
        return cls(cheap if cheap.ndim == 2 else cheap[:, np.newaxis], np.zeros(len(cheap)))


@frozen(eq=False)
class Candidate:
    """A gate and a cheap model.

    Attributes
    ----------
    pair : GatedPair
    train, held : Scores
        Of the training rows, and of the held-out rows.
    accounts : (Account, Account)
        Of the cheap model and the gate, on the held-out rows.
    curve : GateCurve
        On the held-out rows.
    point : OperatingPoint
        The threshold, with its loss and cost.
    """

    pair: GatedPair
    train: Scores
    held: Scores
    accounts: tuple[Account, Account]
    curve: GateCurve
    point: OperatingPoint


def mix_predictions(cheap: F8, expensive: F8, goes_on: B1) -> F8:
    """Return a composite's probabilities, (n,) or (n, M): of `expensive` for rows that go on, else of scores (n, K)."""
    predictions = squeeze(apply_link("sigmoid" if cheap.shape[1] == 1 else "softmax", cheap))
    return np.where(goes_on if predictions.ndim == 1 else goes_on[:, np.newaxis], expensive, predictions)


def _mix(
    scores: Scores, going: B1, rows: Rows, expensive: ModelOutputs, accounts: tuple[Account, Account], kind: str
) -> ModelOutputs:
    cheap, gate = accounts
    account = expensive.account.where(going, cheap)
    proba = mix_predictions(scores.cheap, expensive.proba, going)
    return ModelOutputs.of(proba, rows.y, account if kind != BOTH else account | gate)
