"""Values of columns at which the answers of an adopted model may change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from costframe.core.arrays import F8
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor, behind_preparation
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import ONLY, OTHER
from costframe.core.tables.operations import CHECKS, Operation
from costframe.core.tables.preparation import OpaqueOperation, Preparation

_NODES = 2**14  # whose thresholds are looked at
_INVERSE: dict[str, Callable[[F8, float], F8]] = {
    "add": np.subtract,
    "subtract": np.add,
    "multiply": np.divide,
    "divide": np.multiply,
}


def find_tested_values(predictor: Predictor) -> list[F8] | None:
    """Return values of each column at which answers may change, None if they are not known."""
    inner = behind_preparation(predictor)
    if not isinstance(inner, StageTree) or not len(inner.bank.feature_names) or inner.bank.opaques:
        return None
    values = _find_thresholds(inner.bank)
    if isinstance(predictor, PreparedPredictor):
        values = _trace_to_raw(predictor, values)
    for name, labels in predictor.categories.items():
        if isinstance(labels, AsGiven):
            continue
        if not isinstance(labels, tuple):
            return None
        values[predictor.feature_names.index(name)] = np.arange(float(len(labels) - (labels[-1] in {ONLY, OTHER})))
    if isinstance(predictor, PreparedPredictor):
        _keep_allowed(predictor.preparation, values)
    spread = np.concatenate([np.arange(-2.0, 3.0), np.random.default_rng(2).normal(size=8)])
    return [np.unique(column) if len(column) else spread for column in values]


def _keep_allowed(preparation: Preparation, values: list[F8]) -> None:
    """Keep those values of raw columns that the checks of a preparation allow."""
    for check in preparation.operations:
        f = check.reads[0] if check.reads else -1
        if getattr(check, "kind", "") not in CHECKS or not 0 <= f < len(values):
            continue
        numbers = check.numbers[np.isfinite(check.numbers)]  # type: ignore[union-attr] # as no opaque one is a check
        if check.kind == "known":  # type: ignore[union-attr] # as above
            values[f] = numbers
        else:
            values[f] = np.append(values[f], np.arange(1.0, 4.0))
            values[f] = values[f][(values[f] >= check.numbers[0]) & (values[f] <= check.numbers[1])]  # type: ignore[union-attr]


def _find_thresholds(bank: WeakLearnerBank) -> list[F8]:
    """Return the thresholds of a bank's trees, and the next numbers, or their categories, of each column."""
    trees, n_features = bank.trees, len(bank.feature_names)
    inner = np.flatnonzero((trees.feature >= 0) & np.isfinite(trees.threshold))
    inner = inner[:: max(1, len(inner) // _NODES)]
    limits = trees.threshold[inner]
    feature = np.concatenate([trees.feature[inner]] * 2 + [np.repeat(trees.feature, trees.category_count)])
    values = np.concatenate([limits, np.nextafter(limits, np.inf), trees.categories])
    order = np.argsort(feature, kind="stable")
    columns = np.split(values[order], np.searchsorted(feature[order], np.arange(1, n_features)))
    return [column[np.isfinite(column)] for column in columns]


def _trace_to_raw(prepared: PreparedPredictor, made: list[F8]) -> list[F8]:
    """Return values of raw columns from those of made columns, and from the operations between."""
    preparation, first = prepared.preparation, len(prepared.feature_names)
    maker: dict[int, Operation | OpaqueOperation] = {}
    for operation in preparation.operations:
        for _ in range(operation.width):
            maker[first] = operation
            first += 1
    raw: list[list[F8]] = [[np.empty(0)] for _ in prepared.feature_names]
    for column, values in zip(preparation.outputs, made, strict=True):
        at, parts = column, [values]
        while at in maker and len(maker[at].reads) == 1:
            parts = _invert(maker[at], parts)
            at = maker[at].reads[0]
        if at < len(raw):
            raw[at] += parts
    return [np.concatenate(parts_of_column) for parts_of_column in raw]


def _invert(operation: Operation | OpaqueOperation, made: list[F8]) -> list[F8]:
    """Return values of a column from which an operation makes some values, or at which it changes."""
    kind, numbers = getattr(operation, "kind", ""), getattr(operation, "numbers", np.empty(0))
    if kind in _INVERSE:
        with np.errstate(all="ignore"):
            near = [_INVERSE[kind](values, float(numbers[0])) for values in made]
        made = [values[np.isfinite(values)] for values in near]
    elif kind in {"lookup", "replace"}:
        table = numbers[kind == "lookup" :]
        keys = table[: len(table) // 2]
        made = [keys[np.isfinite(keys)], *(made if kind == "replace" else [])]
    elif kind in {"bin", "greater"}:
        made = [numbers, np.nextafter(numbers, np.inf)]
    return made
