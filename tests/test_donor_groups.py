"""Groups of records with donors of their own, which folds do not part."""

import warnings

import numpy as np
import pytest
from attrs import evolve
from scipy.special import expit

from costframe import CEGBClassifier, CEGBRanker, CostModel
from costframe.errors import ParameterError, UntestedWarning
from costframe.records.completion import find_donors
from costframe.records.made import Records
from costframe.training.data import Rows
from costframe.training.learning import learn_from
from costframe.training.losses import loss_for
from costframe.training.sampling import Sampling
from costframe.trees import BinnedData, BoostedFolds, TreeSettings

NAMES = ("free", "other", "scan")


def _draw(n=1200, seed=0, made_for=0.25, tells=0.0):
    """Return rows of two free columns and a scan that tells so much of the label, and which scans were made."""
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, 3))
    y = (r.random(n) < expit(X[:, 0] + tells * X[:, 2])).astype(int)
    made = r.random(n) < made_for
    X[~made, 2] = np.nan
    return X, y, made


def _training_data(X, y, **more):
    costs = CostModel.of({"free": 0.0, "other": 0.0, "scan": {"cost": 1.0, "absent": "not made"}})
    return CEGBClassifier(costs).training_data(X, y, **more)


def test_donors_are_of_a_row_s_group():
    X, y, made = _draw()
    records = Records.of(X, NAMES, (), np.column_stack([np.ones((len(X), 2), bool), made]))
    groups = np.arange(len(X)) % 3
    donors = find_donors(X, y, records, by_class=True, groups=groups)
    assert (groups[donors[:, :, 0]] == groups).all()
    alone = find_donors(X, y, records, by_class=True)
    assert (groups[alone[:, :, 0]] != groups).any()
    assert np.array_equal(find_donors(X, y, records, by_class=True, groups=np.zeros(len(X), int)), alone)


def test_the_reading_by_columns_refuses_groups():
    X, y, made = _draw(200)
    records = Records.of(X, NAMES, (), np.column_stack([np.ones((len(X), 2), bool), made]))
    with pytest.raises(ParameterError, match="groups"):
        find_donors(X, y, records, by_class=True, reading="columns", groups=np.zeros(200, int))


@pytest.mark.parametrize("with_valid", [False, True])
def test_a_drawn_value_is_in_one_fold_only(with_valid):
    X, y, _ = _draw()
    other = dict(zip(("X_val", "y_val"), _draw(600, seed=1)[:2], strict=True)) if with_valid else {}
    data = _training_data(X, y, **other)
    rows = data.joined_rows()
    _, fold, _ = Sampling(data).folds(rows, 5)
    assert len(np.unique(fold)) == 4
    assert np.bincount(fold).min() > 0.2 * len(rows)
    for value in np.unique(rows.X[:, 2]).tolist():
        assert len(np.unique(fold[rows.X[:, 2] == value])) == 1
    assert (np.bincount(fold, rows.y) / np.bincount(fold)).std() < 0.02


def test_halves_and_held_out_rows_share_no_drawn_values():
    data = _training_data(*_draw()[:2])
    for out in (Sampling(data).held_out(), Sampling(data).halves(data.train)):
        values = data.train.X[:, 2]
        assert not np.isin(values[out], values[~out]).any()


def test_a_scan_that_tells_nothing_gains_nothing_out_of_fold():
    data = _training_data(*_draw(2000, made_for=0.1)[:2])
    rows, settings = data.train, TreeSettings(max_leaves=16, learning_rate=0.1, n_estimators=60, n_iter_no_change=None)
    scan = BinnedData.of(rows, settings).take_columns(np.array([2]))

    def loss(rows):
        _, fold, _ = Sampling(data).folds(rows, 4)
        return BoostedFolds.fit(scan, rows, loss_for(2), fold, settings).loss

    constant = np.log(2)  # classes are of equal size
    assert loss(rows) > 0.98 * constant
    alone = find_donors(*_recorded(), by_class=True, copies=4)  # of all rows
    values = np.concatenate([_draw(2000, made_for=0.1)[0][donors[:, 0], 2] for donors in alone])
    scan = BinnedData.of(parted := evolve(rows, X=np.column_stack([rows.X[:, :2], values]), groups=None), settings)
    scan = scan.take_columns(np.array([2]))
    assert loss(parted) < 0.9 * constant  # of donors in other folds, trees know the label


def _recorded():
    X, y, made = _draw(2000, made_for=0.1)
    return X, y, Records.of(X, NAMES, (), np.column_stack([np.ones((len(X), 2), bool), made]))


@pytest.mark.parametrize(("donors", "count"), [(8, 1), (15, 1), (25, 2), (35, 3), (100, 4)])
def test_each_group_has_donors_enough(donors, count):
    r = np.random.default_rng(0)
    X, y = r.normal(size=(1000, 3)), np.repeat([0, 1], 500)
    made = np.ones(1000, bool)
    made[500 + donors :] = False
    X[~made, 2] = np.nan
    records = Records.of(X, NAMES, (), np.column_stack([np.ones((1000, 2), bool), made]))
    rows = learn_from(Rows(X, y, np.ones(1000), labels=np.array([0, 1])), records, "completed", "X")
    if donors < 10:  # those of all classes give, of whom there are enough
        assert rows.groups.max() == 3
    elif count == 1:
        assert rows.groups is None
    else:
        assert rows.groups.max() + 1 == count
        assert (np.bincount(rows.groups[:1000][500 : 500 + donors]) >= 10).all()


def test_a_single_fit_leaves_out_what_nobody_knows_of_a_class_and_says_so():
    X, y, _ = _draw(1000, tells=2.0)
    X[np.flatnonzero((y == 1) & ~np.isnan(X[:, 2]))[5:], 2] = np.nan
    costs = CostModel.of({"free": 0.0, "other": 0.0, "scan": {"cost": 1e-6, "absent": "not made"}})
    with pytest.warns(UntestedWarning, match="nobody knows what scan shows of rows of class 1: it was made for 5 of"):
        model = CEGBClassifier(costs).fit(X, y)
    assert "scan" not in model.predictor_.used_features
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recorded = CEGBClassifier(costs).learning_from("recorded").fit(X, y)
        enough = CEGBClassifier(costs).fit(*_draw(1000, tells=2.0)[:2])
    assert "scan" in recorded.predictor_.used_features
    assert "scan" in enough.predictor_.used_features


def test_a_ranker_leaves_out_what_nobody_knows_of_a_grade():
    X, y, _ = _draw(1000, tells=2.0)
    X[np.flatnonzero(y == 1), 2] = np.nan
    costs = CostModel.of({"free": 0.0, "other": 0.0, "scan": {"cost": 1e-6, "absent": "not made"}})
    with pytest.warns(UntestedWarning, match="nobody knows what scan shows of rows of class 1"):
        model = CEGBRanker(costs).fit(X, y, qid=np.repeat(np.arange(100), 10))
    assert "scan" not in model.predictor_.used_features
