"""Steps of pipelines, one by one: what each does to a table, as far as it is known, else as a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from costframe.adoption.foreign import describe_error, is_of, is_unfitted, package_of
from costframe.adoption.handing import Handing
from costframe.adoption.inside import reads_numbers
from costframe.adoption.pipelines.called import CallableTransformer, makes_numbers, try_called
from costframe.adoption.pipelines.recipe import Recipe
from costframe.adoption.pipelines.table import StepTable, call_apart
from costframe.adoption.pipelines.transformers import READERS, is_own_function
from costframe.core.errors import AdoptionError

_FLOAT32 = float(np.nextafter(2.0**128 - 2.0**103, 0.0))
_HIGHEST = ((np.inf, np.inf), (1e39, float(np.finfo(np.float64).max)), (_FLOAT32, _FLOAT32))
"""Numbers to try, and the highest one that is taken where it is: any, any double, any that rounds to a float32."""


def is_pipeline(model: object) -> bool:
    """Return whether a model is scikit-learn's Pipeline, or a search that chose one, without importing it."""
    return is_of(getattr(model, "best_estimator_", model), "sklearn", "Pipeline")


def read_transformer(transformer: Any, table: StepTable, recipe: Recipe, title: str = "") -> StepTable:
    """Add what a transformer does to a table to a recipe; return the table that it makes."""
    if transformer is None or isinstance(transformer, str):
        return table.take([]) if transformer == "drop" else table
    title = title or type(transformer).__name__
    if is_unfitted(transformer):
        raise AdoptionError(f"{title}: {type(transformer).__name__} is not fitted")
    refuse_lists(transformer, title)
    if type(transformer).__name__ == "Pipeline" and is_pipeline(transformer):
        for step, part in active(transformer.steps):
            table = read_transformer(part, table, recipe, step)
        return table
    if not hasattr(transformer, "transform"):
        raise AdoptionError(
            f"{title}: {type(transformer).__name__} has no transform, and costframe does not know what it does at "
            "prediction; costframe.adopt(model, features=[...]) takes the model as one opaque learner"
        )
    return _read_step(transformer, table, recipe, title)


def active(steps: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the steps that do something at prediction: imbalanced-learn's samplers do nothing."""
    return [(title, step) for title, step in steps if not hasattr(step, "fit_resample")]


def _read_step(transformer: Any, table: StepTable, recipe: Recipe, title: str) -> StepTable:
    name = type(transformer).__name__ if package_of(type(transformer)) == "sklearn" else ""
    if table.is_pending:
        return _call(transformer, table, recipe, title)
    if name == "ColumnTransformer":
        return _read_columns(transformer, table, recipe).after(table, transformer)
    if name == "FeatureUnion":
        weights = transformer.transformer_weights or {}
        parts = [
            _weigh(read_transformer(step, table, recipe, part), weights.get(part), recipe)
            for part, step in transformer.transformer_list
        ]
        whole = StepTable.join(parts, recipe, as_sparse=any(part.form is not None for part in parts))
        return whole.after(table, transformer)
    if name and hasattr(transformer, "get_support"):
        refuse_as(transformer, "transform", table.values, table.form, recipe)
        taken = table.take(transformer.get_support(indices=True))
        return taken.after(table, transformer)
    made = None
    if name in READERS and not is_own_function(transformer):
        if not hasattr(transformer, "categories_") and name != "MissingIndicator":
            refuse_as(transformer, "transform", table.values, table.form, recipe)
        made = table.made_by(name, lambda columns: _read(name, transformer, columns, recipe), transformer, recipe)
    return _call(transformer, table, recipe, title) if made is None else made.after(table, transformer)


def _read(name: str, transformer: Any, columns: list[int], recipe: Recipe) -> list[int] | None:
    try:
        return READERS[name](transformer, columns, recipe)
    except AttributeError as error:  # some parts have no public name
        raise AdoptionError(f"{name}: {error}; this version of scikit-learn may keep it elsewhere") from error


def refuse_as(model: Any, method: str, columns: list[int], form: Callable[..., Any] | None, recipe: Recipe) -> None:
    """Refuse NaN, infinite and large numbers in the columns that a fitted model reads, as far as its method does.

    The method itself is asked, about rows of one number, sparse ones if it reads such.
    """

    def takes(value: float) -> bool:
        row: Any = np.full((1, len(columns)), value)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                getattr(model, method)(Handing.of(model, len(columns)).hand(row) if form is None else form(row))
        except Exception:  # noqa: BLE001 - whatever its class raises
            return False
        return True

    if not takes(1.0):
        return
    missing, high = takes(np.nan), next((high for tried, high in _HIGHEST if takes(tried)), np.inf)
    if high < np.inf or not missing:
        recipe.require_within(columns, -high, high, missing=missing)


def refuse_lists(transformer: Any, title: str) -> None:
    """Refuse vectorizers, which take a list of texts or of dicts in place of a table."""
    known = (base for base in type(transformer).__mro__ if base.__module__.startswith("sklearn.feature_extraction"))
    if any("Vectorizer" in base.__name__ or base.__name__ == "FeatureHasher" for base in known):
        raise AdoptionError(
            f"{title}: {type(transformer).__name__} takes a list of texts or dicts, no table, and cannot be adopted; "
            "make its columns of numbers yourself, and adopt the steps that read these"
        )


def _read_columns(transformer: Any, table: StepTable, recipe: Recipe) -> StepTable:
    made, weights = list[StepTable](), transformer.transformer_weights or {}
    names = list(getattr(transformer, "feature_names_in_", ()))
    for name, part, chosen in transformer.transformers_:
        some = table.take(_find_places(chosen, names, len(table.values)))
        refuse_lists(part.steps[0][1] if hasattr(part, "steps") else part, name)
        if some.values and isinstance(chosen, str | int) and not isinstance(part, str):
            raise AdoptionError(
                f"ColumnTransformer: {name!r} takes {chosen!r} as a list of values; it must be a table, [{chosen!r}]"
            )
        if some.values:
            made.append(_weigh(read_transformer(part, some, recipe, name), weights.get(name), recipe))
    return StepTable.join(made, recipe, as_sparse=transformer.sparse_output_)


def _find_places(chosen: Any, names: list[str], count: int) -> list[int]:
    """Return the places of columns that are chosen by names, numbers, a mask, or a slice of names or numbers."""
    if isinstance(chosen, slice):
        start, stop = chosen.start, chosen.stop
        first = names.index(start) if isinstance(start, str) else start
        end = names.index(stop) + 1 if isinstance(stop, str) else stop
        return list(range(count)[first : end : chosen.step])
    listed = [chosen] if isinstance(chosen, str) or np.ndim(chosen) == 0 else list(chosen)
    if listed and all(isinstance(choice, bool | np.bool_) for choice in listed):
        return np.flatnonzero(listed).tolist()
    return [names.index(choice) if isinstance(choice, str) else range(count)[choice] for choice in listed]


def _weigh(table: StepTable, weight: float | None, recipe: Recipe) -> StepTable:
    return (
        table if weight is None else table.map_columns(lambda columns: recipe.apply_each("multiply", columns, weight))
    )


def _call(transformer: Any, table: StepTable, recipe: Recipe, title: str) -> StepTable:
    """Call a transformer: with the columns before it as numbers if it reads these, else with raw columns as they came.

    In the second case the steps before it are called, too, so that it gets what they make of them.
    """
    if not table.is_pending and (reads_numbers(transformer) or _gets_doubles(table)):
        recipe.refuse_texts(table.values, title)
        try:
            width = len(transformer.get_feature_names_out())
        except (AttributeError, ValueError, TypeError, NotImplementedError):
            width = _count_made(transformer, table, title)
        return table.called(title, transformer, width, recipe).after(table, transformer, is_float=True)
    came = table.came
    names = tuple(recipe.names[f] for f in came.raw)
    function, made = try_called(came.called(transformer), names, recipe.known, title)
    if not makes_numbers(made):
        return StepTable([], [], came=came.then(transformer), is_pending=True)
    reads, width = recipe.give(came.raw), made.shape[1] if np.ndim(made) == 2 else np.size(made)
    return call_apart(title, function, reads, width, made, recipe).after(table, transformer, is_float=False)


def _gets_doubles(table: StepTable) -> bool:
    """Return whether another library's transformer, or a function, gets the recipe's columns as an array of doubles."""
    steps = table.came.steps
    keeps_arrays = [package_of(type(step)) in {"sklearn", "costframe"} and not _makes_frames(step) for step in steps]
    return table.form is not None or (table.is_float and bool(steps) and all(keeps_arrays))


def _makes_frames(step: Any) -> bool:
    """Return whether a step makes data frames of what it gets."""
    from sklearn import get_config

    output = getattr(step, "_sklearn_output_config", {}).get("transform") or get_config()["transform_output"]
    return bool(output != "default")


def _count_made(transformer: Any, table: StepTable, title: str) -> int:
    """Return the number of columns that a transformer makes of a row of zeros."""
    function = CallableTransformer.of(transformer, len(table.values), table.form)
    count = len(table.values) * (1 + (table.form is not None))
    try:
        return len(function(np.zeros((1, count))).T)
    except Exception as error:
        raise AdoptionError(f"{title}: cannot be called with a row of numbers: {describe_error(error)}") from error
