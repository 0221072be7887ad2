"""The same problem for CEGB and for LightGBM, and their splits in a form that can be compared."""

import numpy as np
import pytest

from costframe_cegb import CEGBClassifier, CEGBRegressor

lgb = pytest.importorskip("lightgbm", reason="needs lightgbm: pip install 'costframe[bench]'")

ROUNDS, LEAVES, STEP = 8, 12, 0.1
SETTINGS = {
    "verbosity": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "feature_pre_filter": False,
    "enable_bundle": False,
    "min_data_in_bin": 1,  # few distinct values: the bins are the values, in both
}


def draw(kind, seed, missing=0.0, n=600, d=6):
    """Few distinct values a feature; labels that depend on four of them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)) * 6) / 4
    X[rng.random(X.shape) < missing] = np.nan
    Z = np.nan_to_num(X)
    score = Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + 0.5 * Z[:, 3] + 0.5 * rng.standard_normal(n)
    weight = rng.uniform(0.5, 2, n).astype(np.float32).astype(float)  # LightGBM keeps labels and weights as float32
    y = {
        "numbers": score.astype(np.float32).astype(float),
        "two": (score > 0.3).astype(int),
        "three": np.digitize(score, [-0.7, 0.7]),
    }
    return X, y[kind], weight


def ours(kind, X, y, weight=None, costs=None, lam=0.0, **settings):
    """CEGB's predictions, and the splits of each tree that has any."""
    estimator = CEGBRegressor if kind == "numbers" else CEGBClassifier
    settings = {"n_estimators": ROUNDS, "max_leaves": LEAVES, "learning_rate": STEP, "n_jobs": 1} | settings
    model = estimator(costs, lam, **settings).fit(X, y, weight)
    table = model.bank_.trees
    trees = [table.restrict([t]) for t in range(len(table.first) - 1)]
    return model.predictor_.predict(X), [_splits(X, _from_table(tree)) for tree in trees]


def theirs(kind, X, y, weight=None, *, step=None, hessians=1.0, **settings):
    """LightGBM's; what is measured in hessians is given in ours, theirs are `hessians` times as large."""
    objective = {"numbers": "regression", "two": "binary", "three": "multiclass"}[kind]
    parameters = SETTINGS | {"objective": objective, "num_leaves": LEAVES, "num_class": 3 if kind == "three" else 1}
    parameters |= {"learning_rate": hessians * STEP if step is None else step, "min_data_in_leaf": 0} | settings
    for name in ("min_sum_hessian_in_leaf", "lambda_l2"):
        parameters[name] = hessians * parameters.get(name, 0.0)
    booster = lgb.train(parameters, lgb.Dataset(X, y, weight=weight, params=parameters), ROUNDS)
    trees = [_splits(X, _from_dump(tree["tree_structure"])) for tree in booster.dump_model()["tree_info"]]
    return booster.predict(X), [tree for tree in trees if tree]


def penalties(lam, cost, split=0.0, hessians=1.0):
    """Lazy prices for the same objective: LightGBM's gain has no 1/2, and is measured with its hessians."""
    scale = 2 * lam / hessians
    return {"cegb_penalty_split": scale * split, "cegb_penalty_feature_lazy": [scale * c for c in cost]}


def _splits(X, nodes):
    """In the order in which they were made: feature, rows, and the two parts, whichever is called left."""
    found = {}
    waiting = [(0, np.arange(len(X)))]
    while waiting:
        node, rows = waiting.pop()
        if node not in nodes:
            continue
        number, feature, threshold, missing_left, left, right = nodes[node]
        x = X[rows, feature]
        goes = (x <= threshold) | (np.isnan(x) & missing_left)
        parts = frozenset((tuple(rows[goes].tolist()), tuple(rows[~goes].tolist())))
        found[number] = (feature, tuple(rows.tolist()), parts)
        waiting += [(left, rows[goes]), (right, rows[~goes])]
    return [found[number] for number in sorted(found)]


def _from_table(tree):
    """A node's children are created when it is split, so their numbers tell the order."""
    inner = np.flatnonzero(tree.feature >= 0).tolist()
    columns = (tree.left, tree.feature, tree.threshold, tree.missing_left, tree.left, tree.right)
    return {node: tuple(column[node].item() for column in columns) for node in inner}


def _from_dump(root):
    nodes, names = {}, {}

    def walk(node):
        name = names.setdefault(id(node), len(names))
        if "split_index" in node:
            left, right = walk(node["left_child"]), walk(node["right_child"])
            test = (node["split_feature"], node["threshold"], node["default_left"])
            nodes[name] = (node["split_index"], *test, left, right)
        return name

    walk(root)
    return nodes
