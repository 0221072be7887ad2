"""Candidates of a study: entrants, and estimators or fitted models that the caller gives."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from sklearn.base import clone
from sklearn.utils import get_tags

from costframe.core.errors import ParameterError, shown
from costframe.core.plugins.registry import registry
from costframe.core.predictors.fitted import FittedEstimator, kind_of
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.records.guard import Gaps
from costframe.study.adopting_estimator import AdoptingEstimator
from costframe.study.entrants import Entrant
from costframe.training.learning import COMPLETED

OURS = "costframe"  # the distribution of this package and its plugins
_EXPECTED = "estimators: expected estimators, or fitted models of costframe (cf.adopt makes them of other libraries')"


def owner_of(candidate: StudyCandidate) -> str | None:
    """Return the distribution whose plugin has a candidate's algorithm; None if none is installed."""
    point = registry().owners.get(candidate.algorithm)
    return None if point is None or point.dist is None else point.dist.name


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
class GivenCandidate:
    """An estimator or a fitted model of a study, with the label of its points, and from `priced` on with prices."""

    label: str
    model: Any
    prices: Prices | None = None
    learning: str = COMPLETED  # from what, where tests were not made
    gaps: Gaps | None = None  # of records, which bar columns

    start_order = True, True  # in the order in which they are given
    is_reference = False
    guard = contextlib.nullcontext

    def priced(self, prices: Prices) -> GivenCandidate:
        """Return it with the prices of the study."""
        return evolve(self, prices=prices)

    @property
    def algorithm(self) -> str:
        """Its label, which is the name of an algorithm if that made it."""
        return self.label

    @property
    def has_path(self) -> bool:
        """Whether one fit trains all its models."""
        return hasattr(self.model, "fit_path")

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

    def make(self, tradeoff: float) -> Any:
        """Return an unfitted estimator for a tradeoff, with the prices if it has none."""
        prices = self.prices
        assert prices is not None  # noqa: S101 - a study has prices
        if not self.has_tradeoff:
            return AdoptingEstimator(self.label, self.model, prices.costs, prices.names, self.learning, self.gaps)
        given = {"costs": prices.costs} if prices.given and self.costs is None else {}
        made = clone(self.model).set_params(tradeoff=tradeoff, **given)
        made = made if self.learning == COMPLETED else made.learning_from(self.learning)
        return made if self.gaps is None else made.guarding(self.gaps)


def candidates_of(estimators: Any) -> list[GivenCandidate]:
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
    return [GivenCandidate(label, model) for label, model in zip(labels, models, strict=True)]


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
    return registry().classes_named(type(model).__name__).get(type(model), type(model).__name__)


def _distinct(names: Iterable[str]) -> list[str]:
    """Return names in which repeated ones have numbers from 2."""
    labels: list[str] = []
    for name in names:
        label, number = name, 1
        while label in labels:
            number += 1
            label = f"{name}-{number}"
        labels.append(label)
    return labels


def task_of(candidates: Sequence[GivenCandidate], *, has_queries: bool) -> str:
    """Return the task of candidates; refuse classifiers beside others."""
    kinds = {kind_of(candidate.model): candidate.label for candidate in candidates}
    if "classifier" not in kinds:
        return "ranking" if has_queries or "ranker" in kinds else "regression"
    for kind, label in kinds.items():
        if kind != "classifier":
            raise ParameterError(
                f"estimators: expected models of one task, {kinds['classifier']!r} is a classifier, {label!r} is "
                f"{'none' if kind is None else 'a ' + kind}"
            )
    return "classification"


# Stands below the classes that it joins.
StudyCandidate = Entrant | GivenCandidate
