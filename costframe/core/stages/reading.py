"""Features that learners read, as bit masks over the features that a layout uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from costframe.core.errors import ParameterError
from costframe.core.learners.bits import bit_sets, word_count
from costframe.core.learners.node_layout import path_masks, path_prices
from costframe.core.learners.tree_table import TREE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.layout import StageLayout

__all__ = ["ACQUISITIONS", "ReadingMarks", "check_acquisition", "marks_for"]

ACQUISITIONS = ("path", "learner")


@frozen(eq=False)
class ReadingMarks:
    """Arrays for `kernels.score_rows`: what to record, and the features and prices of each node and use."""

    notes: int
    node_mask: NDArray[np.uint64]  # (nodes, W)
    use_mask: NDArray[np.uint64]  # (L, W)
    node_spent: NDArray[np.float64]  # (nodes, 2): price of comparisons before a leaf, number of features read
    use_spent: NDArray[np.float64]  # (L,): number of features that a column or opaque learner reads

    @property
    def arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64]]:
        """All arrays, in the order of the kernel's arguments."""
        return self.node_mask, self.use_mask, self.node_spent, self.use_spent


def check_acquisition(acquisition: str) -> None:
    """Refuse a value other than "path" and "learner"."""
    if acquisition not in ACQUISITIONS:
        raise ParameterError(f"acquisition: expected one of {', '.join(ACQUISITIONS)}, got {acquisition!r}")


def marks_for(bank: WeakLearnerBank, layout: StageLayout, prices: PriceArrays, acquisition: str) -> ReadingMarks:
    """Return the features that rows read: those tested on the path to the leaf, or all that a learner may read."""
    from costframe.core.learners.kernels import READS, SPENDING

    check_acquisition(acquisition)
    use_mask = _learner_masks(bank, layout)
    node_mask = path_masks(layout.nodes, len(layout.used))
    if acquisition == "learner":
        for use in np.flatnonzero(layout.kind == TREE):
            begin = int(layout.place[use])
            end = int(np.append(layout.nodes.root, len(node_mask))[np.searchsorted(layout.nodes.root, begin) + 1])
            node_mask[begin:end] = use_mask[use]
    node_spent = np.stack(
        [path_prices(layout.nodes, prices.split[layout.used]), np.bitwise_count(node_mask).sum(axis=1)], axis=1
    )
    return ReadingMarks(
        SPENDING if prices.reuse > 0 or (prices.split > 0).any() else READS,
        node_mask,
        use_mask,
        np.ascontiguousarray(node_spent, np.float64),
        np.bitwise_count(use_mask).sum(axis=1).astype(np.float64),
    )


def _learner_masks(bank: WeakLearnerBank, layout: StageLayout) -> NDArray[np.uint64]:
    read = bank.F[layout.used][:, layout.learner].tocoo()
    feature, use = read.coords
    return bit_sets(use, feature, len(layout.learner), word_count(len(layout.used)))
