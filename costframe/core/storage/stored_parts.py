"""Parts of saved models: conversion of banks, stages and preparations to data and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8
from costframe.core.errors import StorageError
from costframe.core.learners.bank import OpaqueLearner, WeakLearnerBank
from costframe.core.learners.tree_table import OPAQUE, TreeTable
from costframe.core.prices.entries import EPOCHS
from costframe.core.stages.float32_margins import Float32Margins
from costframe.core.stages.links import Blend, Part
from costframe.core.stages.stages import Answer, Stage
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import Categories
from costframe.core.tables.date_texts import ORDERS
from costframe.core.tables.dates import Dates
from costframe.core.tables.hashed_labels import HASH, HashedLabels
from costframe.core.tables.operations import Operation
from costframe.core.tables.preparation import OpaqueOperation, Preparation
from costframe.core.terms.classes import as_texts

Arrays = dict[str, NDArray[Any]]
OpaqueFunctions = Mapping[str, Callable[[F8], ArrayLike]]

BANK_FIELDS = ("feature_names", "categories", "opaques")
_BANK = {"kind": "|u1", "index": "<i4", "evaluation": "<f8", "column_feature": "<i4", "column_fill": "<f8"}
_TREES = {
    "first": "<i8", "feature": "<i4", "threshold": "<f8", "missing_left": "|u1", "left": "<i4", "right": "<i4",
    "width": "<i4", "value": "<i8", "values": "<f8", "category_count": "<i4", "categories": "<f8",
    "reading": "|u1",
}  # fmt: skip
_BLEND = {"weights": "<f8", "intercept": "<f8"}
STAGE = {"learners": "<i8"} | _BLEND
_LABELS: Any = {HASH: HashedLabels(), "as given": AsGiven(), "as given, plain": AsGiven(plain=True)}
_LABELS |= {
    f"dates{f' with the {first} first' if first else ''}{f' in {epoch}' if epoch else ''}": Dates(first, epoch)
    for first in (None, *ORDERS)
    for epoch in (None, *EPOCHS)
}
_NAMES: Any = {labels: name for name, labels in _LABELS.items()}
_OPTIONS = (
    "temperature",
    "blends",
    "by_scores",
    "cut",
    "float32",
    "class_above",
)  # of an answer, where they are not as by default


def store_bank(bank: WeakLearnerBank, arrays: Arrays, prefix: str = "") -> dict[str, Any]:
    """Add the arrays of a bank, named with a prefix, to `arrays`; return its other parts as JSON values.

    Of an opaque learner these are its name, features and width.
    """
    for table, part, dtypes in (("bank", bank, _BANK), ("trees", bank.trees, _TREES)):
        arrays |= {f"{prefix}{table}.{key}": getattr(part, key).astype(dtype) for key, dtype in dtypes.items()}
    return {
        "feature_names": list(bank.feature_names),
        "categories": store_labels(bank.categories, bank.feature_names),
        "opaques": [{"name": o.name, "features": list(o.features), "width": int(o.width)} for o in bank.opaques],
    }


def store_labels(categories: Categories, names: Iterable[str]) -> list[list[str] | str]:
    """Return the labels of each feature as a JSON value: a list, or the name of the hash that stands for them."""
    every = (categories.get(name, ()) for name in names)
    return [list(labels) if isinstance(labels, tuple) else _NAMES[labels] for labels in every]


def build_labels(described: object, names: object) -> tuple[list[str], Categories]:
    """Return the names of features and their labels from their descriptions."""
    titles, every = as_list(names), as_list(described)
    if not all(isinstance(name, str) for name in titles):
        raise StorageError("malformed model: expected texts as feature names")
    if len(every) != len(titles) or not all(
        isinstance(each, list) or (isinstance(each, str) and each in _LABELS) for each in every
    ):
        raise StorageError(f"malformed model: expected a list of categories for each of {len(titles)} features")
    pairs = zip(titles, every, strict=True)
    labels: dict[str, Any] = {name: each if isinstance(each, list) else _LABELS[each] for name, each in pairs if each}
    return titles, labels


def store_answer(answer: Stage, arrays: Arrays, prefix: str) -> dict[str, Any]:
    """Add the arrays of an answer or a route to `arrays`; return an answer's other parts as JSON values."""
    arrays |= {f"{prefix}.{key}": getattr(answer, key).astype(dtype) for key, dtype in STAGE.items()}
    if not isinstance(answer, Answer):
        return {}
    options: dict[str, Any] = {"level": answer.level} if answer.link == "ranked" else {}
    if answer.temperature != 1.0:
        options["temperature"] = answer.temperature
    if answer.by_scores:
        options["by_scores"] = True
    if answer.cut:
        options["cut"] = answer.cut
    if answer.class_above is not None:
        options["class_above"] = answer.class_above
    if answer.float32 is not None:
        options["float32"] = {"link": answer.float32.link, "dropout": answer.float32.dropout}
    if answer.blends:
        options["blends"] = [_store_blend(one, arrays, f"{prefix}.blend.{i}") for i, one in enumerate(answer.blends)]
    return {"link": answer.link} | options


def _store_blend(blend: Blend, arrays: Arrays, prefix: str) -> list[dict[str, Any]]:
    """Add the arrays of a blend to `arrays`; return the other parts of its links as JSON values."""
    arrays |= {f"{prefix}.{key}": getattr(blend, key).astype(dtype) for key, dtype in _BLEND.items()}
    for number, part in enumerate(blend.parts):
        if part.link == "knots":
            arrays[f"{prefix}.{number}.knots"] = part.knots.astype("<f8")
    return [{"link": part.link, "width": part.width, "temperature": part.temperature} for part in blend.parts]


def store_classes(classes: NDArray[Any] | None) -> dict[str, Any] | None:
    """Return the labels of classes as JSON values; refuse labels that are neither texts nor numbers."""
    if classes is None:
        return None
    values, dtype = classes.tolist(), classes.dtype.str
    if classes.dtype.kind not in "biufUO" or not all(isinstance(v, str | int | float) for v in values):
        raise StorageError(f"classes: expected texts or numbers, which a file can hold, got {values!r:.80}")
    return {"dtype": dtype, "values": values}


def build_classes(described: object) -> NDArray[Any] | None:
    """Make the labels of classes from their description."""
    if described is None:
        return None
    dtype, values = fields_of(described, "classes", "dtype", "values")
    kinds = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str | int | float}
    known = isinstance(dtype, str) and re.fullmatch(r"[<>|=]([biufUO])[0-9]*", dtype)
    kind = kinds[known[1]] if known else None
    if kind is None or not all(isinstance(value, kind) for value in as_list(values)):
        raise StorageError(
            f"malformed classes: expected texts or numbers of one kind, got {dtype!r:.40} {values!r:.80}"
        )
    try:
        with np.errstate(over="raise"):
            labels = as_texts(values) if kind is str else np.array(values, dtype)
    except (TypeError, ValueError, ArithmeticError) as error:  # a number that the type cannot hold
        raise StorageError(f"malformed classes: {error}") from error
    return labels


class StoredArrays:
    """The arrays of a file; each is taken once, with its expected dtype and number of dimensions."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._left = arrays

    def take(self, name: str, dtype: str, ndim: int = 1) -> NDArray[Any]:
        """Remove an array and return it; refuse another dtype or number of dimensions."""
        array = self._left.pop(name, None)
        if array is None:
            raise StorageError(f"malformed: no array {name!r}")
        if array.dtype != np.dtype(dtype).newbyteorder("=") or array.ndim != ndim:
            raise StorageError(
                f"malformed: array {name!r}: expected {ndim} dimension(s) of {dtype}, got {array.ndim} of {array.dtype}"
            )
        return array

    def take_all(self, prefix: str, dtypes: Mapping[str, str]) -> dict[str, NDArray[Any]]:
        """Take all arrays whose names have a prefix; return them by name without it. Weights have two dimensions."""
        return {key: self.take(f"{prefix}.{key}", dtype, 2 if key == "weights" else 1) for key, dtype in dtypes.items()}

    def part(self, prefix: str) -> StoredArrays:
        """Remove the arrays whose names have a prefix; return them by names without it."""
        names = [name for name in self._left if name.startswith(prefix)]
        return StoredArrays({name.removeprefix(prefix): self._left.pop(name) for name in names})

    def close(self) -> None:
        """Refuse a file with further arrays."""
        if self._left:
            raise StorageError(f"malformed: unknown arrays {sorted(self._left)}")


def build_bank(
    described: Mapping[str, Any], arrays: StoredArrays, functions: OpaqueFunctions, prefix: str = ""
) -> WeakLearnerBank:
    """Make a bank from its description, its arrays and the functions of its opaque learners."""
    names, categories = build_labels(described["categories"], described["feature_names"])
    opaques = as_list(described["opaques"])
    read = arrays.take_all(f"{prefix}bank", _BANK)
    check_range(f"{prefix}bank.kind", read["kind"], 0, OPAQUE)
    learners: Any = _opaque_learners(opaques, functions, len(names))
    trees = _tree_table(arrays, f"{prefix}trees")
    return WeakLearnerBank(names, **read, trees=trees, opaques=learners, categories=categories)


def build_answer(title: str, described: object, arrays: StoredArrays, prefix: str) -> Answer:
    """Make an answer from its description and its arrays."""
    read: dict[str, Any] = dict(arrays.take_all(prefix, STAGE))
    given = described if isinstance(described, dict) else {}
    names = ("level",) if given.get("link") == "ranked" else tuple(key for key in _OPTIONS if key in given)
    link, *values = fields_of(described, title, "link", *names)
    options = dict(zip(names, values, strict=True))
    if "blends" in options:
        options["blends"] = [
            _build_blend(title, one, arrays, f"{prefix}.blend.{i}") for i, one in enumerate(as_list(options["blends"]))
        ]
    if "float32" in options:
        options["float32"] = _build_float32(title, options["float32"])
    return Answer(**read, link=link, **options)


def _build_float32(title: str, described: object) -> Float32Margins:
    """Make the rule of float32 margins from its description."""
    link, dropout = fields_of(described, f"{title}: float32", "link", "dropout")
    if not isinstance(link, str) or not isinstance(dropout, bool):
        raise StorageError(f"malformed {title}: float32: expected a text and a truth value")
    return Float32Margins(link, dropout)


def _build_blend(title: str, described: object, arrays: StoredArrays, prefix: str) -> Blend:
    """Make a blend from its description and its arrays."""
    read = arrays.take_all(prefix, _BLEND)
    parts = []
    for number, one in enumerate(as_list(described)):
        link, width, temperature = fields_of(one, f"{title}: blend", "link", "width", "temperature")
        knots = {"knots": arrays.take(f"{prefix}.{number}.knots", "<f8", 2)} if link == "knots" else {}
        parts.append(Part(link, width, temperature, **knots))
    return Blend(parts, **read)


def _tree_table(arrays: StoredArrays, prefix: str) -> TreeTable:
    """Make the table of trees, after range checks: sums of numbers near the ends of int64 would wrap."""
    read = arrays.take_all(prefix, _TREES)
    check_range(f"{prefix}.first", read["first"], 0, len(read["feature"]))
    check_range(f"{prefix}.value", read["value"], -1, len(read["values"]))
    check_range(f"{prefix}.missing_left", read["missing_left"], 0, 1)
    check_range(f"{prefix}.category_count", read["category_count"], 0, len(read["categories"]))
    return TreeTable(**read)


def check_range(name: str, array: NDArray[Any], least: int, most: int) -> None:
    """Refuse an array with numbers out of a range."""
    if array.size and not (least <= array.min() and array.max() <= most):
        raise StorageError(f"malformed: array {name!r}: expected {least} to {most}, got {array.min()} to {array.max()}")


def _opaque_learners(described: list[object], functions: OpaqueFunctions, n_features: int) -> tuple[OpaqueLearner, ...]:
    parts = [fields_of(each, "opaque learner", "name", "features", "width") for each in described]
    for name, features, width in parts:
        if not (isinstance(name, str) and isinstance(features, list) and type(width) is int and 0 < width < 2**31):
            raise StorageError(f"malformed opaque learner {name!r:.80}: expected a name, features and a width")
        if not all(type(f) is int and 0 <= f < n_features for f in features):
            raise StorageError(f"malformed opaque learner {name!r}: expected columns below {n_features}")
    check_functions([name for name, _, _ in parts], functions)
    return tuple(OpaqueLearner(name, functions[name], features, width) for name, features, width in parts)


def check_functions(names: list[str], functions: object) -> None:
    """Refuse functions other than exactly those with these names."""
    if not isinstance(functions, Mapping):
        raise StorageError(f"opaque: expected a mapping of names to callables, got {type(functions).__name__}")
    if missing := [name for name in names if name not in functions]:
        raise StorageError(
            f"a saved file holds no code: pass opaque={{name: callable}} with the functions of {_listed(missing)}"
        )
    if surplus := [name for name in functions if name not in names]:
        raise StorageError(f"opaque: {_listed(surplus)} not in the file, whose opaque learners are [{_listed(names)}]")
    for name in names:
        if not callable(functions[name]):
            raise StorageError(f"opaque: expected a callable for {name!r}, got {type(functions[name]).__name__}")


def fields_of(table: object, where: str, *keys: str) -> tuple[Any, ...]:
    """Return the values of exactly these keys, or refuse the table."""
    if not isinstance(table, dict) or table.keys() != set(keys):
        got = list(table) if isinstance(table, dict) else type(table).__name__
        raise StorageError(f"malformed {where}: expected exactly {list(keys)}, got {got!r:.80}")
    return tuple(table[key] for key in keys)


def as_list(part: object) -> list[Any]:
    """Return a list, or refuse another type."""
    if not isinstance(part, list):
        raise StorageError(f"malformed model: expected a list, got {type(part).__name__}")
    return part


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(repr, names))


_ARRAYS = {"outputs": "<i8", "reads": "<i8", "reads_first": "<i8", "numbers": "<f8", "numbers_first": "<i8"}
_FIELDS = ("feature_names", "categories", "names", "operations")


def store_preparation(preparation: Preparation, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a preparation to `arrays`; return its other parts as JSON values.

    An operation is written as its kind, an opaque one as its name and width.
    """
    operations = preparation.operations
    numbers = [() if isinstance(each, OpaqueOperation) else each.numbers for each in operations]
    parts: dict[str, Any] = {"outputs": preparation.outputs}
    for name, lists in (("reads", [each.reads for each in operations]), ("numbers", numbers)):
        parts[name] = np.concatenate([*lists, []])
        parts[f"{name}_first"] = np.cumsum([0, *map(len, lists)])
    arrays |= {f"preparation.{name}": np.asarray(parts[name]).astype(dtype) for name, dtype in _ARRAYS.items()}
    return {
        "feature_names": list(preparation.feature_names),
        "categories": store_labels(preparation.categories, preparation.feature_names),
        "names": list(preparation.names),
        "operations": [
            {"name": each.name, "width": each.width} if isinstance(each, OpaqueOperation) else each.kind
            for each in operations
        ],
    }


def build_preparation(
    described: object, arrays: StoredArrays, functions: OpaqueFunctions
) -> tuple[Preparation, OpaqueFunctions]:
    """Make a preparation, with its own ones of the functions; return the others, which belong to its predictor."""
    names, labels, *lists = fields_of(described, "preparation", *_FIELDS)
    names, categories = build_labels(labels, names)
    made, operations = map(as_list, lists)
    if not all(isinstance(name, str) for name in made):
        raise StorageError("malformed preparation: expected texts as names of columns")
    read = arrays.take_all("preparation", _ARRAYS)
    reads, numbers = (_split(read, name, len(operations)) for name in ("reads", "numbers"))
    parts = [
        each if isinstance(each, str) else fields_of(each, "opaque operation", "name", "width") for each in operations
    ]
    titles = [str(part[0]) for part in parts if not isinstance(part, str)]
    check_functions(titles, {name: f for name, f in functions.items() if name in titles})
    rebuilt = tuple(
        Operation(part, some.tolist(), values)
        if isinstance(part, str)
        else OpaqueOperation(part[0], functions[str(part[0])], some.tolist(), part[1])
        for part, some, values in zip(parts, reads, numbers, strict=True)
    )
    preparation = Preparation(names, rebuilt, read["outputs"].tolist(), made, categories)
    return preparation, {name: f for name, f in functions.items() if name not in titles}


def _split(read: dict[str, NDArray[Any]], name: str, count: int) -> list[NDArray[Any]]:
    """Return the part of an array that each of `count` operations has."""
    first, array = read[f"{name}_first"], read[name]
    check_range(f"preparation.{name}_first", first, 0, len(array))
    if len(first) != count + 1 or first[0] != 0 or first[-1] != len(array) or (np.diff(first) < 0).any():
        raise StorageError(f"malformed: array 'preparation.{name}_first': expected {count + 1} ascending places")
    return [array[begin:end] for begin, end in pairwise(first)]
