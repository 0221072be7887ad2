"""A bank of weak learners in a file, and the functions that a file does not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from costframe.core.arrays import F8
from costframe.core.errors import StorageError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque_learner import OpaqueLearner
from costframe.core.learners.tree_table import OPAQUE, TreeTable
from costframe.core.storage.stored_arrays import Arrays, StoredArrays, as_list, check_range, fields_of
from costframe.core.storage.stored_card import build_labels, store_labels

OpaqueFunctions = Mapping[str, Callable[[F8], ArrayLike]]
BANK_FIELDS = ("feature_names", "categories", "opaques")
_BANK = {"kind": "|u1", "index": "<i4", "evaluation": "<f8", "column_feature": "<i4", "column_fill": "<f8"}
_TREES = {
    "first": "<i8", "feature": "<i4", "threshold": "<f8", "missing_left": "|u1", "left": "<i4", "right": "<i4",
    "width": "<i4", "value": "<i8", "values": "<f8", "category_count": "<i4", "categories": "<f8",
    "reading": "|u1",
}  # fmt: skip


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


def _tree_table(arrays: StoredArrays, prefix: str) -> TreeTable:
    """Make the table of trees, after range checks: sums of numbers near the ends of int64 would wrap."""
    read = arrays.take_all(prefix, _TREES)
    check_range(f"{prefix}.first", read["first"], 0, len(read["feature"]))
    check_range(f"{prefix}.value", read["value"], -1, len(read["values"]))
    check_range(f"{prefix}.missing_left", read["missing_left"], 0, 1)
    check_range(f"{prefix}.category_count", read["category_count"], 0, len(read["categories"]))
    return TreeTable(**read)


def _opaque_learners(described: list[object], functions: OpaqueFunctions, n_features: int) -> tuple[OpaqueLearner, ...]:
    parts = [fields_of(entry, "opaque learner", "name", "features", "width") for entry in described]
    for name, features, width in parts:
        if not (isinstance(name, str) and isinstance(features, list) and type(width) is int and 0 < width < 2**31):
            raise StorageError(f"malformed opaque learner {name!r:.80}: expected a name, features and a width")
        if not all(type(f) is int and 0 <= f < n_features for f in features):
            raise StorageError(f"malformed opaque learner {name!r}: expected columns below {n_features}")
    check_opaque_functions([name for name, _, _ in parts], functions)
    return tuple(OpaqueLearner(name, functions[name], features, width) for name, features, width in parts)


def check_opaque_functions(names: list[str], functions: object) -> None:
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


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(repr, names))
