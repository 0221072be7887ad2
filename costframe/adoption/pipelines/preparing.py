"""scikit-learn's transformers as data: pipelines, column transformers, unions, selections, and all others.

A transformer that is not known here is called, as an opaque operation of all its columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from costframe.adoption.adopted import choose_names
from costframe.adoption.given.refitting import as_frame, describe, is_unfitted
from costframe.adoption.pipelines.recipe import Recipe
from costframe.adoption.pipelines.transformers import READERS
from costframe.core.errors import AdoptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.tables.preparation import Preparation

__all__ = ["is_transformer", "name_columns", "prepare", "read_transformer"]


def is_transformer(value: object) -> bool:
    """Return whether a value has the interface of scikit-learn's transformers."""
    return hasattr(value, "fit") and hasattr(value, "transform") and not isinstance(value, type)


def prepare(transformer: Any, feature_names: Sequence[str] | None = None) -> Preparation:
    """Return a fitted transformer as data: the columns that it makes, and from which raw columns.

    It makes what the original makes of float64 and of texts, but for the rounding of linear maps. None and NaN are one
    missing value; a category that the original refuses becomes NaN.

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
    recipe = Recipe(names)
    outputs = read_transformer(transformer, list(range(len(names))), recipe)
    return recipe.finish(outputs, name_columns(transformer, names, len(outputs)))


def raw_names(transformer: Any, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns that a fitted transformer, or a pipeline, takes."""
    title = type(transformer).__name__
    if is_unfitted(transformer):
        raise AdoptionError(f"{title}: is not fitted; fit it before its columns are read")
    own = getattr(transformer, "feature_names_in_", None)
    count = getattr(transformer, "n_features_in_", None)
    if count is None and feature_names is None:
        raise AdoptionError(f"{title}: does not tell the number of its columns; give feature_names")
    return choose_names(feature_names, own, len(list(feature_names or ())) if count is None else count, title)


def name_columns(transformer: Any, names: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the names of the columns that a transformer makes, its own where it has any, else m0, m1, ..."""
    given = None if getattr(transformer, "feature_names_in_", None) is not None else np.array(names, object)
    try:
        found = tuple(map(str, transformer.get_feature_names_out(given)))
    except (AttributeError, ValueError, TypeError, NotImplementedError):  # a step has no names to give
        return tuple(f"m{place}" for place in range(count))
    if len(found) != count or len(set(found)) < count:
        raise AdoptionError(
            f"{type(transformer).__name__}: makes {count} columns, expected as many different names, got {len(found)}: "
            f"{', '.join(found[:6])}"
        )
    return found


def read_transformer(transformer: Any, columns: list[int], recipe: Recipe, title: str = "") -> list[int]:
    """Add what a transformer does to columns to a recipe; return the columns that it makes."""
    if transformer is None or isinstance(transformer, str):
        return [] if transformer == "drop" else columns
    name = type(transformer).__name__ if type(transformer).__module__.split(".")[0] == "sklearn" else ""
    title = title or type(transformer).__name__
    if is_unfitted(transformer):
        raise AdoptionError(f"{title}: {type(transformer).__name__} is not fitted")
    if name == "Pipeline":
        for step, part in transformer.steps:
            columns = read_transformer(part, columns, recipe, step)
        return columns
    if name == "ColumnTransformer":
        return _read_columns(transformer, columns, recipe)
    if name == "FeatureUnion":
        weights = transformer.transformer_weights or {}
        return [
            column
            for part, one in transformer.transformer_list
            for column in _weighted(read_transformer(one, columns, recipe, part), weights.get(part), recipe)
        ]
    if name and hasattr(transformer, "get_support"):
        return [columns[f] for f in transformer.get_support(indices=True)]
    made = READERS[name](transformer, columns, recipe) if name in READERS else None
    return _call(transformer, columns, recipe, title) if made is None else made


def _read_columns(transformer: Any, columns: list[int], recipe: Recipe) -> list[int]:
    made, weights = list[int](), transformer.transformer_weights or {}
    places = transformer._transformer_to_input_indices  # noqa: SLF001 - the public columns may be masks or slices
    for name, part, chosen in transformer.transformers_:
        some = [columns[place] for place in places[name]]
        if some and isinstance(chosen, str | int) and not isinstance(part, str):
            raise AdoptionError(
                f"ColumnTransformer: {name!r} takes {chosen!r} as a list of values; it must be a table, [{chosen!r}]"
            )
        if some:
            made += _weighted(read_transformer(part, some, recipe, name), weights.get(name), recipe)
    return made


def _weighted(columns: list[int], weight: float | None, recipe: Recipe) -> list[int]:
    return columns if weight is None else recipe.apply_each("multiply", columns, weight)


def _call(transformer: Any, columns: list[int], recipe: Recipe, title: str) -> list[int]:
    recipe.refuse_texts(columns, title)
    function = CallableTransformer(transformer)
    try:
        width = len(transformer.get_feature_names_out())
    except (AttributeError, ValueError, TypeError, NotImplementedError):
        width = _count_made(function, len(columns), title)
    return recipe.call(title, function, columns, width)


def _count_made(function: CallableTransformer, count: int, title: str) -> int:
    """Return the number of columns that a function makes of a row of zeros."""
    try:
        return len(function(np.zeros((1, count))).T)
    except Exception as error:
        raise AdoptionError(f"{title}: cannot be called with a row of numbers: {describe(error)}") from error


@frozen(eq=False)
class CallableTransformer:
    """A fitted transformer as a picklable function of rows, float64 (rows, d), to float64 (rows, width)."""

    transformer: Any

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Transform rows; a transformer with feature names gets a frame."""
        names = getattr(self.transformer, "feature_names_in_", None)
        made = self.transformer.transform(rows if names is None else as_frame(rows, names))
        return np.asarray(made.toarray() if hasattr(made, "toarray") else made, np.float64)
