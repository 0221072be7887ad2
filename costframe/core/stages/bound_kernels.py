"""Compiled bounds of what trees can still add to scores."""

import numpy as np

from costframe.core.jit import F8, I8, U1, kernel
from costframe.core.learners.row_kernels import child
from costframe.core.learners.row_nodes import FEATURE, STEPS_AT
from costframe.core.learners.tree_table import TREE
from costframe.core.stages.step_layout import KIND, KNOWN, PAYLOAD, PLACE, TARGET, TARGET_END


@kernel
def raise_bounds(word: I8, uses: I8, lowest: F8, highest: F8) -> None:
    """Set the bounds of inner nodes from those of the leaves below them; they have the places of a payload."""
    for use in range(uses.shape[0]):
        if uses[use, KIND] == TREE:
            n_targets, v = uses[use, TARGET_END] - uses[use, TARGET], uses[use, PLACE]
            first, end = uses[use, PAYLOAD] - v * n_targets, v + 1
            while v < end:  # the nodes of a tree are side by side
                if word[v] >> STEPS_AT != 0:
                    end = max(end, v + (word[v] >> STEPS_AT) + 2)
                v += 1
            for v in range(end - 1, uses[use, PLACE] - 1, -1):  # children come after their parents
                left = first + (v + (word[v] >> STEPS_AT)) * n_targets
                if word[v] >> STEPS_AT != 0:
                    for j in range(n_targets):
                        at, right = first + v * n_targets + j, left + n_targets + j
                        lowest[at] = min(lowest[left + j], lowest[right])
                        highest[at] = max(highest[left + j], highest[right])


@kernel
def bound_tree(
    v: int, first: int, x: F8, marks: U1, known: np.int64, word: I8, reads: I8, threshold: F8, span: I8, category: F8,
    lowest: F8, highest: F8, begin: int, end: int, low: F8, high: F8, stack: I8,
) -> None:  # fmt: skip
    """Set a tree's bounds, from `begin` to `end` in `low` and `high`, over the leaves below a node that are left open.

    `known` has the bits of known features, by their numbers modulo 64; `first` is the place of node 0 in `lowest`.
    """
    low[begin:end], high[begin:end] = np.inf, -np.inf
    stack[0], size, n_targets = v, 1, end - begin
    while size > 0:
        size -= 1
        v = stack[size]
        while reads[v] & known != 0:  # below other nodes nothing is known, so the prepared bounds hold
            test = word[v]
            if marks[test & FEATURE] & KNOWN != 0:
                v = child(v, test, x[test & FEATURE], threshold, span, category)
            else:
                v += test >> STEPS_AT
                stack[size] = v + 1
                size += 1
        at = first + v * n_targets - begin
        for p in range(begin, end):
            low[p] = min(low[p], lowest[at + p])
            high[p] = max(high[p], highest[at + p])
