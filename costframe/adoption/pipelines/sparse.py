"""Sparse tables between scikit-learn's steps: what is not stored is zero to most models, missing to XGBoost's trees."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen
from scipy import sparse

from costframe.adoption.opaque import as_frame, is_unfitted
from costframe.adoption.sklearn.ensembles import inner_of
from costframe.adoption.xgboost import has_trees, is_xgboost
from costframe.core.errors import AdoptionError, DataError
from costframe.core.predictors.stage_tree import StageTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from costframe.adoption.pipelines.transformers import Recipe
    from costframe.core.predictors.predictor import Predictor

    Columns = list[int]

_SCALERS = ("MaxAbsScaler", "RobustScaler", "StandardScaler")
_KEEP_STORED = ("FunctionTransformer", "PolynomialFeatures")
_STORE_NONZERO = ("Binarizer", "KBinsDiscretizer", "MissingIndicator", "OneHotEncoder")


@frozen(eq=False)
class Table:
    """The table between two steps."""

    values: Columns  # its columns, by number in a recipe; of a sparse table with zeros where nothing is stored
    stored: Columns  # the same columns with NaN where nothing is stored. Stored zeros are zeros in both
    form: Callable[..., Any] | None = None  # of a sparse table

    @classmethod
    def dense(cls, columns: Columns) -> Table:
        """Return a dense table, where all is stored."""
        return cls(columns, columns)

    @classmethod
    def join(cls, tables: Sequence[Table], recipe: Recipe, *, as_sparse: bool) -> Table:
        """Put tables side by side; a sparse whole does not store the zeros of dense parts."""
        values = [column for table in tables for column in table.values]
        if not as_sparse:
            return cls.dense(values)
        form = next((table.form for table in tables if table.form is not None), sparse.csr_matrix)
        stored = [table.stored if table.form else recipe.hide_zeros(table.values) for table in tables]
        return cls(values, [column for columns in stored for column in columns], form)

    def take(self, places: Iterable[int]) -> Table:
        """Return some columns."""
        chosen = list(places)
        return Table([self.values[f] for f in chosen], [self.stored[f] for f in chosen], self.form)

    def each(self, change: Callable[[Columns], Columns]) -> Table:
        """Change the columns by what leaves entries that are not stored as they are."""
        values = change(self.values)
        return Table(values, values if self.form is None else change(self.stored), self.form)

    def made_by(
        self, name: str, read: Callable[[Columns], Columns | None], transformer: Any, recipe: Recipe
    ) -> Table | None:
        """Return what a known transformer makes of the table, None if it can only be called."""
        if self.form is not None and name in _SCALERS:
            return self.each(lambda columns: _scaled(transformer, columns, recipe))
        values = read(self.values)
        tried = None if values is None else try_transformer(transformer, self)
        if values is None or not sparse.issparse(tried):
            return None if values is None else Table.dense(values)
        if name in _STORE_NONZERO:
            return Table(values, recipe.hide_zeros(values), type(tried))
        stored = read(self.stored) if name in _KEEP_STORED else None
        return None if stored is None else Table(values, stored, type(tried))

    def called(self, name: str, transformer: Any, width: int, recipe: Recipe) -> Table:
        """Return what an opaque transformer makes of the table."""
        reads = self.values if self.form is None else [*self.values, *self.stored]
        values = recipe.call(name, CallableTransformer(transformer, self.form), reads, width)
        tried = try_transformer(transformer, self)
        if not sparse.issparse(tried):
            return Table.dense(values)
        stored = recipe.call(name, CallableTransformer(transformer, self.form, np.nan), reads, width)
        return Table(values, stored, type(tried))


def _scaled(scaler: Any, columns: Columns, recipe: Recipe) -> Columns:
    """Multiply columns by the inverse scales, as scalers do with sparse tables, where they divide dense ones."""
    made = columns if scaler.scale_ is None else recipe.apply_each("multiply", columns, 1.0 / scaler.scale_)
    if not getattr(scaler, "clip", False):
        return made
    return recipe.apply_each("minimum", recipe.apply_each("maximum", made, -1.0), 1.0)


def try_transformer(transformer: Any, table: Table) -> Any:
    """Return what a fitted transformer makes of a row of its categories, of zeros or of ones; None if it refuses."""
    known = getattr(transformer, "categories_", None)
    rows: list[NDArray[Any]] = [np.full((1, len(table.values)), value) for value in (0.0, 1.0)]
    if known is not None and all(map(len, known)):
        rows = [np.array([[each[0] for each in known]], object)]
    for row in rows:
        given = row if known is not None or table.form is None else table.form(row)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that the row lacks
            try:
                return transformer.transform(framed(transformer, given))
            except Exception:  # noqa: BLE001, S112 - foreign code; another row may do
                continue
    return None


def framed(model: Any, rows: Any) -> Any:
    """Return rows as a fitted model reads them, with its names if it has any for them."""
    names = getattr(model, "feature_names_in_", ())  # other ones, if a stack was fitted to a frame before
    return as_frame(rows, names) if len(names) == rows.shape[1] and not sparse.issparse(rows) else rows


@frozen(eq=False)
class CallableTransformer:
    """A fitted transformer as a picklable function of rows, float64 (rows, d), to float64 (rows, width).

    One that takes a sparse table reads twice its columns, the values and what is stored; see `Table`.
    """

    transformer: Any
    form: Callable[..., Any] | None = None  # of the table that it takes
    absent: float = 0.0  # stands for what it does not store

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transform rows; a transformer with feature names gets a frame, and what it refuses is a `DataError`."""
        if self.form is not None:
            values, stored = np.hsplit(rows, 2)
            rows = _store(values, np.isnan(values) | ~np.isnan(stored), self.form)
        try:
            made: Any = self.transformer.transform(framed(self.transformer, rows))
        except ValueError as error:
            raise DataError(f"{type(self.transformer).__name__}: {error}") from error
        if not sparse.issparse(made):
            dense = np.asarray(made, np.float64)
            return dense[None] if dense.ndim == 1 and rows.shape[0] == 1 else dense  # of one row some make a list
        entries: Any = made.tocoo()  # type: ignore[attr-defined] # all have it
        dense = np.full(entries.shape, self.absent)
        dense[entries.row, entries.col] = entries.data
        return dense


@frozen(eq=False)
class _OfSparse:
    """An opaque learner's function of a sparse table as a function of rows, float64 (rows, d)."""

    function: Callable[[Any], ArrayLike]
    form: Callable[..., Any]
    hidden: bool  # whether NaN stands for what is not stored, else zero

    def __call__(self, rows: NDArray[np.float64]) -> ArrayLike:
        return self.function(_store(rows, ~np.isnan(rows) if self.hidden else rows != 0, self.form))


def over_sparse(predictor: Predictor, form: Callable[..., Any], *, hidden: bool) -> Predictor:
    """Let the opaque learners of a predictor read sparse tables, as their models did when they were fitted."""
    if not isinstance(predictor, StageTree) or not predictor.bank.opaques:
        return predictor
    opaques = [evolve(each, function=_OfSparse(each.function, form, hidden)) for each in predictor.bank.opaques]
    return evolve(predictor, bank=evolve(predictor.bank, opaques=opaques))


def _store(values: NDArray[np.float64], stored: NDArray[np.bool_], form: Callable[..., Any]) -> Any:
    """Return a sparse table that stores some of the values."""
    rows, columns = np.nonzero(stored)
    return form(sparse.coo_matrix((values[rows, columns], (rows, columns)), shape=values.shape))


def absent_is_missing(model: Any) -> bool:
    """Return whether a model takes what a sparse row does not store for missing, as XGBoost's trees do, not for zero.

    Raises
    ------
    AdoptionError
        If a part of it does, and another does not.
    """
    parts = list(_row_readers(model, set()))
    ways = {has_trees(part) for part in parts if not is_xgboost(part) or has_trees(part)}
    if len(ways) > 1:
        other = next(type(part).__name__ for part in parts if not is_xgboost(part))
        raise AdoptionError(
            f"{type(model).__name__}: the step before it makes a sparse table, whose absent entries are missing to "
            f"XGBoost and zero to {other}; fit it on a dense table (OneHotEncoder(sparse_output=False), "
            "ColumnTransformer(sparse_threshold=0))"
        )
    return ways == {True}


def _row_readers(model: Any, seen: set[int]) -> Iterator[Any]:
    """Return the fitted models and transformers inside a model that read its rows, itself if there are none."""
    model = inner_of(model)
    inside = _inside(model)
    if not inside:
        yield model
    for each in inside:
        if id(each) not in seen:
            seen.add(id(each))
            yield from _row_readers(each, seen)


def _inside(model: Any) -> list[Any]:
    """Return the fitted models in the attributes of a model, but those that read what others predict."""
    if is_xgboost(model) or not hasattr(model, "__dict__"):
        return []
    if hasattr(model, "steps"):
        return [step for _, step in model.steps if step is not None and not isinstance(step, str)]
    others = {"calibrators"} if getattr(model, "passthrough", False) else {"calibrators", "final_estimator_"}
    return list(_fitted(value for name, value in vars(model).items() if name not in others))


def _fitted(values: Iterable[Any]) -> Iterator[Any]:
    """Return the fitted models among values, those in lists, arrays and mappings included."""
    for value in values:
        if isinstance(value, Mapping):
            yield from _fitted(value.values())
        elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
            yield from _fitted(value)
        elif (hasattr(value, "predict") or hasattr(value, "predict_proba")) and not (
            isinstance(value, type) or is_unfitted(value)
        ):
            yield value
