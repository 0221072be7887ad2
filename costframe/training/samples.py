"""Samples of rows that depend neither on the order of rows nor on how they are dealt into parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.cost.draws import draw_rows, hash_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from costframe.core.cost.draws import RowDraw
    from costframe.training.data import Rows

__all__ = ["draw_sample", "gather_sample"]


def draw_sample(rows: Rows, names: Sequence[str], most: int) -> RowDraw:
    """Draw at most `most` of all workers' rows, evenly in the order of a hash of their values.

    Parameters
    ----------
    rows : Rows
    names : sequence of str
        Of the columns, whose order has no effect.
    most : int
    """
    few = rows.total_rows <= most
    order = [] if few else sorted(range(len(names)), key=names.__getitem__)
    columns = [*(rows.X[:, f] for f in order), rows.y.astype(np.float64), rows.weight]
    return draw_rows(hash_rows(columns, len(rows)), np.ones(len(rows)), most, rows.workers)


def gather_sample(rows: Rows, names: Sequence[str], most: int) -> Rows:
    """Return at most `most` rows of all workers, the same on every one of them, which it has alone."""
    if rows.total_rows <= most:
        return rows.gathered()
    return rows.take(draw_sample(rows, names, most).rows).gathered()
