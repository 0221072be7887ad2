"""Compiled walk of a single row through all stages, by its values, without codes, blocks and masks.

Kernels for single rows take plain arrays, for a tuple of arrays costs time at the door.
"""

import numpy as np

from costframe.core.jit import F8, I8, kernel
from costframe.core.learners.readings import read_value
from costframe.core.learners.row_nodes import MISSING_LEFT_AT, NAMED_AT, READING_AT, STEPS_AT

read_cell = kernel(read_value)


@kernel
def child(v: int, test: int, value: float, threshold: F8, span: I8, category: F8) -> int:
    """Return the child of an inner node, whose word is `test`, that a value goes to; see `RowLayout`."""
    missing_left = test >> MISSING_LEFT_AT & 1 != 0
    if test >> READING_AT & 3 != 0:
        value = read_cell(value, test >> READING_AT & 3)
    if test >> NAMED_AT & 1 != 0:
        rank, end = span[v, 0], span[v, 1]
        while rank < end:  # np.searchsorted would need a module that takes longer to import than all of costframe
            middle = (rank + end) >> 1
            if category[middle] < value:
                rank = middle + 1
            else:
                end = middle
        found = rank < span[v, 1] and category[rank] == value
        if np.isnan(value):  # the last category may be NaN
            found = np.isnan(category[span[v, 1] - 1])
        right = found == missing_left
    else:
        missing = np.isnan(value)
        right = (missing & (not missing_left)) | ((not missing) & (not value <= threshold[v]))  # no branch
    return int(v + (test >> STEPS_AT) + np.int64(right))


@kernel
def weigh_outputs(payload: F8, first: int, step: int, outputs: F8, begin: int, width: int) -> float:
    """Return the sum of an opaque learner's weighted outputs for a target, in their order.

    Outputs are neighbors from `begin` on, and their weights `step` apart from `first` on.
    """
    total, begun = 0.0, False
    for o in range(width):
        weight = payload[first + o * step]
        if weight != 0.0:
            term = weight * outputs[begin + o]
            total = total + term if begun else term
            begun = True
    return float(total)
