"""Statistics of comparisons against hand calculations, scipy, and simulated splits."""

from __future__ import annotations

import comparison_cases as cases
import numpy as np
import pytest
from scipy import stats

import costframe as cf
from costframe.comparison.standings import PERCENT, POINTS
from costframe.comparison.statistics import (
    corrected_error,
    critical_difference,
    mean_difference,
    paired_difference,
    rank_sides,
    standard_error,
)
from costframe.errors import ParameterError


def test_errors_are_paired_by_split_and_agree_with_scipy():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(8, 1))
    one, other = shared + 0.1 * rng.normal(size=(8, 3)), shared + 0.1 * rng.normal(size=(8, 3))
    found = paired_difference(one, other, 0.0)
    np.testing.assert_allclose(found.error, stats.sem(one - other))
    np.testing.assert_allclose(found.corrected, found.error)  # no overlap
    np.testing.assert_allclose(found.p, stats.ttest_rel(one, other).pvalue)
    assert (found.error < 0.3 * standard_error(one)).all()


def test_the_corrected_error_is_that_of_nadeau_and_bengio_by_hand():
    moved = np.array([0.01, 0.03, 0.02, 0.06])
    variance = ((moved - 0.03) ** 2).sum() / 3
    assert corrected_error(moved, 0.25) == pytest.approx(np.sqrt(variance * (1 / 4 + 0.25)))
    found = paired_difference(moved, np.zeros(4), 0.25)
    t = 0.03 / np.sqrt(variance * 0.5)
    assert found.p == pytest.approx(2 * stats.t.sf(t, 3))


def test_one_split_has_no_error_and_equal_sides_do_not_differ():
    single = paired_difference([[0.8]], [[0.7]], 0.25)
    assert np.isnan([single.error, single.corrected, single.p]).all()
    equal = paired_difference(np.ones((3, 1)), np.ones((3, 1)), 0.25)
    assert (equal.mean, equal.error, equal.p) == (0.0, 0.0, 1.0)


def test_splits_that_all_agree_leave_no_probability():
    found = paired_difference([[0.3], [0.3], [0.3]], [[0.2], [0.2], [0.2]], 0.25)
    assert found.mean == pytest.approx(0.1)
    assert np.isnan(found.p)
    assert np.isnan(mean_difference([found, found]).p)


def test_values_that_differ_by_the_order_of_sums_alone_are_equal():
    """Such as bills of two sides that buy and answer the same, one in another order."""
    one, other = np.array([0.1 + 0.2 + 0.3, 0.8, 1.1]), np.array([0.3 + 0.2 + 0.1, 0.8, 1.1])
    assert one[0] != other[0]
    found = paired_difference(one, other, 0.25)
    assert (found.mean, found.error, found.corrected, found.p) == (0.0, 0.0, 0.0, 1.0)
    assert standard_error([one[0], other[0]]) == corrected_error([one[0], other[0]], 0.25) == 0.0
    assert np.isnan(standard_error([np.nan, 1.0]))
    tables = np.array([[one[0], other[0], 0.5 + table] for table in range(7)])
    np.testing.assert_allclose(rank_sides(tables).mean[:2], (1.5 + 6 * 2.5) / 7)
    assert rank_sides(tables[:, :2]).p == 1.0
    assert rank_sides(-tables[:, [0, 1, 0]]).p == 1.0


def test_overlapping_splits_are_not_taken_for_independent_ones():
    """Two equal sides whose difference is noise of the rows: the plain test finds too many, the corrected one few."""
    rng, plain, corrected = np.random.default_rng(0), [], []
    for _ in range(400):
        rows = rng.normal(size=100)
        splits = np.array([rng.permutation(rows)[:20].mean() for _ in range(30)])
        found = paired_difference(splits, np.zeros(30), 20 / 80)
        plain.append(abs(found.mean) > 1.96 * found.error)
        corrected.append(found.p < 0.05)
    assert np.mean(plain) > 0.15
    assert np.mean(corrected) < 0.07


def test_tables_count_alike_and_their_errors_add_up():
    first = paired_difference(np.array([[1.0], [3.0]]), np.zeros((2, 1)), 0.5)
    second = paired_difference(np.array([[5.0], [6.0], [7.0]]), np.zeros((3, 1)), 0.5)
    both = mean_difference([first, second])
    assert both.mean == pytest.approx((2.0 + 6.0) / 2)
    assert both.error == pytest.approx(np.hypot(first.error, second.error) / 2)
    welch = (first.corrected**2 + second.corrected**2) ** 2 / (first.corrected**4 / 1 + second.corrected**4 / 2)
    assert both.p == pytest.approx(2 * stats.t.sf(both.mean / both.corrected, welch))
    assert (both.n_splits, both.n_tables) == (5, 2)


def test_ranks_share_ties_and_are_tested_where_there_are_enough_tables():
    values = np.array([[0.9, 0.8, 0.8], [0.7, 0.9, 0.6], [0.9, 0.8, 0.7]])
    few = rank_sides(values)
    np.testing.assert_allclose(few.mean, [4 / 3, (2.5 + 1 + 2) / 3, (2.5 + 3 + 3) / 3])
    assert few.test is None
    assert np.isnan([few.p, few.critical]).all()
    rng = np.random.default_rng(1)
    many = rng.normal([1.0, 0.5, 0.0, 0.0], size=(14, 4))
    found = rank_sides(many)
    assert found.test == "friedman"
    assert found.p == pytest.approx(stats.friedmanchisquare(*many.T).pvalue)
    np.testing.assert_allclose(found.mean, stats.rankdata(-many, axis=1).mean(axis=0))
    two = rank_sides(many[:, :2])
    assert two.test == "wilcoxon"
    assert two.p == pytest.approx(stats.wilcoxon(many[:, 0], many[:, 1]).pvalue)
    assert rank_sides(np.ones((7, 3))).p == rank_sides(np.ones((7, 2))).p == 1.0


@pytest.mark.parametrize(("n_sides", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_printed_tables(n_sides, q):
    """Table 5 of Demsar (2006)."""
    assert critical_difference(n_sides, 12) == pytest.approx(q * np.sqrt(n_sides * (n_sides + 1) / 72), abs=2e-3)


def test_levels_differences_and_ranks_of_records_by_hand():
    ours = [cases.record("one", r, "ours", (0.5, 0.80 + 0.01 * r)) for r in range(3)]
    theirs = [cases.record("one", r, "theirs", (0.5, 0.78)) for r in range(3)]
    more = [cases.record("two", 0, "ours", (0.6, 0.7)), cases.record("two", 0, "theirs", (0.6, 0.72))]
    found = cf.Comparison([*ours, *theirs, *more], levels=(0.1, 0.5, 1.0), reference="theirs")
    np.testing.assert_allclose(found.standing("one").values("ours")[1], [0.5, 0.81, 0.81])
    one = found.difference("ours", "one")
    np.testing.assert_allclose(one.mean, [0.0, 3.0, 3.0, 2.0])
    np.testing.assert_allclose(one.error[1], 1 / np.sqrt(3))
    np.testing.assert_allclose(one.corrected[1], np.sqrt(1 / 3 + 20 / 80))
    over = found.differences()["ours"][POINTS]
    np.testing.assert_allclose(over.mean, [0.0, 0.5, 0.5, 1 / 3])
    np.testing.assert_allclose(found.ranks.ranks[-1].mean, [1.5, 1.5])
    np.testing.assert_allclose(found.ranks.ranks[0].mean, [1.5, 1.5])


def test_unknown_sides_tables_and_files_are_refused_by_name():
    found = cf.Comparison([cases.record("one", 0, "ours"), cases.record("two", 0, "theirs")], reference="ours")
    assert found.difference("theirs", "two") is None
    for ask in (lambda: found.difference("their", "two"), lambda: found.standing("two").values("their")):
        with pytest.raises(ParameterError, match=r"side: expected one of .*, got 'their' \(did you mean 'theirs'\?\)"):
            ask()
    for files in (3, [], None):
        with pytest.raises(ParameterError, match="files: expected paths, at least one, got "):
            cf.Comparison.load(files)


def test_bills_are_compared_in_percent_of_the_reference():
    ours = [cases.record("one", r, "ours", (-8.0, -1.0), full=4.0, bills=True) for r in range(2)]
    theirs = [cases.record("one", r, "theirs", (-8.0, -2.0), full=4.0, bills=True) for r in range(2)]
    scores = [cases.record("two", 0, side) for side in ("ours", "theirs")]
    found = cf.Comparison([*ours, *theirs, *scores], levels=(0.1, 1.0), reference="theirs")
    np.testing.assert_allclose(found.standing("one").values("ours"), [[8.0, 3.0]] * 2)
    np.testing.assert_allclose(found.difference("ours", "one").mean, [0.0, 25.0, 12.5])
    free = [cases.record("one", r, "free", (0.0, -1.0), full=0.5, bills=True) for r in range(2)]
    dear = [cases.record("one", r, "dear", (-8.0, -1.0), full=0.5, bills=True) for r in range(2)]
    of_nothing = cf.Comparison([*free, *dear], levels=(0.1,), reference="free")
    assert np.isnan(of_nothing.difference("dear", "one").mean).all()
    assert (of_nothing.standing("one").difference("free", "free").mean == 0).all()
    over = found.differences()["ours"]
    assert set(over) == {POINTS, PERCENT}
    np.testing.assert_allclose(over[PERCENT].mean, [0.0, 25.0, 12.5])
    np.testing.assert_allclose(over[POINTS].mean, np.zeros(3))
    np.testing.assert_allclose(found.ranks.ranks[1].mean, [1.25, 1.75])
