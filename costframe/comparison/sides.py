"""Sides of a comparison: algorithms by name, estimators, and outsiders, each fitted on a split by its own estimates."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from attrs import evolve, frozen
from sklearn.base import clone

from costframe.choices import Frontier
from costframe.comparison.outsiders import EstimatedModel, Outsider, SeenTable
from costframe.comparison.splits import Split
from costframe.core.errors import CostframeError, ParameterError, PluginError, shown
from costframe.core.plugins.entries import TASKS
from costframe.core.plugins.registry import registry
from costframe.core.predictors.fitted import FittedEstimator, kind_of
from costframe.core.predictors.predictor import Predictor
from costframe.core.strict_json import as_json
from costframe.study.algorithms import EVERY, choose_algorithms
from costframe.study.candidates import candidates_of
from costframe.study.constant import fit_constant
from costframe.study.digests import digest
from costframe.study.division import Division, StudyData
from costframe.study.estimates import CostEstimate, Estimate
from costframe.study.failures import FitError
from costframe.study.fit_estimators import fit_estimators
from costframe.study.fitted import Fitted, StudyResult
from costframe.study.held_out import HeldOut
from costframe.study.points import CONSTANT
from costframe.study.progress import Progress, silent
from costframe.study.rows import StudyRows
from costframe.study.settings import StudyPlan, StudySettings
from costframe.study.sweep import Sweep


@frozen
class FitSettings:
    """How sides are fitted: the number of points of each, and the folds that estimate their scores."""

    points: int | None = None
    cv: int | None = None

    @property
    def plan(self) -> StudyPlan:
        """The plan of a study of one side."""
        return StudyPlan(points=self.points)


@frozen(eq=False)
class Side(ABC):
    """What is compared: a name, and what fits models on a split and estimates their scores and costs."""

    name: str

    kind = "side"

    @abstractmethod
    def fit(self, split: Split, how: FitSettings, progress: Progress = silent) -> Frontier:
        """Return the side's models with their estimates, the constant among them, and their figures on test rows.

        A CostframeError says why there are none.
        """

    @abstractmethod
    def refusal(self, split: Split) -> str | None:
        """Return why the side does not fit a table, as far as that is known before it is fitted; None if it may."""

    @property
    def settings(self) -> dict[str, Any]:
        """JSON values of what else decides its models."""
        return {}

    @property
    def digest(self) -> str:
        """What tells sides of one name apart, in hexadecimal letters."""
        return digest((self.kind, self.name, self.settings), "algorithms")

    def is_same(self, other: Side) -> bool:
        """Return whether another side of its name makes the same models."""
        return self.digest == other.digest

    @property
    def plugin(self) -> tuple[str, str] | None:
        """Name and version of the distribution that it comes from; None if it is in none."""
        return None


@frozen(eq=False)
class AlgorithmSide(Side):
    """An algorithm of a plugin, by its name."""

    kind = "algorithm"

    def fit(self, split: Split, how: FitSettings, progress: Progress = silent) -> Frontier:
        """Fit it as a study does, without references."""
        sweep = Sweep.of(
            split.data,
            [self.name],
            how.plan,
            score=split.score,
            cv=how.cv,
            parameters={},
            directory=None,
            time_limit=None,
            has_references=False,
            has_constant=True,
        )
        return Frontier.of(sweep.fit(progress=progress, failed=_raise, show=None, n_jobs=1, cluster=None, resume=False))

    def refusal(self, split: Split) -> str | None:
        """Return why a study would refuse its name for the table."""
        try:
            choose_algorithms(split.data.task, [self.name], len(split.data.classes))
        except CostframeError as error:
            return str(error)
        return None

    @property
    def plugin(self) -> tuple[str, str] | None:
        """The distribution of its plugin."""
        point = registry().owners.get(self.name)
        return None if point is None or point.dist is None else (point.dist.name, point.dist.version)


@frozen(eq=False)
class EstimatorSide(Side):
    """An estimator of costframe with parameters, or of another library, which is fitted and adopted."""

    estimator: Any

    kind = "estimator"

    def fit(self, split: Split, how: FitSettings, progress: Progress = silent) -> Frontier:
        """Fit a copy at many tradeoffs, or once if it has none, as `Frontier.fit` does."""
        data = split.data
        parts = [data.part(name) for name in ("train", "valid", "test")]
        rows = [StudyRows.of(part.X, part.y, None, part.qid, groups=part.groups, made=part.made) for part in parts]
        scoring = None if split.score_is_bill else split.score
        settings = StudySettings(
            plan=how.plan, scoring=scoring, cv=how.cv, validation_fraction=0.25, random_state=0, n_jobs=1,
            time_limit=None,
        )  # fmt: skip
        model = {self.name: self._of_categories(split)}
        result = fit_estimators(model, StudyData(*rows), data.costs, settings, progress=progress, failed=_raise)
        return _with_constant(result, split, how)

    def _of_categories(self, split: Split) -> Any:
        """Return a copy that splits by the table's categories, if it can and was told of none."""
        copy, categorical = clone(self.estimator), dict(split.data.categorical)
        known = copy.get_params(deep=False)
        if categorical and "categorical_features" in known and known["categorical_features"] is None:
            return copy.set_params(categorical_features=categorical)
        return copy

    def refusal(self, split: Split) -> str | None:
        """Return why its kind does not have the table's task."""
        kind, wanted = kind_of(self.estimator), TASKS[split.data.task]
        return None if kind == wanted else f"{self.name} is a {kind}, the table asks for a {wanted}"

    @property
    def settings(self) -> dict[str, Any]:
        """Its class, and its parameters that are not their defaults."""
        kind = type(self.estimator)
        return {"class": f"{kind.__module__}.{kind.__qualname__}", "parameters": as_json(_changed(self.estimator))}

    @property
    def digest(self) -> str:
        """What tells it from others of its name: all parameters, by their values."""
        kind = type(self.estimator)
        whole = (self.kind, self.name, kind.__module__, kind.__qualname__, self.estimator.get_params())
        return digest(whole, "algorithms")


@frozen(eq=False)
class OutsiderSide(Side):
    """Anybody's policy; see `Outsider`."""

    outsider: Outsider

    kind = "outsider"

    def fit(self, split: Split, how: FitSettings, progress: Progress = silent) -> Frontier:
        """Let it fit models on what it sees, and measure these."""
        data = split.data
        progress(0, 1, self.name)
        began = time.perf_counter()
        with self._naming_failures():
            models = list(self.outsider.fit(SeenTable.of(data, str(split.score), split.seed or 0)))
        seconds = (time.perf_counter() - began) / max(len(models), 1)
        if not models:
            raise PluginError(f"outsider {self.name!r}: expected at least one model, got none")
        valid, test = (StudyRows.of_part(data.part(part)).with_records_of(data) for part in ("valid", "test"))
        held_out = HeldOut(valid, test, split.score)
        fits = []
        for model in models:
            with self._naming_failures():
                fits.append(self._measure(model, split, held_out, seconds))
        progress(1, 1, self.name)
        result = StudyResult(fits, str(split.score), data.costs.unit, data.full_cost)
        return _with_constant(result, split, FitSettings(how.points, cv=0))

    def _measure(self, given: object, split: Split, held_out: HeldOut, seconds: float) -> Fitted:
        """Measure a model on valid, unless it has estimates of its own, and on test."""
        own = given if isinstance(given, EstimatedModel) else None
        model = given if own is None else own.model
        data = split.data
        if not isinstance(model, Predictor):
            raise PluginError(f"outsider {self.name!r}: expected models that are Predictors, got {shown(model)}")
        if model.feature_names != data.feature_names:
            raise PluginError(f"outsider {self.name!r}: a model has other columns than the table, or in another order")
        priced = model.with_costs(data.costs)
        if data.classes:
            priced = priced.with_classes(np.array(data.classes))
        fitted = FittedEstimator(priced, TASKS[data.task])
        score, cost = None, None
        if own is not None:
            score, cost = Estimate(own.score, own.score_error), CostEstimate(own.cost, own.cost_error)
        return held_out.measure(self.name, fitted, 0.0, seconds, score, cost)

    @contextlib.contextmanager
    def _naming_failures(self) -> Iterator[None]:
        """Turn whatever it raises into an error that names it, except errors of costframe and of memory."""
        try:
            yield
        except (CostframeError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            raise FitError(f"outsider {self.name!r} failed: {type(error).__name__}: {error}") from error

    def is_same(self, other: Side) -> bool:
        """Return whether another side is of an equal outsider: names and settings need not tell all."""
        return isinstance(other, OutsiderSide) and bool(self.outsider == other.outsider)

    def refusal(self, split: Split) -> str | None:
        """Return nothing: only its `fit` knows."""
        del split
        return None

    @property
    def settings(self) -> dict[str, Any]:
        """Its own `settings`, if it has some."""
        given = getattr(self.outsider, "settings", {})
        return as_json(dict(given)) if isinstance(given, Mapping) else {"settings": shown(given)}


def _raise(_algorithm: str, error: CostframeError) -> None:
    """Raise an error of a fit: there is nothing else to go on with, not even where time is up."""
    raise error


def _with_constant(result: StudyResult, split: Split, how: FitSettings) -> Frontier:
    """Return the frontier of a study, with the constant unless one of its models reads nothing."""
    fits = result.fits
    if all(fitted.point.n_features for fitted in fits):
        fits = [*fits, fit_constant(split.data, split.score, Division.of_data(split.data, how.cv).folds)]
    return Frontier.of(evolve(result, fits=fits))


def _changed(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that are not their defaults, as JSON values."""
    usual = {name: parameter.default for name, parameter in signature(type(estimator)).parameters.items()}
    plain = str, int, float, bool, type(None)
    return {
        name: value if isinstance(value, plain) else shown(value)
        for name, value in sorted(estimator.get_params(deep=False).items())
        if not (name in usual and isinstance(value, plain) and value == usual[name])
    }


def sides_of(algorithms: Any, splits: Mapping[str, Sequence[Split]]) -> list[Side]:
    """Return the sides of a list, or of one, in a fixed order; `splits` are those of each table, by its name.

    Without any they are the usual algorithms of the tables' tasks; see `Comparison.run`.
    """
    firsts = [of_table[0] for of_table in splits.values()]
    if isinstance(algorithms, Mapping):
        given = [_named_side(str(name), one, firsts) for name, one in algorithms.items()]
    else:
        given = [side for one in _listed(algorithms) for side in _sides(one, firsts)]
    by_name: dict[str, Side] = {}
    for side in given:
        if side.name == CONSTANT:
            raise ParameterError(f"algorithms: no side can be called {CONSTANT!r}, each has the constant anyway")
        if (known := by_name.get(side.name)) is not None and not known.is_same(side):
            raise ParameterError(
                f"algorithms: two sides are called {side.name!r}; give a mapping of names to them, or other names"
            )
        by_name[side.name] = side
        refusals = [side.refusal(split) for split in firsts]
        if all(refusals):
            raise ParameterError(f"algorithms: {refusals[0]}")
    return [by_name[name] for name in sorted(by_name)]


def _listed(algorithms: Any) -> Iterable[Any]:
    if algorithms is None:
        return [None]
    if isinstance(algorithms, str) or not isinstance(algorithms, Iterable):
        return [algorithms]
    if not (listed := list(algorithms)):
        raise ParameterError("algorithms: expected at least one, got none")
    return listed


def _sides(one: Any, firsts: Sequence[Split]) -> list[Side]:
    """Return the side of a name, an estimator or an outsider; all that None and "all" stand for."""
    if one is None or one == EVERY:
        wanted = None if one is None else [EVERY]
        names = [choose_algorithms(split.data.task, wanted, len(split.data.classes))[0] for split in firsts]
        return [AlgorithmSide(name) for name in sorted({name for of_table in names for name in of_table})]
    if isinstance(one, str):
        return [_named_side(one, one, firsts)]
    if isinstance(one, Outsider) and not hasattr(one, "get_params"):
        return [_named_side(one.name, one, firsts)]
    (candidate,) = _candidates(one)
    return [EstimatorSide(candidate.label, one)]


def _candidates(one: Any) -> Any:
    try:
        return candidates_of([one])
    except ParameterError as error:
        raise ParameterError(f"algorithms: expected names, estimators or outsiders; {error}") from None


def _named_side(name: str, one: Any, firsts: Sequence[Split]) -> Side:
    if isinstance(one, str):
        if name != one:
            raise ParameterError(
                f"algorithms: expected an estimator or an outsider for {name!r}, got the name {one!r}; cf.estimator "
                "makes one"
            )
        if one not in registry().algorithms:
            choose_algorithms(firsts[0].data.task, [one])  # its error lists the known ones
        return AlgorithmSide(one)
    if isinstance(one, Outsider) and not hasattr(one, "get_params"):
        if not isinstance(name, str) or not name.strip():
            raise ParameterError(f"algorithms: expected outsiders with names, got {shown(name)}")
        return OutsiderSide(name, one)
    _candidates(one)
    return EstimatorSide(name, one)
