"""The rows of a log as records: what was asked, what came back empty, and a model that learns from them."""

import numpy as np
import pytest
from live_cases import COSTS, NAMES, sources, table, tree

import costframe as cf
from costframe.plugin import DataError
from costframe.sources import InquiryLog, predict_stream, read_logged_rows

FRAME = table(400, seed=3)


@pytest.fixture
def log(tmp_path):
    frame = FRAME.copy()
    frame.loc[5, "age"] = np.nan  # asked for, and empty
    with InquiryLog(tmp_path / "log.jsonl") as log:
        list(predict_stream(tree(), sources(frame), frame.key.tolist(), COSTS, observe=log))
    return tmp_path / "log.jsonl"


def test_what_was_asked_was_made_and_nothing_else(log):
    rows = read_logged_rows(log, tree())
    assert rows.feature_names == NAMES
    assert len(rows) == 400
    place = {key: row for row, key in enumerate(rows.keys)}
    assert rows.made[:, 0].all()  # age is asked of all
    empty = place["k5"]
    assert np.isnan(rows.X[empty, 0])
    assert rows.made[empty, 0]
    assert 0 < rows.made[:, 3].mean() < 1
    assert (np.isnan(rows.X) == ~rows.made).sum() == rows.X.size - 1  # but for the empty answer


def test_a_model_learns_from_a_log_and_its_mask(log):
    rows = read_logged_rows(log, tree())
    labels = dict(zip(FRAME.key, (FRAME.scan + FRAME.age > 0).astype(int), strict=True))
    labels.pop("k7")
    X, y, made = rows.labelled(labels)
    assert len(X) == 399
    model = cf.estimator("cegb", costs=COSTS, tradeoff=0.0).fit(X, y, made=made)
    truth, table = (FRAME.scan + FRAME.age > 0).to_numpy(), FRAME[list(NAMES)].to_numpy()
    assert np.mean((model.predict_proba(table)[:, 1] > 0.5) == truth) > 0.9
    as_recorded = cf.estimator("cegb", costs=COSTS, tradeoff=0.0).fit(X, y)
    assert not np.array_equal(model.predict_proba(table), as_recorded.predict_proba(table))
    with pytest.raises(DataError, match="labels: expected keys of the log"):
        rows.labelled({})


def test_a_log_of_another_model_is_refused(log):
    other = cf.StageTree(cf.WeakLearnerBank.columns(("age",)), (cf.Answer([0], [[1.0]], [0.0]),))
    with pytest.raises(DataError, match="the model has no feature"):
        read_logged_rows(log, other)
