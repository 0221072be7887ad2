"""The table between two steps of a pipeline, as columns of a recipe, and as the original makes it of raw columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from scipy import sparse

from costframe.adoption.handing import Handing
from costframe.adoption.pipelines.called import CallableTransformer, try_transformer
from costframe.adoption.pipelines.recipe import Recipe

Columns = list[int]

_SCALERS = ("MaxAbsScaler", "RobustScaler", "StandardScaler")
_KEEP_STORED = ("FunctionTransformer", "PolynomialFeatures")
_STORE_NONZERO = ("Binarizer", "KBinsDiscretizer", "MissingIndicator", "OneHotEncoder")
_KEEP_KINDS = ("Binarizer", "FunctionTransformer", "MissingIndicator", "SimpleImputer")


@frozen
class _Chosen:
    """A step that takes some columns."""

    places: tuple[int, ...]

    def transform(self, X: Any) -> Any:
        """Return the columns, of a frame or an array."""
        return X.iloc[:, list(self.places)] if hasattr(X, "iloc") else X[:, list(self.places)]


@frozen(eq=False)
class Came:
    """How the original makes a table: of raw columns, as they came, by the steps before."""

    raw: tuple[int, ...]
    names: tuple[str, ...] | None  # of the raw columns in the frame that the first step takes; None for an array
    steps: tuple[Any, ...] = ()

    def then(self, step: Any) -> Came:
        """Return the table that a step makes of this one."""
        return evolve(self, steps=(*self.steps, step))

    def take(self, places: Sequence[int]) -> Came:
        """Return some columns."""
        if self.steps:
            return self.then(_Chosen(tuple(places)))
        names = None if self.names is None else tuple(self.names[f] for f in places)
        return Came(tuple(self.raw[f] for f in places), names)

    def called(self, step: Any) -> CallableTransformer:
        """Return what a step makes of the table, as a function of the raw columns."""
        return CallableTransformer((*self.steps, step), Handing(self.names))


@frozen(eq=False)
class StepTable:
    """The table between two steps."""

    values: Columns  # its columns, by number in a recipe; of a sparse table with zeros where nothing is stored
    stored: Columns  # the same columns with NaN where nothing is stored. Stored zeros are zeros in both
    form: Callable[..., Any] | None = None  # of a sparse table
    came: Came = field(default=Came((), None), kw_only=True)
    # whether its columns are doubles whatever came, so that those of the recipe are all that a step can see
    is_float: bool = field(default=False, kw_only=True)
    # whether it holds values that are no doubles, such as texts that a step makes, and has no columns in the recipe
    is_pending: bool = field(default=False, kw_only=True)

    @classmethod
    def dense(cls, columns: Columns) -> StepTable:
        """Return a dense table, where all is stored."""
        return cls(columns, columns)

    @classmethod
    def join(cls, tables: Sequence[StepTable], recipe: Recipe, *, as_sparse: bool) -> StepTable:
        """Put tables side by side; a sparse whole does not store the zeros of dense parts."""
        values = [column for table in tables for column in table.values]
        more: dict[str, Any] = {
            "is_float": all(table.is_float for table in tables),
            "is_pending": any(table.is_pending for table in tables),
        }
        if not as_sparse:
            return cls(values, values, **more)
        form = next((table.form for table in tables if table.form is not None), sparse.csr_matrix)
        stored = [table.stored if table.form else recipe.hide_zeros(table.values) for table in tables]
        return cls(values, [column for columns in stored for column in columns], form, **more)

    def after(self, before: StepTable, step: Any, *, is_float: bool | None = None) -> StepTable:
        """Return the table, made by a step of another one."""
        if before.is_pending or self.is_pending:
            return StepTable([], [], came=before.came.then(step), is_pending=True)
        return evolve(self, came=before.came.then(step), is_float=self.is_float if is_float is None else is_float)

    def take(self, places: Iterable[int]) -> StepTable:
        """Return some columns."""
        chosen, came = list(places), self.came.take(list(places))
        if self.is_pending:
            return evolve(self, came=came)
        return evolve(self, values=[self.values[f] for f in chosen], stored=[self.stored[f] for f in chosen], came=came)

    def map_columns(self, change: Callable[[Columns], Columns]) -> StepTable:
        """Change the columns by what leaves entries that are not stored as they are."""
        values = change(self.values)
        return evolve(self, values=values, stored=values if self.form is None else change(self.stored))

    def made_by(
        self, name: str, read: Callable[[Columns], Columns | None], transformer: Any, recipe: Recipe
    ) -> StepTable | None:
        """Return what a known transformer makes of the table, None if it can only be called."""
        dtype = np.dtype(getattr(transformer, "dtype", None) or np.float64)
        is_float = self.is_float if name in _KEEP_KINDS else dtype == np.float64
        if self.form is not None and name in _SCALERS:
            return self.map_columns(lambda columns: _scaled(transformer, columns, recipe))
        values = read(self.values)
        tried = None if values is None else try_transformer(transformer, len(self.values), self.form)
        if values is None or not sparse.issparse(tried):
            return None if values is None else StepTable(values, values, is_float=is_float)
        if name in _STORE_NONZERO:
            return StepTable(values, recipe.hide_zeros(values), type(tried), is_float=True)
        stored = read(self.stored) if name in _KEEP_STORED else None
        return None if stored is None else StepTable(values, stored, type(tried), is_float=True)

    def called(self, name: str, transformer: Any, width: int, recipe: Recipe) -> StepTable:
        """Return what an opaque transformer makes of the table's numbers."""
        reads = self.values if self.form is None else [*self.values, *self.stored]
        function = CallableTransformer.of(transformer, len(self.values), self.form)
        return call_apart(
            name, function, reads, width, try_transformer(transformer, len(self.values), self.form), recipe
        )


def call_apart(
    name: str, function: CallableTransformer, reads: Sequence[int], width: int, tried: Any, recipe: Recipe
) -> StepTable:
    """Return the table that a function makes of columns; `tried` is what it makes of a row."""
    values = recipe.call(name, function, reads, width)
    if not sparse.issparse(tried):
        return StepTable.dense(values)
    stored = recipe.call(name, evolve(function, absent=np.nan), reads, width)
    return StepTable(values, stored, type(tried), is_float=True)


def _scaled(scaler: Any, columns: Columns, recipe: Recipe) -> Columns:
    """Multiply columns by the inverse scales, as scalers do with sparse tables, where they divide dense ones."""
    made = columns if scaler.scale_ is None else recipe.apply_each("multiply", columns, 1.0 / scaler.scale_)
    if not getattr(scaler, "clip", False):
        return made
    return recipe.apply_each("minimum", recipe.apply_each("maximum", made, -1.0), 1.0)
