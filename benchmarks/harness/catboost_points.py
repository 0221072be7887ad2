"""CatBoost's points with feature penalties, per object and at first use, costed exactly row by row on the path.

Trees are symmetric (CatBoost's default) or grown leaf by leaf. In a symmetric tree all splits of a level are the same;
but a row is charged only for splits that something depends on: where both sides of one end at the same value, it reads
no further. Penalties are subtracted from split scores (Cosine, CatBoost's default), which are no losses, so the grid of
strengths is wide: it goes from the plain model to a constant.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

LOSSES = {"acc": "Logloss", "auc": "Logloss", "ap": "Logloss", "ndcg5": "YetiRank"}
SHAPES: tuple[dict[str, Any], ...] = (
    {"grow_policy": "SymmetricTree", "depth": 6},
    {"grow_policy": "Lossguide", "max_leaves": 31, "depth": 10},
)
KINDS = ("per_object_feature_penalties", "first_feature_use_penalties")
TRADEOFFS = np.geomspace(1e-4, 3, 10)  # in units of 1 / cost of all features, as for LightGBM
ROUNDS, PATIENCE = 300, 30
SMALL = 2000  # rows; below it leaves may be smaller


def catboost_points(table: Any) -> list[dict[str, float]]:
    """Fit as often as LightGBM: two shapes of trees, without penalties and with two kinds of ten strengths."""
    points = []
    for shape in SHAPES:
        points.append(_point(table, shape))
        for tradeoff in TRADEOFFS / table.costs.full_cost(table.features):
            points += [_point(table, shape | _penalties(table, kind, tradeoff)) for kind in KINDS]
    return points


def _penalties(table: Any, kind: str, tradeoff: float) -> dict[str, Any]:
    """Return what makes splits pay; like LightGBM, CatBoost knows no resources, and is given them in each price."""
    rows = 1 if kind.startswith("per_object") else len(table.X["train"])
    return {kind: [float(2 * tradeoff * rows * price) for price in table.flat()]}


def _point(table: Any, settings: dict[str, Any]) -> dict[str, float]:
    model = fit(table, settings)
    trees = read_trees(model)
    point = {}
    for part, key in (("valid", "val"), ("test", "test")):
        X = table.X[part]
        kind = "RawFormulaVal" if table.metric == "ndcg5" else "Probability"
        predicted = np.asarray(model.predict(X, prediction_type=kind))
        point[key] = float(table.score(part, predicted[:, 1] if predicted.shape[1:] == (2,) else predicted))
        point[f"{key}_cost"] = float(table.price(acquired(trees, X)).mean())
    return point


def fit(table: Any, settings: dict[str, Any]) -> Any:
    """Fit CatBoost with early stopping on valid."""
    import catboost

    loss = "MultiClass" if table.classes > 2 else LOSSES[table.metric]
    given = {
        "loss_function": loss,
        "iterations": ROUNDS,
        "learning_rate": 0.1,
        "thread_count": 2,
        "random_seed": 0,
        "verbose": False,
        "allow_writing_files": False,
        "use_best_model": True,
    }
    if settings["grow_policy"] == "Lossguide":
        given["min_data_in_leaf"] = 20 if len(table.X["train"]) > SMALL else 5
    parts = [
        catboost.Pool(table.X[part], table.y[part], group_id=table.q[part] if table.q else None)
        for part in ("train", "valid")
    ]
    model = catboost.CatBoost(given | settings)
    return model.fit(parts[0], eval_set=parts[1], early_stopping_rounds=PATIENCE)


def read_trees(model: Any) -> list[dict[str, Any]]:
    """Return trees as nodes {"feature", "border", "left", "right"} over leaves {"value"}; what is above goes right."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        stored = json.loads(path.read_text())
    columns = [feature["flat_feature_index"] for feature in stored["features_info"]["float_features"]]
    if "oblivious_trees" in stored:
        return [_symmetric(tree, columns) for tree in stored["oblivious_trees"]]
    return [_grown(tree, columns) for tree in stored["trees"]]


def _symmetric(tree: dict[str, Any], columns: list[int]) -> dict[str, Any]:
    splits = tree["splits"] or []
    values = np.asarray(tree["leaf_values"]).reshape(2 ** len(splits), -1)

    def node(level: int, leaf: int) -> dict[str, Any]:
        if level == len(splits):
            return {"value": values[leaf]}
        split, children = splits[level], [node(level + 1, leaf + (bit << level)) for bit in (0, 1)]
        return _node(columns[split["float_feature_index"]], split["border"], *children)

    return node(0, 0)


def _grown(stored: dict[str, Any], columns: list[int]) -> dict[str, Any]:
    if "split" not in stored:
        return {"value": np.atleast_1d(stored["value"])}
    split, children = stored["split"], [_grown(stored[side], columns) for side in ("left", "right")]
    return _node(columns[split["float_feature_index"]], split["border"], *children)


def _node(feature: int, border: float, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Return a node, or one of its sides where it makes no difference which."""
    if "value" in left and "value" in right and np.array_equal(left["value"], right["value"]):
        return left
    return {"feature": feature, "border": np.float32(border), "left": left, "right": right}


def acquired(trees: list[dict[str, Any]], X: np.ndarray) -> np.ndarray:
    """Return the features that each row reads on its way through all trees: bool (rows, features)."""
    rows, mask = X.astype(np.float32), np.zeros(X.shape, bool)

    def walk(node: dict[str, Any], here: np.ndarray) -> None:
        if "value" in node or not len(here):
            return
        mask[here, node["feature"]] = True
        above = rows[here, node["feature"]] > node["border"]  # a missing value is not
        walk(node["left"], here[~above])
        walk(node["right"], here[above])

    for tree in trees:
        walk(tree, np.arange(len(X)))
    return mask
