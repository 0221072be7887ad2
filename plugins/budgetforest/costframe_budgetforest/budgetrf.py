"""BudgetRF: forests of several impurity thresholds and sizes, and the choice among them on held-out rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.plugin import PathCollector, dominated_duplicates
from costframe.trees import ENTROPY, GINI, PAIRS, BudgetRule
from costframe_budgetforest.forest import ForestRows, Judge, grow_forest

if TYPE_CHECKING:
    from collections.abc import Callable

    from costframe.plugin import DeferredPath, TrainingData
    from costframe.trees import Predicted, Record
    from costframe_budgetforest.forest import Forest, ForestPoint

_SIZES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 75)


@frozen
class GrowSettings:
    """How to grow forests; see `BudgetRFClassifier`."""

    n_trees: int
    impurity: str
    minimax: bool
    thresholds: tuple[float, ...]
    max_features: float
    max_depth: int
    min_leaf: float
    smoothing: float
    seed: int
    n_threads: int = 1


def grow_path(
    data: TrainingData,
    settings: GrowSettings,
    score: Callable[[Predicted], float] | None = None,
    progress: Callable[[float], None] | None = None,
    *,
    priced: bool = True,
) -> DeferredPath[ForestPoint]:
    """Grow a forest for each threshold, and measure its first trees on the validation rows.

    The path's first model is grown without prices; there is one without trees, too. `priced` says whether prices count.
    """
    judge, models, names = Judge.of(data, score), PathCollector["ForestPoint"](), data.feature_names
    given = ForestRows.of(without_copies(data) if priced else data, settings.seed, n_threads=settings.n_threads)
    plain = grow_plain(given, evolve(settings, thresholds=settings.thresholds[:1]))
    models.add(judge.measure(plain.predictor(names), 0.0, settings.n_trees), partial(plain.predictor, names))
    for done, threshold in enumerate(settings.thresholds, 1):
        same = done == 1 and not priced
        forest = plain if same else grow_priced(given, data, settings, threshold, priced=priced)
        _measure(judge, models, forest, names)
        models.drop_dominated()
        if progress is not None:
            progress(done / len(settings.thresholds))
    nothing = forest_without_tests(plain)
    models.add(judge.measure(nothing.predictor(names), 0.0, 0), partial(nothing.predictor, names))
    return models.path(data.costs)


def without_copies(data: TrainingData) -> TrainingData:
    """Empty training columns with the values of a column that never costs more: no tree splits on them."""
    rows = data.train
    hidden = dominated_duplicates(rows.X, data.prices)
    return evolve(data, train=evolve(rows, X=np.where(hidden, np.nan, rows.X))) if hidden.any() else data


def _measure(judge: Judge, models: PathCollector[ForestPoint], forest: Forest, names: tuple[str, ...]) -> None:
    count = len(forest.trees)
    for size in [size for size in _SIZES if size < count] + [count]:
        part = forest.prefix(size)
        models.add(judge.measure(part.predictor(names), 0.0, size), partial(part.predictor, names))


def forest_without_tests(forest: Forest) -> Forest:
    """Return the forest's roots."""
    return forest.cut(np.zeros(forest.trees.n_nodes, np.bool_))[0]


def grow_plain(given: ForestRows, settings: GrowSettings) -> Forest:
    """Grow a random forest without prices."""
    rule = _rule(given, None, settings, settings.thresholds[0])
    return grow_forest(given, None, rule, settings.n_trees, settings.seed, n_threads=settings.n_threads)


def grow_priced(
    given: ForestRows, data: TrainingData, settings: GrowSettings, threshold: float, *, priced: bool
) -> Forest:
    """Grow a forest, with prices if `priced` and if there are any."""
    prices = data.prices if priced and data.prices.alone.any() | data.prices.split.any() else None
    rule = _rule(given, None if prices is None else data, settings, threshold)
    return grow_forest(given, prices, rule, settings.n_trees, settings.seed, n_threads=settings.n_threads)


def _rule(given: ForestRows, data: TrainingData | None, settings: GrowSettings, threshold: float) -> Record:
    kinds = {"pairs": PAIRS, "gini": GINI, "entropy": ENTROPY}
    n_features = len(given.splittable)
    drawn = max(1, min(n_features, round(settings.max_features * n_features)))
    base = 0.0
    if data is not None and n_features:
        base = settings.smoothing * float(np.mean(data.prices.alone[given.order[given.splittable]]))
    return BudgetRule(
        kinds[settings.impurity], threshold, settings.minimax, drawn, settings.max_depth, settings.min_leaf, base
    )
