"""How foreign code gets rows: in frames or arrays, as it was fitted, with the dtypes that the columns came with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from costframe.adoption.foreign import is_of, package_of
from costframe.adoption.inside import everything_inside
from costframe.adoption.lightgbm import is_lightgbm
from costframe.core.errors import CostframeError
from costframe.core.tables.given_rows import GivenColumn, GivenRows


@frozen(eq=False)
class Handing:
    """How foreign code takes rows: as frames with these names, or as arrays."""

    names: tuple[str, ...] | None = None
    library: str = "pandas"  # of its frames; the other one is polars
    # by column, the categories with which a model of LightGBM or XGBoost was fitted, for values without such a dtype
    categories: Mapping[int, tuple[Any, ...]] = field(factory=dict)
    tries_polars: bool = True  # where frames of pandas are refused

    @classmethod
    def of(cls, model: Any, count: int) -> Handing:
        """Return how a fitted estimator takes rows of some columns: as frames if it has names for as many."""
        names = getattr(model, "feature_names_in_", ())  # other ones, if a stack was fitted to a frame before
        return cls(tuple(map(str, names)) if len(names) == count else None, tries_polars=may_need_polars(model))

    def ways(self, names: Sequence[str]) -> list[Handing]:
        """Return this and other ways to try: arrays or, for what may have been fitted on frames, with given names."""
        ways = [self] if self.names is not None else [self, evolve(self, names=tuple(names))]
        return ways + ([evolve(ways[-1], library="polars")] if self.tries_polars and _has_polars() else [])

    def call(self, function: Callable[[Any], Any], rows: NDArray[Any] | GivenRows) -> Any:
        """Return what a function makes of rows.

        Columns without any value have the dtype of missing numbers, or of objects where the function takes no others.
        """
        given = self.hand(rows)
        try:
            return function(given)
        except (CostframeError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - of any library
            failed = error
        for other in _retype_empty(given):
            try:
                return function(other)
            except Exception as error:  # noqa: BLE001 - as above; that of objects knows what the values are
                failed = error
        if hasattr(given, "iloc") and self.tries_polars and _has_polars():
            with suppress(Exception):  # of a function of frames of pandas, which the error above is about
                return function(_as_polars(given))
        raise failed

    def hand(self, rows: NDArray[Any] | GivenRows) -> Any:
        """Return rows as the function takes them."""
        if self.categories:
            rows = _categorize(rows, self.categories)
        if self.names is None:
            return rows.as_array() if isinstance(rows, GivenRows) else rows
        try:
            import pandas as pd
        except ImportError:
            return rows.as_array() if isinstance(rows, GivenRows) else rows
        frame = (
            rows.as_frame(self.names) if isinstance(rows, GivenRows) else pd.DataFrame(rows, columns=list(self.names))
        )
        if self.library == "pandas":
            return frame
        return _as_polars(frame)


def _has_polars() -> bool:
    with suppress(ImportError):
        return find_spec("polars") is not None
    return False


def may_need_polars(model: Any) -> bool:
    """Return whether a model may accept frames of polars only, and can safely be tried with them.

    LightGBM and CatBoost take others, too. LightGBM prints what it refuses of them, and CatBoost ends the process at a
    text or a date in a column of numbers.
    """
    if package_of(type(model)) in {"catboost", "lightgbm"}:
        return False
    parts = [*everything_inside(model)]
    if any(is_of(part, "catboost", "CatBoost") for part in parts):
        return False
    return not any(map(is_lightgbm, parts)) or not all(is_lightgbm(part) or _is_plain(part) for part in parts)


def _is_plain(model: Any) -> bool:
    """Return whether an estimator is one of scikit-learn that calls no function of the user's."""
    return package_of(type(model)) == "sklearn" and type(model).__name__ != "FunctionTransformer"


def _as_polars(frame: Any) -> Any:
    import polars as pl

    return pl.from_pandas(frame, nan_to_null=False)


def _retype_empty(given: Any) -> list[Any]:
    """Return a frame of pandas whose empty columns are numbers, and one where they are objects, if there are any."""
    if not hasattr(given, "iloc") or not (empty := given.isna().all()).any():
        return []
    nothing = given.assign(**dict.fromkeys(given.columns[empty], np.nan))
    return [nothing, given.astype(dict.fromkeys(given.columns[empty], object))]


def _categorize(rows: NDArray[Any] | GivenRows, categories: Mapping[int, tuple[Any, ...]]) -> GivenRows:
    """Return rows with a category dtype in some columns where their values have none."""
    if not isinstance(rows, GivenRows):
        rows = GivenRows(tuple(GivenColumn(np.ascontiguousarray(column)) for column in rows.T), len(rows))
    columns = list(rows.columns)
    for f, known in categories.items():
        columns[f] = columns[f].as_category(known)
    return evolve(rows, columns=tuple(columns))
