"""BudgetRF: forests grown at prices, and the path of forests judged on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray
from scipy.special import ndtri, pdtrik

from costframe import Answer, CostModel, StageTree, WeakLearnerBank
from costframe.engine import Record, mix_words
from costframe.plugin import (
    B1,
    F8,
    I8,
    DeferredPath,
    PathCollector,
    PathPoint,
    PriceArrays,
    Rows,
    Sampling,
    TrainingData,
    TreeTable,
    check_call,
    run_parallel,
)
from costframe.trees import BinMapper, BinnedData, HeldOutPredictions, Scorer
from costframe_budgetforest.engine import (
    ENTROPY,
    GINI,
    PAIRS,
    BudgetPrices,
    BudgetRule,
    BudgetTree,
    grow_budget_tree,
)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MANY = 1e4  # mean from which the normal distribution is as good
_POISSON = np.cumsum(np.exp(-1.0) / np.array([1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0]))
_SIZES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 75)


@frozen(eq=False)
class Forest:
    """Trees that vote with the class shares of their leaves."""

    trees: TreeTable  # their outputs are `shares` of the leaves; for two classes only that of class 1
    shares: F8  # (nodes, K): class shares of each node, leaf or not

    @cached_property
    def parent(self) -> I8:
        """The parent of each node, as a place among all nodes; -1 for roots: int64 (nodes,)."""
        trees, inner = self.trees, np.flatnonzero(self.trees.feature >= 0)
        root = inner - trees.node_positions[inner]
        parent = np.full(trees.n_nodes, -1, np.int64)
        parent[root + trees.left[inner]] = inner
        parent[root + trees.right[inner]] = inner
        return parent

    def cut(self, inner: B1) -> tuple[Forest, I8]:
        """Make all nodes leaves but `inner`, bool (nodes,), whose ancestors are `inner` too; return the kept nodes."""
        trees = self.trees
        nodes = np.flatnonzero((self.parent < 0) | inner[self.parent])
        first = np.searchsorted(nodes, trees.first)
        place = np.zeros(trees.n_nodes, np.int64)
        place[nodes] = np.arange(len(nodes)) - np.repeat(first[:-1], np.diff(first))
        root, tests = nodes - trees.node_positions[nodes], inner[nodes]
        left, right = (
            np.where(tests, place[root + np.maximum(side[nodes], 0)], -1) for side in (trees.left, trees.right)
        )
        width = int(trees.width[0])
        count = np.where(inner, trees.category_count, 0)
        named = np.repeat(inner, trees.category_count)
        table = TreeTable(
            first, np.where(tests, trees.feature[nodes], -1), trees.threshold[nodes], trees.missing_left[nodes], left,
            right, trees.width, np.where(tests, -1, (np.cumsum(~tests) - 1) * width),
            self.shares[nodes][~tests][:, -width:].ravel(), count[nodes], trees.categories[named],
        )  # fmt: skip
        return Forest(table, self.shares[nodes]), nodes

    def prefix(self, count: int) -> Forest:
        """Keep the first trees."""
        return Forest(self.trees.restrict(np.arange(count)), self.shares[: self.trees.first[count]])

    def predictor(self, names: tuple[str, ...]) -> StageTree:
        """Return the mean of the trees' shares as a predictor; a tree without tests is part of the constant."""
        trees = self.trees
        width, count = int(trees.width[0]), len(trees)
        grown = np.flatnonzero(np.diff(trees.first) > 1)
        roots = self.shares[trees.first[:-1][np.diff(trees.first) == 1]][:, -width:]
        bank = WeakLearnerBank.from_trees(trees.restrict(grown), names)
        share = (1.0 - count * np.finfo(np.float64).eps) / count  # so that no rounded sum is above one
        weights = np.tile(np.eye(width), (len(grown), 1)) * share
        return StageTree(bank, (Answer(np.arange(len(grown)), weights, roots.sum(axis=0) * share),))


@frozen(eq=False)
class Bags:
    """Bags of rows for trees: equal rows are drawn together, their number is Poisson with their weight as its mean.

    So a row given twice is a row of weight two, and the order of rows has no effect. Rows that weigh less than one
    together are drawn with mean one, at their weight.
    """

    first: I8  # (groups,): A row of each group of equal rows, ascending
    number: NDArray[np.uint64]  # (groups,): hash of their values
    weight: F8  # (groups,): sum of their weights
    seed: int

    @classmethod
    def of(cls, numbers: NDArray[np.uint64], weight: F8, seed: int) -> Bags:
        """Group rows by the hashes of their values, uint64 (n,)."""
        number, first, group = np.unique(numbers, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return cls(first[order], number[order], np.bincount(group, weight)[order].astype(np.float64), seed)

    def draw(self, tree: int) -> tuple[I8, F8]:
        """Return the rows of a tree's bag, ascending, and their weights in it; a bag is never empty."""
        start = (self.seed % 2**63 * 1_000_003 + tree + 1) % 2**64
        z = self.number + _draw_bits(np.array([start], np.uint64))
        mean = np.maximum(self.weight, 1.0)
        drawn = _poisson(np.clip(_draw_bits(z) / 2.0**64, 2.0**-60, 1 - 2.0**-53), mean)
        if not drawn.any():
            drawn = mean
        inside = drawn > 0
        return self.first[inside], (drawn * (self.weight / mean))[inside]


def _poisson(u: F8, mean: F8) -> F8:
    """Return the least number whose chance not to be exceeded is above u; of large means by the normal distribution."""
    counts = np.searchsorted(_POISSON, u, side="right").astype(np.float64)  # of mean one
    few, many = np.flatnonzero((mean > 1.0) & (mean <= _MANY)), np.flatnonzero(mean > _MANY)
    counts[few] = np.ceil(pdtrik(u[few], mean[few]))
    counts[many] = mean[many] + np.sqrt(mean[many]) * ndtri(u[many])
    return np.maximum(counts, 0.0)


@frozen(eq=False)
class ForestRows:
    """Rows as bins, in the order of their columns' names, so that draws do not depend on the order of columns."""

    rows: Rows
    order: I8
    binned: BinnedData
    n_classes: int
    bags: Bags
    splittable: B1 = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "splittable", np.flatnonzero(self.binned.splittable))

    @classmethod
    def of(cls, data: TrainingData, seed: int, *, max_bins: int = 255, n_threads: int = 1) -> ForestRows:
        """Bin the training rows, and group equal ones for bags."""
        rows, names = data.train, data.feature_names
        order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        X, weight = rows.X[:, order], rows.uneven_weight
        mapper = BinMapper.fit(X, max_bins=max_bins, sample_weight=weight, n_threads=n_threads)
        bags = Bags.of(Sampling(data).numbers(rows), rows.weight, seed)
        return cls(rows, order, mapper.transform(X, n_threads=n_threads), data.n_classes, bags)


def _draw_bits(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the draw of SplitMix64 that follows each number, (n,)."""
    drawn = numbers + _GOLDEN
    mix_words(drawn)
    return drawn


def grow_forest(
    given: ForestRows, prices: PriceArrays | None, rule: Record, n_trees: int, seed: int, *, n_threads: int = 1
) -> Forest:
    """Grow trees, each on a bag of its own; without prices by the largest drop."""
    split, columns = _lay_out_prices(given, prices), np.ascontiguousarray(given.binned.columns[given.splittable])

    def grow(t: int) -> tuple[TreeTable, F8]:
        (drawn,) = _draw_bits(np.array([seed % 2**63 + 7919 * (t + 1)], np.uint64)).tolist()
        return _grow(given, columns, split, rule, t, drawn >> 1)

    grown = run_parallel(grow, range(n_trees), n_threads)
    trees = TreeTable.concatenate([table for table, _ in grown])
    return Forest(trees, np.concatenate([shares for _, shares in grown]))


def _lay_out_prices(given: ForestRows, prices: PriceArrays | None) -> Record:
    """Return the prices of the columns that can be split, in their order."""
    columns = given.order[given.splittable]
    if prices is None:
        none = np.zeros(len(columns))
        return BudgetPrices(none, none, np.zeros(0), np.zeros(len(columns) + 1, np.int64), np.zeros(0, np.int64))
    first, need = prices.needed
    size = np.diff(first)[columns]
    needs = [need[first[f] : first[f + 1]] for f in columns.tolist()]
    return BudgetPrices(
        prices.cost[columns], prices.split[columns], np.array(prices.resource_cost),
        np.concatenate([[0], np.cumsum(size)]), np.concatenate([np.zeros(0, np.int64), *needs]),
    )  # fmt: skip


def _grow(
    given: ForestRows, columns: NDArray[np.uint8], split: Record, rule: Record, t: int, seed: int
) -> tuple[TreeTable, F8]:
    """Grow one tree; return it with the class shares of its nodes."""
    drawn, weights = given.bags.draw(t)
    weight, rows = np.zeros(len(given.rows)), drawn.astype(np.int32)
    weight[rows] = weights
    room = _room(2 * len(rows), given.n_classes)
    count = _split_nodes(columns, given.rows.y, weight, split, rule, rows, room, seed)
    tests, bins, missing_left, left, right, *_, counts = (part[:count] for part in room)
    shares = counts / counts.sum(axis=1, keepdims=True)
    inner, place = tests >= 0, given.splittable[np.maximum(tests, 0)] if len(columns) else 0
    cuts = given.binned.mapper.thresholds
    threshold = np.array(
        [cuts[f][b] if test else 0.0 for f, b, test in zip(np.broadcast_to(place, count), bins, inner, strict=True)]
    )
    feature = np.where(inner, given.order[place], -1).astype(np.int32)
    table = TreeTable.single(
        feature, threshold, missing_left.copy(), left.copy(), right.copy(),
        shares[:, 1] if given.n_classes == 2 else shares, grown=True,
    )  # fmt: skip
    return table, shares


def _split_nodes(
    columns: NDArray[np.uint8],
    y: I8,
    weight: F8,
    split: Record,
    rule: Record,
    rows: NDArray[np.int32],
    room: tuple[NDArray[Any], ...],
    seed: int,
) -> int:
    """Split the nodes of a tree until none is left, in calls of bounded length; return the number of nodes."""
    tree, order = BudgetTree(*room), np.arange(len(columns))
    parent, depth, begin, end = room[5:9]
    parent[0], depth[0], begin[0], end[0] = -1, 0, 0, len(rows)
    state = np.array([0, 1, seed % 2147483646 + 1])  # the next node, the number of nodes, and the state of the draws
    while state[0] < state[1]:
        check_call()
        grow_budget_tree(columns, y, weight, split, rule, rows, tree, order, state)
    return int(state[1])


def _room(most: int, n_classes: int) -> tuple[NDArray[Any], ...]:
    """Return the fields of a `BudgetTree` with memory for its nodes."""
    feature, bins, left, right, parent, depth = (np.empty(most, np.int32) for _ in range(6))
    begin, end = np.empty(most, np.int64), np.empty(most, np.int64)
    counts, missing_left = np.zeros((most, n_classes)), np.zeros(most, np.bool_)
    return feature, bins, missing_left, left, right, parent, depth, begin, end, counts


def squared_loss(proba: F8, y: I8, weight: F8) -> float:
    """Return the mean over rows of the sum over classes of (p - label)^2 / 2; `proba` is (n,) of class 1, or (n, K)."""
    if proba.ndim == 1:
        return float(np.average((proba - y) ** 2, weights=weight))
    hit = proba[np.arange(len(y)), y]
    return float(np.average(((proba**2).sum(axis=1) - 2.0 * hit + 1.0) / 2.0, weights=weight))


@frozen(eq=False)
class HeldOutScorer:
    """Held-out rows, their prices, and the score of points."""

    rows: Rows
    costs: CostModel
    batch: float  # rows that share prices per batch
    score: Scorer | None = None

    @classmethod
    def of(cls, data: TrainingData, score: Scorer | None = None) -> HeldOutScorer:
        """Judge by the validation rows."""
        assert data.valid is not None  # noqa: S101 - the callers have checked it
        return cls(data.valid, data.costs, data.train.total_weight, score)

    def measure(self, tree: StageTree, tradeoff: float, n_trees: int) -> PathPoint:
        """Measure a model."""
        rows = self.rows
        proba = tree.predict(rows.X)
        report = tree.cost(rows.X, self.costs, sample_weight=rows.weight, made=True)
        cost = float(report.mean + report.fixed / self.batch)
        loss = squared_loss(proba, rows.y, rows.weight)
        score = -loss if self.score is None else self.score(HeldOutPredictions(rows, proba))
        return PathPoint(n_trees, tradeoff, loss, cost, score)


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
    score: Scorer | None = None,
    progress: Callable[[float], None] | None = None,
    *,
    priced: bool = True,
) -> DeferredPath:
    """Grow a forest for each threshold, and measure its first trees on the validation rows.

    The path's first model is grown without prices; there is one without trees, too. `priced` says whether prices count.
    """
    judge, models, names = HeldOutScorer.of(data, score), PathCollector(), data.feature_names
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
    hidden = data.dominated_duplicates()
    return evolve(data, train=evolve(rows, X=np.where(hidden, np.nan, rows.X))) if hidden.any() else data


def _measure(judge: HeldOutScorer, models: PathCollector, forest: Forest, names: tuple[str, ...]) -> None:
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
