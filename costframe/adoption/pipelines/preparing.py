"""scikit-learn's transformers as data: pipelines, column transformers, unions, selections, and all others.

A transformer that is not known here is called, as an opaque operation of all its columns.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.adoption.adopted import choose_names
from costframe.adoption.given.refitting import describe, is_unfitted
from costframe.adoption.pipelines.recipe import Recipe
from costframe.adoption.pipelines.sparse import CallableTransformer, Table, framed
from costframe.adoption.pipelines.transformers import READERS
from costframe.core.errors import AdoptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from costframe.core.tables.preparation import Preparation

__all__ = ["is_transformer", "name_columns", "prepare", "read_transformer", "refuse_as"]

_FLOAT32 = float(np.nextafter(2.0**128 - 2.0**103, 0.0))
_HIGHEST = ((np.inf, np.inf), (1e39, float(np.finfo(np.float64).max)), (_FLOAT32, _FLOAT32))
"""Numbers to try, and the highest one that is taken where it is: any, any double, any that rounds to a float32."""


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
    recipe = Recipe(names)
    outputs = read_transformer(transformer, Table.dense(list(range(len(names)))), recipe).values
    return recipe.finish(outputs, name_columns(transformer, names, len(outputs)))


def raw_names(transformer: Any, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns that a fitted transformer, or a pipeline, takes."""
    title = type(transformer).__name__
    if is_unfitted(transformer):
        raise AdoptionError(f"{title}: is not fitted; fit it before its columns are read")
    _refuse_lists(transformer.steps[0][1] if hasattr(transformer, "steps") else transformer, title)
    own = getattr(transformer, "feature_names_in_", None)
    count = getattr(transformer, "n_features_in_", None)
    if count is None and feature_names is None:
        raise AdoptionError(f"{title}: does not tell the number of its columns; give feature_names")
    return choose_names(feature_names, own, len(list(feature_names or ())) if count is None else count, title)


def name_columns(transformer: Any, names: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the names of the columns that a transformer makes: its own if they are all different, else m0, m1, ..."""
    given = None if getattr(transformer, "feature_names_in_", None) is not None else np.array(names, object)
    try:
        found = tuple(map(str, transformer.get_feature_names_out(given)))
    except (AttributeError, ValueError, TypeError, NotImplementedError):  # a step has no names to give
        found = ()
    return found if len(found) == len(set(found)) == count else tuple(f"m{place}" for place in range(count))


def read_transformer(transformer: Any, table: Table, recipe: Recipe, title: str = "") -> Table:
    """Add what a transformer does to a table to a recipe; return the table that it makes."""
    if transformer is None or isinstance(transformer, str):
        return table.take([]) if transformer == "drop" else table
    name = type(transformer).__name__ if type(transformer).__module__.split(".")[0] == "sklearn" else ""
    title = title or type(transformer).__name__
    if is_unfitted(transformer):
        raise AdoptionError(f"{title}: {type(transformer).__name__} is not fitted")
    _refuse_lists(transformer, title)
    if name == "Pipeline":
        for step, part in transformer.steps:
            table = read_transformer(part, table, recipe, step)
        return table
    if name == "ColumnTransformer":
        return _read_columns(transformer, table, recipe)
    if name == "FeatureUnion":
        weights = transformer.transformer_weights or {}
        parts = [
            _weighted(read_transformer(one, table, recipe, part), weights.get(part), recipe)
            for part, one in transformer.transformer_list
        ]
        return Table.join(parts, recipe, as_sparse=any(part.form is not None for part in parts))
    if name and hasattr(transformer, "get_support"):
        refuse_as(transformer, "transform", table.values, table.form, recipe)
        return table.take(transformer.get_support(indices=True))
    made = None
    if name in READERS:
        if not hasattr(transformer, "categories_") and name != "MissingIndicator":
            refuse_as(transformer, "transform", table.values, table.form, recipe)
        made = table.made_by(name, lambda columns: READERS[name](transformer, columns, recipe), transformer, recipe)
    return _call(transformer, table, recipe, title) if made is None else made


def refuse_as(model: Any, method: str, columns: list[int], form: Callable[..., Any] | None, recipe: Recipe) -> None:
    """Refuse NaN, infinite and large numbers in the columns that a fitted model reads, as far as its method does.

    The method itself is asked, about rows of one number, sparse ones if it reads such.
    """

    def takes(value: float) -> bool:
        row: Any = np.full((1, len(columns)), value)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                getattr(model, method)(framed(model, row if form is None else form(row)))
        except Exception:  # noqa: BLE001 - whatever its class raises
            return False
        return True

    if not takes(1.0):
        return
    missing, high = takes(np.nan), next((high for tried, high in _HIGHEST if takes(tried)), np.inf)
    if high < np.inf or not missing:
        recipe.require_within(columns, -high, high, missing=missing)


def _refuse_lists(transformer: Any, title: str) -> None:
    """Refuse vectorizers, which take a list of texts or of dicts in place of a table."""
    known = (base for base in type(transformer).__mro__ if base.__module__.startswith("sklearn.feature_extraction"))
    if any("Vectorizer" in base.__name__ or base.__name__ == "FeatureHasher" for base in known):
        raise AdoptionError(
            f"{title}: {type(transformer).__name__} takes a list of texts or dicts, no table, and cannot be adopted; "
            "make its columns of numbers yourself, and adopt the steps that read these"
        )


def _read_columns(transformer: Any, table: Table, recipe: Recipe) -> Table:
    made, weights = list[Table](), transformer.transformer_weights or {}
    names = list(getattr(transformer, "feature_names_in_", ()))
    for name, part, chosen in transformer.transformers_:
        some = table.take(_places(chosen, names, len(table.values)))
        _refuse_lists(part.steps[0][1] if hasattr(part, "steps") else part, name)
        if some.values and isinstance(chosen, str | int) and not isinstance(part, str):
            raise AdoptionError(
                f"ColumnTransformer: {name!r} takes {chosen!r} as a list of values; it must be a table, [{chosen!r}]"
            )
        if some.values:
            made.append(_weighted(read_transformer(part, some, recipe, name), weights.get(name), recipe))
    return Table.join(made, recipe, as_sparse=transformer.sparse_output_)


def _places(chosen: Any, names: list[str], count: int) -> list[int]:
    """Return the places of columns that are chosen by names, numbers, a mask, or a slice of names or numbers."""
    if isinstance(chosen, slice):
        start, stop = chosen.start, chosen.stop
        first = names.index(start) if isinstance(start, str) else start
        end = names.index(stop) + 1 if isinstance(stop, str) else stop
        return list(range(count)[first : end : chosen.step])
    listed = [chosen] if isinstance(chosen, str) or np.ndim(chosen) == 0 else list(chosen)
    if listed and all(isinstance(each, bool | np.bool_) for each in listed):
        return np.flatnonzero(listed).tolist()
    return [names.index(each) if isinstance(each, str) else range(count)[each] for each in listed]


def _weighted(table: Table, weight: float | None, recipe: Recipe) -> Table:
    return table if weight is None else table.each(lambda columns: recipe.apply_each("multiply", columns, weight))


def _call(transformer: Any, table: Table, recipe: Recipe, title: str) -> Table:
    recipe.refuse_texts(table.values, title)
    try:
        width = len(transformer.get_feature_names_out())
    except (AttributeError, ValueError, TypeError, NotImplementedError):
        width = _count_made(transformer, table, title)
    return table.called(title, transformer, width, recipe)


def _count_made(transformer: Any, table: Table, title: str) -> int:
    """Return the number of columns that a transformer makes of a row of zeros."""
    function, count = CallableTransformer(transformer, table.form), len(table.values) * (1 + (table.form is not None))
    try:
        return len(function(np.zeros((1, count))).T)
    except Exception as error:
        raise AdoptionError(f"{title}: cannot be called with a row of numbers: {describe(error)}") from error
