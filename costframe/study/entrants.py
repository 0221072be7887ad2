"""Entrants of a study: algorithms by name, and the references beside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import Any

from attrs import evolve, frozen

from costframe.core.errors import ParameterError
from costframe.core.plugins.estimators import estimator
from costframe.core.plugins.registry import registry
from costframe.core.prices.costs import CostModel
from costframe.datasets import Dataset
from costframe.records.guard import Gaps
from costframe.study.failures import name_failures
from costframe.study.references import REFERENCES, Reference
from costframe.training.data import Traits
from costframe.training.learning import COMPLETED, RECORDED
from costframe.trees import BoostedEstimator


@frozen(eq=False)
class Entrant:
    """An algorithm that a study fits on a data set, by its name; a reference is fitted once."""

    label: str
    algorithm: str
    task: str
    costs: CostModel
    parameters: Mapping[str, Any]
    categorical: Mapping[str, Any]
    dates: Mapping[str, Any]
    is_reference: bool = False
    learning: str = COMPLETED  # from what, where tests were not made
    gaps: Gaps | None = None  # of records, which bar columns

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
    def start_order(self) -> tuple[bool, bool]:
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
        tradeoff = given.pop("tradeoff", tradeoff) if self.is_reference else tradeoff
        if self.categorical:
            if "categorical_features" not in estimator(self.algorithm, self.task).get_params():
                column = next(iter(self.categorical))
                raise ParameterError(f"{self.algorithm}: does not split by categories, and column {column!r} has some")
            given["categorical_features"] = dict(self.categorical)
        made = estimator(self.algorithm, self.task, costs=self.costs, tradeoff=tradeoff, **given)
        made = made if self.learning == COMPLETED else made.learning_from(self.learning)
        made = made if self.gaps is None else made.guarding(self.gaps)
        return made.reading_dates(self.dates) if self.dates else made


def references_of(data: Dataset, algorithms: Collection[str], parameters: Mapping[str, Any]) -> list[Entrant]:
    """Return the references of a study of a data set.

    There are a linear model and boosting on the free features, if some are free and some are not, both on all features,
    and a priced tree if wrong classes have prices; for rankings, boosting on the free ones alone. It leaves out what
    one of the `algorithms` fits anyway, what no plugin has, and linear models of tables with categories, which are no
    numbers. `parameters` are those of all estimators of the study, of which a reference takes those that its estimator
    has.
    """
    prices = data.costs.select(data.feature_names)
    free = (prices.alone == 0) & (prices.once == 0)
    entrants = []
    for reference in REFERENCES:
        asked = (free.any() and not free.all()) if reference.free else data.task != "ranking"
        if (
            asked
            and (not reference.billed or data.costs.errors is not None)
            and _can_fit(reference, data)
            and (reference.free or not _is_fitted_by(algorithms, reference, data.task))
        ):
            known = estimator(reference.algorithm, data.task).get_params()
            settings = {name: value for name, value in parameters.items() if name in known}
            made = Entrant.of(reference.algorithm, data, settings | reference.settings, reference=reference.label)
            entrants.append(evolve(made, learning=RECORDED) if reference.free else made)
    return entrants


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
