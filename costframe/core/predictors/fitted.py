"""The face of an estimator over a predictor: labels, class probabilities and costs, as it is saved and loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import Attribute, Factory, field, frozen
from attrs.validators import in_, instance_of, optional
from numpy.typing import NDArray
from sklearn.utils import get_tags

from costframe.core.arrays import F8
from costframe.core.cost.partition_costs import cost_by_partition
from costframe.core.cost.report import CostReport
from costframe.core.errors import CostframeError, ParameterError, brief, shown
from costframe.core.numerals import DECIMALS
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.tables.partitions import by_partition
from costframe.core.terms.classes import both_classes, one_margin
from costframe.core.terms.outages import Outages

KINDS = ("classifier", "regressor", "ranker")


def as_predictor(model: Any, name: str = "predictor", error: type[CostframeError] = ParameterError) -> Predictor:
    """Return the predictor of a fitted estimator; a predictor as it is; refuse anything else by name."""
    predictor: Predictor = getattr(model, "predictor_", model)
    if not isinstance(predictor, Predictor):
        raise error(f"{name}: expected a fitted model of costframe, got {what_is(model)}")
    return predictor


def what_is(model: object) -> str:
    """Return an object that is no fitted model of costframe as an error text names it, with a hint where one helps."""
    name = type(model).__name__
    if isinstance(model, type):
        return f"the class {model.__name__}; call it, and fit what it makes"
    if hasattr(model, "fit") and hasattr(model, "cost"):  # an estimator or a search of costframe
        return f"{name}, which is not fitted; call fit first"
    if hasattr(model, "predict"):
        return f"{name}; cf.adopt makes a Predictor of other libraries' models"
    return shown(model)


def kind_of(model: Any) -> str | None:
    """Return a model's "classifier", "regressor" or "ranker"; None for a predictor that may be either of the last."""
    if isinstance(model, FittedEstimator):
        return model.kind
    if isinstance(model, Predictor):
        return None if model.classes is None else "classifier"
    kind: str | None = get_tags(model).estimator_type
    return kind if kind in {"classifier", "regressor"} else "ranker"


def _kind(predictor: object) -> str:
    if not isinstance(predictor, Predictor):
        return KINDS[0]  # the validator refuses it
    return "regressor" if predictor.classes is None else "classifier"


@frozen(eq=False, repr=False)
class FittedEstimator:
    """A fitted classifier, regressor or ranker: what `cf.load` gives back of a saved estimator.

    It predicts labels where its predictor gives probabilities. Further arguments of its methods, such as
    limits, are those of the predictor's.

    Parameters
    ----------
    predictor_ : Predictor
        A classifier's has `classes`.
    kind : {"classifier", "regressor", "ranker"}
        By default a classifier, if the predictor has `classes`, else a regressor.
    decimal : {".", ","}, optional
        The decimal sign of the training table, a text, which tables to predict may not tell; None if unknown.
    outages : Outages, optional
        What outages cost, as `cf.outages` measured it at its own prices and without limits; None if nobody did.

    Raises
    ------
    ParameterError
        If the kind does not fit the predictor.
    """

    predictor_: Predictor
    kind: str = field(default=Factory(lambda self: _kind(self.predictor_), takes_self=True))
    decimal: str | None = field(default=None, kw_only=True, validator=optional(in_(DECIMALS)))
    outages: Outages | None = field(default=None, kw_only=True, validator=optional(instance_of(Outages)))

    @kind.validator
    def _fitting_kind(self, _attribute: Attribute[str], value: str) -> None:
        if not isinstance(self.predictor_, Predictor):
            raise ParameterError(f"predictor_: expected a Predictor, got {type(self.predictor_).__name__}")
        if value not in KINDS or (value == "classifier") != (self.predictor_.classes is not None):
            has = "without" if self.predictor_.classes is None else "with"
            raise ParameterError(f"kind: {shown(value)} does not fit a predictor {has} classes; expected {KINDS}")

    def __repr__(self) -> str:
        """Name the kind and the predictor."""
        return brief(self, self.kind, repr(self.predictor_))

    def _repr_html_(self) -> str:
        return self.predictor_._repr_html_()

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels of the classes: (M,)."""
        if self.predictor_.classes is None:
            raise AttributeError(f"a {self.kind} has no classes_")
        return self.predictor_.classes

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the columns."""
        return np.array(self.predictor_.feature_names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return len(self.predictor_.feature_names)

    @property
    def costs_(self) -> CostModel | None:
        """Prices of its own; None prices every feature at one."""
        return self.predictor_.costs

    @by_partition
    def predict(self, X: Any, **terms: Any) -> NDArray[Any]:
        """Return the class of each row, or predictions: (rows,)."""
        return (self.predictor_.labels if self.kind == "classifier" else self.predictor_.predict)(X, **terms)

    @property
    def predict_proba(self) -> Callable[..., F8]:
        """The method of classifiers, and of no others, that returns class probabilities: float64 (rows, M)."""
        if self.kind != "classifier":
            raise AttributeError(f"a {self.kind} has no predict_proba")
        return self._probabilities

    @by_partition
    def _probabilities(self, X: Any, **terms: Any) -> F8:
        return both_classes(self.predictor_.predict(X, **terms))

    @by_partition
    def decision_function(self, X: Any, **terms: Any) -> F8:
        """Return scores: float64 (rows,), or (rows, K) for more than two classes or several outputs."""
        scores = self.predictor_.decision_function(X, **terms)
        return one_margin(scores) if self.kind == "classifier" else scores

    def inquire(self, *arguments: Any, **terms: Any) -> Inquiry:
        """Begin the prediction of one row; see `Predictor.inquire`. Its answer has probabilities, and the `label`."""
        return self.predictor_.inquire(*arguments, **terms)

    def resume(self, text: str, costs: object = None) -> Inquiry:
        """Go on with an inquiry that was put away; see `Predictor.resume`."""
        return self.predictor_.resume(text, costs)

    @cost_by_partition
    def cost(self, X: Any, y_or_costs: Any = None, **how: Any) -> CostReport:
        """Return the exact cost of predicting rows, with labels also that of errors; see `Predictor.cost`."""
        return self.predictor_.cost(X, y_or_costs, **how)
