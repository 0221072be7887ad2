"""The models of a frontier that may keep a promise: its points, and cascades of two."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from attrs import evolve, frozen

from costframe.choices.untested import refuse_untested
from costframe.core.errors import DataError, ParameterError, quote_names, shown, suggestion
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.fitted import FittedEstimator, kind_of
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer
from costframe.core.tables.frames import column_names, is_arrow, select_columns
from costframe.core.terms.classes import places
from costframe.promises.cascades import DOUBTS, can_defer, can_follow, cascade
from costframe.promises.choose import Certifier, PromiseCandidate, safety_of
from costframe.promises.promise import OF_OTHER, Promise
from costframe.promises.sample import Sample, check_task
from costframe.study.points import Point
from costframe.study.rows import StudyRows

BEST = "best"  # names the point of the best score in a promise
_MOST_CHEAP = 16  # models that cascades begin with


class Points(Protocol):
    """What a promise asks of a frontier."""

    @property
    def points(self) -> tuple[Point, ...]:
        """All points."""

    @property
    def unit(self) -> str:
        """Unit of costs."""

    def best(self) -> Point:
        """Return the point of the best score."""

    def non_dominated(self) -> tuple[Point, ...]:
        """Return the points that no other one beats in score and cost."""

    def has_model(self, point: Point, /) -> bool:
        """Return whether `model` has one of a point."""

    def model(self, point: Point, /) -> Any:
        """Return the fitted estimator of a point."""


@frozen(eq=False)
class ModelPool:
    """Models of a frontier, and their classes; None for a regression."""

    frontier: Points
    candidates: tuple[PromiseCandidate, ...]
    classes: Any

    @classmethod
    def of(cls, frontier: Points) -> ModelPool:
        """Return the models of a frontier; refuse one without models, and rankings."""
        points = [point for point in frontier.points if frontier.has_model(point)]
        if not points:
            raise ParameterError("promise: needs a frontier with models, as sweeps, fits and `Frontier.load` make it")
        candidates = tuple(_candidate(frontier, point) for point in points)
        first = candidates[0].make()
        refuse_rankings(has_some=kind_of(first) == "ranker")
        classes = first.classes_ if kind_of(first) == "classifier" else None
        return cls(frontier, candidates, classes)

    def sample(self, rows: StudyRows, promises: Sequence[Promise]) -> Sample:
        """Return the sample of rows, with what other models say that promises are about."""
        if rows.y.ndim != 1:
            raise DataError(f"y: expected one value a row, got shape {rows.y.shape}")
        sample = Sample.of(rows.X, rows.y, self.classes, rows.groups)
        others = [promise for promise in promises if promise.kind in OF_OTHER]
        for promise in promises:
            check_task(promise, self.classes)
        read = self.candidates[0].make().predictor_.feature_names
        narrow = sample
        if set(names := column_names(sample.X) or ()).issuperset(read) and len(names) > len(read):
            narrow = evolve(sample, X=select_columns(sample.X, read))
        codes = {id(promise.of): self._codes(promise, narrow, sample.X) for promise in others}
        return evolve(narrow, others=codes)

    def refuse_untested(self, rows: StudyRows) -> None:
        """Refuse rows that lack a test, by the prices of the models, which some model reads."""
        models = [candidate.make() for candidate in self.candidates]
        costs, predictor = getattr(models[0], "costs_", None), models[0].predictor_
        if rows.made is not None or (costs is not None and costs.panels):
            read = {name for model in models for name in model.predictor_.used_features}
            refuse_untested(rows, () if costs is None else costs.panels, predictor.feature_names, read)

    def _codes(self, promise: Promise, sample: Sample, given: Any) -> Any:
        """Return the classes that the other model of a promise says, as codes."""
        of = promise.of
        if isinstance(of, str):
            names = [candidate.name for candidate in self.candidates]
            name = self.frontier.best().name if of == BEST else of
            if name in names:
                of = self.candidates[names.index(name)].make()
            elif of in (columns := column_names(given) or ()):
                return self._given(promise, _column(given, of), len(sample))
            else:
                known = [BEST, *names, *columns]
                raise ParameterError(
                    f"promise {shown(str(promise))}: {of!r} is neither a point nor a column"
                    f"{suggestion(of, known)}; there are {quote_names(known, 8)}"
                )
        if hasattr(of, "predict"):
            return places(np.asarray(_as_estimator(of).predict(sample.X)), self.classes)
        return self._given(promise, of, len(sample))

    def _given(self, promise: Promise, values: Any, n: int) -> Any:
        if np.shape(values) != (n,):
            raise DataError(
                f"promise {shown(str(promise))}: expected a class for each of {n} rows, got shape {np.shape(values)}; "
                "where further rows plan, name a model or a column"
            )
        try:
            return places(np.asarray(values), self.classes)
        except DataError as error:
            raise DataError(f"promise {shown(str(promise))}: {str(error).removeprefix('y: ')}") from None


def make_row_reader(frontier: Points) -> FittedEstimator:
    """Return a model that reads all that models of a frontier read, to read rows for them; refuse unlike columns."""
    models = [candidate.make() for candidate in ModelPool.of(frontier).candidates]
    first = models[0].predictor_
    for model in models:
        if (model.predictor_.feature_names, model.predictor_.categories) != (first.feature_names, first.categories):
            raise ParameterError(
                "promise: models of the frontier have different columns, so rows come from Python only"
            )
    read = {name for model in models for name in model.predictor_.label_features(model.predictor_.costs)}
    columns = [place for place, name in enumerate(first.feature_names) if name in read]
    bank = evolve(WeakLearnerBank.columns(first.feature_names, columns), categories=first.categories)
    outputs = 1 if first.classes is None or len(first.classes) == 2 else len(first.classes)
    answer = Answer(range(len(columns)), np.ones((len(columns), outputs)), np.zeros(outputs))
    decimal = next((model.decimal for model in models if getattr(model, "decimal", None) is not None), None)
    return FittedEstimator(StageTree(bank, (answer,), classes=first.classes), decimal=decimal)


def cascades_of(candidates: Sequence[PromiseCandidate], judge: Certifier) -> list[PromiseCandidate]:
    """Return cascades of cheap models with the safest one on the plan that can follow them."""
    cheap = [candidate for candidate in candidates if can_defer(candidate.make().predictor_)]
    if not cheap:
        return []
    pattern = cheap[0].make().predictor_
    safe = max(
        (candidate for candidate in candidates if can_follow(candidate.make().predictor_, pattern)),
        key=lambda candidate: (safety_of(judge.losses(candidate)), -candidate.cost),
        default=None,
    )
    if safe is None:
        return []
    last, cascades = safe.make().predictor_, []
    cheaper = sorted(
        (candidate for candidate in cheap if candidate.cost < safe.cost), key=lambda candidate: candidate.cost
    )
    step = max(len(cheaper) / _MOST_CHEAP, 1.0)
    for candidate in [cheaper[int(place * step)] for place in range(int(len(cheaper) / step))]:
        first = candidate.make().predictor_
        if can_follow(last, first):
            cascades += [
                PromiseCandidate(
                    f"{candidate.name}, then {safe.name} within {doubt:g}",
                    candidate.cost,
                    functools.cache(lambda first=first, doubt=doubt: FittedEstimator(cascade(first, last, doubt))),
                )
                for doubt in DOUBTS
            ]
    return cascades


def refuse_rankings(*, has_some: bool) -> None:
    """Refuse models of a ranking, if a frontier or a task `has_some`."""
    if has_some:
        raise ParameterError("promise: expected models of classes or numbers, got those of a ranking")


def _column(X: Any, name: str) -> Any:
    return X[name].to_numpy() if is_arrow(X) else np.asarray(X[name])


def _candidate(frontier: Points, point: Point) -> PromiseCandidate:
    return PromiseCandidate(
        point.name, point.cost, functools.cache(lambda: _as_estimator(frontier.model(point))), point
    )


def _as_estimator(model: Any) -> Any:
    return FittedEstimator(model) if isinstance(model, Predictor) else model
