"""Tables of blocks as dask arrays: a partition for each row group, which the worker that trains on it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.training.blocks import BlockTable

__all__ = ["to_dask"]


def to_dask(table: BlockTable, *columns: NDArray[Any] | None) -> list[Any]:
    """Return features, a dask array (n, d), and columns (n,) cut alike; None stays None.

    Workers must be able to read the files at the same paths.
    """
    import dask
    import dask.array as da

    sizes, lazy = table.group_sizes, dask.delayed(table)
    blocks = [
        da.from_delayed(dask.delayed(_read_group)(lazy, number), (size, len(table.columns)), np.float64)
        for number, size in enumerate(sizes)
        if size
    ]
    chunks = (tuple(size for size in sizes if size),)
    return [da.concatenate(blocks), *(None if each is None else da.from_array(each, chunks) for each in columns)]


def _read_group(table: BlockTable, number: int) -> NDArray[np.float64]:
    return table.read_group(number)
