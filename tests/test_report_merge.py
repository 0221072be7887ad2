"""Reports of parts of the rows merge to the report of all rows."""

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costframe as cf
from costframe.core.errors import ParameterError
from costframe.core.stages.stages import Answer
from costframe.testing import strategies

N, NAMES = 60, ("a", "b", "c")
BY_ROW = ("per_row", "acquired", "rounds", "predictions", "cut", "latency")


def parts_of(n, seed, count):
    """Return consecutive parts of n rows, some of them empty."""
    cuts = np.sort(np.random.default_rng(seed).integers(0, n + 1, count - 1))
    return np.split(np.arange(n), cuts)


def assert_equal(one, other, rtol=0.0):
    assert one.by_feature.keys() == other.by_feature.keys()
    assert one.by_resource.keys() == other.by_resource.keys()
    for name in ("mean", "fixed", "by_stage"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=0)
    for name in ("by_feature", "by_resource"):
        np.testing.assert_allclose([*getattr(one, name).values()], [*getattr(other, name).values()], rtol=rtol, atol=0)
    np.testing.assert_allclose(attrs.astuple(one.evaluation), attrs.astuple(other.evaluation), rtol=rtol, atol=0)
    for name in BY_ROW:
        assert np.array_equal(getattr(one, name), getattr(other, name))


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(0, 10**6), st.integers(1, 5), st.booleans())
def test_merged_reports_equal_the_report_of_all_rows(data, seed, count, whole):
    tree = data.draw(strategies.stage_trees(data.draw(strategies.banks(NAMES))))
    costs = data.draw(strategies.cost_models(NAMES))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, len(NAMES)))
    weight = rng.integers(1, 4, N).astype(float) if whole else rng.random(N) + 0.01

    def report(rows, **how):
        return tree.cost(X[rows], costs, sample_weight=weight[rows], **how)

    for how in ({"rounds": True}, {"max_cost": 1.0}, {"routing": "soft"}):
        merged = cf.CostReport.merge(report(rows, **how) for rows in parts_of(N, seed, count))
        assert_equal(merged, report(slice(None), **how), 0.0 if whole and "routing" not in how else 1e-12)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ([], "expected at least one"),
        ([{}, {"costs": [2.0, 2.0]}], "one model at equal prices"),
        ([{}, {"rounds": True}], "some have rounds and others not"),
    ],
)
def test_what_does_not_merge_is_refused(others, words):
    bank = cf.WeakLearnerBank.columns(["a", "b"])
    tree = cf.StageTree(bank, [Answer([0], [[1.0]], [0.0], "identity")])
    with pytest.raises(ParameterError, match=words):
        cf.CostReport.merge([tree.cost(np.ones((2, 2)), **how) for how in others])
