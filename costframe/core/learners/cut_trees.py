"""Trees that end at tests of columns which are held back, with outputs that say so."""

from __future__ import annotations

import numpy as np
from attrs import evolve

from costframe.core.arrays import B1, F8, I8
from costframe.core.learners.tree_table import PLAIN, TreeTable, ranges


def cut_trees(trees: TreeTable, held: B1, value: I8, values: F8) -> TreeTable:
    """Return trees that end where they test held columns, bool (d,), with one more output: 1 at own leaves, else 0.

    `value`, int64 (nodes,), and `values` are like those of the trees, for inner nodes too.
    """
    inner, owner = trees.feature >= 0, trees.tree_of_node
    ends = ~inner | held[np.where(inner, trees.feature, 0)]
    base, kept = trees.first[owner], np.zeros(trees.n_nodes, np.bool_)
    nodes = trees.first[:-1]
    while len(nodes):
        kept[nodes] = True
        nodes = nodes[~ends[nodes]]
        nodes = np.concatenate([base[nodes] + trees.left[nodes], base[nodes] + trees.right[nodes]])
    place, counts = np.cumsum(kept) - 1, np.bincount(owner[kept], minlength=len(trees))
    begin = np.concatenate([[0], np.cumsum(counts)])
    ends, start = ends[kept], np.repeat(begin[:-1], counts)
    widths = np.where(ends, np.repeat(trees.width, counts), 0).astype(np.int32)
    first = np.cumsum(widths + ends) - (widths + ends)
    outputs = np.empty(int((widths + ends).sum()))
    outputs[ranges(first, widths)] = values[ranges(value[kept], widths)]
    outputs[(first + widths)[ends]] = ~inner[kept][ends]

    def child(way: I8) -> I8:
        return np.where(ends, -1, place[np.where(inner, base + way, 0)[kept]] - start)

    category_count = np.where(ends, 0, trees.category_count[kept]).astype(np.int32)
    return evolve(
        trees,
        first=begin,
        feature=np.where(ends, -1, trees.feature[kept]),
        threshold=trees.threshold[kept],
        missing_left=trees.missing_left[kept],
        left=child(trees.left.astype(np.int64)),
        right=child(trees.right.astype(np.int64)),
        width=trees.width + 1,
        value=np.where(ends, first, -1),
        values=outputs,
        category_count=category_count,
        categories=trees.categories[ranges(trees.category_first[:-1][kept], category_count)],
        reading=np.where(ends, PLAIN, trees.reading[kept]),
    )
