"""Trials: fits of one algorithm with scores and exact costs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from attrs import field, frozen
from sklearn.base import is_classifier

from costframe.study.estimates import CostEstimate, Estimate, join_folds, model_variance
from costframe.study.fitted import Fits, Fitted
from costframe.study.folds import Fold, count_outer_folds, folds_alike, folds_of, halves_of
from costframe.study.held_out import HeldOut
from costframe.study.objective import Objective, objective_of
from costframe.study.progress import Progress
from costframe.study.promising_sets import PromisingSets
from costframe.study.rows import StudyRows, optional_arguments
from costframe.study.service import estimate_in_service
from costframe.study.store import Store
from costframe.training.data import Traits
from costframe.training.library_scores import LibraryScore

STOPPING = 0.25  # share of training rows that stop a fit early where valid must not


@frozen(eq=False)
class Trial:
    """One algorithm on one table, to be fitted and measured at tradeoffs.

    `make` returns an unfitted estimator for a tradeoff.
    """

    algorithm: str
    make: Callable[[float], Any]
    train: StudyRows
    valid: StudyRows
    test: StudyRows | None
    score: str | LibraryScore
    guard: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext  # context of the algorithm's own code
    folds: tuple[Fold, ...] = ()  # of train and valid, for estimates of scores; () if valid is large enough
    fits_repeat: bool = False  # whether folds repeat single fits too; they always repeat paths
    promising: PromisingSets = field(factory=PromisingSets)  # shared by trials on the same rows
    store: Store = field(factory=Store)  # of what is fitted, and of what an interrupted study fitted
    after_fit: Callable[[], None] = lambda: None  # called when a fit is in the store
    stopping: StudyRows | None = None  # stop fits early, by default valid; then no fit has seen valid
    label: str | None = None  # begins the names of points, by default the algorithm
    has_tradeoff: bool = True  # else all tradeoffs give the same model
    settings: tuple[object, ...] = ()  # JSON values on which fits depend beside the tradeoff

    @property
    def objective(self) -> Objective:
        """What its models are compared by."""
        return objective_of(self.score)

    def recall(self, what: Mapping[str, Any], fit: Callable[[], Fits]) -> Fits:
        """Return what `fit` returns, without fitting if `what` is finished already."""
        key = {"algorithm": self.algorithm, "settings": [self.label, *self.settings], **what}
        return self.store.recall(key, self.label or self.algorithm, fit, self.after_fit)

    def fit(self, tradeoff: float) -> Fitted:
        """Fit on train, with early stopping, and measure."""
        what = {"tradeoff": tradeoff, "repeat": self.fits_repeat}
        return self.recall(what, lambda: Fits([self._fit_anew(tradeoff)])).fits[0]

    def _fit_anew(self, tradeoff: float) -> Fitted:
        with self.guard():
            began = time.perf_counter()
            model = self._train(tradeoff, self.train, self._rows_to_stop(tradeoff))
            seconds = time.perf_counter() - began
            return self.measure(model, tradeoff, seconds, self.over_folds(model, tradeoff))

    def _rows_to_stop(self, tradeoff: float) -> StudyRows | None:
        """Return the validation rows of a fit: none if it would train on those that alone estimate its score."""
        if self.stopping is not None:
            return self.stopping
        trains = Traits.of(self.make(tradeoff)).trains_on_validation
        return None if trains and not self._folds_of_fits(tradeoff) else self.valid

    def _train(self, tradeoff: float, train: StudyRows, valid: StudyRows | None) -> Any:
        model = self.make(tradeoff)
        if valid is None:
            model.fit(train.X, train.y, **optional_arguments(train))
        else:
            model.fit(train.X, train.y, X_val=valid.X, y_val=valid.y, **optional_arguments(train, valid))
        return model

    def over_folds(self, fitted: Any, tradeoff: float) -> Estimate | None:
        """Estimate the score of a fit at a tradeoff by fits that leave each fold out; None without folds.

        A fit that reads nothing is scored itself: on fewer rows the tradeoff may buy features, whose cost it has not.
        """
        folds, reads = self._folds_of_fits(tradeoff), bool(fitted.predictor_.used_features)
        if not folds:
            return None
        estimates = []
        for fold in folds:
            model = self._train(tradeoff, fold.train, fold.valid) if reads else fitted
            predict = model.predictor_.of_queries(fold.out.qid).predict
            donors = self.more_donors(fold, model)
            estimates.append(estimate_in_service(self.score, fold.out, model, predict, donors))
        variance, lacked = model_variance(estimates) if reads else 0.0, self.rows_lacked(folds, fitted)
        return join_folds(estimates, [fold.place for fold in folds], variance, rows_lacked=lacked)

    @staticmethod
    def more_donors(fold: Fold, model: Any) -> StudyRows | None:
        """Return the rows that complete those which a fold holds out, beside these: if they only stopped the training.

        Rows that the model learned from are no donors: it knows their tests together with their labels.
        """
        traits = Traits.of(model)
        return None if traits.trains_on_validation or traits.searches_thresholds else fold.valid

    def rows_lacked(self, folds: Sequence[Fold], model: Any) -> float:
        """Return the share of a model's training rows that models of folds do not have, in the mean; 0 of more."""
        both = Traits.of(model).trains_on_validation and self.stopping is None

        def count(train: StudyRows, valid: StudyRows) -> int:
            return len(train.y) + (len(valid.y) if both else 0)

        had = float(np.mean([count(fold.train, fold.valid) for fold in folds]))
        return max(1.0 - had / count(self.train, self.valid), 0.0)

    def _folds_of_fits(self, tradeoff: float) -> tuple[Fold, ...]:
        """Return the folds that estimate single fits: those asked for, or some if the fits search on valid."""
        if self.fits_repeat:
            return self.folds
        model = self.make(tradeoff)
        if self.stopping is not None or not Traits.of(model).searches_thresholds:
            return ()
        return self.folds or folds_alike(self.train, self.valid, classes=is_classifier(model))

    def folds_for(self, model: Any) -> tuple[Fold, ...]:
        """Return the folds that estimate the scores of an estimator's path, or () if valid does.

        Without folds, an estimator that searches thresholds on valid has halves of valid.
        """
        if self.folds or self.stopping is not None or not Traits.of(model).searches_thresholds:
            return self.folds
        return halves_of(self.train, self.valid, classes=is_classifier(model))

    def folds_of_search(self, model: Any) -> tuple[Fold, ...]:
        """Return the folds that repeat the whole fit of a path whose models have estimates of their own, or ().

        They are those that the caller asked for. Else it is repeated where rows or events are few: a search compares
        hundreds of sets by the rows that its own estimates come from.
        """
        if self.repeats_on_folds:
            return self.folds
        return folds_of(self.train, self.valid, self._count_of_search(model), classes=is_classifier(model))

    @property
    def repeats_on_folds(self) -> bool:
        """Whether the folds that were asked for repeat a search that has estimates of its own."""
        return self.fits_repeat or bool(self.folds and self.train.mislead_own_folds)

    def _count_of_search(self, model: Any) -> int:
        return count_outer_folds(self.train, self.valid, classes=is_classifier(model))

    def count_folds(self, model: Any) -> int:
        """Return on how many folds an estimator's path is fitted again, as far as that is known before it is fitted.

        Those that train on validation rows have estimates of their own, but not of rows in groups, nor without tests.
        """
        apart = self.train.mislead_own_folds and not self.folds
        if self.stopping is not None or apart or not Traits.of(model).trains_on_validation:
            return len(self.folds_for(model))
        return len(self.folds) if self.repeats_on_folds else self._count_of_search(model)

    def measure(
        self,
        model: Any,
        tradeoff: float,
        seconds: float,
        score: Estimate | None = None,
        cost: CostEstimate | None = None,
    ) -> Fitted:
        """Measure a fitted model; see `HeldOut.measure`."""
        rows, learned = HeldOut(self.valid, self.test, self.score), Traits.of(model).trains_on_validation
        return rows.measure(self.algorithm, model, tradeoff, seconds, score, cost, learned_from_valid=learned)


def fit_at(trial: Trial, tradeoff: float, progress: Progress, done: int, total: int) -> Fitted:
    """Fit a trial at a tradeoff, and report progress before and after."""
    what = f"{trial.algorithm} at tradeoff {tradeoff:.3g}" if trial.has_tradeoff else trial.algorithm
    progress(done, total, what)
    fitted = trial.fit(tradeoff)
    point = fitted.point
    progress(
        done + 1,
        total,
        f"{what}: {trial.score} {point.score:.4f}, cost {point.cost:.4g} ({point.seconds:.1f} s)",
    )
    return fitted
