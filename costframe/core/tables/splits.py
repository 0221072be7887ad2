"""The column that deals the rows of a table into parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.core.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PARTS", "SPLIT", "check_split"]

SPLIT = "split"
PARTS = ("train", "valid", "test")


def check_split(split: NDArray[np.str_]) -> None:
    """Refuse a part of another name, and a table without rows to train on; the split is str (n,)."""
    unknown = sorted(set(np.unique(split).tolist()) - set(PARTS))
    if unknown:
        raise DataError(f"column {SPLIT!r}: expected {', '.join(PARTS)}, got {unknown[0]!r}")
    if "train" not in split:
        raise DataError(f"column {SPLIT!r}: no row is in 'train'")
