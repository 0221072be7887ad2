"""The constant of a study, which reads nothing."""

from __future__ import annotations

import time
from typing import NoReturn

import numpy as np

from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.plugins.entries import TASKS
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.links import log_odds
from costframe.core.stages.stages import Answer
from costframe.datasets import Dataset
from costframe.study.fitted import Fitted
from costframe.study.folds import Fold
from costframe.study.points import CONSTANT
from costframe.study.rows import StudyRows
from costframe.study.trial import Trial
from costframe.training.library_scores import LibraryScore


def fit_constant(data: Dataset, score: str | LibraryScore, folds: tuple[Fold, ...] = ()) -> Fitted:
    """Return the constant of a data set's train rows: shares of classes, mean, or a tie.

    Its score is that of the rows of folds, if there are some, else of valid.
    """
    began = time.perf_counter()
    train, valid, test = map(StudyRows.of_part, map(data.part, ("train", "valid", "test")))
    trial = Trial(CONSTANT, _refuse, train, valid, test, score, folds=folds, fits_repeat=True)
    bank = WeakLearnerBank.columns(data.feature_names, [])
    tree = StageTree(
        bank, (_answer(data, train),), data.costs, classes=np.array(data.classes) if data.classes else None
    )
    model = FittedEstimator(tree, TASKS[data.task])
    return trial.measure(model, 0.0, time.perf_counter() - began, trial.over_folds(model, 0.0))


def _answer(data: Dataset, train: StudyRows) -> Answer:
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
