"""What foreign code is handed: frames or arrays, as it was fitted, with columns of the dtypes that they came with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from costframe.adoption.adopted import is_of
from costframe.adoption.lightgbm import is_lightgbm, pandas_categories
from costframe.adoption.xgboost import is_xgboost
from costframe.core.arrays import F8
from costframe.core.errors import CostframeError
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.tables.as_given import ColumnType, with_types
from costframe.core.tables.given_rows import GivenColumn, GivenRows, ReadsNumbers, call_as_given

_VALUES = (  # estimators of scikit-learn to which a value is more than a double
    "FunctionTransformer", "GaussianProcess", "HistGradientBoosting", "MissingIndicator", "OneHotEncoder",
    "OrdinalEncoder", "SimpleImputer", "TargetEncoder",
)  # fmt: skip
_MOST = 1000  # estimators to look at inside a model
_DOUBLES = ("IterativeImputer", "KBinsDiscretizer")  # which make doubles before one of those inside reads them


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
        found = [self] if self.names is not None else [self, evolve(self, names=tuple(names))]
        return found + ([evolve(found[-1], library="polars")] if self.tries_polars and _has_polars() else [])

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
        for other in _other_columns(given):
            try:
                return function(other)
            except Exception as error:  # noqa: BLE001 - as above; that of objects knows what the values are
                failed = error
        if hasattr(given, "iloc") and self.tries_polars and _has_polars():
            with suppress(Exception):  # of a function of frames of pandas, which the error above is about
                return function(_of_polars(given))
        raise failed

    def hand(self, rows: NDArray[Any] | GivenRows) -> Any:
        """Return rows as the function takes them."""
        if self.categories:
            rows = _with_categories(rows, self.categories)
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
        return _of_polars(frame)


def _has_polars() -> bool:
    with suppress(ImportError):
        return find_spec("polars") is not None
    return False


def may_need_polars(model: Any) -> bool:
    """Return whether a model may take frames of polars alone, and bears to be tried with them.

    LightGBM and CatBoost take others, too. LightGBM prints what it refuses of them, and CatBoost ends the process at a
    text or a date in a column of numbers.
    """
    each = [*everything_inside(model)]
    if any(is_of(one, "catboost", "CatBoost") for one in each):
        return False
    return not any(map(is_lightgbm, each)) or not all(is_lightgbm(one) or _is_plain(one) for one in each)


def _is_plain(model: Any) -> bool:
    """Return whether an estimator is one of scikit-learn that calls no function of the user's."""
    return type(model).__module__.split(".")[0] == "sklearn" and type(model).__name__ != "FunctionTransformer"


def _of_polars(frame: Any) -> Any:
    import polars as pl

    return pl.from_pandas(frame, nan_to_null=False)


def _other_columns(given: Any) -> list[Any]:
    """Return a frame of pandas whose empty columns are numbers, and one where they are objects, if there are any."""
    if not hasattr(given, "iloc") or not (empty := given.isna().all()).any():
        return []
    nothing = given.assign(**dict.fromkeys(given.columns[empty], np.nan))
    return [nothing, given.astype(dict.fromkeys(given.columns[empty], object))]


def _with_categories(rows: NDArray[Any] | GivenRows, categories: Mapping[int, tuple[Any, ...]]) -> GivenRows:
    """Return rows with a category dtype in some columns where their values have none."""
    if not isinstance(rows, GivenRows):
        rows = GivenRows(tuple(GivenColumn(np.ascontiguousarray(column)) for column in rows.T), len(rows))
    columns = list(rows.columns)
    for f, known in categories.items():
        columns[f] = columns[f].as_category(known)
    return evolve(rows, columns=tuple(columns))


def categories_inside(model: Any, names: Sequence[str]) -> dict[int, tuple[Any, ...]]:
    """Return the categories of columns, by number, that models of LightGBM and XGBoost inside a model keep."""
    found: dict[int, tuple[Any, ...]] = {}
    place = {name: f for f, name in enumerate(names)} | {name.replace(" ", "_"): f for f, name in enumerate(names)}
    for each in everything_inside(model):
        for name, known in _kept_categories(each).items():
            if name in place and known:
                found.setdefault(place[name], known)
    return found


def _kept_categories(model: Any) -> dict[str, tuple[Any, ...]]:
    if is_lightgbm(model):
        return {} if is_unfitted(model) else pandas_categories(model)
    if not is_xgboost(model) or is_unfitted(model):
        return {}
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if "c" not in (booster.feature_types or []) or not hasattr(booster, "get_categories"):  # kept since 3.1
        return {}
    listed = booster.get_categories(export_to_arrow=True).to_arrow()
    return {name: tuple(known.to_pylist()) for name, known in listed or () if known is not None}


def describe_error(error: Exception) -> str:
    """Return the text of a foreign error, with its type where the text alone is unclear."""
    return str(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {error}"


def is_unfitted(model: Any) -> bool:
    """Return whether a model is a scikit-learn estimator that is not fitted."""
    if not (hasattr(model, "fit") and hasattr(model, "get_params")):
        return False
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return True
    return False


def reads_numbers(model: Any) -> bool:
    """Return whether a fitted estimator, with all inside it, reads numbers alone: doubles do for those of any kind.

    So do scikit-learn's own, but for encoders and others that tell values by more.
    """
    name = type(model).__name__
    if type(model).__module__.split(".")[0] != "sklearn" or name.startswith(_VALUES):
        return False
    if name in _DOUBLES:
        return True
    return all(reads_numbers(each) for each in estimators_inside(model))


def everything_inside(model: Any) -> Iterator[Any]:
    """Yield a model and all estimators and transformers inside it, once each."""
    waiting, seen = [model], set[int]()
    while waiting and len(seen) < _MOST:
        each = waiting.pop(0)
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += estimators_inside(each)


def estimators_inside(model: Any) -> list[Any]:
    """Return the estimators and transformers in the attributes of another one, also those in lists and mappings."""
    return _estimators(vars(model).values()) if hasattr(model, "__dict__") else []


def _estimators(values: Any, depth: int = 0) -> list[Any]:
    found = list[Any]()
    for value in values:
        if isinstance(value, Mapping) and depth < 3:
            found += _estimators(value.values(), depth + 1)
        elif (
            isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object)
        ) and depth < 3:
            found += _estimators(value, depth + 1)
        elif hasattr(value, "calibrators"):  # a member of CalibratedClassifierCV, which is no estimator itself
            found.append(value.estimator)
        elif hasattr(value, "fit") and not isinstance(value, type):
            found.append(value)
    return found


@frozen(eq=False)
class _OfTypes(ReadsNumbers):
    """A function of foreign code that gets rows of doubles and texts with the types of columns in training."""

    function: Callable[..., Any]
    types: tuple[ColumnType | None, ...]

    def __call__(self, rows: Any) -> F8:
        """Return what the function makes of rows, float64 (rows, d)."""
        return call_as_given(self.function, with_types(rows, self.types))


def with_types_of(tree: StageTree, types: Mapping[str, ColumnType]) -> StageTree:
    """Let the opaque learners of a tree read columns of the types that they had in training."""
    if not types or not tree.bank.opaques:
        return tree
    read = [tuple(types.get(tree.feature_names[f]) for f in each.features) for each in tree.bank.opaques]
    pairs = zip(tree.bank.opaques, read, strict=True)
    opaques = [evolve(each, function=_OfTypes(each.function, own)) for each, own in pairs]
    return evolve(tree, bank=evolve(tree.bank, opaques=opaques))
