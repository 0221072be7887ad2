"""Needs ../shared: costframe's algorithms and the peers beside them, each as points of cost and score on one table.

LightGBM's side has 42 fits: plain, and ten strengths of its lazy and coupled penalties, at two sizes of trees; it is
../shared/bench/peers.py. CatBoost has as many; aaco.py, dime_program.py and gdfs_program.py describe AACO, DIME and
GDFS. The prototype is ../shared/bench/planner_prototype.py. "CEGB's path" has all points of one path, by their scores
on valid alone; "no look-ahead" is the same without looking ahead for resources. "knapsack" buys the same features for
all rows: those whose mean absolute contributions to the scores of a model on all features (SHAP values) have the
greatest sum within a budget, resources paid once, found as a linear program in whole numbers; boosted trees and a
linear model are trained on them. So does CoAI (G. Erion et al., Nature Biomedical Engineering 6, 2022).

CatBoost has feature penalties, for each object and at the first use, and its points are costed exactly row by row on
the path. Its trees are symmetric (the default) or grown leaf by leaf. In a symmetric tree all splits of a level are the
same; but a row pays only for splits that make a difference: if both sides of a split end at the same value, the row
reads no further. CatBoost subtracts penalties from split scores (Cosine, by default), which are no losses, so the grid
of strengths is wide: it goes from the plain model to a constant.
"""

from __future__ import annotations

import functools
import json
import os
import pickle
import runpy
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import costframe as cf
from costframe.comparison import SeenTable
from costframe.study.all_fits import fit_all
from costframe.study.division import Division
from costframe.study.entrants import Entrant
from costframe.study.events import FitTask
from costframe.study.paths import has_path
from costframe.study.progress import silent
from costframe.study.settings import StudyPlan
from costframe.study.study import Study
from harness.aaco import AACO
from harness.penalties import LEAVES, PATIENCE, ROUNDS, SHAPES, SMALL, STRENGTHS
from harness.points import measure
from harness.tables import SCORES, SHARED, fitting_rows, load, load_table, shared_module
from harness.torch_outsiders import dime, gdfs

if TYPE_CHECKING:
    from collections.abc import Callable

    from costframe.comparison import Outsider
    from costframe.datasets import Dataset
    from costframe.study.fitted import Fitted
    from harness.points import Point

POINTS = 42  # of a path; LightGBM has as many models
SMALLER_LEAVES = ("cegb", "miser")  # as LightGBM has on few rows
LOSSES = {"acc": "Logloss", "auc": "Logloss", "ap": "Logloss", "ndcg5": "YetiRank"}
KINDS = ("per_object_feature_penalties", "first_feature_use_penalties")
KNAPSACKS = 16  # budgets


def fit_algorithm(data: Dataset, split: int, name: str, keep: Path | None) -> list[Fitted]:
    """Fit an algorithm as `costframe compare` does, and measure its points; or read stored points, without models."""
    kept = None if keep is None else keep / f"{data.name}-{split}-{name}.pickle"
    if kept is not None and kept.exists():
        return list(pickle.loads(kept.read_bytes()))  # noqa: S301 - our own file
    settings: dict[str, Any] = {"n_jobs": 2}
    if name in SMALLER_LEAVES:
        settings["min_samples_leaf"] = least_leaf(data)
    study = Study([Entrant.of(name, data, settings)], Division.of_data(data, None), SCORES[data.name])
    trial = study.trial(FitTask(name))
    found = fit_all(trial, StudyPlan(points=POINTS if has_path(trial) else None), silent)
    found = [evolve(each, model=None) for each in found]
    if kept is not None:
        kept.write_bytes(pickle.dumps(found))
    return found


def least_leaf(data: Dataset) -> int:
    """Return how few rows a leaf may have, as LightGBM's side does."""
    return 5 if len(data.part("train")) <= SMALL else 20


def algorithm_points(name: str, table: str, split: int, keep: Path | None) -> list[Point]:
    """Return the points of an algorithm's path, or of its sweep if it has none."""
    points = [each.point for each in fit_algorithm(load(table, split), split, name, keep)]
    return [
        {"val": one.score, "val_cost": one.cost, "test": one.test_score, "test_cost": one.test_cost} for one in points
    ]


def lightgbm_points(name: str, split: int) -> list[Point]:
    """Fit plain, lazy and coupled, as ../shared/bench/peers.py does."""
    table, peers = load_table(name, split), shared_module("peers")
    full = table.costs.full_cost(table.features)
    points = []
    for leaves in LEAVES:
        points.append(peers.run_lgb(table, "plain", 0.0, leaves, full))
        for tradeoff in STRENGTHS / full:
            points += [peers.run_lgb(table, kind, float(tradeoff), leaves, full) for kind in ("lazy", "coupled")]
    return points


def knapsack_points(name: str, split: int) -> list[Point]:
    """Choose the features of most contribution within each of some budgets, and train boosted and linear models."""
    table = load_table(name, split)
    if not table.classes:
        raise LookupError("the knapsack is for classes")
    import lightgbm as lgb

    X, y, n = table.X, table.y, len(table.features)
    settings = {"objective": "multiclass", "num_class": table.classes} if table.classes > 2 else {"objective": "binary"}
    settings |= {"verbosity": -1, "num_threads": 2, "num_leaves": LEAVES[0]}
    settings["min_data_in_leaf"] = 20 if len(y["train"]) > SMALL else 5

    def boosted(chosen: np.ndarray) -> Callable[..., np.ndarray]:
        rows, valid = (lgb.Dataset(X[part][:, chosen], y[part]) for part in ("train", "valid"))
        stop = [lgb.early_stopping(PATIENCE, verbose=False)]
        return lgb.train(settings, rows, ROUNDS, valid_sets=[valid], callbacks=stop).predict

    def linear(chosen: np.ndarray) -> Callable[..., np.ndarray]:
        steps = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000))
        steps.fit(X["train"][:, chosen], y["train"])
        return lambda X: steps.predict_proba(X) if table.classes > 2 else steps.predict_proba(X)[:, 1]

    contributions = boosted(np.arange(n))(X["train"], pred_contrib=True).reshape(len(y["train"]), -1, n + 1)
    worth = np.abs(contributions[:, :, :n]).mean(axis=(0, 1))
    found, full = [], table.costs.full_cost(table.features)
    least = table.flat()[table.flat() > 0].min()
    for budget in np.unique(np.r_[np.geomspace(least, full, KNAPSACKS), full]):
        chosen = np.flatnonzero(_fill_knapsack(worth, table, float(budget)))
        for fit in (boosted, linear) if len(chosen) else ():
            predict, cost = fit(chosen), float(table.price(np.isin(np.arange(n), chosen)[None]).sum())
            point = {"val_cost": cost, "test_cost": cost}
            for part, key in (("valid", "val"), ("test", "test")):
                point[key] = float(table.score(part, predict(X[part][:, chosen])))
            found.append(point)
    return found


def _fill_knapsack(worth: np.ndarray, table: Any, budget: float) -> np.ndarray:
    """Return which features have the greatest sum of worth within a budget: bool (d,)."""
    d, r = table.needs.shape
    needed = np.argwhere(table.needs)
    paid = np.zeros((len(needed), d + r))  # a feature is at most its resource
    paid[np.arange(len(needed)), needed[:, 0]], paid[np.arange(len(needed)), d + needed[:, 1]] = 1, -1
    limits = [
        LinearConstraint(np.r_[table.cost, table.resource][None], ub=budget * (1 + 1e-9)),
        LinearConstraint(paid, ub=0),
    ]
    gain = -np.r_[worth, np.zeros(r)]
    found = milp(gain, integrality=np.ones(d + r), bounds=Bounds(0, 1), constraints=limits[: 2 if len(needed) else 1])
    return np.asarray(found.x[:d] > 0.5)


def prototype_points(name: str, split: int) -> list[Point]:
    """Run ../shared/bench/planner_prototype.py on a table of classes and return its points."""
    if name == "synthetic" or not load_table(name, split).classes:
        raise LookupError("the prototype is for classes, on stored tables")
    before, os.environ["NOREF"] = sys.argv, "1"
    sys.argv = ["planner_prototype.py", name, *([str(split)] if split else [])]
    try:
        points: list[Point] = runpy.run_path(str(SHARED / "bench" / "planner_prototype.py"))["points"]
        return points
    finally:
        sys.argv = before
        del os.environ["NOREF"]


def path_points(name: str, split: int, *, look_ahead: bool = True) -> list[Point]:
    """Fit CEGB's path, and measure all its points."""
    data = load(name, split)
    settings = {"costs": data.costs, "min_samples_leaf": least_leaf(data), "n_jobs": 2}
    model: Any = cf.estimator("cegb", data.task, tradeoff=0.0, **settings)
    path = model.fit_path(**fitting_rows(data), scoring=SCORES[name], look_ahead=look_ahead)
    return [measure(data, path.predictor(point), SCORES[name]) for point in path.frontier()]


def outsider_points(outsider: Outsider, name: str, split: int) -> list[Point]:
    """Fit an outsider of comparisons, and measure its models."""
    data = load(name, split)
    return [measure(data, model, SCORES[name]) for model in outsider.fit(SeenTable.of(data, SCORES[name], split))]


PEERS: dict[str, Callable[[str, int], list[Point]]] = {
    "LightGBM": lightgbm_points,
    "CatBoost": lambda name, split: catboost_points(load_table(name, split)),
    "GDFS": lambda name, split: outsider_points(gdfs(), name, split),
    "prototype": prototype_points,
    "knapsack": knapsack_points,
    "CEGB's path": path_points,
    "no look-ahead": functools.partial(path_points, look_ahead=False),
    "AACO": lambda name, split: outsider_points(AACO(), name, split),
    "DIME": lambda name, split: outsider_points(dime(), name, split),
}


USUAL = tuple(PEERS)[:4]


def points_of(side: str, table: str, split: int, keep: Path | None) -> list[Point]:
    """Return the points of a peer, or of an algorithm of costframe; split is the seed of the table's parts."""
    return PEERS[side](table, split) if side in PEERS else algorithm_points(side, table, split, keep)


def catboost_points(table: Any) -> list[dict[str, float]]:
    """Fit as often as LightGBM: two shapes of trees, without penalties and with two kinds of ten strengths."""
    points = []
    for shape in SHAPES:
        points.append(_catboost_point(table, shape))
        for tradeoff in STRENGTHS / table.costs.full_cost(table.features):
            points += [_catboost_point(table, shape | _penalties(table, kind, tradeoff)) for kind in KINDS]
    return points


def _penalties(table: Any, kind: str, tradeoff: float) -> dict[str, Any]:
    """Return what makes splits pay; like LightGBM, CatBoost knows no resources, and is given them in each price."""
    rows = 1 if kind.startswith("per_object") else len(table.X["train"])
    return {kind: [float(2 * tradeoff * rows * price) for price in table.flat()]}


def _catboost_point(table: Any, settings: dict[str, Any]) -> dict[str, float]:
    model = _fit_catboost(table, settings)
    trees = read_trees(model)
    point = {}
    for part, key in (("valid", "val"), ("test", "test")):
        X = table.X[part]
        kind = "RawFormulaVal" if table.metric == "ndcg5" else "Probability"
        predicted = np.asarray(model.predict(X, prediction_type=kind))
        point[key] = float(table.score(part, predicted[:, 1] if predicted.shape[1:] == (2,) else predicted))
        point[f"{key}_cost"] = float(table.price(acquired(trees, X)).mean())
    return point


def _fit_catboost(table: Any, settings: dict[str, Any]) -> Any:
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
    """Return trees as nodes {"feature", "border", "left", "right"} over leaves {"value"}; larger values go right."""
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
        return _split_node(columns[split["float_feature_index"]], split["border"], *children)

    return node(0, 0)


def _grown(stored: dict[str, Any], columns: list[int]) -> dict[str, Any]:
    if "split" not in stored:
        return {"value": np.atleast_1d(stored["value"])}
    split, children = stored["split"], [_grown(stored[side], columns) for side in ("left", "right")]
    return _split_node(columns[split["float_feature_index"]], split["border"], *children)


def _split_node(feature: int, border: float, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
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
