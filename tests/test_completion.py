"""Donors of tests that were not made."""

import numpy as np
import pytest
from scipy.special import expit

from costframe.records.completion import FEWEST_OF_CLASS, fill, find_donors
from costframe.records.made import Records


def _draw(n=1500, seed=0, share=(0.2, 0.7)):
    """Draw rows of two tests, each made in a share of the rows of each class; return them whole, recorded, and y."""
    r = np.random.default_rng(seed)
    free, latent = r.normal(size=(n, 3)), r.normal(size=n)
    X = np.column_stack([free, latent + 0.5 * free[:, 0] + 0.5 * r.normal(size=n), latent + r.normal(size=n)])
    y = (r.random(n) < expit(2 * latent + free[:, 1])).astype(int)
    made = r.random((n, 2)) < np.array(share)[y][:, np.newaxis]
    cells = np.column_stack([np.ones((n, 3), bool), made])
    return X, np.where(cells, X, np.nan), y, Records.of_cells(cells, tuple("abcde"))


def test_donors_are_of_the_same_class_and_have_had_the_test():
    _, X, y, records = _draw()
    donors = find_donors(X, y, records, by_class=True)
    for panel in range(2):
        assert (y[donors[:, :, panel]] == y).mean() > 0.95  # others are far from all donors of their class
        assert records.made[donors[:, :, panel], panel].all()
        own = np.flatnonzero(records.made[:, panel])
        assert (donors[:, own, panel] == own).all()
    assert not np.isnan(fill(X, donors[0], records)).any()


def test_copies_use_different_donors_and_equal_arguments_equal_ones():
    _, X, y, records = _draw(400)
    donors = find_donors(X, y, records, by_class=True, copies=3)
    assert (donors[0] != donors[1]).any()
    assert np.array_equal(donors, find_donors(X.copy(), y, records, by_class=True, copies=3))
    assert not np.array_equal(donors, find_donors(X, y, records, by_class=True, copies=3, seed=1))


def test_means_of_classes_are_those_of_the_rows_that_were_not_tested():
    truth, X, y, records = _draw(6000)
    filled = fill(X, find_donors(X, y, records, by_class=True)[0], records)
    for panel, column in ((0, 3), (1, 4)):
        lacking = ~records.made[:, panel]
        for kind in (0, 1):
            rows = lacking & (y == kind)
            assert filled[rows, column].mean() == pytest.approx(truth[rows, column].mean(), abs=0.12)
    both = np.corrcoef(filled[:, 3], filled[:, 4])[0, 1]
    assert both == pytest.approx(np.corrcoef(truth[:, 3], truth[:, 4])[0, 1], abs=0.08)


@pytest.mark.parametrize("had", [0, 2])
def test_a_class_with_next_to_no_donors_takes_from_all(had):
    _, X, y, records = _draw(600)
    made = records.made.copy()
    of_class = np.flatnonzero(y == 0)
    made[of_class] = False
    made[of_class[:had]] = True
    cells = np.column_stack([np.ones((600, 3), bool), made])
    X = np.where(cells, _draw(600)[0], np.nan)
    records = Records.of_cells(cells, tuple("abcde"))
    donors = find_donors(X, y, records, by_class=True)
    taking = ~records.made[:, 0]
    assert had < FEWEST_OF_CLASS
    assert (donors >= 0).all()
    assert (y[donors[0, taking & (y == 0), 0]] == 1).any()


def test_a_test_that_nobody_had_stays_empty():
    _, X, y, _ = _draw(300)
    cells = np.ones(X.shape, bool)
    cells[:, 4] = False
    X = np.where(cells, _draw(300)[0], np.nan)
    records = Records.of_cells(cells, tuple("abcde"))
    donors = find_donors(X, y, records, by_class=True)
    assert (donors == -1).all()
    assert np.isnan(fill(X, donors[0], records)[:, 4]).all()


def test_labels_that_are_numbers_and_columns_of_any_scale():
    truth, X, _, records = _draw(800)
    scaled = X * [1.0, 1e12, 1e-12, 1e6, 1.0]
    scaled[:50, 1], scaled[50:60, 1], scaled[:, 2] = np.nan, np.inf, 3.0
    y = truth[:, 3] + truth[:, 0]
    donors = find_donors(scaled, y, records, by_class=False)
    filled = fill(scaled, donors[0], records)
    lacking = ~records.made[:, 0]
    assert np.corrcoef(filled[lacking, 3], truth[lacking, 3])[0, 1] > 0.5


def test_rows_far_from_donors_of_their_class_are_not_like_these():
    r = np.random.default_rng(0)
    n, latent = 4000, r.normal(size=4000)
    y = (r.random(n) < expit(2 * latent)).astype(int)
    truth = np.column_stack([latent + 0.3 * r.normal(size=n), latent + 0.3 * r.normal(size=n)])
    tested = (truth[:, 0] > 0.5) | (y == 0)  # ill rows only after a high result
    cells = np.column_stack([np.ones(n, bool), tested])
    records = Records.of_cells(cells, ("quick", "dear"))
    X = np.where(cells, truth, np.nan)
    filled = fill(X, find_donors(X, y, records, by_class=True)[0], records)
    assert filled[~tested, 1].mean() == pytest.approx(truth[~tested, 1].mean(), abs=0.25)
