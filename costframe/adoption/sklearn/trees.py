"""scikit-learn's trees, forests, isolation forests, AdaBoost and gradient boosting, leaf for leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve

from costframe.adoption.foreign import refused
from costframe.adoption.sklearn.histogram import adopt_histogram
from costframe.adoption.sklearn.terms import Term, add_terms, constant_term
from costframe.adoption.thresholds import float32_at_most
from costframe.adoption.trees import one_answer, tabulate_tree
from costframe.core.arrays import F8, I8
from costframe.core.errors import AdoptionError
from costframe.core.learners.tree_table import TreeTable
from costframe.core.plugins.registry import registry
from costframe.core.predictors.stage_tree import StageTree

_RANDOM_STRATEGIES = ("stratified", "uniform")


def adopt_mean(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt a tree, or the mean of a forest's trees: regression values, or fractions of classes.

    Of two classes the score is the fraction of class 1; of several labels that of class 1 of each.
    """
    table = TreeTable.concatenate(
        [
            _tabulate(member.tree_, _leaf_values(model, member.tree_))
            for member in getattr(model, "estimators_", [model])
        ]
    )
    n_scores = int(table.width[0])
    weights = np.tile(np.eye(n_scores), (len(table), 1))
    total = one_answer(table, names, weights, np.zeros(n_scores), "identity")
    return Term.scores(total).divided(len(table)).answer()


def _leaf_values(model: Any, tree: Any) -> F8:
    """Return the scores of each node: float64 (nodes, K)."""
    if not hasattr(model, "classes_"):
        values: F8 = tree.value.reshape(tree.node_count, -1)
        return values
    counts = np.atleast_1d(model.n_classes_)
    if len(counts) == 1:
        values = tree.value[:, 0, :]
        return values[:, 1:] if counts[0] == 2 else values
    for label in np.flatnonzero(counts != 2)[:1]:
        raise AdoptionError(
            f"{type(model).__name__}: label {label} of {len(counts)} has {counts[label]} classes; several labels a row "
            "are adopted with two classes each, fit one classifier for each label"
        )
    return np.ascontiguousarray(tree.value[:, :, 1])


def adopt_isolation(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt an IsolationForest: `predict` gives its `score_samples`, from -1, an outlier, to 0.

    The original's `decision_function` is that minus `offset_`, and it predicts -1, an outlier, where that is below
    zero. Leaves hold the number of comparisons, and what a row of more comparisons would need on average.
    """
    tables = []
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        tests = member.tree_.compute_node_depths() - 1.0 + _average_path(member.tree_.n_node_samples)
        tables.append(_tabulate(member.tree_, tests[:, None]).remap_features(np.asarray(columns, np.int32)))
    table, most = TreeTable.concatenate(tables), float(_average_path(np.array([model.max_samples_]))[0])
    if most == 0:  # of a single row: the original gives -1/2
        return constant_term(names, [1.0]).answer("isolation")
    tree = one_answer(table, names, np.ones((len(table), 1)), np.zeros(1), "identity")
    return Term.scores(tree).answer("isolation", len(table) * most)


def _average_path(counts: I8) -> F8:
    """Return the average number of comparisons that isolate one of n rows in a random tree, for each n."""
    n = np.maximum(counts, 3)
    many = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return np.where(counts > 2, many, counts == 2)


def adopt_boosting(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt GradientBoosting: `init` plus learning rate times the trees, by round and by score within a round.

    Of the exponential loss the probability of class 1 is the sigmoid of twice the score.
    """
    table = TreeTable.concatenate(
        [_tabulate(member.tree_, member.tree_.value[:, :, 0]) for member in model.estimators_.ravel()]
    )
    rounds, n_scores = model.estimators_.shape
    weights = np.tile(np.eye(n_scores) * model.learning_rate, (rounds, 1))
    trees = Term.scores(one_answer(table, names, weights, np.zeros(n_scores), "identity"))
    link = "identity" if not hasattr(model, "classes_") else "sigmoid" if n_scores == 1 else "softmax"
    temperature = 0.5 if model.loss == "exponential" else 1.0
    # A score of zero is of class 1 here.
    cut = -np.finfo(np.float64).smallest_subnormal if link == "sigmoid" else 0.0
    by_scores = link != "identity"
    return add_terms([_first_scores(model, names), trees]).answer(link, temperature, by_scores=by_scores, cut=cut)


def _first_scores(model: Any, names: tuple[str, ...]) -> Term:
    """Return the scores before the first tree."""
    init = model.init_
    constant = type(init).__name__ in {"DummyClassifier", "DummyRegressor"} and init.strategy not in _RANDOM_STRATEGIES
    if constant or isinstance(init, str):  # the same for all rows, here for a row of zeros
        row = np.zeros((1, model.n_features_in_), np.float32)
        return constant_term(names, model._raw_predict_init(row)[0])  # noqa: SLF001 - no public name computes it
    tree = None if hasattr(model, "classes_") else registry().adopt(init, names)
    if not isinstance(tree, StageTree) or tree.only_answer is None or tree.links != ("identity",):
        raise AdoptionError(
            f"{type(model).__name__}: init={init!r} cannot be adopted, its answer is neither the same for all rows nor "
            "a sum of learners; expected 'zero', the default, a constant DummyClassifier or DummyRegressor or, of a "
            "regressor, a linear model or trees"
        )
    # The original rounds rows to float32 before `init` reads them. A linear model here does not.
    trees = evolve(tree.bank.trees, threshold=float32_at_most(tree.bank.trees.threshold))
    return Term.predictions(evolve(tree, bank=evolve(tree.bank, trees=trees)))


def adopt_votes(model: Any, names: tuple[str, ...]) -> StageTree:
    """Adopt AdaBoostClassifier over trees: weighted votes, and the softmax, of two classes the sigmoid, of them."""
    name, n_classes = type(model).__name__, model.n_classes_
    for member in model.estimators_:
        if not hasattr(member, "tree_"):
            raise refused(model, f"its members, {type(member).__name__}, are no trees")
    if n_classes < 2:
        raise AdoptionError(f"{name}: expected at least two classes, got {n_classes}")
    weight = np.asarray(model.estimator_weights_, np.float64)
    tables = []
    for member, w in zip(model.estimators_, weight, strict=False):
        # A member that saw some classes only has numbers of its own.
        vote = model.classes_.searchsorted(member.classes_)[member.tree_.value[:, 0, :].argmax(axis=1)]
        voted = np.where(vote[:, None] == np.arange(n_classes), w, -1 / (n_classes - 1) * w) / weight.sum()
        tables.append(_tabulate(member.tree_, 2.0 * voted[:, 1:] if n_classes == 2 else voted))
    table = TreeTable.concatenate(tables)
    n_scores = int(table.width[0])
    weights = np.tile(np.eye(n_scores), (len(table), 1))
    votes = Term.scores(one_answer(table, names, weights, np.zeros(n_scores), "identity"))
    link = "sigmoid" if n_scores == 1 else "softmax"
    return votes.answer(link, float(n_classes - 1), by_scores=True)


def _tabulate(tree: Any, values: F8) -> TreeTable:
    """Return a tree of scikit-learn, which tests `float32(x) <= threshold`, with these values of its nodes."""
    return tabulate_tree(
        tree.children_left < 0,
        tree.feature,
        float32_at_most(tree.threshold),
        tree.missing_go_to_left.astype(bool),
        tree.children_left,
        tree.children_right,
        values,
    )


def _both_kinds(*names: str) -> Sequence[str]:
    return [name + kind for name in names for kind in ("Classifier", "Regressor")]


# Stands below the functions that it names.
TREES = {
    **dict.fromkeys(_both_kinds("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees"), adopt_mean),
    **dict.fromkeys(_both_kinds("GradientBoosting"), adopt_boosting),
    "IsolationForest": adopt_isolation,
    "AdaBoostClassifier": adopt_votes,
    **dict.fromkeys(_both_kinds("HistGradientBoosting"), adopt_histogram),
}
