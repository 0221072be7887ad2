"""Candidates of a study: algorithms by name, estimators, fitted models, references, and the constant."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn, Self

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from costframe.adoption.adopting import adopt
from costframe.adoption.foreign import describe_error
from costframe.adoption.opaque import labels_for, require_probabilities
from costframe.core.errors import (
    AdoptionError,
    CostframeError,
    CostModelError,
    DataError,
    ParameterError,
    quote_names,
    shown,
)
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.plugins import estimator, registry
from costframe.core.predictors.classes import places
from costframe.core.predictors.fitted import FittedEstimator, kind_of
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.ends import contradicts
from costframe.core.stages.links import log_odds
from costframe.core.stages.stages import Answer
from costframe.core.tables.frames import column_names
from costframe.datasets import Dataset
from costframe.frontier.checks import KINDS, name_failures
from costframe.frontier.points import CONSTANT
from costframe.frontier.references import REFERENCES, Reference
from costframe.frontier.rows import Fold, Rows
from costframe.frontier.store import Fitted
from costframe.frontier.trial import Trial
from costframe.training.data import Traits
from costframe.training.library_scores import LibraryScore
from costframe.trees import BoostedEstimator

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
class Entrant:
    """An algorithm that a study fits on a data set, by its name; a reference is fitted once, without prices."""

    label: str
    algorithm: str
    task: str
    costs: CostModel
    parameters: Mapping[str, Any]
    categorical: Mapping[str, Any]
    dates: Mapping[str, Any]
    is_reference: bool = False

    is_fitted = False

    @classmethod
    def of(cls, name: str, data: Dataset, parameters: Mapping[str, Any], *, reference: str | None = None) -> Entrant:
        """Return the entrant of an algorithm's name; `parameters` are further ones of its estimators.

        `reference` is the label of a reference.
        """
        given = dict(parameters), dict(data.categorical), dict(data.dates)
        return cls(reference or name, name, data.task, data.costs, *given, reference is not None)

    @property
    def has_tradeoff(self) -> bool:
        """Whether a study fits it at several tradeoffs."""
        return not self.is_reference

    @property
    def begins(self) -> tuple[bool, bool]:
        """Its place in the order in which fits begin: those that search sets, references, those with a path, others."""
        if self.is_reference:
            return False, True
        return not Traits.of(registry().kind(self.algorithm, self.task)).searches_sets, not self.has_path

    @property
    def has_path(self) -> bool:
        """Whether one fit trains all its models."""
        return self.has_tradeoff and hasattr(registry().kind(self.algorithm, self.task), "fit_path")

    def guard(self) -> AbstractContextManager[None]:
        """Name the algorithm and its plugin in failures."""
        return name_failures(self.algorithm)

    def make(self, tradeoff: float) -> Any:
        """Return an unfitted estimator for a tradeoff; refuse an algorithm that does not split by categories."""
        given = dict(self.parameters)
        if self.categorical:
            if "categorical_features" not in estimator(self.algorithm, self.task).get_params():
                column = next(iter(self.categorical))
                raise ParameterError(f"{self.algorithm}: does not split by categories, and column {column!r} has some")
            given["categorical_features"] = dict(self.categorical)
        made = estimator(self.algorithm, self.task, costs=self.costs, tradeoff=tradeoff, **given)
        return made.reading_dates(self.dates) if self.dates else made


@frozen(eq=False)
class Given:
    """An estimator or a fitted model of a study, with the label of its points, and from `priced` on with prices."""

    label: str
    model: Any
    prices: Prices | None = None

    begins = True, True  # in the order in which they are given
    is_reference = False
    guard = contextlib.nullcontext

    def priced(self, prices: Prices) -> Given:
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
            return AdoptingEstimator(self.label, self.model, prices.costs, prices.names)
        given = {"costs": prices.costs} if prices.given and self.costs is None else {}
        return clone(self.model).set_params(tradeoff=tradeoff, **given)


Candidate = Entrant | Given


def candidates_of(estimators: Any) -> list[Given]:
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
    return [Given(label, model) for label, model in zip(labels, models, strict=True)]


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
    found: list[str] = []
    for name in names:
        label, number = name, 1
        while label in found:
            number += 1
            label = f"{name}-{number}"
        found.append(label)
    return found


def task_of(candidates: Sequence[Given], *, has_queries: bool) -> str:
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


def common_prices(costs: object, candidates: Sequence[Given], X: Any) -> Prices:
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


@define(eq=False)
class AdoptingEstimator:
    """An estimator for a `Trial`: `fit` trains another library's estimator and adopts it, or takes a fitted model."""

    label: str
    model: Any
    costs_: CostModel
    names: tuple[str, ...]  # of the columns
    fitted: FittedEstimator | None = field(default=None, init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, **_validation: Any) -> Self:
        """Train, or only take, the model, and price it; it has no use for validation data."""
        model, kind = self.model, kind_of(self.model)
        if isinstance(model, Predictor | FittedEstimator):
            predictor: Any = getattr(model, "predictor_", model)
        else:
            predictor = _fit_and_adopt(self.label, model, Rows(X, y, sample_weight, qid), self.names)
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


def _fit_and_adopt(label: str, model: Any, rows: Rows, names: tuple[str, ...]) -> Any:
    """Fit a copy of another library's estimator, and adopt it."""
    copy, classes = clone(model), None
    if kind_of(model) == "classifier":
        require_probabilities(f"estimators: {label!r}", model)
        classes, codes = np.unique(np.asarray(rows.y), return_inverse=True)
        rows = Rows(rows.X, labels_for(model, classes)[codes], rows.weight, rows.qid)
    try:
        _fit_by_query(label, copy, rows)
    except (CostframeError, MemoryError):
        raise
    except Exception as error:
        raise DataError(f"estimators: {label!r} cannot be fitted: {describe_error(error)}") from error
    predictor: Any = adopt(copy, names)
    if classes is not None and predictor.classes is None:
        raise AdoptionError(f"estimators: {label!r}: its classes cannot be adopted")
    return predictor if classes is None else predictor.with_classes(classes)


def _fit_by_query(label: str, model: Any, rows: Rows) -> None:
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
    model.fit(rows.X, rows.y, **given)


def references_of(data: Dataset, algorithms: Collection[str], parameters: Mapping[str, Any]) -> list[Entrant]:
    """Return the references of a study of a data set.

    There are a linear model and boosting on the free features, if some are free and some are not, and both on all
    features; for rankings, boosting on the free ones alone. It leaves out what one of the `algorithms` fits without
    prices anyway, what no plugin has, and linear models of tables with categories, which are no numbers. `parameters`
    are those of all estimators of the study, of which a reference takes those that its estimator has.
    """
    prices = data.costs.select(data.feature_names)
    free = (prices.alone == 0) & (prices.once == 0)
    found = []
    for each in REFERENCES:
        asked = (free.any() and not free.all()) if each.free else data.task != "ranking"
        if asked and _can_fit(each, data) and (each.free or not _is_fitted_by(algorithms, each, data.task)):
            known = estimator(each.algorithm, data.task).get_params()
            own = {name: value for name, value in parameters.items() if name in known}
            found.append(Entrant.of(each.algorithm, data, own | each.settings, reference=each.label))
    return found


def _can_fit(reference: Reference, data: Dataset) -> bool:
    name = reference.algorithm
    if not registry().loads(name, data.task):
        return False
    kind = registry().kind(name, data.task)
    return kind is not None and (not data.categorical or Traits.of(kind).takes_categories)


def _is_fitted_by(algorithms: Collection[str], reference: Reference, task: str) -> bool:
    """Return whether one of some algorithms has the model of a reference on all features as its plain point."""
    if reference.algorithm in algorithms:
        return True
    kinds = [registry().kind(name, task) for name in algorithms] if reference.algorithm == "boosting" else []
    return any(issubclass(kind, BoostedEstimator) for kind in kinds)


def fit_constant(data: Dataset, score: str | LibraryScore, folds: tuple[Fold, ...] = ()) -> Fitted:
    """Return the constant of a data set's train rows: shares of classes, mean, or a tie.

    Its score is that of the rows of folds, if there are some, else of valid.
    """
    began = time.perf_counter()
    train, valid, test = map(Rows.of_part, map(data.part, ("train", "valid", "test")))
    trial = Trial(CONSTANT, _refuse, train, valid, test, score, folds=folds, fits_repeat=True)
    bank = WeakLearnerBank.columns(data.feature_names, [])
    tree = StageTree(
        bank, (_answer(data, train),), data.costs, classes=np.array(data.classes) if data.classes else None
    )
    model = FittedEstimator(tree, KINDS[data.task])
    return trial.measure(model, 0.0, time.perf_counter() - began, trial.over_folds(model, 0.0))


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
