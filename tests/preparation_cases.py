"""Preparations for tests, of all kinds of operations, drawn by hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from wrapper_cases import OpaqueOperation, Operation, Preparation, PreparedPredictor

from costframe import CostModel
from costframe.testing import strategies

NUMBERS = (-1.0, 0.0, 0.5, 1.0, 3.0)
NUMBER = st.sampled_from(NUMBERS)
ONE_COLUMN = ("absolute", "exp", "log1p", "sqrt", "negative")
ONE_NUMBER = ("subtract", "divide", "multiply", "add", "minimum", "maximum", "greater", "yeo-johnson")
KINDS = ("constant", "product", "lookup", "replace", "bin", "linear", "call")


def clipped_sums(table):
    """Return two columns of a table's rows, finite for any numbers."""
    total = np.clip(np.nan_to_num(table, nan=0.25), -3.0, 3.0).sum(axis=1)
    return np.column_stack([total, -2.0 * total])


@st.composite
def preparations(draw, names):
    """Draw up to eight operations on raw columns, and outputs of both."""
    operations, size = [], len(names)
    for number in range(draw(st.integers(0, 8))):
        operations.append(draw(_operations(size, number)))
        size += operations[-1].width
    outputs = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=6))
    return Preparation(names, operations, outputs, [f"m{place}" for place in range(len(outputs))])


@st.composite
def _operations(draw, size, number):
    column = st.integers(0, size - 1)
    reads = sorted(draw(st.sets(column, min_size=1, max_size=3)))
    kind = draw(st.sampled_from((*ONE_COLUMN, *ONE_NUMBER, *KINDS)))
    if kind == "call":
        return OpaqueOperation(f"call {number}", clipped_sums, reads, 2)
    if kind == "linear":
        return Operation(kind, reads, [draw(NUMBER) for _ in range((len(reads) + 1) * draw(st.integers(1, 2)))])
    if kind == "product":
        return Operation(kind, [reads[0], reads[-1]])
    return Operation(kind, [] if kind == "constant" else reads[:1], draw(_numbers(kind)))


@st.composite
def _numbers(draw, kind):
    if kind == "bin":
        return sorted(draw(st.sets(NUMBER)))
    if kind in {"lookup", "replace"}:
        keys = [*sorted(draw(st.sets(NUMBER))), *([np.nan] if draw(st.booleans()) else [])]
        return [*([draw(NUMBER)] if kind == "lookup" else []), *keys, *(draw(NUMBER) for _ in keys)]
    return [] if kind in ONE_COLUMN else [draw(NUMBER)]


@st.composite
def prepared_predictors(draw, names, *, computing=True):
    """Draw a stage tree over made columns, with prices of the raw ones that can be shared."""
    preparation = draw(preparations(names))
    tree = draw(strategies.stage_trees(draw(strategies.banks(preparation.names))))
    table = draw(strategies.cost_models(names, computing=computing)).to_dict() | {"reuse": 0.0}
    return PreparedPredictor(tree, preparation, CostModel.from_dict(table))
