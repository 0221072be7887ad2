"""Estimators of other libraries as candidates: trained on a study's rows, and adopted."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from costframe.adoption.adopting import adopt
from costframe.adoption.classes import labels_for, require_probabilities
from costframe.adoption.given.fitting import fit_foreign
from costframe.core.errors import AdoptionError, ParameterError, quote_names
from costframe.core.predictors.fitted import FittedEstimator, kind_of
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.stages.ends import contradicts
from costframe.core.tables.frames import column_names
from costframe.core.terms.classes import places
from costframe.records.guard import Gaps
from costframe.records.table import hold_constant
from costframe.study.rows import StudyRows
from costframe.training.guarding import guard_predictor
from costframe.training.learning import COMPLETED


@define(eq=False)
class AdoptingEstimator:
    """An estimator for a `Trial`: `fit` trains another library's estimator and adopts it, or takes a fitted model."""

    label: str
    model: Any
    costs_: CostModel
    names: tuple[str, ...]  # of the columns
    learning: str = COMPLETED  # from what, where tests were not made
    gaps: Gaps | None = None  # of records, which bar columns
    fitted: FittedEstimator | None = field(default=None, init=False)

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, made: Any = None, **_validation: Any
    ) -> Self:
        """Train, or only take, the model, and price it; it has no use for validation data."""
        model, kind = self.model, kind_of(self.model)
        if isinstance(model, Predictor | FittedEstimator):
            predictor: Any = getattr(model, "predictor_", model)
        else:
            rows = StudyRows(X, y, sample_weight, qid, made=made)
            if made is not None or self.costs_.panels:
                rows = rows.with_records(self.costs_, self.names, by_class=kind != "regressor").to_learn(self.learning)
            if self.gaps is not None:
                rows = evolve(rows, X=hold_constant(rows.X, self.gaps.left_out, self.names))
            predictor = _fit_and_adopt(self.label, model, rows, self.names)
            predictor = (
                predictor if self.gaps is None else guard_predictor(predictor.with_costs(self.costs_), self.gaps)
            )
        if column_names(X) is None and predictor.feature_names != self.names:
            raise ParameterError(
                f"estimators: {self.label!r} reads {quote_names(predictor.feature_names)}, the columns of X are "
                f"{quote_names(self.names)}; give a data frame, or adopt the model with these feature_names"
            )
        check_labels(f"estimators: {self.label!r}", predictor, X)
        priced = predictor.with_costs(self.costs_)
        self.fitted = FittedEstimator(priced) if kind is None else FittedEstimator(priced, kind)
        return self

    @property
    def predictor_(self) -> Predictor:
        """The trained model."""
        assert self.fitted is not None  # noqa: S101 - a trial fits first
        return self.fitted.predictor_

    @property
    def classes_(self) -> NDArray[Any] | None:
        """Labels of the classes, or None."""
        return self.predictor_.classes


def check_labels(whose: str, predictor: Predictor, X: Any) -> None:
    """Refuse a classifier whose classes are not those of its largest probabilities, by which points are scored."""
    classes = predictor.classes
    if classes is not None and contradicts(predictor.predict(X), places(predictor.labels(X), classes)).any():
        raise AdoptionError(f"{whose}: its classes are not those of its largest probabilities, which are scored")


def _fit_and_adopt(label: str, model: Any, rows: StudyRows, names: tuple[str, ...]) -> Any:
    """Fit a copy of another library's estimator, and adopt it."""
    copy, classes = clone(model), None
    if kind_of(model) == "classifier":
        require_probabilities(f"estimators: {label!r}", model)
        classes, codes = np.unique(np.asarray(rows.y), return_inverse=True)
        rows = StudyRows(rows.X, labels_for(model, classes)[codes], rows.weight, rows.qid)
    _fit_by_query(label, copy, rows)
    predictor: Any = adopt(copy, names)
    if classes is not None and predictor.classes is None:
        raise AdoptionError(f"estimators: {label!r}: its classes cannot be adopted")
    return predictor if classes is None else predictor.with_classes(classes)


def _fit_by_query(label: str, model: Any, rows: StudyRows) -> None:
    """Fit an estimator with weights if there are some, and with queries if it takes them."""
    given: dict[str, Any] = {}
    if rows.qid is not None and (has_fit_parameter(model, "group") or has_fit_parameter(model, "qid")):
        rows = rows.take(np.argsort(np.asarray(rows.qid), kind="stable"))  # a query's rows must follow each other
        codes, sizes = np.unique(np.asarray(rows.qid), return_inverse=True, return_counts=True)[1:]
        given = {"group": sizes} if has_fit_parameter(model, "group") else {"qid": codes}
    if rows.weight is not None:
        if not has_fit_parameter(model, "sample_weight"):
            raise ParameterError(f"estimators: {label!r}: {type(model).__name__} takes no sample weights")
        given["sample_weight"] = rows.weight
    fit_foreign(f"estimators: {label!r}", model, rows.X, rows.y, **given)
