"""Steps of a row through many trees: what each trip asks for is what a naive look ahead finds."""

import naive
import numpy as np
import pytest

import costframe as cf
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import TreeTable

pytestmark = pytest.mark.kernels


def drawn_tree(rng, n_features, depth):
    """A drawn tree in preorder, whose tests repeat features on a way."""
    feature, left, right = [], [], []

    def grow(level):
        node = len(feature)
        feature.append(-1)
        left.append(-1)
        right.append(-1)
        if level < depth and rng.random() < 0.85:
            feature[node] = int(rng.integers(n_features))
            left[node], right[node] = grow(level + 1), grow(level + 1)
        return node

    grow(0)
    n = len(feature)
    outputs = rng.normal(size=n)
    return TreeTable.single(feature, rng.normal(size=n).tolist(), [False] * n, left, right, outputs)


def certain(trees, tree, row, node=0):
    """Unknown features tested on every path from a node on; unknown values are absent from the row."""
    f = int(trees.feature[at := naive.node_at(trees, tree, node)])
    if f < 0:
        return set()
    ways = int(trees.left[at]), int(trees.right[at])
    if f in row:
        return certain(trees, tree, row, ways[0] if row[f] <= trees.threshold[at] else ways[1])
    return {f} | (certain(trees, tree, row, ways[0]) & certain(trees, tree, row, ways[1]))


@pytest.mark.parametrize("n_features", [3, 64, 65, 200])
@pytest.mark.parametrize("spare", [0, 100])
def test_each_trip_asks_for_the_features_on_every_path(n_features, spare):
    rng = np.random.default_rng(n_features)
    trees = TreeTable.concatenate([drawn_tree(rng, n_features, 6) for _ in range(8)])
    names = tuple(f"f{f}" for f in range(n_features + spare))
    model = cf.StageTree(WeakLearnerBank.from_trees(trees, names), (cf.Answer(range(8), [1.0] * 8, 0.0),))
    for values in rng.normal(size=(5, len(names))):
        inquiry, known = model.inquire(), {}
        while inquiry.needs:
            expected = set().union(*(certain(trees, t, known) for t in range(8)))
            assert inquiry.needs == tuple(names[f] for f in sorted(expected))
            known |= {f: values[f] for f in expected}
            inquiry.supply({names[f]: values[f] for f in expected})
        assert inquiry.answer.value == model.predict(values[None])[0]


def test_an_answer_that_is_changed_changes_no_other():
    trees = TreeTable.single([-1], [0.0], [False], [-1], [-1], np.array([[1.0, 2.0]]))
    model = cf.StageTree(WeakLearnerBank.from_trees(trees, ("a",)), (cf.Answer([0], np.eye(2), [0.0, 0.0]),))
    first = model.inquire()
    first.answer.value[:] = 7.0
    assert first.answer.value.tolist() == model.inquire().answer.value.tolist() == [1.0, 2.0]
