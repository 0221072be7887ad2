"""scikit-learn's transformers, read from their fitted attributes, as operations of a recipe."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from costframe.adoption.pipelines.recipe import Recipe
from costframe.core.arrays import F8
from costframe.core.errors import AdoptionError
from costframe.core.tables.categories import OTHER, is_missing
from costframe.core.tables.operations import ELEMENTWISE

_FINITE = (-float(np.finfo(np.float64).max), float(np.finfo(np.float64).max))


def _standard(scaler: Any, columns: list[int], recipe: Recipe) -> list[int]:
    centered = recipe.apply_each("subtract", columns, scaler.mean_) if scaler.with_mean else columns
    return recipe.apply_each("divide", centered, scaler.scale_) if scaler.with_std else centered


def _robust(scaler: Any, columns: list[int], recipe: Recipe) -> list[int]:
    centered = recipe.apply_each("subtract", columns, scaler.center_) if scaler.with_centering else columns
    return recipe.apply_each("divide", centered, scaler.scale_) if scaler.with_scaling else centered


def _min_max(scaler: Any, columns: list[int], recipe: Recipe) -> list[int]:
    scaled = recipe.apply_each("add", recipe.apply_each("multiply", columns, scaler.scale_), scaler.min_)
    return _clipped(scaled, scaler.feature_range, recipe) if scaler.clip else scaled


def _max_abs(scaler: Any, columns: list[int], recipe: Recipe) -> list[int]:
    scaled = recipe.apply_each("divide", columns, scaler.scale_)
    return _clipped(scaled, (-1.0, 1.0), recipe) if getattr(scaler, "clip", False) else scaled  # since 1.8


def _clipped(columns: list[int], limits: Sequence[float], recipe: Recipe) -> list[int]:
    low, high = limits
    return recipe.apply_each("minimum", recipe.apply_each("maximum", columns, low), high)


def _binarizer(binarizer: Any, columns: list[int], recipe: Recipe) -> list[int]:
    return recipe.apply_each("greater", columns, binarizer.threshold)


def _power(transformer: Any, columns: list[int], recipe: Recipe) -> list[int]:
    if transformer.method == "box-cox":
        recipe.require_within(columns, np.nextafter(0.0, 1.0), np.finfo(np.float64).max, missing=True)
    made = recipe.apply_each(transformer.method, columns, transformer.lambdas_)
    return _standard(transformer._scaler, made, recipe) if transformer.standardize else made  # noqa: SLF001 - no other


def is_own_function(transformer: Any) -> bool:
    """Return whether a transformer is a FunctionTransformer of a function that can only be called."""
    if type(transformer).__name__ != "FunctionTransformer" or transformer.func is None:
        return False
    known = ELEMENTWISE.get(getattr(transformer.func, "__name__", ""))
    return transformer.func is not known or bool(transformer.kw_args)


def _function(transformer: Any, columns: list[int], recipe: Recipe) -> list[int] | None:
    if transformer.func is None:
        return columns
    return [recipe.apply(transformer.func.__name__, column)[0] for column in columns]


def _bins(binner: Any, columns: list[int], recipe: Recipe) -> list[int]:
    edges = zip(columns, binner.bin_edges_, strict=True)
    made = [recipe.apply("bin", column, numbers=limits[1:-1])[0] for column, limits in edges]
    return made if binner.encode == "ordinal" else _codes(binner._encoder, made, recipe)  # noqa: SLF001 - no other


def _imputer(imputer: Any, columns: list[int], recipe: Recipe) -> list[int]:
    what, key, made = "SimpleImputer", imputer.missing_values, []
    for column, value in zip(columns, imputer.statistics_.tolist(), strict=True):
        if not is_missing(value):
            made.append(recipe.replace(column, key, value, what))
        elif imputer.keep_empty_features:
            raise AdoptionError(f"{what}: fills a column with a missing value")
    return made + (_indicator(imputer.indicator_, columns, recipe) if imputer.add_indicator else [])


def _only_missing(indicator: Any, columns: list[int], recipe: Recipe) -> list[int]:
    """Refuse missing values where the rows of its fit had none, if it does so."""
    made = _indicator(indicator, columns, recipe)
    recipe.require_within(columns, *_FINITE, missing=is_missing(indicator.missing_values))
    if indicator.features == "missing-only" and indicator.error_on_new:
        full = [column for f, column in enumerate(columns) if f not in set(indicator.features_.tolist())]
        if not is_missing(indicator.missing_values):
            raise AdoptionError(
                "MissingIndicator: error_on_new=True cannot be adopted for a missing value that is a number"
            )
        recipe.require_within(full, *_FINITE, missing=False)
    return made


def _indicator(indicator: Any, columns: list[int], recipe: Recipe) -> list[int]:
    key = indicator.missing_values
    return [recipe.look_up(columns[f], [key], [1.0], 0.0, "MissingIndicator") for f in indicator.features_.tolist()]


def _polynomial(features: Any, columns: list[int], recipe: Recipe) -> list[int]:
    """Multiply from the last factor to the first, in scikit-learn's order."""
    made = []
    for powers in features.powers_ if features.n_output_features_ else ():
        *others, last = [-1, *np.repeat(columns, powers).tolist()]
        for factor in reversed(others[1:]):
            last = recipe.apply("product", last, factor)[0]
        made.append(recipe.apply("constant", numbers=1.0)[0] if last < 0 else last)
    return made


def _linear(columns: list[int], matrix: Any, offset: Any, recipe: Recipe) -> list[int]:
    """Multiply rows by a matrix, (d, width), and add an offset, (width,)."""
    dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    shift = np.broadcast_to(np.asarray(offset, np.float64), (dense.shape[1],))
    return recipe.apply("linear", *columns, numbers=np.vstack([dense, shift]))


def _pca(pca: Any, columns: list[int], recipe: Recipe) -> list[int]:
    made = _linear(columns, pca.components_.T, -(pca.mean_ @ pca.components_.T), recipe)
    if not pca.whiten:
        return made
    scale = np.sqrt(pca.explained_variance_)
    return recipe.apply_each("divide", made, np.maximum(scale, np.finfo(scale.dtype).eps))


def _ica(ica: Any, columns: list[int], recipe: Recipe) -> list[int]:
    centered = recipe.apply_each("subtract", columns, ica.mean_) if ica.whiten else columns
    return _linear(centered, ica.components_.T, 0.0, recipe)


def _components(projection: Any, columns: list[int], recipe: Recipe) -> list[int]:
    return _linear(columns, projection.components_.T, 0.0, recipe)


def _encoder(encoder: Any, columns: list[int], recipe: Recipe) -> list[int]:
    """Refuse unknown categories if the encoder does, and infinite numbers; look up all others."""
    what, closed = type(encoder).__name__, getattr(encoder, "handle_unknown", "") == "error"
    for column, known in zip(columns, encoder.categories_, strict=True):
        recipe.check_categories(column, known.tolist(), what)
        if closed:
            recipe.require_known(column, known.tolist(), what)
        elif known.dtype.kind in "iufb":
            recipe.require_within([column], *_FINITE, missing=True)
    return _codes(encoder, columns, recipe)


def _codes(encoder: Any, columns: list[int], recipe: Recipe) -> list[int]:
    """Look up what the fitted encoder itself makes of each category, and of an unknown one where it allows that.

    So infrequent and dropped categories, missing values and all other options are as it has them.
    """
    what, categories = type(encoder).__name__, [known.tolist() for known in encoder.categories_]
    allows = getattr(encoder, "handle_unknown", "") != "error"
    table = _ask(encoder, categories, unknown=allows)
    made, begin = [], 0
    for column, known, width in zip(columns, categories, _widths(encoder, table), strict=True):
        for values in table[:, begin : begin + width].T.tolist():
            default = values[-1] if allows else np.nan
            made.append(recipe.look_up(column, known, values[: len(known)], default, what))
        begin += width
    if np.dtype(getattr(encoder, "dtype", float)).itemsize < np.dtype(float).itemsize:
        recipe.mark_rounded(made)  # what later steps make of them has other last bits in the original
    return made


def _widths(encoder: Any, table: F8) -> list[int]:
    """Return the number of columns that an encoder makes of each."""
    count = len(encoder.categories_)
    widths = getattr(encoder, "_n_features_outs", None)  # of OneHotEncoder; there is no public name
    return [table.shape[1] // count] * count if widths is None else list(widths)


def _ask(encoder: Any, categories: list[list[Any]], *, unknown: bool) -> F8:
    """Return what an encoder makes of row i with category i of each column, and of unknown ones in the last row."""
    size = max(map(len, categories))
    rows = [[known[i] if i < len(known) else known[0] for known in categories] for i in range(size)]
    if unknown:
        rows.append([_unknown(known) for known in categories])
    objects = any(known.dtype.kind in "OUS" for known in encoder.categories_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that the rows lack, and of unknown categories
        made = encoder.transform(np.array(rows, object if objects else np.float64))
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made, np.float64)


def _unknown(known: list[Any]) -> Any:
    """Return a value that is no category."""
    present = [value for value in known if not is_missing(value)]
    if any(isinstance(value, str) for value in present):
        return OTHER
    return max(map(float, present), default=0.0) + 1.0


# Stands below the functions that it names.
READERS: dict[str, Callable[[Any, list[int], Recipe], list[int] | None]] = {
    "Binarizer": _binarizer,
    "FastICA": _ica,
    "FunctionTransformer": _function,
    "GaussianRandomProjection": _components,
    "IncrementalPCA": _pca,
    "KBinsDiscretizer": _bins,
    "MaxAbsScaler": _max_abs,
    "MinMaxScaler": _min_max,
    "MissingIndicator": _only_missing,
    "OneHotEncoder": _encoder,
    "OrdinalEncoder": _encoder,
    "PCA": _pca,
    "PolynomialFeatures": _polynomial,
    "PowerTransformer": _power,
    "RobustScaler": _robust,
    "SimpleImputer": _imputer,
    "SparseRandomProjection": _components,
    "StandardScaler": _standard,
    "TargetEncoder": _encoder,
    "TruncatedSVD": _components,
}
"""How each transformer is read, by the name of its class; None if its settings can only be called."""
