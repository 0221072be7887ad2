"""What is said of each stage, against rows followed one by one; and where its box stands."""

from __future__ import annotations

from itertools import pairwise

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costframe import Answer, Route
from costframe.report.stage_statistics import see_stages
from costframe.report.stages_layout import place_stages
from costframe.testing import strategies


@st.composite
def cases(draw):
    names = draw(strategies.feature_names())
    tree = draw(strategies.stage_trees(draw(strategies.banks(names))))
    return (
        tree,
        draw(strategies.cost_models(names)),
        draw(strategies.rows(len(names)).filter(len)),
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
