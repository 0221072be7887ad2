"""Quick search of feature sets, for algorithms that do not search sets during training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.sets.archive import SetArchive
from costframe.sets.dealing import deal_folds
from costframe.sets.prices import SetPrices
from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.boosting.losses import loss_for
from costframe.trees.settings import TreeSettings

if TYPE_CHECKING:
    from costframe.training.data import TrainingData

__all__ = ["search_quickly"]

_MOST_ROWS, _FEWEST_ROWS = 4_000, 100
_MOST_COLUMNS = 5_000  # the memory of fits is quadratic, for gains of pairs
_FEW_ROWS, _FOLDS, _JUDGED = 2_000, 4, 2  # up to _FEW_ROWS rows, _JUDGED folds are judged, else one
_SETS, _LEAVES, _STEP, _L2, _ROUNDS, _PATIENCE = 60, 8, 0.2, 5.0, 32, 8
_SHARE, _FEWEST = 100, 5  # a leaf has at least n / _SHARE and at least _FEWEST rows


def search_quickly(data: TrainingData, n_threads: int) -> SetArchive | None:
    """Search feature sets by quick fits on training rows; return None for few rows, many columns, or zero prices.

    It leaves out once-prices, like the mean cost of a row.
    """
    prices, rows = SetPrices.of(data.prices, np.inf), data.train
    if len(rows) < _FEWEST_ROWS or len(prices.cost) > _MOST_COLUMNS or not prices.full > 0:
        return None
    rows = rows.subsample(_MOST_ROWS)
    mapper = BinMapper.fit(rows.X, sample_weight=rows.weight, categorical=data.categorical, n_threads=n_threads)
    _, fold, half = deal_folds(rows, data, _FOLDS)
    judged = tuple(range(_JUDGED if len(rows) <= _FEW_ROWS else 1))
    binned, loss = mapper.transform(rows.X, n_threads=n_threads), loss_for(data.n_classes)
    settings = TreeSettings(
        max_leaves=_LEAVES,
        min_samples_leaf=max(_FEWEST, len(rows) // _SHARE),
        learning_rate=_STEP,
        l2_regularization=_L2,
        n_estimators=_ROUNDS,
        n_iter_no_change=_PATIENCE,
    )
    archive = SetArchive(binned, rows, loss, fold, half, judged, prices, settings, n_threads)  # type: ignore[arg-type]
    archive.search(_SETS)
    return archive
