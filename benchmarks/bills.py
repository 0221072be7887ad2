"""Needs ../shared for the tables streed-*, pystreed and LightGBM: mean test bills, of acquisitions and errors together.

    python benchmarks/bills.py [streed-heart wine ...] [--splits 5] [--levels low middle high] [--sides cegb STreeD]

Test rows are those of the tables' own splits. Tables of scikit-learn, and drawn ones ("drawn-3" has three classes),
have test costs and error costs drawn by their names; the constant's bill there is .09, .17 and .5 of the cost of all
features, as on the stored tables. STreeD's trees are optimal on the training rows, at the depth from 2 to 4 of least
bill by cross-validation there; "best depth" and CEGB's "best tradeoff" are chosen on the test rows, which flatters
them. Ratios are those of means to STreeD's best depth. `--keep` stores bills of peers in a folder.
"""

from __future__ import annotations

import argparse
import json
import zlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
import numpy as np
import pandas as pd
from attrs import frozen
from pystreed import STreeDCostSensitiveClassifier
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold

import costframe as cf
from costframe.datasets import Dataset
from harness.optimal_trees import specify_costs
from harness.points import markdown
from harness.tables import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Masks = NDArray[np.bool_]

STORED = ("streed-heart", "streed-hepatitis", "streed-pima", "streed-breast")
LEVELS = {"low": 0.09, "middle": 0.17, "high": 0.5}  # the constant's bill, as a share of the cost of all features
DEPTHS, FOLDS = (2, 3, 4), 5
TRADEOFFS = np.geomspace(1e-3, 10, 12)  # of CEGB, in units of 1 / cost of all features
STEPS, DRAWN_SPLITS, TEST_SHARE = 4, 100, 0.3
ROUNDS = {"n_estimators": 60, "num_leaves": 7, "learning_rate": 0.1, "min_child_samples": 5}


@frozen(eq=False)
class Table:
    """Rows, and their prices at each level of error costs; `tests` are the test rows of each split."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    costs: dict[str, cf.CostModel]
    tests: Masks

    def binary(self) -> tuple[NDArray[np.intc], list[tuple[int, int]]]:
        """Return binary columns, one for each code of a feature but one for two, and each feature's first and last."""
        columns: list[NDArray[np.bool_]] = []
        spans = []
        for values in self.X.T:
            codes = np.unique(values)
            new = [values == code for code in (codes if len(codes) > 2 else codes[1:])]
            spans.append((len(columns), len(columns) + len(new) - 1))
            columns += new
        return np.stack(columns, axis=1).astype(np.intc), spans


def error_matrix(costs: cf.CostModel, n: int) -> NDArray[np.float64]:
    """Return error costs by truth and answer."""
    assert costs.errors is not None  # noqa: S101 - all tables here have some
    return costs.errors.of_classes(np.arange(n), costs.names).constant


def load(name: str) -> Table:
    """Load a stored table, or make one."""
    if not name.startswith("streed-"):
        return make(name)
    folder = SHARED / "data" / name
    frame = pd.read_parquet(folder / "data.parquet").drop(columns="split")
    costs = {level: cf.CostModel.of(folder / f"costs-{level}.toml") for level in LEVELS}
    tests = np.load(folder / "splits.npz")["test"]
    return Table(name, frame.drop(columns="label").to_numpy(float), frame.label.to_numpy(np.int64), costs, tests)


def make(name: str) -> Table:
    """Make a table of some hundred rows, its features in a few quantiles, with costs drawn by its name."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if name.startswith("drawn-"):
        classes = int(name[len("drawn-")])
        X, y = datasets.make_classification(
            int(rng.integers(160, 360)), 14, n_informative=6, n_redundant=4, n_classes=classes, n_clusters_per_class=1,
            flip_y=0.08, class_sep=0.8, random_state=int(rng.integers(1000)),
        )  # fmt: skip
    else:
        X, y = getattr(datasets, f"load_{name.partition('-')[0]}")(return_X_y=True)
        few = rng.permutation(len(X))[:300]
        X, y = X[few], y[few]
        if name.startswith("digits"):
            few = y < 6
            X, y = X[few][:, np.argsort(-X[few].std(axis=0))[:14]], y[few]
    X = X + 1e-9 * rng.random(X.shape)
    X = np.stack([np.digitize(x, np.unique(np.quantile(x, np.arange(1, STEPS) / STEPS))) for x in X.T], axis=1)
    names = [f"f{f}" for f in range(X.shape[1])]
    group = rng.integers(0, 5, len(names))
    table = {
        "features": {f: {"cost": float(c), "needs": ["group"]} if g == 0 else float(c)
                     for f, c, g in zip(names, np.exp(rng.normal(1, 1, len(names))).round(2), group, strict=True)},
        "resources": {"group": 8.0},
    }  # fmt: skip
    n = int(y.max()) + 1
    wrong = np.exp(rng.normal(0, 0.6, (n, n))) * (1 - np.eye(n))
    constant = (np.bincount(y) / len(y) @ wrong).min()
    full = cf.CostModel.of(table).full_cost(names)
    costs = {}
    for level, share in LEVELS.items():
        matrix = (wrong * share * full / constant).round(2)
        errors = {str(a): {str(b): float(matrix[a, b]) for b in range(n) if b != a} for a in range(n)}
        costs[level] = cf.CostModel.of(table | {"errors": errors})
    tests = np.stack([rng.permutation(len(y)) < TEST_SHARE * len(y) for _ in range(DRAWN_SPLITS)])
    return Table(name, X.astype(float), y.astype(np.int64), costs, tests)


def streed_bills(table: Table, level: str, test: Masks) -> dict[str, float]:
    """Return the bills of optimal trees: at the depth chosen by cross-validation, and at each."""
    X, spans = table.binary()
    n = int(table.y.max()) + 1
    costs, wrong = table.costs[level], error_matrix(table.costs[level], n)
    prices = costs.select([*costs.names])
    specified = specify_costs(costs, dict(enumerate(spans)), wrong)
    feature_of = np.repeat(np.arange(len(spans)), [last - first + 1 for first, last in spans])

    def bill(depth: int, train: NDArray[np.int64], rows: NDArray[np.int64]) -> float:
        model = STreeDCostSensitiveClassifier(max_depth=depth)
        model.fit(X[train], table.y[train], specified)
        total = 0.0

        def walk(node: Any, rows: NDArray[np.int64], seen: frozenset[int]) -> None:
            nonlocal total
            if node.is_leaf_node():
                paid = prices.cost[[*seen]].sum() + prices.resource_cost[prices.needs[[*seen]].any(axis=0)].sum()
                total += float(wrong[table.y[rows], node.label].sum() + len(rows) * (paid if seen else 0.0))
                return
            yes = X[rows, node.feature] == 1
            more = seen | {int(feature_of[node.feature])}
            walk(node.left_child, rows[~yes], more)
            walk(node.right_child, rows[yes], more)

        walk(model.get_tree(), rows, frozenset())
        return total / len(rows)

    train = np.flatnonzero(~test)
    folds = [
        (train[a], train[b])
        for a, b in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(train, table.y[train])
    ]
    judged = {depth: np.mean([bill(depth, a, b) for a, b in folds]) for depth in DEPTHS}
    found = {f"depth {depth}": bill(depth, train, np.flatnonzero(test)) for depth in DEPTHS}
    return {"STreeD": found[f"depth {min(judged, key=lambda each: judged[each])}"], **found}


def lightgbm_bills(table: Table, level: str, test: Masks) -> dict[str, float]:
    """Return the bills of boosted trees that pay for all features, and of CEGB at each tradeoff."""
    costs, names = table.costs[level], [*table.costs[level].names]
    n, full = int(table.y.max()) + 1, table.costs[level].full_cost([*table.costs[level].names])
    prices = costs.select(names)
    each = prices.cost + prices.needs @ prices.resource_cost
    train = pd.DataFrame(table.X[~test], columns=names)

    def fit(**penalties: Any) -> tuple[float, float]:
        model = lgb.LGBMClassifier(**ROUNDS, **penalties, verbosity=-1, n_jobs=1).fit(train, table.y[~test])
        adopted = cf.adopt(model.booster_).with_classes(np.arange(n)).with_costs(costs)
        report = adopted.cost(table.X[test], y=table.y[test])
        return report.mean_bill, report.mean_errors

    found = {
        f"CEGB {tradeoff:.2g}": fit(cegb_penalty_feature_lazy=(2 * tradeoff / full * each).tolist())[0]
        for tradeoff in TRADEOFFS
    }
    return {"LightGBM, all paid": fit()[1] + full, **found}


def own_bills(table: Table, level: str, test: Masks, *, name: str) -> dict[str, float]:
    """Return the bill of an algorithm of costframe's, at the tradeoff that follows from the prices."""
    frame = pd.DataFrame(table.X, columns=[*table.costs[level].names])
    model = cf.estimator(name, "classification", costs=table.costs[level], n_jobs=1)
    return {name: model.fit(frame[~test], table.y[~test]).cost(frame[test], table.y[test]).mean_bill}


def study_bills(table: Table, level: str, test: Masks) -> dict[str, float]:
    """Return the bill of what a study of the planner and the references recommends, and of its priced tree.

    A quarter of the other rows is for validation.
    """
    split = int(np.flatnonzero((table.tests == test).all(axis=1))[0])
    train, part = np.flatnonzero(~test), np.where(test, "test", "train").astype("<U5")
    part[np.random.default_rng(split).permutation(train)[: len(train) // 4]] = "valid"
    costs, classes = table.costs[level], tuple(range(int(table.y.max()) + 1))
    data = Dataset(table.name, table.X, table.y, costs.names, costs, "classification", part, classes=classes)
    frontier = cf.Frontier.sweep(data, ["planner"])
    chosen, tree = frontier.recommended(), frontier["tree-priced-1"]
    return {name: point.test_cost - point.test_score for name, point in (("study", chosen), ("its tree", tree))}


def constant_bills(table: Table, level: str, test: Masks) -> dict[str, float]:
    """Return the bill of the best answer for all rows."""
    wrong = error_matrix(table.costs[level], int(table.y.max()) + 1)
    return {"constant": float(wrong[table.y[test], wrong[table.y[~test]].sum(axis=0).argmin()].mean())}


PEERS = ("STreeD", "LightGBM", "constant")
OWN = ("planner", "priced-tree", "cegb", "miser", "cronus", "cstc", "adapt")
SIDES: dict[str, Callable[[Table, str, Masks], dict[str, float]]] = {
    "study": study_bills,
    **{name: partial(own_bills, name=name) for name in OWN},
    "STreeD": streed_bills,
    "LightGBM": lightgbm_bills,
    "constant": constant_bills,
}


def bills_of(table: Table, level: str, sides: list[str], splits: int, keep: Path | None) -> dict[str, list[float]]:
    """Return the bills of each model on each split."""
    every: dict[str, list[float]] = {}
    for side in sides:
        kept = None if keep is None or side in (*OWN, "study") else keep / f"{table.name}-{level}-{splits}-{side}.json"
        if kept is not None and kept.exists():
            every |= json.loads(kept.read_text())
            continue
        found = [SIDES[side](table, level, test) for test in table.tests[:splits]]
        bills = {name: [each[name] for each in found] for name in found[0]}
        if kept is not None:
            kept.write_text(json.dumps(bills))
        every |= bills
    return every


def with_best(bills: dict[str, list[float]]) -> dict[str, list[float]]:
    """Replace depths and tradeoffs by those of the least mean on test."""
    kept = {name: each for name, each in bills.items() if not name.startswith(("depth", "CEGB"))}
    for title, start in (("best depth", "depth"), ("CEGB, best tradeoff", "CEGB")):
        some = [each for name, each in bills.items() if name.startswith(start)]
        if some:
            kept[title] = min(some, key=np.mean)
    return kept


def main() -> None:
    """Print one row for each table and level, and mean ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=STORED)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=[*LEVELS])
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=["planner", *PEERS])
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    lines, ratios = [], {level: [] for level in given.levels}
    for name in given.tables:
        table = load(name)
        for level in given.levels:
            bills = with_best(bills_of(table, level, given.sides, given.splits, given.keep))
            errors = {side: np.std(each, ddof=1) / len(each) ** 0.5 for side, each in bills.items()}
            cells = [f"{np.mean(each):.4g} ± {errors[side]:.2g}" for side, each in bills.items()]
            if {"planner", "best depth"} <= bills.keys():
                ratios[level].append(np.mean(bills["planner"]) / np.mean(bills["best depth"]))
                cells.append(f"{ratios[level][-1]:.2f}")
            lines.append([name, level, *cells])
            print(*lines[-1], sep=" | ", flush=True)
    print(markdown(["table", "errors", *bills, *(["ratio"] if len(lines[0]) > 2 + len(bills) else [])], lines))
    for level, each in ratios.items():
        if each:
            print(f"{level}: geometric mean of ratios {np.exp(np.mean(np.log(each))):.3f}")


if __name__ == "__main__":
    main()
