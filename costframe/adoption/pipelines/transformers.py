"""scikit-learn's transformers, read from their fitted attributes, as operations of a recipe."""

from __future__ import annotations

import warnings
from itertools import accumulate, count
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from costframe.core.errors import AdoptionError, shown
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import ONLY, OTHER, is_missing
from costframe.core.tables.operations import CHECKS, ELEMENTWISE, Operation
from costframe.core.tables.preparation import OpaqueOperation, Preparation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray


class Recipe:
    """Operations over raw columns, in order; columns are numbers, as in `Preparation`."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._operations: list[Operation | OpaqueOperation] = []
        self._size = len(names)
        self._made: dict[tuple[Any, ...], list[int]] = {}  # equal operations make the same columns
        self._own: dict[int, Any] = {}  # of raw columns whose texts a model numbers without a list
        self._labels: dict[int, dict[str, int]] = {}  # of columns with texts; imputed ones share those of their origin
        self._extremes: dict[int, NDArray[np.float64]] = {}  # of columns of limited values, with NaN if it may come
        self._rounded = set[int]()  # columns whose last bits are not the original's
        self._filled = set[int]()  # columns without missing values
        self._closed: list[dict[str, int]] = []  # labels of columns whose other texts are refused

    def apply(self, kind: str, *reads: int, numbers: ArrayLike = ()) -> list[int]:
        """Add an operation, and return the columns that it makes."""
        if kind not in {"lookup", "replace", *CHECKS}:
            self.refuse_texts(reads, kind)
        operation = Operation(kind, reads, numbers)
        key = (kind, reads, operation.numbers.tobytes())
        if key not in self._made:
            self._made[key] = self._add(operation)
            if kind == "linear" or (self._rounded.intersection(reads) and kind not in {"bin", "greater", "lookup"}):
                self._rounded.update(self._made[key])
        return self._made[key]

    def apply_each(self, kind: str, columns: Sequence[int], numbers: ArrayLike) -> list[int]:
        """Apply an operation of one column and one number to each column."""
        every = np.broadcast_to(np.asarray(numbers, np.float64), (len(columns),)).tolist()
        return [self.apply(kind, column, numbers=number)[0] for column, number in zip(columns, every, strict=True)]

    def look_up(self, column: int, keys: Iterable[Any], values: Iterable[float], default: float, what: str) -> int:
        """Make a column with a value for each key, a number, text or missing value, and a default for all others."""
        numbers = self._as_numbers(column, keys, what)
        table = _as_table(numbers, values, what)
        made = self.apply("lookup", column, numbers=[default, *table])[0]
        self._extremes[made] = np.array([default, *table[len(table) // 2 :]])
        return made

    def mark_rounded(self, columns: Iterable[int]) -> None:
        """Note that the last bits of what is made of some columns are not the original's."""
        self._rounded.update(columns)

    def check_categories(self, column: int, keys: Iterable[Any], what: str) -> None:
        """Refuse to tell categories of a column by values that are not the original's to the last bit, or are lost."""
        if column in self._rounded:
            raise AdoptionError(
                f"{what}: categories of numbers that a linear map, or an encoder of dtype float32, makes would depend "
                "on their last bits"
            )
        if column in self._filled and any(map(is_missing, keys)):
            raise AdoptionError(
                f"{what}: met None where SimpleImputer had filled NaN, but both are one missing value here; "
                "fit them to a table without None, or with missing_values=None"
            )

    def require_known(self, column: int, keys: Iterable[Any], what: str) -> None:
        """Refuse all values of a column but some, numbers, texts or a missing value."""
        numbers = np.array(self._as_numbers(column, keys, what))
        self.apply("known", column, numbers=np.unique(numbers))
        if column in self._labels:
            self._closed.append(self._labels[column])

    def require_within(self, columns: Iterable[int], low: float, high: float, *, missing: bool) -> None:
        """Refuse numbers below a lowest or above a highest one in some columns, and NaN if it is not allowed."""
        limits = np.array([low, high, missing])
        for column in (each for each in columns if each not in self._own):  # others have texts as they are
            extremes = self._extremes.get(column)  # a check that can refuse nothing is left out
            if extremes is None or CHECKS["within"](extremes, limits) is not None:
                self.apply("within", column, numbers=limits)
                self._extremes[column] = np.array([low, high, *([np.nan] if missing else [])])

    def replace(self, column: int, key: Any, value: Any, what: str) -> int:
        """Make a column with a value, a number or a text, in place of a key, and all others as they are."""
        if is_missing(value):
            raise AdoptionError(f"{what}: expected a value in place of {shown(key)}, got a missing one")
        text = isinstance(value, str) or isinstance(key, str)
        numbers = self._as_numbers(column, [value, key] if text else [key], what)
        new = numbers[0] if text else float(value)
        made = self.apply("replace", column, numbers=_as_table(numbers[-1:], [new], what))[0]
        if column in self._labels:
            self._labels[made] = self._labels[column]
        if is_missing(key):
            self._filled.add(made)
            if column in self._extremes:
                before = self._extremes[column]
                self._extremes[made] = np.append(before[~np.isnan(before)], new)
        return made

    def hide_zeros(self, columns: Sequence[int]) -> list[int]:
        """Make columns with NaN in place of zeros."""
        made = [self.apply("replace", column, numbers=[0.0, np.nan])[0] for column in columns]
        known = zip(made, columns, strict=True)
        self._extremes |= {new: np.append(self._extremes[old], np.nan) for new, old in known if old in self._extremes}
        return made

    def call(self, name: str, function: Callable[..., Any], reads: Sequence[int], width: int) -> list[int]:
        """Add an opaque operation, and return the columns that it makes."""
        return self._add(OpaqueOperation(name, function, tuple(reads), width))

    def refuse_texts(self, reads: Iterable[int], what: str) -> None:
        """Refuse columns with texts, where numbers are read."""
        for column in reads:
            if column in self._labels:
                raise AdoptionError(
                    f"{what}: reads {self._title(column)}, whose values are texts; only encoders and SimpleImputer can"
                )

    def renumber(self, column: int, labels: Any, what: str) -> int:
        """Make a column with the numbers that a model gives to texts: the positions of labels, NaN for other texts.

        Labels that are no tuple, such as hashes of all texts, become those of the raw column. A column that has been
        made or read as a number before is one also for those who take texts as they are.
        """
        if (
            isinstance(labels, AsGiven)
            and column not in self._labels
            and (column >= len(self.names) or self._reads(column))
        ):
            return column
        if isinstance(labels, tuple):
            return self.look_up(column, labels, range(len(labels)), np.nan, what)
        if column >= len(self.names) or self._own.setdefault(column, labels) != labels:
            raise AdoptionError(f"{what}: expected texts of a raw column as they are")
        self.refuse_texts([column], what)
        return column

    def finish(self, outputs: Sequence[int], names: Sequence[str]) -> Preparation:
        """Return the preparation that makes some columns, by the operations that they need."""
        listed = {
            f: (*labels, ONLY if any(labels is each for each in self._closed) else OTHER)
            for f, labels in self._labels.items()
            if f < len(self.names)
        }
        categories = {self.names[f]: labels for f, labels in (listed | self._own).items()}
        return Preparation(self.names, *self._needed(outputs), tuple(names), categories)

    def _needed(self, outputs: Sequence[int]) -> tuple[list[Operation | OpaqueOperation], list[int]]:
        """Return the operations behind some columns, with different names of opaque ones, and the columns' places."""
        first = list(accumulate((each.width for each in self._operations), initial=len(self.names)))
        wanted, kept = set(outputs), list[int]()
        for number in reversed(range(len(self._operations))):
            if not wanted.isdisjoint(range(first[number], first[number + 1])):
                kept.append(number)
                wanted.update(self._operations[number].reads)
        checks = (number for number, each in enumerate(self._operations) if not each.width and each.reads[0] in wanted)
        kept = sorted([*kept, *checks], reverse=True)
        place = {column: column for column in range(len(self.names))}
        needed, titles = list[Operation | OpaqueOperation](), set[str]()
        for number in reversed(kept):
            operation = self._operations[number]
            if isinstance(operation, OpaqueOperation):
                operation = evolve(operation, name=_free(operation.name, titles))
                titles.add(operation.name)
            needed.append(evolve(operation, reads=[place[column] for column in operation.reads]))
            for column in range(first[number], first[number + 1]):
                place[column] = len(place)
        return needed, [place[column] for column in outputs]

    def _reads(self, column: int) -> bool:
        return any(column in operation.reads for operation in self._operations)

    def _add(self, operation: Operation | OpaqueOperation) -> list[int]:
        self._operations.append(operation)
        self._size += operation.width
        return list(range(self._size - operation.width, self._size))

    def _as_numbers(self, column: int, values: Iterable[Any], what: str) -> list[float]:
        """Return categories as numbers: those of labels, which become known here, and NaN for a missing one."""
        given = list(values)
        present = [value for value in given if not is_missing(value)]
        texts = sum(isinstance(value, str) for value in present)
        alike = texts == len(present) if texts or column in self._labels else all(map(_is_number, present))
        if present and not alike:
            raise AdoptionError(f"{what}: categories of {self._title(column)} are neither all texts nor all numbers")
        if texts and column >= len(self.names) and column not in self._labels:
            raise AdoptionError(f"{what}: expected numbers in {self._title(column)}, got texts")
        if not texts:
            return [np.nan if is_missing(value) else float(value) for value in given]
        labels = self._labels.setdefault(column, {})
        return [np.nan if is_missing(value) else labels.setdefault(str(value), len(labels)) for value in given]

    def _title(self, column: int) -> str:
        return f"column {self.names[column]!r}" if column < len(self.names) else "a column made before"


def _free(name: str, titles: Collection[str]) -> str:
    """Return a name that is not taken: the given one, or "name 2" and so on."""
    return next(title for n in count(1) if (title := name if n == 1 else f"{name} {n}") not in titles)


def _is_number(value: object) -> bool:
    return isinstance(value, Real | np.bool_)


def _as_table(keys: Sequence[float], values: Iterable[float], what: str) -> NDArray[np.float64]:
    """Return different keys, ascending with NaN last, and their values; refuse one key with two values."""
    table = np.array([keys, list(values)], np.float64)
    table = table[:, np.argsort(table[0], kind="stable")]
    different = np.append(True, table[0, 1:] != table[0, :-1]) & ~(
        np.isnan(table[0]) & (np.cumsum(np.isnan(table[0])) > 1)
    )
    if not np.array_equal(table[1, different][np.cumsum(different) - 1], table[1], equal_nan=True):
        raise AdoptionError(f"{what}: two categories that are one number here, such as None and NaN, differ")
    return table[:, different].ravel()


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


def _function(transformer: Any, columns: list[int], recipe: Recipe) -> list[int] | None:
    function, name = transformer.func, getattr(transformer.func, "__name__", "")
    if function is None:
        return columns
    if function is not ELEMENTWISE.get(name) or transformer.kw_args:
        return None
    return [recipe.apply(name, column)[0] for column in columns]


def _bins(binner: Any, columns: list[int], recipe: Recipe) -> list[int]:
    edges = zip(columns, binner.bin_edges_, strict=True)
    made = [recipe.apply("bin", column, numbers=each[1:-1])[0] for column, each in edges]
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


def _widths(encoder: Any, table: NDArray[np.float64]) -> list[int]:
    """Return the number of columns that an encoder makes of each."""
    count = len(encoder.categories_)
    own = getattr(encoder, "_n_features_outs", None)  # of OneHotEncoder; there is no public name
    return [table.shape[1] // count] * count if own is None else list(own)


def _ask(encoder: Any, categories: list[list[Any]], *, unknown: bool) -> NDArray[np.float64]:
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
