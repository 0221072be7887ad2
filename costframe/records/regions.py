"""Regions of a table by the chance that a test was made: leaves of a small tree, as conditions in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from costframe.core.arrays import B1, F8
from costframe.core.tables.conditions import Condition, Label, find_rows, in_words

_LEAVES = 6
_LEAST_SHARE, _LEAST_ROWS = 0.03, 20  # of the rows in a leaf
_EDGES = 100  # thresholds to try in each column, at most
_SIGNIFICANT = 15.0  # a split's chi-squared; the best of a hundred thresholds on a column of chance seldom has it
_MOST_ROWS = 20_000  # from which a tree learns
_DIGITS = 3  # of a threshold, which people read


@frozen(eq=False)
class Always:
    """The columns that each row of a table has, from which regions are made.

    `labels` are those of categorical columns, with their numbers, by the column's name; a label that is a number is
    itself.
    """

    X: F8 = field(repr=False)  # (n, d), all columns of the table
    names: tuple[str, ...]  # (d,)
    columns: tuple[int, ...]  # numbers of the columns that are always there
    labels: Mapping[str, Mapping[Label, float]] = field(factory=dict)

    def find(self, region: Region) -> B1:
        """Return which rows are in a region: bool (n,)."""
        column = {name: place for place, name in enumerate(self.names)}
        return find_rows(region.conditions, self.X, column, self.labels)


@frozen
class Region:
    """Rows that meet all of some conditions, each on another column that is always there."""

    conditions: tuple[Condition, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that tell whether a row is in it."""
        return tuple(condition.feature for condition in self.conditions)

    def __str__(self) -> str:
        return in_words(self.conditions)


@frozen(eq=False)
class _Test:
    """A column of the tree's own table: a column of the rows in ranges, or whether it has a label."""

    feature: str
    edges: F8  # of ranges; a number of the table is the first edge at or above the value
    label: Label | None
    has_missing: bool
    other: Label | None = None  # the only other label, where each row has one of two

    def side(self, threshold: float, *, is_left: bool, missing_left: bool) -> Condition:
        """Return the condition of the rows at a side of a node."""
        if self.label is not None:
            if is_left and self.other is None:
                return Condition(self.feature, others=(self.label,), missing=True)
            return Condition(self.feature, label=self.other if is_left else self.label)
        if np.isinf(threshold):  # values at one side, missing ones at the other
            return Condition(self.feature, missing=missing_left == is_left, known=missing_left != is_left)
        edge, missing = float(self.edges[int(threshold)]), self.has_missing and missing_left == is_left
        if is_left:
            return Condition(self.feature, up_to=edge, missing=missing)
        return Condition(self.feature, above=edge, missing=missing)


def find_regions(always: Always, made: B1, seed: int = 0) -> list[Region]:
    """Return the leaves of a small tree that tells rows with a test, bool (n,), from others; none if it has no split.

    Thresholds are rounded for readers, and rows are in a region by these. The tree learns from columns with more than
    one value, and splits that chance would make are left out.
    """
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(seed)
    rows = np.arange(len(made))
    if len(rows) > _MOST_ROWS:
        rows = np.sort(rng.choice(rows, _MOST_ROWS, replace=False))
    found = list(_tests(always, rows))
    if not found or made[rows].all() or not made[rows].any():
        return []
    tests, columns = zip(*found, strict=True)
    least = max(int(_LEAST_SHARE * len(rows)), _LEAST_ROWS)
    spread = 2 * made[rows].mean() * (1 - made[rows].mean())
    tree = DecisionTreeClassifier(
        max_leaf_nodes=_LEAVES,
        min_samples_leaf=least,
        min_impurity_decrease=_SIGNIFICANT * spread / len(rows),
        random_state=seed,
    )
    grown: Any = tree.fit(np.column_stack(columns), made[rows]).tree_
    return [] if grown.node_count == 1 else [Region(conditions) for conditions in _leaves(grown, tests)]


def _tests(always: Always, rows: Any) -> Iterator[tuple[_Test, F8]]:
    """Yield the columns of the tree's own table, float64 (rows,), with what each one tests."""
    for place in always.columns:
        name, values = always.names[place], always.X[rows, place]
        missing = np.isnan(values)
        if name in always.labels:
            yield from _tests_of_labels(name, values, always.labels[name])
            continue
        known = values[~missing]
        rounded = _round_edges(known[np.isfinite(known)])
        if len(rounded) and (known > rounded[0]).any():
            numbers = np.where(missing, np.nan, np.searchsorted(rounded, values))
            yield _Test(name, rounded, None, bool(missing.any())), numbers


def _tests_of_labels(name: str, values: F8, labels: Mapping[Label, float]) -> Iterator[tuple[_Test, F8]]:
    """Yield a test for each label that enough rows have; of two labels, for one."""
    has = {label: values == number for label, number in labels.items()}
    has = {label: rows for label, rows in has.items() if rows.any()}
    is_one_of_two = len(has) == 2 and bool(np.logical_or(*has.values()).all())
    for label, rows in has.items():
        if _LEAST_SHARE <= rows.mean() <= 1 - _LEAST_SHARE:
            other = next(each for each in has if each != label) if is_one_of_two else None
            yield _Test(name, np.empty(0), label, has_missing=False, other=other), rows.astype(np.float64)
            if is_one_of_two:
                return


def _round_edges(values: F8) -> F8:
    """Return thresholds between values, with few digits, ascending: float64 (any,)."""
    edges = np.unique(values)
    if len(edges) > _EDGES:
        edges = np.unique(np.quantile(values, np.linspace(0, 1, _EDGES + 1)[1:-1], method="lower"))
    return np.unique([float(f"{edge:.{_DIGITS}g}") for edge in edges.tolist()])


def _leaves(tree: Any, tests: Sequence[_Test]) -> Iterator[tuple[Condition, ...]]:
    """Yield the conditions of each leaf of scikit-learn's tree."""
    waiting: list[tuple[int, dict[str, Condition]]] = [(0, {})]
    while waiting:
        node, known = waiting.pop()
        if tree.children_left[node] < 0:
            yield tuple(known.values())
            continue
        test, missing_left = tests[tree.feature[node]], bool(tree.missing_go_to_left[node])
        for is_left in (False, True):
            side = test.side(tree.threshold[node], is_left=is_left, missing_left=missing_left)
            met = known[side.feature].meet(side) if side.feature in known else side
            child = (tree.children_left if is_left else tree.children_right)[node]
            waiting.append((int(child), known | {side.feature: met}))
