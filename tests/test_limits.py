"""Hard caps and what is unavailable: the kernel, the walker, the inquiry and a counting source agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.core.capped import CappedRows, _step_rows, walk_under_limits
from costframe.core.limits import Limits
from costframe.testing.counting import CountingSource
from costframe.testing.strategies import banks, cost_models, feature_names, rows, stage_trees

CAPS = (None, 0.0, 0.1, 1.0, 2.5, 3.6, 6.0, 1e6, 3e6)
QUIET = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


@st.composite
def cases(draw):
    names = draw(feature_names())
    tree = draw(stage_trees(draw(banks(names))))
    costs = draw(cost_models(names))
    barred = draw(st.sets(st.sampled_from((*names, *(one.name for one in costs.resources))), max_size=2))
    limits = draw(st.sampled_from(CAPS)), tuple(sorted(barred))
    if draw(st.booleans()):
        tree = tree.with_costs(costs).with_fallbacks(draw(rows(len(names), most=12)))
    return tree, costs, draw(rows(len(names))), draw(st.sampled_from(("path", "learner"))), limits


def same_bits(a, b):
    return np.array_equal(np.asarray(a, np.float64), np.asarray(b, np.float64), equal_nan=True)


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a))


@QUIET
@given(cases())
def test_the_kernel_walks_as_the_walker_does(case):
    tree, costs, X, acquisition, (max_cost, unavailable) = case
    prices = costs.select(tree.feature_names)
    limits = Limits.of(max_cost, unavailable, prices) or Limits()
    by_path = acquisition == "path"
    found, wanted = walk_under_limits(tree, prices, limits, X, by_path=by_path), CappedRows.empty(tree, len(X))
    _step_rows(tree, prices, limits, X, wanted, slice(0, len(X)), by_path=by_path)
    for name in ("exits", "cut", "share", "scores", "route_scores", "masks", "spent"):
        assert same_bits(getattr(found, name), getattr(wanted, name)), name


@QUIET
@given(cases())
def test_report_equals_inquiry_equals_counting_source_under_limits(case):
    tree, costs, X, acquisition, (max_cost, unavailable) = case
    limits = {"max_cost": max_cost, "unavailable": unavailable}
    report = tree.with_costs(costs).cost(X, acquisition=acquisition, rounds=True, **limits)
    for i, row in enumerate(X):
        source = CountingSource(dict(zip(tree.feature_names, row.tolist(), strict=True)), costs)
        inquiry = tree.inquire(costs, acquisition, **limits)
        while inquiry.needs:
            assert not set(inquiry.needs) & set(unavailable)
            inquiry.supply(source(inquiry.needs))
        end = inquiry.answer
        assert same_bits(end.value, report.predictions[i])
        assert tree.fallbacks is None or end.reason == "complete" or np.isfinite(end.value).all()
        assert close(end.cost, report.per_row[i])
        assert max_cost is None or (end.cost <= max_cost and report.per_row[i] <= max_cost)
        bought = {name for name, one in zip(report.feature_names, report.acquired[i], strict=True) if one}
        assert set(end.acquired) == set(source.fetched) == bought
        assert end.rounds == report.rounds[i]
        if report.cut is not None:
            assert (end.reason != "complete") == report.cut[i]
