"""Transformers that are called: as functions of rows, on their own or behind those before them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from attrs import evolve, frozen
from scipy import sparse

from costframe.adoption.examples import collect_texts, find_accepted_row
from costframe.adoption.foreign import describe_error
from costframe.adoption.handing import Handing
from costframe.core.arrays import B1, F8
from costframe.core.errors import AdoptionError, CostframeError, DataError, quote_names
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.frames import is_numeric_dtype, types_of
from costframe.core.tables.restored_rows import ReadsGiven, restore_together

_ROUNDED = ("float32", "Float32", "float16")


@frozen(eq=False)
class CallableTransformer(ReadsGiven):
    """Fitted transformers, one after the other, as a picklable function of rows (rows, d) to float64 (rows, width).

    One that takes a sparse table reads twice its columns, the values and what is stored; see `StepTable`.
    """

    steps: tuple[Any, ...]
    handing: Handing
    form: Callable[..., Any] | None = None  # of the sparse table that the first one takes
    absent: float = 0.0  # stands for what a sparse table does not store
    example: tuple[Any, ...] = ()  # a row that they take, as they were tried with it

    @classmethod
    def of(cls, transformer: Any, count: int, form: Callable[..., Any] | None = None) -> CallableTransformer:
        """Return a transformer of some columns."""
        return cls((transformer,), Handing.of(transformer, count), form)

    def __call__(self, rows: Any) -> F8:
        """Transform rows; a transformer with feature names gets a frame, and what it refuses is a `DataError`."""
        try:
            return self._dense(self.transform(rows), len(rows))
        except (CostframeError, MemoryError):
            raise
        except Exception as error:
            raise DataError(f"{type(self.steps[-1]).__name__}: {describe_error(error)}") from error

    def transform(self, rows: Any) -> Any:
        """Return what the last transformer makes of rows, as it is."""
        if self.form is None:
            return self.handing.call(self._run, rows)
        values, stored = np.hsplit(rows, 2)
        return self._run(store(values, np.isnan(values) | ~np.isnan(stored), self.form))

    def _run(self, given: Any) -> Any:
        for step in self.steps:
            given = step.transform(given)
        return given

    def _dense(self, made: Any, count: int) -> F8:
        if not sparse.issparse(made):
            dense = _as_numbers(made) if hasattr(made, "iloc") else np.asarray(made, np.float64)
            return dense[None] if dense.ndim == 1 and count == 1 else dense  # of one row some make a list
        entries: Any = made.tocoo()  # type: ignore[attr-defined] # all have it
        dense = np.full(entries.shape, self.absent)
        dense[entries.row, entries.col] = entries.data
        return dense


def _as_numbers(made: Any) -> F8:
    """Return a frame of pandas as numbers, NaN for each missing value."""
    try:
        numbers: F8 = made.to_numpy(np.float64, na_value=np.nan)
    except TypeError:  # pd.NA by itself, of an inquiry, is an object
        numbers = made.astype(object).where(made.notna(), np.nan).to_numpy(np.float64)
    return numbers


def try_called(
    called: CallableTransformer, columns: Sequence[str], known: Mapping[str, list[Any]], title: str
) -> tuple[CallableTransformer, Any]:
    """Return transformers of raw columns as they take a row, and what they make of it.

    They are tried with frames of pandas and of polars, and with arrays if the first one has no names of columns;
    `known` are values of some columns.

    Raises
    ------
    AdoptionError
        If they refuse all rows that are tried.
    """
    texts = [text for step in called.steps for text in collect_texts(step)]
    failed: Exception | None = None
    for handing in called.handing.ways(columns):
        way = evolve(called, handing=handing)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # of names that the row lacks, and of strange numbers
                row, made = find_accepted_row(partial(_transform, way), columns, [known], texts)
        except Exception as error:  # noqa: BLE001 - of any library
            failed = failed or error
            continue
        return evolve(way, example=row), made
    assert failed is not None  # noqa: S101 - there is a way
    raise AdoptionError(
        f"{title}: {type(called.steps[-1]).__name__} refuses all rows that were tried, of numbers, texts, dates and "
        f"missing values in {quote_names(columns, 6)}: {describe_error(failed)}. costframe.adopt(model, "
        "features=[...]) takes the model as one opaque learner, with the names of a data frame if it reads one"
    ) from failed


def _transform(called: CallableTransformer, row: F8) -> Any:
    return called.transform(restore_together(row))


def makes_numbers(made: Any) -> bool:
    """Return whether what a transformer makes of a row holds whole numbers, truth values and doubles only."""
    if hasattr(made, "columns"):
        kinds = [str(kind) for kind in types_of(made)]
        return all(is_numeric_dtype(kind) and kind not in _ROUNDED for kind in kinds)
    array: Any = made if sparse.issparse(made) else np.asarray(made)
    return array.dtype.kind in "iub" or array.dtype == np.float64


def try_transformer(transformer: Any, count: int, form: Callable[..., Any] | None) -> Any:
    """Return what a fitted transformer makes of a row of its categories, of zeros or of ones; None if it refuses."""
    known, handing = getattr(transformer, "categories_", None), Handing.of(transformer, count)
    rows: list[Any] = [np.full((1, count), value) for value in (0.0, 1.0)]
    if known is not None and all(map(len, known)):
        rows = [
            restore_together(np.array([[AsGiven().number(np.asarray(categories).tolist()[0]) for categories in known]]))
        ]
    for row in rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that the row lacks
            try:
                return transformer.transform(handing.hand(row) if known is not None or form is None else form(row))
            except Exception:  # noqa: BLE001, S112 - foreign code; another row may do
                continue
    return None


def store(values: F8, stored: B1, form: Callable[..., Any]) -> Any:
    """Return a sparse table that stores some of the values."""
    rows, columns = np.nonzero(stored)
    return form(sparse.coo_matrix((values[rows, columns], (rows, columns)), shape=values.shape))
