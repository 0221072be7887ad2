"""A LightGBM model to time against, and the same trees as a costframe predictor."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
from timing import THREADS

import costframe as cf
from costframe.core.learners.tree_table import TreeTable


def table(n: int = 100_000, d: int = 50, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows with interactions, curvature and noise."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.2 * X[:, 3:20].sum(axis=1) + 0.1 * random.standard_normal(n)
    return X, y


def train(X: np.ndarray, y: np.ndarray, rounds: int = 100, leaves: int = 31, **parameters: Any) -> lgb.Booster:
    """Fit LightGBM with its defaults."""
    settings = {"objective": "regression", "num_leaves": leaves, "verbosity": -1, "num_threads": THREADS, **parameters}
    return lgb.train(settings, lgb.Dataset(X, y, params={"verbosity": -1, "num_threads": THREADS}), rounds)


def as_predictor(booster: lgb.Booster) -> cf.StageTree:
    """Take the booster's numeric trees over, node by node."""
    trees = TreeTable.concatenate([_tree(info["tree_structure"]) for info in booster.dump_model()["tree_info"]])
    bank = cf.WeakLearnerBank.from_trees(trees, booster.feature_name())
    return cf.StageTree(bank, (cf.Answer(np.arange(len(bank)), np.ones(len(bank)), [0.0]),))


def _tree(root: dict[str, Any]) -> TreeTable:
    nodes: list[list[Any]] = []

    def walk(node: dict[str, Any]) -> int:
        nodes.append([-1, 0.0, False, -1, -1, node.get("leaf_value", 0.0)])
        number = len(nodes) - 1
        if "split_feature" in node:
            left, right = walk(node["left_child"]), walk(node["right_child"])
            nodes[number][:5] = [node["split_feature"], node["threshold"], node["default_left"], left, right]
        return number

    walk(root)
    *columns, values = zip(*nodes, strict=True)
    return TreeTable.single(*columns, np.array(values))
