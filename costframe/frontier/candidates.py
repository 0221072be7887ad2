"""Candidates of a frontier: estimators to fit at many tradeoffs, and models without a tradeoff, each with a label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from sklearn.base import clone
from sklearn.utils import get_tags

from costframe.core.errors import CostModelError, DataError, ParameterError, shown
from costframe.core.plugins.registry import TASKS, algorithms
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.tables.frames import column_names
from costframe.frontier.one_model import OneModel, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Candidate", "Prices", "candidates_of", "common_prices", "task_of"]

_EXPECTED = "estimators: expected estimators, or fitted models of costframe (cf.adopt makes them of other libraries')"


@frozen(eq=False)
class Prices:
    """The prices of a frontier, and the names of the columns."""

    costs: CostModel
    names: tuple[str, ...]
    given: bool = True  # False if every feature costs one, for want of prices

    @property
    def full_cost(self) -> float:
        """Price of all columns for one row."""
        return self.costs.full_cost(self.names)


@frozen(eq=False)
class Candidate:
    """A model of a frontier, with the label of its points."""

    label: str
    model: Any

    @property
    def is_fitted(self) -> bool:
        """Whether it is a trained model, not an estimator to train."""
        return isinstance(self.model, Predictor | FittedEstimator)

    @property
    def has_tradeoff(self) -> bool:
        """Whether it is an estimator with a tradeoff."""
        return not self.is_fitted and "tradeoff" in self.model.get_params(deep=False)

    @property
    def costs(self) -> object:
        """Its own prices, or None."""
        if self.is_fitted:
            return getattr(self.model, "predictor_", self.model).costs
        return self.model.get_params(deep=False).get("costs") if self.has_tradeoff else None

    def make(self, prices: Prices, tradeoff: float) -> Any:
        """Return an unfitted estimator for a tradeoff, with the prices if it has none."""
        if not self.has_tradeoff:
            return OneModel(self.label, self.model, prices.costs, prices.names)
        given = {"costs": prices.costs} if prices.given and self.costs is None else {}
        return clone(self.model).set_params(tradeoff=tradeoff, **given)


def candidates_of(estimators: Any) -> list[Candidate]:
    """Return the candidates of a list of models, a mapping of labels to models, or one model.

    In a list, an algorithm's estimator has the algorithm's name, another estimator that of its class; repeated names
    get numbers.
    """
    if isinstance(estimators, Mapping):
        labels, models = list(estimators), list(estimators.values())
        for label in labels:
            if not isinstance(label, str) or not label:
                raise ParameterError(f"estimators: expected labels that are texts, got {shown(label)}")
    else:
        models = list(estimators) if isinstance(estimators, list | tuple) else [estimators]
        labels = _distinct(_label(model) for model in models)
    if not models:
        raise ParameterError("estimators: expected at least one, got none")
    for model in models:
        if isinstance(model, type):
            raise ParameterError(f"{_EXPECTED}, got the class {model.__name__}; call it")
        fittable = hasattr(model, "fit") and hasattr(model, "get_params")
        if not (fittable or isinstance(model, Predictor | FittedEstimator)):
            raise ParameterError(f"{_EXPECTED}, got {shown(model)}")
        if why := _refusal(model):
            raise ParameterError(f"estimators: expected classifiers, regressors or rankers, got {shown(model)}, {why}")
    return [Candidate(label, model) for label, model in zip(labels, models, strict=True)]


def _refusal(model: Any) -> str | None:
    """Return why an object with `fit` has no place on a frontier, or None if it has."""
    if isinstance(model, Predictor | FittedEstimator):
        return None
    if not hasattr(model, "predict"):
        return "which predicts nothing"
    kind = get_tags(model).estimator_type  # None of rankers of other libraries
    return None if kind in {"classifier", "regressor", "ranker", None} else f"of the type {kind!r}"


def _label(model: Any) -> str:
    """Return the name of a model's algorithm, or else of its class."""
    if isinstance(model, Predictor | FittedEstimator):
        return "model"
    for name, algorithm in algorithms().items():
        if type(model) in {getattr(algorithm, role) for role in TASKS.values()}:
            return name
    return type(model).__name__


def _distinct(names: Iterable[str]) -> list[str]:
    """Return names in which repeated ones have numbers from 2."""
    found: list[str] = []
    for name in names:
        label, number = name, 1
        while label in found:
            number += 1
            label = f"{name}-{number}"
        found.append(label)
    return found


def task_of(candidates: Sequence[Candidate], *, has_queries: bool) -> str:
    """Return the task of candidates; refuse classifiers beside others."""
    kinds = {kind_of(each.model): each.label for each in candidates}
    if "classifier" not in kinds:
        return "ranking" if has_queries or "ranker" in kinds else "regression"
    for kind, label in kinds.items():
        if kind != "classifier":
            raise ParameterError(
                f"estimators: expected models of one task, {kinds['classifier']!r} is a classifier, {label!r} is "
                f"{'none' if kind is None else 'a ' + kind}"
            )
    return "classification"


def common_prices(costs: object, candidates: Sequence[Candidate], X: Any) -> Prices:
    """Return the prices that all candidates share: `costs` if given, else their own; refuse different ones.

    Fitted models take given `costs` instead of their own, estimators are not trained for others than their own. Columns
    without names have those of the prices.
    """
    own = [each for each in candidates if each.costs is not None and not (costs is not None and each.is_fitted)]
    named, width = column_names(X), _width(X)
    first = next((each.model for each in candidates if each.is_fitted), None)
    given = costs if costs is not None else own[0].costs if own else None
    names = named or tuple(f"x{f}" for f in range(width))
    if given is None and named is None and first is not None:
        names = tuple(getattr(first, "predictor_", first).feature_names)
    model = CostModel.of(given, names)
    for each in own:
        if CostModel.of(each.costs, names) != model:
            whose = "the given costs" if costs is not None else f"those of {own[0].label!r}"
            raise ParameterError(f"costs: the prices of {each.label!r} differ from {whose}; a frontier has one table")
    if named is None and len(model.names) != width:
        raise CostModelError(f"costs: price {len(model.names)} features, X has {width} columns without names")
    return Prices(model, named or model.names, given is not None)


def _width(X: Any) -> int:
    """Return the number of columns of dense rows; refuse others, in words that scikit-learn's checks know."""
    if hasattr(X, "toarray"):
        raise DataError(f"X: sparse input is not supported, got {type(X).__name__}; give X.toarray()")
    shape = getattr(X, "shape", None) or np.asarray(X).shape
    if len(shape) != 2:
        raise DataError(f"X: expected rows x features, got an array of shape {tuple(shape)}")
    if not shape[1]:
        raise DataError(f"X: found 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is required.")
    return int(shape[1])
