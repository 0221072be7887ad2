"""Features made of dates: what models read beside the days of a date, where its price asks for parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from attrs import evolve, frozen

from costframe.core.errors import CostModelError, shown
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.prices.costs import CostModel
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.categories import Categories
from costframe.core.tables.operations import Operation
from costframe.core.tables.preparation import Preparation
from costframe.training.data import Rows, TrainingData
from costframe.training.model_path import PathAround


@frozen(eq=False)
class DateParts:
    """The making of parts of dates: an algorithm trains on all columns and the parts, its model asks for columns."""

    costs: CostModel  # of the columns
    preparation: Preparation  # it makes all columns, in their order, and then the parts

    @classmethod
    def of(cls, costs: CostModel, names: Sequence[str], categories: Categories) -> Self | None:
        """Return the parts that prices ask for of columns with labels, by name; None if they ask for none."""
        asked = {price.name: price.parts for price in costs.features if price.parts}
        pairs = [(name, part) for name in names for part in asked.get(name, ())]
        if not pairs:
            return None
        made = [*names, *(f"{name} {part}" for name, part in pairs)]
        for (name, part), made_name in zip(pairs, made[len(names) :], strict=True):
            if made_name in names:
                raise CostModelError(
                    f"features.{name}.parts: expected no other feature named {shown(made_name)}, which is its {part}"
                )
        operations = [Operation(f"{part} of days", (list(names).index(name),)) for name, part in pairs]
        return cls(costs, Preparation(tuple(names), operations, range(len(made)), made, categories))

    def add(self, data: TrainingData) -> TrainingData:
        """Return training data with the parts, which share the price of their column."""
        made = self.preparation.names
        costs = self.costs.trace(self.preparation.made_from, paid_apart=True).costs
        costs = evolve(costs, errors=self.costs.errors)  # a column that is their price is still there
        further = len(made) - len(data.feature_names)
        chosen = None if data.categorical is None else np.append(data.categorical, np.zeros(further, np.bool_))
        return evolve(
            data,
            train=self._added(data.train),
            valid=None if data.valid is None else self._added(data.valid),
            costs=costs,
            prices=costs.select(made),
            categorical=chosen,
        )

    def _added(self, rows: Rows) -> Rows:
        return evolve(rows, X=self.preparation.fill(rows.X, range(len(self.preparation.names))))

    def columns(self, rows: Rows) -> Rows:
        """Return training rows without the parts."""
        return evolve(rows, X=rows.X[:, : len(self.preparation.feature_names)])

    def read_by(self, predictor: Predictor) -> bool:
        """Return whether a predictor reads the parts, and not yet the columns that they are made of."""
        return predictor.feature_names == self.preparation.names

    def before(self, predictor: Predictor, rows: FallbackRows | None = None) -> Predictor:
        """Return a trained predictor of columns, with fallbacks that it learns from rows of them."""
        predictor = predictor.with_categories(self.preparation.categories)
        if rows is not None:
            predictor = predictor.with_fallbacks(self.preparation.transform(rows.X), rows.weight, rows.shares)
        return PreparedPredictor(predictor, self.preparation, self.costs)


@frozen(eq=False)
class DatedPath(PathAround):
    """A path of models that read parts of dates, as one of models that ask for columns."""

    parts: DateParts

    def predictor(self, point: Any) -> Predictor:
        """Return the model of a point."""
        return self.parts.before(self.inner.predictor(point))
