"""Regressions of the gains of later sets on the features and scores known at a set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.trees.binning.bin_mapper import BinMapper
from costframe.trees.boosting.folds import regress_many
from costframe.trees.settings import TreeSettings
from costframe_planner.problem import COARSE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.trees.binning.bin_mapper import BinnedData
    from costframe.trees.boosting.folds import ManyFolds
    from costframe_planner.models import SetModel
    from costframe_planner.problem import Problem

__all__ = ["known_at", "regress"]

_LEAVES, _L2 = 8, 5.0
_STEPS = (5_000, 0.08, 60), (np.inf, 0.15, 30)  # largest number of rows, step, rounds
_SHARE, _FEWEST = 300, 20  # a leaf has at least n / _SHARE and at least _FEWEST rows


def known_at(problem: Problem, model: SetModel) -> BinnedData:
    """Return the data known at a set: the features that its model reads, and its scores."""
    features = problem.coarse.take_columns(np.array(model.features, np.int64))
    mapper = BinMapper.fit(model.scores, max_bins=COARSE, sample_weight=problem.rows.weight)
    scores = mapper.transform(model.scores)
    return features.beside(scores)


def regress(problem: Problem, seen: BinnedData, targets: NDArray[np.float64], *, whole: bool = True) -> ManyFolds:
    """Regress targets, float64 (n, T), on the data known at a set, cross-fitted on halves of the rows."""
    fewest = max(_FEWEST, problem.n_rows // _SHARE)
    step, n_rounds = next((step, count) for most, step, count in _STEPS if problem.n_rows <= most)
    settings = TreeSettings(
        max_leaves=_LEAVES,
        min_samples_leaf=fewest,
        learning_rate=step,
        l2_regularization=_L2,
        n_estimators=n_rounds,
    )
    return regress_many(seen, problem.rows, targets, problem.half, settings, whole=whole)
