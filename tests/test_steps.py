"""Steps of a row: each trip asks for what a naive look ahead finds, and one that fails changes nothing."""

import attrs
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preparation_cases import prepared_predictors

import costframe as cf
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stepped import SteppedPredictor
from costframe.core.tables.preparation import OpaqueOperation, Preparation
from costframe.testing.laws_of_errors import expect_retries, inquiries
from costframe.testing.strategies import NASTY, banks, planned_predictors, stage_trees

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


NAMES = ("a", "b", "c")
MODELS = {
    "stages": banks(NAMES).flatmap(stage_trees),
    "plan": planned_predictors(NAMES),
    "prepared": prepared_predictors(NAMES),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=10)
@given(st.data())
def test_a_step_that_fails_changes_nothing(kind, data):
    """In trees of stages with opaque learners, under limits or until they are certain; in plans; from raw columns."""
    model = data.draw(MODELS[kind])
    row = [data.draw(st.sampled_from(NASTY)) for _ in model.feature_names]
    for what, begin in inquiries(model, np.array([row])):
        expect_retries(begin, dict(zip(model.feature_names, row, strict=True)), what)


def failing_first(function):
    """Make a function whose first call fails."""
    calls = []

    def called(*given):
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return function(*given)

    return called


def hops(pause):
    """Ask for a, then for b, and add them up; `pause` is called in between."""

    def steps():
        first = yield ["a"]
        pause()
        second = yield ["b"]
        return first["a"] + second["b"]

    return steps


def failing_models():
    """Make models of a + b, one of whose functions fails at first."""
    learners = [OpaqueLearner(name, lambda rows: rows[:, 0], (f,)) for f, name in enumerate("ab")]
    learners[0] = attrs.evolve(learners[0], function=failing_first(learners[0].function))
    answer = cf.Answer([0, 1], [1.0, 1.0], 0.0)
    yield cf.StageTree(WeakLearnerBank.opaque(("a", "b"), learners), (answer,))
    gated = cf.Route([0], [1.0], 0.0, 0.0, 1.0, 1, 2), cf.Answer([0], [2.0], 0.0), answer
    operations = [OpaqueOperation("a", lambda rows: rows[:, :1], (0, 1))]
    operations += [OpaqueOperation("b", failing_first(lambda rows: rows[:, 1:]), (0, 1))]
    preparation = Preparation(("a", "b"), operations, (2, 3), ("made a", "made b"))
    yield PreparedPredictor(cf.StageTree(WeakLearnerBank.columns(preparation.names), gated), preparation)
    yield SteppedPredictor(("a", "b"), hops(failing_first(lambda: None)), fallback=0.0)


@pytest.mark.parametrize("kind", range(3), ids=["opaque", "prepared", "stepped"])
@pytest.mark.parametrize("terms", [{}, {"max_cost": 2.0}])
def test_a_step_that_failed_is_taken_again_with_other_values(kind, terms):
    inquiry = list(failing_models())[kind].inquire(**terms)
    with pytest.raises(KeyboardInterrupt):
        inquiry.supply(dict.fromkeys(inquiry.needs, 70.0))
    assert (inquiry.cost, inquiry.acquired) == (0.0, ())
    while needs := inquiry.needs:
        inquiry.supply({name: {"a": 1.0, "b": 2.0}[name] for name in needs})
    assert (inquiry.answer.value, inquiry.answer.cost, inquiry.answer.acquired) == (3.0, 2.0, ("a", "b"))


def test_a_row_that_fails_leaves_other_rows_and_later_calls_alone():
    """In lockstep all rows of a call end; over sources only its own. A further call is right."""
    values = {key: {"a": float(key), "b": 2.0} for key in range(3)}
    expected = [key + 2.0 for key in values]

    def fetch(requests):
        return {key: {name: values[key][name] for name in names} for key, names in requests.items()}

    model = next(failing_models())
    with pytest.raises(KeyboardInterrupt):
        cf.predict_many(model, fetch, values)
    assert [end.value for end in cf.predict_many(model, fetch, values)] == expected
    for _ in range(2):
        learner = OpaqueLearner("a", lambda rows: 1.0 / rows[:, 0] if rows.all() else 1 // 0, (0,))
        bank = WeakLearnerBank.opaque(("a", "b"), [learner, OpaqueLearner("b", lambda rows: rows[:, 0], (1,))])
        model = cf.StageTree(bank, (cf.Answer([0, 1], [1.0, 1.0], 0.0),))
        sources = cf.sources.Sources({"all": cf.sources.Lookup(cf.sources.CallSource(fetch), ("a", "b"))})
        ends = dict(cf.predict_stream(model, sources, [*values]))
        assert isinstance(ends[0], ZeroDivisionError)
        assert [ends[key].value for key in (1, 2)] == [3.0, 2.5]
