"""A preparation of columns in a file."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.errors import StorageError
from costframe.core.storage.stored_arrays import Arrays, StoredArrays, as_list, check_range, fields_of
from costframe.core.storage.stored_banks import OpaqueFunctions, check_opaque_functions
from costframe.core.storage.stored_card import build_labels, store_labels
from costframe.core.tables.operations import Operation
from costframe.core.tables.preparation import OpaqueOperation, Preparation

_ARRAYS = {"outputs": "<i8", "reads": "<i8", "reads_first": "<i8", "numbers": "<f8", "numbers_first": "<i8"}
_FIELDS = ("feature_names", "categories", "names", "operations")


def store_preparation(preparation: Preparation, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a preparation to `arrays`; return its other parts as JSON values.

    An operation is written as its kind, an opaque one as its name and width.
    """
    operations = preparation.operations
    numbers = [() if isinstance(operation, OpaqueOperation) else operation.numbers for operation in operations]
    parts: dict[str, Any] = {"outputs": preparation.outputs}
    for name, lists in (("reads", [operation.reads for operation in operations]), ("numbers", numbers)):
        parts[name] = np.concatenate([*lists, []])
        parts[f"{name}_first"] = np.cumsum([0, *map(len, lists)])
    arrays |= {f"preparation.{name}": np.asarray(parts[name]).astype(dtype) for name, dtype in _ARRAYS.items()}
    return {
        "feature_names": list(preparation.feature_names),
        "categories": store_labels(preparation.categories, preparation.feature_names),
        "names": list(preparation.names),
        "operations": [
            {"name": operation.name, "width": operation.width}
            if isinstance(operation, OpaqueOperation)
            else operation.kind
            for operation in operations
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
        operation if isinstance(operation, str) else fields_of(operation, "opaque operation", "name", "width")
        for operation in operations
    ]
    titles = [str(part[0]) for part in parts if not isinstance(part, str)]
    check_opaque_functions(titles, {name: f for name, f in functions.items() if name in titles})
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
