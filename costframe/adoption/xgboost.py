"""Adoption of xgboost: boosted trees, random forests and dart, leaf for leaf."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from costframe.adoption.adopted import choose_names, float32_less, one_answer
from costframe.core.errors import AdoptionError, BankError, StageError
from costframe.core.learners.tree_table import TreeTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from costframe.core.predictors.stage_tree import StageTree

__all__ = ["adopt_xgboost", "is_xgboost"]

_LINKS = {
    "binary:logistic": "sigmoid",
    "reg:logistic": "sigmoid",
    "multi:softprob": "softmax",
    "multi:softmax": "softmax",
    "binary:logitraw": "identity",
    "reg:squarederror": "identity",
    "reg:squaredlogerror": "identity",
    "reg:absoluteerror": "identity",
    "reg:pseudohubererror": "identity",
    "reg:quantileerror": "identity",
    "rank:pairwise": "identity",
    "rank:ndcg": "identity",
    "rank:map": "identity",
}


def is_xgboost(model: object) -> bool:
    """Return whether a model is xgboost's, without importing xgboost."""
    return any(
        base.__module__.split(".")[0] == "xgboost" and base.__name__ in {"Booster", "XGBModel"}
        for base in type(model).__mro__
    )


def adopt_xgboost(model: object, feature_names: Sequence[str] | None = None) -> StageTree:
    """Adopt an xgboost tree model exactly.

    Every row reaches the original's leaf in every tree: NaN, infinities and ties included. xgboost tests
    `float32(x) < t`; adopted thresholds are the largest doubles that pass. Scores are the original's margins, summed in
    float64.

    Parameters
    ----------
    model : xgboost.Booster or a scikit-learn wrapper (XGBClassifier, XGBRegressor, XGBRanker, XGBRF...)
        With the gbtree or dart booster. As in their own predict, a wrapper that stopped early is cut at its best
        iteration, and a Booster is not cut.
    feature_names : sequence of str, optional
        Names by position. By default the Booster's own, else f0, f1, ...

    Raises
    ------
    AdoptionError
        If the model is not fitted, or has a part that cannot be adopted exactly: the linear booster, categorical
        splits, an objective with a link other than identity, sigmoid and softmax, a missing value other than NaN.
    """
    import xgboost

    booster, rounds = _open(model)
    try:
        document = json.loads(bytes(booster.save_raw("json")))
        return _read(document, booster.feature_names, feature_names, rounds)
    except (KeyError, IndexError, TypeError, OverflowError) as error:
        raise AdoptionError(f"xgboost model: cannot be read, its saved form lacks or garbles {error}") from error
    except (BankError, StageError, xgboost.core.XGBoostError) as error:
        raise AdoptionError(f"xgboost model: {str(error).splitlines()[0]}") from error


def _open(model: Any) -> tuple[Any, int | None]:
    """Return the Booster and the number of rounds to keep, None for all."""
    import xgboost

    name, rounds = type(model).__name__, None
    if not is_xgboost(model):
        raise AdoptionError(f"{name}: expected an xgboost Booster or scikit-learn wrapper")
    if not isinstance(model, xgboost.Booster):
        if not model.__sklearn_is_fitted__():
            raise AdoptionError(f"{name}: is not fitted; fit it before adopting it")
        if model.missing is not None and not np.isnan(model.missing):
            raise AdoptionError(
                f"{name}: missing={model.missing!r} cannot be adopted, only NaN may stand for a missing value"
            )
        model = model.get_booster()
        best = model.attr("best_iteration")
        rounds = None if best is None else int(best) + 1
    try:
        model.num_features()
    except xgboost.core.XGBoostError as error:
        raise AdoptionError("xgboost Booster: is not fitted; train or load it before adopting it") from error
    return model, rounds


def _read(
    document: Any, own_names: Sequence[str] | None, feature_names: Sequence[str] | None, rounds: int | None
) -> StageTree:
    learner = document["learner"]
    boosting = learner["gradient_booster"]
    if boosting["name"] not in {"gbtree", "dart"}:
        raise AdoptionError(f"xgboost model: booster {boosting['name']!r} has no trees; expected 'gbtree' or 'dart'")
    trees = boosting.get("gbtree", boosting)["model"]
    names = choose_names(feature_names, own_names, int(learner["learner_model_param"]["num_feature"]), "xgboost model")
    link = _link(learner)
    kept = len(trees["trees"]) if rounds is None else int(trees["iteration_indptr"][rounds])
    if kept == 0:
        raise AdoptionError("xgboost model: it has no trees; train it for at least one round")
    table = TreeTable.concatenate([_tree(number, tree, names) for number, tree in enumerate(trees["trees"][:kept])])
    margin = _base_margin(document, len(names))
    weights = _weights(table, np.array(trees["tree_info"][:kept]), len(margin))
    if "weight_drop" in boosting:
        dropped = np.array(boosting["weight_drop"][:kept], np.float32).astype(np.float64)
        weights *= np.repeat(dropped, table.width)[:, None]
    return one_answer(table, names, weights, margin, link)


def _link(learner: Any) -> str:
    name = learner["objective"]["name"]
    if name not in _LINKS:
        raise AdoptionError(
            f"xgboost model: objective {name!r} cannot be adopted, its link is unsupported; supported are "
            f"{', '.join(_LINKS)}"
        )
    targets = int(learner["learner_model_param"].get("num_target", 1))
    if targets > 1 and _LINKS[name] != "identity":
        raise AdoptionError(f"xgboost model: {name!r} with {targets} targets (multi-label) cannot be adopted")
    return _LINKS[name]


def _tree(number: int, tree: Any, names: tuple[str, ...]) -> TreeTable:
    left = np.array(tree["left_children"], np.int32)
    right = np.array(tree["right_children"], np.int32)
    leaf = left < 0
    order = _order(number, left, right)
    split = order[~leaf[order]]
    column = np.array(tree["split_indices"], np.int64)
    for node in split[np.array(tree["split_type"])[split] != 0][:1]:
        raise AdoptionError(
            f"xgboost model: tree {number} splits feature {names[column[node]]!r} by categories; "
            "categorical splits cannot be adopted"
        )
    position = np.full(len(left), -1, np.int32)
    position[order] = np.arange(len(order))
    condition = np.array(tree["split_conditions"], np.float32)
    return TreeTable.single(
        np.where(leaf, -1, column)[order],
        np.where(leaf, np.nan, float32_less(condition))[order],
        np.array(tree["default_left"], bool)[order],
        np.where(leaf, -1, position[left])[order],
        np.where(leaf, -1, position[right])[order],
        _outputs(tree, condition, right, leaf)[order],
    )


def _outputs(
    tree: Any, condition: NDArray[np.float32], right: NDArray[np.int32], leaf: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the output of each leaf in float32 precision: float64 (nodes, K)."""
    width = int(tree["tree_param"]["size_leaf_vector"])
    if width <= 1:
        return condition.astype(np.float64)[:, None]
    if "leaf_weights" not in tree:  # up to 3.1 each node holds its own vector
        return np.array(tree["base_weights"], np.float32).astype(np.float64).reshape(-1, width)
    vectors = np.array(tree["leaf_weights"], np.float32).astype(np.float64).reshape(-1, width)
    outputs: NDArray[np.float64] = vectors[np.where(leaf, right, 0)]  # a leaf's right child is its vector's number
    return outputs


def _order(number: int, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the nodes reachable from the root, in the original's order if it is valid, else breadth first: int64."""
    levels = [np.zeros(1, np.int64)]
    reached = 1
    while len(levels[-1]):
        inner = levels[-1][left[levels[-1]] >= 0]
        levels.append(np.concatenate([left[inner], right[inner]]).astype(np.int64))
        reached += len(levels[-1])
        if reached > len(left) or (levels[-1] < 1).any():
            raise AdoptionError(f"xgboost model: the nodes of tree {number} do not form a tree")
    order = np.concatenate(levels)
    inner = order[left[order] >= 0]
    ordered = (np.minimum(left[inner], right[inner]) > inner).all()
    return np.sort(order) if ordered and reached == len(left) else order


def _weights(table: TreeTable, group: NDArray[np.int64], n_scores: int) -> NDArray[np.float64]:
    """Return weights, float64 (sum of widths, K): a tree of one output adds to one score, a wider one to all."""
    if (table.width == 1).all():
        return np.eye(n_scores)[group]
    if (table.width != n_scores).any():
        raise AdoptionError(
            f"xgboost model: expected trees of {n_scores} outputs, got {sorted(set(table.width.tolist()))}"
        )
    return np.tile(np.eye(n_scores), (len(table), 1))


def _base_margin(document: Any, n_features: int) -> NDArray[np.float64]:
    """Return the margin that xgboost adds to the trees: float64 (K,).

    The conversion of `base_score` to a margin differs between versions and objectives (a scalar or one number for each
    class, with or without the logit, in float32). So xgboost itself predicts with the model's first round, all outputs
    set to zero.
    """
    import xgboost

    learner = document["learner"]
    boosting = learner["gradient_booster"]
    boosting = boosting.get("gbtree", boosting)
    trees = boosting["model"]
    first = int(trees["iteration_indptr"][1])
    silenced = [
        tree
        | {
            name: [0.0] * len(tree[name])
            for name in ("split_conditions", "base_weights", "leaf_weights")
            if name in tree
        }
        for tree in trees["trees"][:first]
    ]
    parameters = trees["gbtree_model_param"] | {"num_trees": str(first)}
    one_round = {
        "trees": silenced,
        "tree_info": trees["tree_info"][:first],
        "iteration_indptr": [0, first],
        "gbtree_model_param": parameters,
    }
    boosting = boosting | {"model": trees | one_round}
    learner = learner | {"gradient_booster": boosting, "feature_names": [], "feature_types": [], "attributes": {}}
    constant = xgboost.Booster()
    constant.load_model(bytearray(json.dumps(document | {"learner": learner}).encode()))
    rows = xgboost.DMatrix(np.zeros((1, n_features), np.float32))
    margin = constant.predict(rows, output_margin=True, validate_features=False)
    return np.asarray(margin, np.float64).reshape(-1)
