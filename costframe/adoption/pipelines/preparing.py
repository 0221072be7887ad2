"""A fitted transformer as data: the columns that it makes, and from which raw columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from attrs import evolve

from costframe.adoption.examples import collect_values
from costframe.adoption.foreign import is_unfitted
from costframe.adoption.names import choose_names
from costframe.adoption.pipelines.recipe import Recipe
from costframe.adoption.pipelines.steps import read_transformer, refuse_lists
from costframe.adoption.pipelines.table import Came, StepTable
from costframe.core.errors import AdoptionError
from costframe.core.tables.preparation import Preparation

Read = TypeVar("Read")


def is_transformer(value: object) -> bool:
    """Return whether a value has the interface of scikit-learn's transformers."""
    return hasattr(value, "fit") and hasattr(value, "transform") and not isinstance(value, type)


def prepare(transformer: Any, feature_names: Sequence[str] | None = None) -> Preparation:
    """Return a fitted transformer as data: the columns that it makes, and from which raw columns.

    It makes what the original makes of float64 and of texts, but for the rounding of linear maps, and refuses values
    that the original refuses. None and NaN are one missing value.

    Parameters
    ----------
    transformer : fitted scikit-learn transformer
    feature_names : sequence of str, optional
        Raw columns by position. By default the names from its fit, else f0, f1, ...

    Raises
    ------
    AdoptionError
        If it is not fitted, or a part of it cannot be read; the text names the part.
    """
    names = raw_names(transformer, feature_names)

    def read(recipe: Recipe) -> Preparation:
        table = read_transformer(transformer, raw_table(transformer, recipe), recipe)
        if table.is_pending:
            raise AdoptionError(f"{type(transformer).__name__}: makes other values than numbers, or float32")
        return recipe.finish(table.values, name_columns(transformer, names, len(table.values)))

    return read_raw(transformer, names, read)


def raw_names(transformer: Any, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns that a fitted transformer, or a pipeline, takes."""
    title = type(transformer).__name__
    if is_unfitted(transformer):
        raise AdoptionError(f"{title}: is not fitted; fit it before its columns are read")
    refuse_lists(transformer.steps[0][1] if hasattr(transformer, "steps") else transformer, title)
    fitted_names = getattr(transformer, "feature_names_in_", None)
    count = getattr(transformer, "n_features_in_", None)
    if count is None and feature_names is None:
        raise AdoptionError(f"{title}: does not tell the number of its columns; give feature_names")
    return choose_names(feature_names, fitted_names, len(list(feature_names or ())) if count is None else count, title)


def own_names(transformer: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names with which a transformer, or a pipeline, was fitted, else those given."""
    fitted = getattr(transformer, "feature_names_in_", ())
    return tuple(map(str, fitted)) if len(fitted) == len(names) else names


def read_raw(transformer: Any, names: tuple[str, ...], read: Callable[[Recipe], Read]) -> Read:
    """Return what `read` makes of a recipe over the raw columns of a transformer, or of a pipeline.

    It reads again where foreign code turns out to take raw columns as they came, for known steps read the same columns
    as numbers.
    """
    fitted_names = own_names(transformer, names)
    values = collect_values(transformer, fitted_names)
    known = {name: values[old] for old, name in zip(fitted_names, names, strict=True) if old in values}
    given: set[int] = set()
    while True:
        recipe = Recipe(names, given, known)
        made = read(recipe)
        if recipe.given <= given:
            return made
        given |= recipe.given


def raw_table(transformer: Any, recipe: Recipe) -> StepTable:
    """Return the table of the raw columns, which a transformer, or a pipeline, takes with the names of its fit."""
    named = getattr(transformer, "feature_names_in_", None) is not None
    names = own_names(transformer, recipe.names) if named else None
    return evolve(StepTable.dense(recipe.raw), came=Came(tuple(range(len(recipe.names))), names))


def name_columns(transformer: Any, names: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the names of the columns that a transformer makes: its own if they are all different, else m0, m1, ..."""
    given = None if getattr(transformer, "feature_names_in_", None) is not None else np.array(names, object)
    try:
        made = tuple(map(str, transformer.get_feature_names_out(given)))
    except (AttributeError, ValueError, TypeError, NotImplementedError):  # a step has no names to give
        made = ()
    return made if len(made) == len(set(made)) == count else tuple(f"m{place}" for place in range(count))
