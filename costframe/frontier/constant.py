"""The constant: the model that reads nothing, which a sweep gives if it has to end before its first fit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, log_odds
from costframe.frontier.points import CONSTANT
from costframe.frontier.rows import Rows
from costframe.frontier.trial import Trial

if TYPE_CHECKING:
    from costframe.datasets import Dataset
    from costframe.frontier.finished import Fitted
    from costframe.training.library_scores import LibraryScore

__all__ = ["fit_constant"]

_KINDS = {"classification": "classifier", "regression": "regressor", "ranking": "ranker"}


def fit_constant(data: Dataset, score: str | LibraryScore) -> Fitted:
    """Return the constant of a data set's train rows, scored on valid and test: shares of classes, mean, or a tie."""
    began = time.perf_counter()
    train, valid, test = (Rows(part.X, part.y, None, part.qid) for part in map(data.part, ("train", "valid", "test")))
    trial = Trial(CONSTANT, _refuse, train, valid, test, score)
    bank = WeakLearnerBank.columns(data.feature_names, [])
    tree = StageTree(
        bank, (_answer(data, train),), data.costs, classes=np.array(data.classes) if data.classes else None
    )
    model = FittedEstimator(tree, _KINDS[data.task])
    return trial.measure(model, 0.0, time.perf_counter() - began)


def _answer(data: Dataset, train: Rows) -> Answer:
    if data.task == "classification":
        shares = np.bincount(data.codes(train.y), minlength=len(data.classes)) / len(train.y)
        two = len(data.classes) == 2
        scores, link = (
            log_odds(shares[np.newaxis, 1:] if two else shares[np.newaxis])[0],
            "sigmoid" if two else "softmax",
        )
    else:
        scores, link = np.array([train.y.mean() if data.task == "regression" else 0.0]), "identity"
    return Answer([], np.zeros((0, len(scores))), scores, link)


def _refuse(_tradeoff: float) -> NoReturn:
    raise AssertionError("a constant is not fitted at tradeoffs")
