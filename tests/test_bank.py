"""Banks and stage trees: what they hold, how they join, and what they refuse."""

import naive
import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe import CostframeError
from costframe.errors import BankError, StageError
from costframe.plugin import DataError, OpaqueLearner, ParameterError, TreeTable
from costframe.testing import strategies

STUMP = TreeTable.single(
    [0, -1, -1], [0.5, 0, 0], [True, False, False], [1, -1, -1], [2, -1, -1], np.array([0, 1.0, 2])
)


@given(st.data())
def test_outputs_leaves_and_reads_equal_the_naive_twin(data):
    names = data.draw(strategies.feature_names())
    bank, X = data.draw(strategies.banks(names)), data.draw(strategies.rows(len(names)))
    outputs = [[v for t in range(len(bank)) for v in naive.learner_outputs(bank, t, row)[0]] for row in X]
    expected = np.array(outputs).reshape(len(X), int(bank.widths.sum()))
    assert np.array_equal(bank.outputs(X), expected, equal_nan=True)
    for t in range(len(bank)):
        assert set(np.flatnonzero(bank.F[:, [t]].toarray()[:, 0])) == naive.all_features(bank, t)
    found = bank.leaves(X)
    for i, row in enumerate(X):
        assert found[i].tolist() == [naive.tree_walk(bank.trees, tree, row)[0] for tree in range(len(bank.trees))]
    chosen = data.draw(st.lists(st.integers(0, max(len(bank) - 1, 0)), unique=True, max_size=len(bank)))
    first = np.cumsum(bank.widths) - bank.widths
    columns = [c for t in chosen for c in range(first[t], first[t] + bank.widths[t])]
    part, both = bank.restrict(chosen), (trees := bank.restrict(np.flatnonzero(bank.kind != 2))) + bank
    assert np.array_equal(part.outputs(X), expected[:, columns], equal_nan=True)
    assert np.array_equal(part.evaluation, bank.evaluation[chosen])
    assert np.array_equal(both.outputs(X)[:, trees.widths.sum() :], expected, equal_nan=True)
    assert np.array_equal(both.F.toarray(), np.hstack([trees.F.toarray(), bank.F.toarray()]))


def test_trained_banks_boost():
    X = np.random.default_rng(0).standard_normal((400, 4))
    y = np.digitize(X[:, 0], [-0.5, 0.5]) * 1.0
    settings = {"loss": "softmax", "n_estimators": 20, "max_depth": 2, "max_features": 0.5, "random_state": 1}
    H, again = (bank.outputs(X) for bank in (cf.train_bank(X, y, **settings), cf.train_bank(X, y, **settings)))
    assert np.array_equal(H, again)
    assert (np.stack([H[:, k::3].sum(axis=1) for k in range(3)], axis=1).argmax(axis=1) == y).mean() > 0.8


def test_a_trained_bank_splits_by_categories():
    rng = np.random.default_rng(0)
    colors = np.array(["red", "blue", "gray", "teal"], object)[rng.integers(0, 4, 200)]
    frame = pd.DataFrame({"size": rng.normal(size=200), "color": pd.Categorical(colors)})
    y = np.isin(colors, ["red", "teal"]) + 0.1 * frame["size"]
    bank = cf.train_bank(frame, y, n_estimators=5)
    assert bank.categories == {"color": ("blue", "gray", "red", "teal")}
    codes = np.column_stack([frame["size"], frame["color"].cat.codes])
    by_code = cf.train_bank(codes, y, n_estimators=5, categorical_features=[1])
    np.testing.assert_array_equal(by_code.trees.values, bank.trees.values)
    turned = frame.assign(color=frame["color"].cat.reorder_categories(["teal", "red", "gray", "blue"]))
    with pytest.raises(DataError, match="bank: has other labels of 'color' than X"):
        cf.estimator("reweighted", "regression", bank=bank, categorical_features=["color"]).fit(turned, y)
    with pytest.raises(ParameterError, match="bank: 'columns' are numbers, and column 'color' has categories"):
        cf.estimator("reweighted", "regression", bank="columns").fit(frame, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, "loss: expected 'squared', 'logistic' or 'softmax', got 'hinge'"),
        ({"y": [0, 1, np.nan, 1]}, "y: expected finite"),
        ({"loss": "softmax", "y": [0, 1, 3, 1]}, "y: expected the class codes 0 to 2, .* got 0, 1, 3"),
        ({"y": []}, "X: must be a table with at least one row and one column, got shape"),
    ],
)
def test_bad_training_settings_are_named(settings, message):
    given = {"y": [0.0, 1.0, 1.0, 0.0], **settings}
    with pytest.raises(CostframeError, match=message):
        cf.train_bank(np.arange(8.0).reshape(4, 2)[: len(given["y"])], **given)


def opaque(name="o", function=lambda X: X.sum(axis=1), features=(0,), width=1):
    return OpaqueLearner(name, function, features, width)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: evolve(STUMP, left=[5, -1, -1]), "tree 0, node 0: has a child that is not a later node"),
        (lambda: evolve(STUMP, right=[1, -1, -1]), "does not have exactly one parent"),
        (lambda: evolve(STUMP, value=[-1, 0, 2**63 - 1]), "tree 0, node 2: has no outputs"),
        (lambda: TreeTable.concatenate([STUMP] * 3).restrict([-3]), r"expected numbers below 3, got \[-3\]"),
        (lambda: STUMP.remap_features(np.array([-1])), "tree 0, node 0: tests a negative column"),
        (lambda: cf.WeakLearnerBank.columns(["a"], [0.5]), "columns: expected column numbers"),
        (lambda: opaque(features=(0, 0)), "reads a feature twice"),
        (lambda: cf.WeakLearnerBank.from_trees(STUMP, ["a"]).restrict([0, 0]), "distinct indices"),
        (
            lambda: cf.WeakLearnerBank.opaque(["a"], [opaque("bad", lambda X: X[:, [0, 0]])]).outputs(np.ones((3, 1))),
            r"'bad': expected shape \(3, 1\), got \(3, 2\)",
        ),
    ],
)
def test_bad_trees_and_banks_are_refused(make, message):
    with pytest.raises(BankError, match=message):
        make()


BANK = cf.WeakLearnerBank.from_trees(TreeTable.concatenate([STUMP, STUMP]), ["a"])
ANSWER = cf.Answer([1], [1.0], [0.0])


def route(below, above, threshold=0.0, steepness=1.0):
    return cf.Route([0], [1.0], 0.0, threshold, steepness, below, above)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (lambda: (route(1, 1), ANSWER), "stage 1: is reached from 2 stages"),
        (lambda: (cf.Answer([2], [1.0], [0.0]),), "uses learner 2, the bank has 2"),
        (lambda: (route(1, 2), ANSWER, cf.Answer([0], [1.0], [0.0], "ranked", 1.0)), "ranked ones only, got links"),
        (lambda: ANSWER, "put it in brackets"),
        (lambda: (route(1, 2, threshold=np.nan), ANSWER, ANSWER), "threshold, got NaN"),
        (lambda: (route(1, 2), ANSWER, cf.Answer([0], [[1.0, 2.0]], [0.0, 1.0])), "same number of outputs"),
    ],
)
def test_what_is_no_stage_tree_is_refused(stages, message):
    with pytest.raises(StageError, match=message):
        cf.StageTree(BANK, stages())


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(1), "one row is X.reshape"),
        (np.array([["1"]], object), "expected numbers, got text"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "'a' more than once"),
        (pd.DataFrame({"b": [1.0]}), "lack 'a'"),
        ([[1.0], [1.0, 2.0]], "expected numbers"),
    ],
)
def test_rows_that_do_not_fit_are_refused(X, message):
    with pytest.raises(DataError, match=message):
        cf.StageTree(BANK, (ANSWER,)).predict(X)


def test_missing_is_missing_however_it_is_written():
    """The stump sends NaN left, to 1."""
    masked = np.ma.masked_array([[1.0]], mask=[[True]])
    for X in (pd.DataFrame({"z": [9.0], "a": pd.array([None], "Float64")}), masked, [[None]]):
        assert cf.StageTree(BANK, (ANSWER,)).predict(X).tolist() == [1.0]


def test_inquiries_on_deep_trees_do_not_recurse():
    """A path of 1,200 tests on both sides of the root, with one of the features known."""
    deep, feature, threshold, left, right, outputs = 1200, [1], [0.0], [1], [2 * 1200 + 2], [0.0]
    for begin in (1, 2 * deep + 2):
        for k in range(deep):
            feature += [0, -1]
            threshold += [-float(k), 0.0]
            left += [begin + 2 * k + 1, -1]
            right += [begin + 2 * k + 2, -1]
            outputs += [0.0, k]
        feature, threshold, left, right = [*feature, -1], [*threshold, 0.0], [*left, -1], [*right, -1]
        outputs.append(7.0)
    tree = TreeTable.single(feature, threshold, [True] * len(feature), left, right, np.array(outputs))
    bank = cf.WeakLearnerBank.from_trees(tree, ["a", "b"])
    model = cf.StageTree(bank, (cf.Answer([0], [1.0], [0.0]),))
    assert cf.predict_one(model, {"b": 1.0}, known={"a": 1.0}).value == model.predict([[1.0, 1.0]])[0] == 7.0


def test_routes_that_known_values_decide_are_looked_through():
    """After a = 1 both later routes go to an answer that reads c, so b and c are asked for together."""
    tree = TreeTable.single([0, -1, 1, -1, -1], [0.0] * 5, [True] * 5, [1, -1, 3, -1, -1], [2, -1, 4, -1, -1],
                            np.array([0, 1.0, 0, 3.0, 5.0]))  # fmt: skip
    names = ("a", "b", "c")
    bank = cf.WeakLearnerBank.columns(names, [0, 2]) + cf.WeakLearnerBank.from_trees(tree, names)
    empty, reads_c = cf.Answer([], np.empty((0, 1)), [0.0]), cf.Answer([1], [1.0], [0.0])
    first, ends = cf.Route([0, 2], [1.0, 1.0], 0.0, 3.5, 1.0, 1, 2), (empty, reads_c)
    stages = (first, route(3, 4), route(5, 6), *ends, *ends)
    inquiry = cf.StageTree(bank, stages).inquire()
    assert inquiry.needs == ("a",)
    inquiry.supply({"a": 1.0})
    assert inquiry.needs == ("b", "c")


@pytest.mark.parametrize("value", [700.5, 5000.0])
def test_a_chain_of_thousands_of_stages_is_walked(value):
    """Neither the walker nor soft routing recurse."""
    stages = []
    for i in range(1500):
        stages += [route(2 * i + 1, 2 * i + 2, threshold=i), cf.Answer([0], [1.0], [0.0])]
    model = cf.StageTree(cf.WeakLearnerBank.columns(["a"]), (*stages, cf.Answer([], np.empty((0, 1)), [1.0])))
    found = cf.predict_one(model, {"a": value}).value
    assert found == model.predict([[value]])[0] == (1.0 if value > 1500 else value)
    assert model.cost([[value]], routing="soft").mean == 1.0


def test_where_links_differ_scores_are_log_odds():
    answers = cf.Answer([0], [0.25], [0.0]), cf.Answer([0], [1.0], [0.0], "sigmoid")
    model = cf.StageTree(cf.WeakLearnerBank.columns(["a"]), (route(1, 2, threshold=1.5), *answers))
    np.testing.assert_allclose(model.predict([[1.0], [2.0]]), [0.25, 1 / (1 + np.exp(-2.0))])
    np.testing.assert_allclose(model.decision_function([[1.0], [2.0]]), [np.log(0.25 / 0.75), 2.0])


def test_answers_of_different_temperatures_keep_their_own():
    answers = [cf.Answer([0], [1.0], 0.0, "sigmoid", temperature=each) for each in (1.0, 4.0)]
    tree = cf.StageTree(cf.WeakLearnerBank.columns(("a",)), (route(1, 2), *answers))
    np.testing.assert_allclose(tree.predict([[-2.0], [2.0]]), 1 / (1 + np.exp([2.0, -0.5])))
