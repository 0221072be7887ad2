"""What is said of each stage, against rows followed one by one; and where its box stands."""

from __future__ import annotations

from itertools import pairwise

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.stages.stages import Answer, Route
from costframe.report.stages import see_stages, summarize_stages
from costframe.report.stages_display import stage_boxes
from costframe.report.stages_drawing import place_stages
from costframe.testing.strategies import banks, cost_models, feature_names, rows, stage_trees


@st.composite
def cases(draw):
    names = draw(feature_names())
    tree = draw(stage_trees(draw(banks(names))))
    return (
        tree,
        draw(cost_models(names)),
        draw(rows(len(names)).filter(len)),
        draw(st.sampled_from(("path", "learner"))),
    )


def with_resources(costs, acquired):
    """Names of features and of all resources they need, directly or through others."""
    prices, names = costs.select(costs.names), set(acquired)
    for name in acquired:
        names |= {
            r for r, need in zip(prices.resource_names, prices.needs[costs.names.index(name)], strict=True) if need
        }
    return names


def expected(costs, bought):
    """Share of each name that a stage newly acquires, given what each row had before it and has after it."""
    new = [with_resources(costs, after) - with_resources(costs, before) for before, after in bought]
    return {name: sum(name in one for one in new) / len(new) for name in set().union(*new)}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")
@settings(max_examples=60)
@given(cases())
def test_what_rows_acquire_at_each_stage_equals_following_them(case):
    tree, costs, X, acquisition = case
    seen = see_stages(tree, costs.select(tree.feature_names), X, acquisition)
    ways = [naive.route_taken(tree, row)[0] for row in X]
    for number, stage in enumerate(seen):
        coming = [i for i, way in enumerate(ways) if number in way]
        np.testing.assert_array_equal(stage.rows, coming)
        bought = []
        for i in coming:
            before = ways[i][: ways[i].index(number)]
            had = naive.path_cost(tree, X[i], before, costs, acquisition)[1] if before else set()
            bought.append((had, naive.path_cost(tree, X[i], [*before, number], costs, acquisition)[1]))
        twin = expected(costs, bought) if bought else {}
        assert {one.name: one.share for one in stage.acquired} == pytest.approx(twin)
        prices = [one.price for one in stage.acquired]
        assert prices == sorted(prices, reverse=True)
        if isinstance(tree.stages[number], Answer) and coming:
            np.testing.assert_array_equal(np.squeeze(stage.values), np.squeeze(tree.predict(X[coming])))


@settings(max_examples=60)
@given(cases())
def test_what_stages_may_read_equals_following_every_way(case):
    tree, costs, _, _ = case
    seen = summarize_stages(tree, costs.select(tree.feature_names))
    before = {0: ([], [])}  # learners and features
    for number, stage in enumerate(tree.stages):
        learners, features = before[number]
        mine = [t for t, _ in naive.active(tree.bank, stage)]
        read = {tree.feature_names[f] for t in mine for f in tree.bank.F[:, [t]].tocoo().coords[0]}
        new = with_resources(costs, {*features, *read}) - with_resources(costs, features)
        assert {one.name for one in seen[number].acquired} == new
        assert (seen[number].n_learners, seen[number].n_new) == (len(mine), len(set(mine) - set(learners)))
        assert seen[number].rows is None
        if isinstance(stage, Route):
            before[stage.below] = before[stage.above] = ([*learners, *mine], [*features, *read])


@settings(max_examples=100)
@given(
    st.data(),
    st.integers(0, 40),
    st.floats(0, 1),
)
def test_no_two_boxes_touch_and_no_ways_cross(data, routes, gap):
    stages, open_ends = [], [0]
    count = 2 * routes + 1
    children = {}
    for first in range(1, count, 2):
        children[open_ends.pop(data.draw(st.integers(0, len(open_ends) - 1)))] = (first, first + 1)
        open_ends += [first, first + 1]
    # Numbers of routes need not ascend as their children do; what matters is that parents come first.
    for number in range(count):
        ends = children.get(number)
        stages.append(
            Answer([], [], 0.0) if ends is None else Route([], [], 0.0, 0.0, 1.0, *data.draw(st.permutations(ends)))
        )
    heights = np.array(data.draw(st.lists(st.floats(0.3, 4.0), min_size=count, max_size=count)))
    column, center = place_stages(stages, heights, gap)
    assert (center - heights / 2).min() == pytest.approx(0)
    for number, stage in enumerate(stages):
        if isinstance(stage, Route):
            assert column[stage.below] == column[stage.above] == column[number] + 1
            assert center[stage.below] <= center[number] <= center[stage.above]
    parent = {child: number for number, ends in children.items() for child in ends}
    for level in range(column.max() + 1):
        order = sorted(np.flatnonzero(column == level), key=lambda one: center[one])
        for lower, upper in pairwise(order):
            assert center[upper] - heights[upper] / 2 >= center[lower] + heights[lower] / 2 + gap - 1e-9
            assert center[parent[lower]] <= center[parent[upper]]


def test_a_chain_is_straight():
    stages = [
        stage for k in range(5) for stage in (Route([], [], 0.0, 0.0, 1.0, 2 * k + 1, 2 * k + 2), Answer([], [], 0.0))
    ]
    stages = [*stages, Answer([], [], 0.0)]
    column, center = place_stages(stages, [1.0] * 11, 0.5)
    np.testing.assert_array_equal(column[::2], np.arange(6))
    np.testing.assert_allclose(center[0:10:2], center[0])
    np.testing.assert_allclose(center[1:8:2], center[0] - 1.5)


def test_a_thousand_stages_are_placed():
    stages = [
        stage for k in range(500) for stage in (Route([], [], 0.0, 0.0, 1.0, 2 * k + 2, 2 * k + 1), Answer([], [], 0.0))
    ]
    column, _ = place_stages([*stages, Answer([], [], 0.0)], [1.0] * 1001, 0.5)
    assert column.max() == 500


def test_boxes_say_what_there_is_to_know():
    names = tuple(f"f{i}" for i in range(8))
    needs = {"cost": 0.5, "needs": ["visit"]}
    prices = {name: needs if name == "f6" else i for i, name in enumerate(names)}
    costs = CostModel.from_dict({"unit": "CAD", "resources": {"visit": 20.0}, "features": prices})
    stages = [
        Route([0, 1], [1.0, 1.0], 0.0, 0.25, 1.0, 1, 2),
        Answer([0, 1], [1.0, 1.0], 0.0, "sigmoid"),
        Answer([1, 2, 3, 4, 5, 6], np.ones(6), 0.0, "sigmoid"),
    ]
    tree = StageTree(WeakLearnerBank.columns(names), stages, costs)
    X = np.zeros((4, 8))
    X[3, 0] = 1.0
    boxes, _ = stage_boxes(tree, costs, X)
    text = [[(line.left, line.right) for line in (box.title, *box.lines)] for box in boxes]
    assert text[0] == [
        ("stage 0", "100 % of rows"), ("up if score > 0.25", ""), ("evaluates 2 learners, all new", ""),
        ("acquires", "CAD"), ("f1", "1"), ("f0", "0"),
    ]  # fmt: skip
    assert text[1] == [
        ("stage 1", "75 % of rows"), ("answers with the sigmoid of its score", ""), ("evaluates 2 learners", ""),
        ("acquires nothing new", ""), ("mean cost of these rows", "1 CAD"),
    ]  # fmt: skip
    assert text[2] == [
        ("stage 2", "25 % of rows"), ("answers with the sigmoid of its score", ""), ("evaluates 6 learners, 5 new", ""),
        ("acquires", "CAD"), ("visit", "20"), ("f5", "5"), ("f4", "4"), ("+ 3 more", ""),
        ("mean cost of these rows", "35.5 CAD"),
    ]  # fmt: skip
    assert boxes[2].lines[3].kind == "resource"
    unreached = stage_boxes(tree, costs, X[:3])[0][2]
    assert [line.left for line in unreached.lines][1:] == ["no row comes here"]
    assert not unreached.has_panel


def test_a_constant_says_its_value():
    tree = StageTree(WeakLearnerBank.columns(["a"]), [Answer([], [], 0.0, "sigmoid")])
    ((box,), _) = stage_boxes(tree, None)
    assert [line.left for line in box.lines] == ["answers 0.5", "acquires nothing new"]
    assert (box.title.right, box.share, box.has_panel) == ("", None, False)
