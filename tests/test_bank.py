"""Banks and stage trees: what they hold, how they join, and what they refuse."""

import naive
import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import costframe as cf
from costframe.core.errors import BankError, DataError, ParameterError, StageError
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.learners.tree_table import TreeTable
from costframe.testing.strategies import banks, feature_names, rows

STUMP = TreeTable.single(
    [0, -1, -1], [0.5, 0, 0], [True, False, False], [1, -1, -1], [2, -1, -1], np.array([0, 1.0, 2])
)


def all_outputs(bank, X):
    rows_ = [[v for t in range(len(bank)) for v in naive.learner_outputs(bank, t, row)[0]] for row in X]
    return np.array(rows_).reshape(len(X), int(bank.widths.sum()))


@st.composite
def banks_and_rows(draw):
    names = draw(feature_names())
    return draw(banks(names)), draw(rows(len(names)))


@given(banks_and_rows())
def test_outputs_and_reads_equal_the_naive_twin(case):
    bank, X = case
    assert np.array_equal(bank.outputs(X), all_outputs(bank, X), equal_nan=True)
    for t in range(len(bank)):
        column = bank.F[:, [t]].toarray()[:, 0]
        assert set(np.flatnonzero(column)) == naive.all_features(bank, t)


@given(banks_and_rows())
def test_leaves_equal_the_naive_walk(case):
    bank, X = case
    found = bank.leaves(X)
    assert found.shape == (len(X), len(bank.trees))
    for i, row in enumerate(X):
        assert found[i].tolist() == [naive.tree_walk(bank.trees, tree, row)[0] for tree in range(len(bank.trees))]


@given(banks_and_rows(), st.data())
def test_restrict_and_concatenate_move_learners_whole(case, data):
    bank, X = case
    if not len(bank):
        return
    chosen = data.draw(st.lists(st.integers(0, len(bank) - 1), unique=True, max_size=len(bank)))
    part = bank.restrict(chosen)
    first = np.cumsum(bank.widths) - bank.widths
    columns = [c for t in chosen for c in range(first[t], first[t] + bank.widths[t])]
    assert np.array_equal(part.outputs(X), bank.outputs(X)[:, columns], equal_nan=True)
    assert np.array_equal(part.evaluation, bank.evaluation[chosen])
    trees = bank.restrict(np.flatnonzero(bank.kind != 2))
    both = trees + bank
    assert np.array_equal(both.outputs(X)[:, -bank.widths.sum() :], bank.outputs(X), equal_nan=True)
    assert np.array_equal(both.F.toarray(), np.hstack([trees.F.toarray(), bank.F.toarray()]))


def test_concatenation_matches_features_by_name():
    one = cf.WeakLearnerBank.from_trees(STUMP, ["a"])
    other = cf.WeakLearnerBank.columns(["b", "a"])
    bank = one + other
    assert bank.feature_names == ("a", "b")
    assert bank.outputs([[0.0, 7.0]]).tolist() == [[1.0, 7.0, 0.0]]
    assert bank.with_features(["b", "x", "a"]).outputs([[7.0, np.nan, 0.0]]).tolist() == [[1.0, 7.0, 0.0]]
    with pytest.raises(BankError, match="reads 'b'"):
        bank.with_features(["a"])


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_trained_banks_boost(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    y = {"squared": X[:, 0], "logistic": X[:, 0] > 0, "softmax": np.digitize(X[:, 0], [-0.5, 0.5])}[loss] * 1.0
    settings = {"n_estimators": 20, "learning_rate": 0.3, "max_depth": 2, "max_features": 0.5}
    bank = cf.train_bank(X, y, loss=loss, random_state=1, **settings)
    assert np.array_equal(bank.outputs(X), cf.train_bank(X, y, loss=loss, random_state=1, **settings).outputs(X))
    assert (bank.trees.depths() <= 2).all()
    assert bank.F.sum(axis=0).max() <= 2  # half of the columns
    H = bank.outputs(X)
    if loss == "softmax":
        assert (np.stack([H[:, k::3].sum(axis=1) for k in range(3)], axis=1).argmax(axis=1) == y).mean() > 0.85
    else:
        assert np.corrcoef(H.sum(axis=1), y)[0, 1] > 0.75


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, "loss: expected 'squared', 'logistic' or 'softmax', got 'hinge'"),
        ({"n_estimators": 0}, "n_estimators: "),
        ({"max_features": 0.0}, "max_features: "),
        ({"sample_weight": [-1.0] * 4}, "sample_weight: "),
        ({"loss": "logistic", "y": [0, 1, 2, 1]}, "y: expected 0 and 1"),
        ({"loss": "softmax", "y": [0, 0, 0, 0]}, "at least two classes"),
        ({"y": [0, 1, np.nan, 1]}, "y: expected finite"),
        ({"y": [0, 1]}, "y: expected one label a row"),
        ({"loss": "softmax", "y": [0, 1, 3, 1]}, "y: expected the class codes 0 to 2, .* got 0, 1, 3"),
        ({"loss": "softmax", "y": [0, 1e9, 1, 1]}, "y: expected the class codes 0 to 2, .* got 0, 1, 1e"),
        ({"loss": "softmax", "y": [0, 1e300, 1, 1]}, "y: expected the class codes"),
        ({"loss": "softmax", "y": [0, -1, 1, 1]}, "y: expected the class codes 0 to 2, .* got -1, 0, 1"),
        ({"loss": "softmax", "y": [0, 0.5, 1, 1]}, "y: expected the class codes 0 to 2, .* got 0, 0.5, 1"),
        (
            {"loss": "softmax", "y": [0, 1, 2, 0], "sample_weight": [1, 0, 1, 1]},
            "y: expected the class codes 0 to 1, .* 0, 2",
        ),
        ({"loss": "logistic", "y": [1, 2, 2, 1]}, "y: expected 0 and 1"),
        ({"y": [0, 1e-80, 0, 0]}, "y: expected numbers of a size"),
        ({"sample_weight": [1e100] * 4}, "sample_weight: expected numbers of a size"),
    ],
)
def test_bad_training_settings_are_named(settings, message):
    given = {"y": [0.0, 1.0, 1.0, 0.0], **settings}
    with pytest.raises(cf.CostframeError, match=message):
        cf.train_bank(np.arange(8.0).reshape(4, 2), **given)


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (0, 0)])
def test_a_bank_needs_rows_and_columns(shape):
    with pytest.raises(DataError, match="X: must be a table with at least one row and one column, got shape"):
        cf.train_bank(np.empty(shape), np.arange(float(shape[0])))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": [5, -1, -1]}, "tree 0, node 0: has a child that is not a later node"),
        ({"left": [0, -1, -1]}, "tree 0, node 0: has a child that is not a later node"),
        ({"right": [1, -1, -1]}, "does not have exactly one parent"),
        ({"right": [2, 1, -1]}, "tree 0, node 1: is a leaf with a child"),
        ({"feature": [-2, -1, -1]}, "tests a negative column"),
        ({"value": [-1, 0, 7]}, "tree 0, node 2: has no outputs"),
        ({"value": [1, 0, 1]}, "tree 0, node 0: is a test and has outputs"),
        ({"value": [-1, 0, 2**63 - 1]}, "tree 0, node 2: has no outputs"),
        ({"values": [1.0, np.nan]}, "must be finite"),
        ({"threshold": [0.5]}, "'threshold' must have shape"),
        ({"first": [0, 2]}, "'first' must run"),
        ({"width": [0]}, "'width' must hold"),
    ],
)
def test_what_is_no_tree_is_refused(change, message):
    with pytest.raises(BankError, match=message):
        evolve(STUMP, **change)


def opaque(name="o", function=lambda X: X.sum(axis=1), features=(0,), width=1):
    return OpaqueLearner(name, function, features, width)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cf.WeakLearnerBank.from_trees(STUMP, ["a", "a"]), "distinct strings"),
        (lambda: cf.WeakLearnerBank.from_trees(STUMP, []), "reads column 0, there are 0"),
        (lambda: cf.WeakLearnerBank.from_trees(STUMP, ["a"], evaluation=-1.0), "evaluation: expected finite weights"),
        (lambda: cf.WeakLearnerBank.columns(["a"], [1]), "reads column 1"),
        (lambda: cf.WeakLearnerBank.columns(["a"], [-1]), "columns: expected column numbers"),
        (lambda: cf.WeakLearnerBank.columns(["a"], [0.5]), "columns: expected column numbers"),
        (lambda: cf.WeakLearnerBank.columns(["a"], [True]), "columns: expected column numbers"),
        (lambda: cf.WeakLearnerBank.columns(["a"], [2**32]), "columns: expected column numbers"),
        (lambda: cf.WeakLearnerBank.columns(["a"], fill=[1.0, 2.0]), "fill: expected one number"),
        (lambda: cf.WeakLearnerBank.concatenate([]), "at least one bank"),
        (lambda: opaque(features=(0.7,)), "expected column numbers"),
        (lambda: opaque(width=1.5), "positive width"),
        (lambda: opaque(name=3), "expected a name"),
        (lambda: cf.WeakLearnerBank.opaque(["a"], [opaque(), opaque()]), "names must be distinct"),
        (lambda: opaque(function=3), "expected a callable"),
        (lambda: opaque(features=(0, 0)), "reads a feature twice"),
        (lambda: opaque(width=0), "positive width"),
        (lambda: cf.WeakLearnerBank.from_trees(STUMP, ["a"]).restrict([0, 0]), "distinct indices"),
        (lambda: cf.WeakLearnerBank.from_trees(STUMP, ["a"]).restrict([1]), "below 1"),
        (lambda: cf.WeakLearnerBank(("a",), np.array([9], np.uint8), np.array([0], np.int32), np.ones(1)), "kind"),
    ],
)
def test_bad_banks_are_refused(make, message):
    with pytest.raises(BankError, match=message):
        make()


def test_an_opaque_learner_of_the_wrong_shape_is_named():
    bank = cf.WeakLearnerBank.opaque(["a"], [opaque("score", lambda X: np.zeros((len(X), 2)))])
    with pytest.raises(BankError, match=r"'score': expected shape \(3, 1\), got \(3, 2\)"):
        bank.outputs(np.zeros((3, 1)))


BANK = cf.WeakLearnerBank.from_trees(TreeTable.concatenate([STUMP, STUMP]), ["a"])


def route(below, above, threshold=0.0, steepness=1.0):
    return cf.Route([0], [1.0], 0.0, threshold, steepness, below, above)


ANSWER = cf.Answer([1], [1.0], [0.0])
RANKED = cf.Answer([0], [1.0], [0.0], "ranked", 1.0)
ANSWER_OF_FIRST = cf.Answer([0], [1.0], [0.0])


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (lambda: (), "at least one answer"),
        (lambda: (route(1, 1), ANSWER), "stage 1: is reached from 2 stages"),
        (lambda: (route(0, 1), ANSWER), "stage 0: goes on to stage 0"),
        (lambda: (route(1, 9), ANSWER), "goes on to stage 9"),
        (lambda: (ANSWER, ANSWER), "stage 1: is reached from 0"),
        (lambda: ("stage",), "expected an Answer or a Route, got str"),
        (lambda: (cf.Answer([2], [1.0], [0.0]),), "uses learner 2, the bank has 2"),
        (lambda: (cf.Answer([0, 1], [1.0], [0.0]),), "2 outputs, it has 1 weights"),
        (lambda: (cf.Answer([1, 0], [1.0, 1.0], [0.0]),), "ascending"),
        (lambda: (cf.Answer([0], [np.nan], [0.0]),), "finite"),
        (lambda: (cf.Answer([0], [1.0], [0.0], "probit"),), "link: expected one of"),
        (lambda: (cf.Answer([0], [[1.0, 2.0]], [0.0]),), "weights are for 2"),
        (lambda: (cf.Answer([0], [1.0], [0.0], "ranked", np.inf),), "level: expected a finite number, got inf"),
        (lambda: (cf.Answer([0], [1.0], [0.0], "ranked", 10**400),), "level: expected a finite number"),
        (lambda: (cf.Answer([0], [1.0], [0.0], "ranked", "top"),), "level: expected a number, got 'top'"),
        (lambda: (cf.Answer([0], [1.0], [0.0], "sigmoid", 1),), "level: is for ranked answers, got 1 with .*'sigmoid'"),
        (lambda: (cf.Answer([0], [[1.0, 2.0]], [0.0, 0.0], "ranked"),), "a ranked one has one output, got 2"),
        (lambda: (route(1, 2), ANSWER, RANKED), "ranked ones only, got links identity, ranked"),
        (lambda: ANSWER, "put it in brackets"),
        (lambda: (route(1.9, 2), ANSWER, ANSWER), "index of a stage"),
        (lambda: (route(1, 2, threshold="x"), ANSWER, ANSWER), "expected a number"),
        (lambda: (route(1, 2, threshold=np.nan), ANSWER, ANSWER), "threshold, got NaN"),
        (lambda: (route(1, 2, steepness=0.0), ANSWER, ANSWER), "positive finite steepness"),
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
        (np.zeros((2, 3)), "expected 1 columns .* got 3"),
        ([["x"]], "expected numbers"),
        (np.array([["1"]], object), "expected numbers, got text"),
        (pd.DataFrame({"a": ["1"]}), "column 'a' holds text"),
        (pd.DataFrame({"a": pd.Categorical(["u"])}), "column 'a' holds text"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "'a' more than once"),
        (pd.DataFrame({"b": [1.0]}), "lack 'a'"),
        ([[1 + 2j]], "expected numbers"),
        ([[1.0], [1.0, 2.0]], "expected numbers"),
    ],
)
def test_rows_that_do_not_fit_are_refused(X, message):
    model = cf.StageTree(BANK, (ANSWER,))
    with pytest.raises(DataError, match=message):
        model.predict(X)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"z": [9.0], "a": [np.nan]}),
        pd.DataFrame({"a": pd.array([None], "Float64")}),
        pd.DataFrame([[np.nan]], columns=[7]),
        np.ma.masked_array([[1.0]], mask=[[True]]),
        [[None]],
    ],
)
def test_missing_is_missing_however_it_is_written(X):
    """The stump sends NaN left, to 1."""
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
    model = cf.StageTree(cf.WeakLearnerBank.from_trees(tree, ["a", "b"]), (ANSWER_OF_FIRST,))
    end = cf.predict_one(model, {"b": 1.0}, known={"a": 1.0})
    assert end.value == model.predict([[1.0, 1.0]])[0] == 7.0


def test_routes_that_known_values_decide_are_looked_through():
    """After a = 1 both later routes go to an answer that reads c, so b and c are asked for together."""
    tree = TreeTable.single([0, -1, 1, -1, -1], [0.0] * 5, [True] * 5, [1, -1, 3, -1, -1], [2, -1, 4, -1, -1],
                            np.array([0, 1.0, 0, 3.0, 5.0]))  # fmt: skip
    names = ("a", "b", "c")
    bank = cf.WeakLearnerBank.columns(names, [0, 2]) + cf.WeakLearnerBank.from_trees(tree, names)
    empty, reads_c = cf.Answer([], np.empty((0, 1)), [0.0]), cf.Answer([1], [1.0], [0.0])
    stages = (cf.Route([0, 2], [1.0, 1.0], 0.0, 3.5, 1.0, 1, 2), cf.Route([0], [1.0], 0.0, 0.0, 1.0, 3, 4),
              cf.Route([0], [1.0], 0.0, 0.0, 1.0, 5, 6), empty, reads_c, empty, reads_c)  # fmt: skip
    inquiry = cf.StageTree(bank, stages).inquire()
    assert inquiry.needs == ("a",)
    inquiry.supply({"a": 1.0})
    assert inquiry.needs == ("b", "c")


@pytest.mark.parametrize("value", [-1.0, 700.5, 5000.0])
def test_a_chain_of_thousands_of_stages_is_walked(value):
    """Neither the walker nor soft routing recurse."""
    stages = []
    for i in range(1500):
        stages.append(cf.Route([0], [1.0], 0.0, i, 1.0, 2 * i + 1, 2 * i + 2))
        stages.append(cf.Answer([0], [1.0], [0.0]))
    model = cf.StageTree(cf.WeakLearnerBank.columns(["a"]), (*stages, cf.Answer([], np.empty((0, 1)), [1.0])))
    inquiry = model.inquire()
    assert inquiry.needs == ("a",)
    inquiry.supply({"a": value})
    assert inquiry.answer.value == model.predict([[value]])[0] == min(value, 1.0 if value > 1500 else value)
    assert model.cost([[value]], routing="soft").mean == 1.0


def test_where_links_differ_scores_are_log_odds():
    probability = cf.Answer([0], [0.25], [0.0])
    score = cf.Answer([0], [1.0], [0.0], "sigmoid")
    model = cf.StageTree(
        cf.WeakLearnerBank.columns(["a"]), (cf.Route([0], [1.0], 0.0, 1.5, 1.0, 1, 2), probability, score)
    )
    np.testing.assert_allclose(model.predict([[1.0], [2.0]]), [0.25, 1 / (1 + np.exp(-2.0))])
    np.testing.assert_allclose(model.decision_function([[1.0], [2.0]]), [np.log(0.25 / 0.75), 2.0])


def test_a_trained_bank_splits_by_categories():
    rng = np.random.default_rng(0)
    colors = np.array(["red", "blue", "gray", "teal"], object)[rng.integers(0, 4, 200)]
    frame = pd.DataFrame({"size": rng.normal(size=200), "color": pd.Categorical(colors)})
    y = np.isin(colors, ["red", "teal"]) + 0.1 * frame["size"]
    bank = cf.train_bank(frame, y, n_estimators=5)
    assert bank.categories == {"color": ("blue", "gray", "red", "teal")}
    assert bank.trees.category_count.any()
    codes = np.column_stack([frame["size"], frame["color"].cat.codes])
    by_code = cf.train_bank(codes, y, n_estimators=5, categorical_features=[1])
    np.testing.assert_array_equal(by_code.trees.values, bank.trees.values)
    model = cf.estimator("reweighted", "regression", bank=bank).fit(frame, y)
    np.testing.assert_array_equal(model.predict(frame.astype({"color": object})), model.predict(frame))
    with pytest.raises(DataError, match="bank: has other labels of 'color' than X"):
        cf.estimator("reweighted", "regression", bank=bank, categorical_features=["color"]).fit(
            frame.assign(color=frame["color"].cat.reorder_categories(["teal", "red", "gray", "blue"])), y
        )
    with pytest.raises(ParameterError, match="bank: 'columns' are numbers, and column 'color' has categories"):
        cf.estimator("reweighted", "regression", bank="columns").fit(frame, y)
