"""Optimal trees at prices by STreeD, as an outsider of comparisons: needs pystreed.

J. van der Linden, M. de Weerdt, E. Demirovic: *Necessary and Sufficient Conditions for Optimal Decision Trees using
Dynamic Programming*, NeurIPS 2023. A tree of bounded depth minimizes, on the training rows, the price of the tests on
each row's way, a resource once, and that of wrong answers. Tests are of a few quantiles of a column. With prices of
errors there is one tree for each depth; without, wrong answers all cost the same, for each of some tradeoffs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

import costframe as cf
from harness.tables import single_prices

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from costframe.comparison import SeenTable

DEPTHS, STEPS = (2, 3, 4), 4  # and quantiles of a column, with all values where these are as few
TRADEOFFS = np.geomspace(0.01, 3.0, 8)  # wrong answers for the price of all features, without prices of errors
MOST_TESTS = 130  # of deeper trees than two; the time grows with a power of it


@frozen
class OptimalTrees:
    """Trees of depth 2 to 4."""

    name: str = "STreeD"

    @property
    def settings(self) -> Mapping[str, Any]:
        """What tells it from others of its name."""
        return {"depths": [*DEPTHS], "steps": STEPS, "tradeoffs": TRADEOFFS.tolist()}

    def fit(self, seen: SeenTable) -> Iterator[cf.Predictor]:
        """Fit a tree for each depth and tradeoff."""
        if seen.task != "classification":
            raise cf.CostframeError(f"STreeD's trees at prices are for classes, not for a {seen.task}")
        tests = _Tests.of(seen)
        binary = tests.binary(seen.train.X)
        for tradeoff, wrong in _wrong_answers(seen):
            for depth in DEPTHS if len(tests.ends) <= MOST_TESTS else DEPTHS[:1]:
                tree = _grow(seen, tests, binary, depth, tradeoff, wrong)
                yield _as_predictor(seen, tests, _with_shares(tree, binary, seen.codes(seen.train.y), len(wrong)))


@frozen(eq=False)
class _Tests:
    """Tests "at most this", in groups by column; a missing value passes none."""

    columns: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, seen: SeenTable) -> _Tests:
        found = []
        for column, values in enumerate(seen.train.X.T):
            known = np.unique(values[~np.isnan(values)])
            if len(known) > STEPS:
                known = np.unique(np.nanquantile(values, np.linspace(0, 1, STEPS + 1)[1:], method="lower"))
            has_gaps = np.isnan(values).any()
            found += [(column, end) for end in (known if has_gaps else known[:-1])]
        columns, ends = zip(*found, strict=True) if found else ((), ())
        return cls(np.array(columns, np.int64), np.array(ends, np.float64))

    def binary(self, X: np.ndarray) -> np.ndarray:
        return (X[:, self.columns] <= self.ends).astype(np.intc)


def _wrong_answers(seen: SeenTable) -> list[tuple[float, np.ndarray]]:
    """Return tradeoffs, each with the cost of each answer by truth: float64 (K, K)."""
    count = len(seen.classes)
    if seen.costs.errors is not None:
        return [(1.0, seen.costs.errors.of_classes(np.array(seen.classes), seen.feature_names).constant)]
    full = seen.costs.full_cost(seen.feature_names)
    return [(each / full, 1.0 - np.eye(count)) for each in TRADEOFFS]


def _grow(seen: SeenTable, tests: _Tests, binary: np.ndarray, depth: int, tradeoff: float, wrong: np.ndarray) -> Any:
    """Return STreeD's tree."""
    from pystreed import STreeDCostSensitiveClassifier

    spans = {}
    for column in np.unique(tests.columns).tolist():
        places = np.flatnonzero(tests.columns == column)
        spans[column] = int(places[0]), int(places[-1])
    model = STreeDCostSensitiveClassifier(max_depth=depth)
    specified = specify_costs(seen.costs, spans, wrong, tradeoff)
    model.fit(binary, seen.codes(seen.train.y).astype(np.intc), specified)
    return model.get_tree()


def specify_costs(
    costs: cf.CostModel, spans: Mapping[int, tuple[int, int]], wrong: np.ndarray, tradeoff: float = 1.0
) -> Any:
    """Return STreeD's costs of tests, of which `spans` has the first and last of each column, and wrong answers.

    A column with resources is in the group of the first one, which its first test pays.
    """
    from pystreed.data import CostSpecifier, FeatureCostSpecifier

    prices, alone = costs.select(costs.names), tradeoff * single_prices(costs)
    specified = []
    for column, span in spans.items():
        need = prices.needs[column]
        group = str(int(need.argmax())) if need.any() else ""
        later = float(tradeoff * prices.cost[column])
        specified.append(FeatureCostSpecifier(float(alone[column]), later, group, *span))
    return CostSpecifier(wrong.tolist(), specified)


def _with_shares(node: Any, binary: np.ndarray, codes: np.ndarray, count: int) -> Any:
    """Return a tree as (test, where it fails, where it passes), its leaves as shares of classes: float64 (K,)."""
    if node.is_leaf_node():
        shares = np.bincount(codes, minlength=count).astype(np.float64)
        return shares / shares.sum() if shares.sum() else np.eye(count)[node.label]
    passes = binary[:, node.feature] == 1
    sides = ((node.left_child, ~passes), (node.right_child, passes))
    return (node.feature, *(_with_shares(child, binary[rows], codes[rows], count) for child, rows in sides))


def _as_predictor(seen: SeenTable, tests: _Tests, tree: Any) -> cf.Predictor:
    def steps() -> Generator[tuple[str, ...], Mapping[str, float], Any]:
        node = tree
        while isinstance(node, tuple):
            name = seen.feature_names[tests.columns[node[0]]]
            values = yield (name,)
            node = node[1 + int(values[name] <= tests.ends[node[0]])]
        return node if len(seen.classes) > 2 else float(node[1])

    labels = {name: texts for name, texts in seen.categorical.items() if texts is not None}
    return cf.SteppedPredictor(seen.feature_names, steps, categories=labels)
