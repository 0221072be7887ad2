"""Trees as rows go through them that miss some columns."""

from __future__ import annotations

import numpy as np
from attrs import evolve

from costframe.core.arrays import B1, I8
from costframe.core.learners.tree_table import TreeTable, ranges


def go_without(trees: TreeTable, absent: B1) -> TreeTable:
    """Return the trees without tests of absent columns, bool (d,), whose ways are those of NaN."""
    first, inner = trees.first, trees.feature >= 0
    base = first[trees.tree_of_node]
    dropped = inner & absent[np.where(inner, trees.feature, 0)] if len(absent) else np.zeros(len(inner), np.bool_)
    to = np.arange(trees.n_nodes)
    to[dropped] = (base + np.where(_goes_left(trees), trees.left, trees.right))[dropped]
    while dropped[to].any():  # of several tests below each other
        to = to[to]
    roots = to[first[:-1]]
    kept = _below(trees, to, roots, base)
    place = np.cumsum(kept) - 1
    counts = np.bincount(trees.tree_of_node[kept], minlength=len(trees))
    begin = np.concatenate([[0], np.cumsum(counts)])
    inner, start = inner[kept], np.repeat(begin[:-1], counts)

    def child(way: I8) -> I8:
        return np.where(inner, place[to[np.where(trees.feature >= 0, base + way, 0)[kept]]] - start, -1)

    named, value = np.repeat(kept, trees.category_count), trees.value[kept]
    widths = np.where(inner, 0, np.repeat(trees.width, counts))
    return evolve(
        trees,
        first=begin,
        feature=trees.feature[kept],
        threshold=trees.threshold[kept],
        missing_left=trees.missing_left[kept],
        left=child(trees.left.astype(np.int64)),
        right=child(trees.right.astype(np.int64)),
        value=np.where(inner, -1, np.cumsum(widths) - widths),
        values=trees.values[ranges(value[~inner], widths[~inner])],
        category_count=trees.category_count[kept],
        categories=trees.categories[named],
        reading=trees.reading[kept],
    )


def _goes_left(trees: TreeTable) -> B1:
    """Return whether NaN goes left at each node: bool (nodes,); where NaN is a category, it goes the other way."""
    named = np.flatnonzero(trees.category_count > 0)
    last = trees.category_first[named + 1] - 1
    is_named = np.zeros(trees.n_nodes, np.bool_)
    is_named[named] = np.isnan(trees.categories[last])
    return np.asarray(trees.missing_left ^ is_named)


def _below(trees: TreeTable, to: I8, roots: I8, base: I8) -> B1:
    """Return which nodes rows still come to, from new roots on: bool (nodes,)."""
    kept = np.zeros(trees.n_nodes, np.bool_)
    nodes = roots
    while len(nodes):
        kept[nodes] = True
        nodes = nodes[trees.feature[nodes] >= 0]
        nodes = np.concatenate([to[base[nodes] + trees.left[nodes]], to[base[nodes] + trees.right[nodes]]])
    return kept
