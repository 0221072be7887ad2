"""The rounds in which rows of a table ask a stage tree for features, by the engine; see `AskedRounds`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from costframe import engine
from costframe.core.arrays import F8
from costframe.core.learners.node_layout import code_values
from costframe.core.learners.tree_table import OPAQUE
from costframe.core.machine import CHUNK, over_chunks
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.stage_model import StageModel

_CELLS = 1 << 24  # of a table of rounds


def ask_rows(
    tree: StageModel, prices: PriceArrays, X: F8, *, by_path: bool, n_jobs: int | None
) -> NDArray[np.int32] | None:
    """Return the round in which each row asks for each feature that a tree uses: int32 (n, U).

    Rows have no limits, and nothing is known before. Without an answer, None, an opaque learner must be called.
    """
    layout = tree.layout
    if (layout.kind == OPAQUE).any():
        return None
    walk = tree.walk(prices, limited=False)
    begin = np.frombuffer(walk.go_on(bytes(walk.begin(by_path, {})))[0], np.uint64)
    asked = np.zeros((len(X), len(layout.used)), np.int32)
    in_one_stage = by_path and len(tree.stages) == 1

    def chunk(part: slice) -> None:
        rows = np.ascontiguousarray(X[part], np.float64)
        if not in_one_stage:
            engine.ask_rows(rows, begin, *walk.structs, asked[part])
            return
        leaves = np.empty((len(rows), len(layout.nodes.root)), np.int32)
        engine.walk_leaves(code_values(layout.nodes, rows, layout.used), layout.nodes.packed, leaves)
        engine.ask_rows_of_trees(rows, begin, layout.packed, leaves, asked[part])

    over_chunks(chunk, len(X), n_jobs, max(1, min(CHUNK, _CELLS // max(1, len(layout.used)))))
    return asked
