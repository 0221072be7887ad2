"""Models that read sparse tables: what is not stored is zero to most of them, missing to XGBoost's trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike

from costframe.adoption.foreign import is_unfitted
from costframe.adoption.inside import inner_of
from costframe.adoption.pipelines.called import store
from costframe.adoption.xgboost import has_trees, is_xgboost
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.tables.restored_rows import ReadsNumbers


@frozen(eq=False)
class _SparseFunction(ReadsNumbers):
    """An opaque learner's function of a sparse table as a function of rows, float64 (rows, d)."""

    function: Callable[[Any], ArrayLike]
    form: Callable[..., Any]
    hidden: bool  # whether NaN stands for what is not stored, else zero

    def __call__(self, rows: F8) -> ArrayLike:
        return self.function(store(rows, ~np.isnan(rows) if self.hidden else rows != 0, self.form))


def read_sparse(predictor: Predictor, form: Callable[..., Any], *, hidden: bool) -> Predictor:
    """Let the opaque learners of a predictor read sparse tables, as their models did when they were fitted."""
    if not isinstance(predictor, StageTree) or not predictor.bank.opaques:
        return predictor
    opaques = [
        evolve(learner, function=_SparseFunction(learner.function, form, hidden)) for learner in predictor.bank.opaques
    ]
    return evolve(predictor, bank=evolve(predictor.bank, opaques=opaques))


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
    inside = _list_readers(model)
    if not inside:
        yield model
    for part in inside:
        if id(part) not in seen:
            seen.add(id(part))
            yield from _row_readers(part, seen)


def _list_readers(model: Any) -> list[Any]:
    """Return the fitted models in the attributes of a model, but those that read what others predict."""
    if is_xgboost(model) or not hasattr(model, "__dict__"):
        return []
    if hasattr(model, "steps"):
        return [step for _, step in model.steps if step is not None and not isinstance(step, str)]
    others = {"calibrators"} if getattr(model, "passthrough", False) else {"calibrators", "final_estimator_"}
    return list(_find_fitted(value for name, value in vars(model).items() if name not in others))


def _find_fitted(values: Iterable[Any]) -> Iterator[Any]:
    """Return the fitted models among values, those in lists, arrays and mappings included."""
    for value in values:
        if isinstance(value, Mapping):
            yield from _find_fitted(value.values())
        elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
            yield from _find_fitted(value)
        elif (hasattr(value, "predict") or hasattr(value, "predict_proba")) and not (
            isinstance(value, type) or is_unfitted(value)
        ):
            yield value
