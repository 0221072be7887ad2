"""A quick archive of a table, for algorithms that do not search sets of features while they train."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.sets.archive import SetArchive
from costframe.sets.dealing import deal
from costframe.sets.prices import SetPrices
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.boosting.folds import TreeShape
from costframe.trees.boosting.losses import loss_for

if TYPE_CHECKING:
    from costframe.training.data import TrainingData

__all__ = ["search_quickly"]

_MOST_ROWS, _FEWEST_ROWS = 4_000, 100
_MOST_COLUMNS = 5_000  # fits note what pairs of features gain, so memory grows with the square
_FEW_ROWS, _FOLDS, _JUDGED = 2_000, 4, 2  # quick fits on few rows are judged on so many folds, else on one
_SETS, _LEAVES, _STEP, _L2, _ROUNDS, _PATIENCE = 60, 8, 0.2, 5.0, 32, 8
_SHARE, _FEWEST = 100, 5  # a leaf has a hundredth of the rows, and so many at least


def search_quickly(data: TrainingData, n_threads: int) -> SetArchive | None:
    """Search sets of features by quick fits on training rows; None where these are few, columns many, or nothing costs.

    What is paid once for all rows is left out, as it is in the mean cost of a row.
    """
    prices, rows = SetPrices.of(data.prices, np.inf), data.train
    if len(rows) < _FEWEST_ROWS or len(prices.cost) > _MOST_COLUMNS or not prices.full > 0:
        return None
    rows = rows.subsample(_MOST_ROWS)
    mapper = BinMapper.fit(rows.X, sample_weight=rows.weight, categorical=data.categorical, n_threads=n_threads)
    _, fold, half = deal(rows, data, _FOLDS)
    judged = tuple(range(_JUDGED if len(rows) <= _FEW_ROWS else 1))
    binned, loss = mapper.transform(rows.X, n_threads=n_threads), loss_for(data.n_classes)
    shape = TreeShape(_LEAVES, max(_FEWEST, len(rows) // _SHARE), _STEP, _L2, _ROUNDS, _PATIENCE)
    archive = SetArchive(binned, rows, loss, fold, half, judged, prices, shape, n_threads)  # type: ignore[arg-type]
    archive.search(_SETS)
    return archive
