"""A quick search of feature sets on few rows."""

from __future__ import annotations

import numpy as np
from attrs import evolve

from costframe.core.prices.basket import SetPrices
from costframe.sets.archive import SetArchive
from costframe.training.data import TrainingData
from costframe.training.losses import loss_for
from costframe.training.sampling import Sampling
from costframe.trees.bin_mapper import BinnedData
from costframe.trees.settings import TreeSettings

# Of quick searches:
_MOST_ROWS, _FEWEST_ROWS = 4_000, 100
_MOST_COLUMNS = 5_000  # the memory of fits is quadratic, for gains of pairs
_FEW_ROWS, _FOLDS, _JUDGED = 2_000, 4, 2  # up to _FEW_ROWS rows, _JUDGED folds are judged, else one
_SETS = 60
_TREES = TreeSettings(max_leaves=8, learning_rate=0.2, l2_regularization=5.0, n_estimators=32, n_iter_no_change=8)
_SHARE, _FEWEST = 100, 5  # a leaf has at least n / _SHARE and at least _FEWEST rows


def search_quickly(data: TrainingData, n_threads: int) -> SetArchive | None:
    """Search feature sets by quick fits on training rows; return None for few rows, many columns, or zero prices.

    It ignores once-prices, like the mean cost of a row.
    """
    prices, rows = SetPrices.of(data.prices, np.inf), data.train
    if len(rows) < _FEWEST_ROWS or len(prices.cost) > _MOST_COLUMNS or not prices.full > 0:
        return None
    rows = Sampling(data).sample(rows, _MOST_ROWS)
    settings = evolve(_TREES, min_samples_leaf=max(_FEWEST, len(rows) // _SHARE), n_threads=n_threads)
    _, fold, half = Sampling(data).folds(rows, _FOLDS)
    judged = tuple(range(_JUDGED if len(rows) <= _FEW_ROWS else 1))
    binned, loss = BinnedData.of(rows, settings, data.categorical), loss_for(data.n_classes)
    archive = SetArchive(binned, rows, loss, fold, half, judged, prices, settings, n_threads)
    archive.search(_SETS)
    return archive
