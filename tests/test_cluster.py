"""Estimators fit on dask collections as on the same rows in memory, to the last bit; wrong ones are refused."""

import numpy as np
import pandas as pd
import pytest

import costframe as cf
from costframe.core.errors import DataError, ParameterError

dask = pytest.importorskip("dask", reason="needs dask")
pytest.importorskip("distributed", reason="needs distributed")
pytest.importorskip("xgboost", reason="needs xgboost")
da = pytest.importorskip("dask.array", reason="needs dask[array]")
dd = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")
pytestmark = pytest.mark.usefixtures("client")

N = 600
NAMES = list("abcd")
COSTS = cf.CostModel.of({name: 0.1 + 0.2 * f for f, name in enumerate(NAMES)})
rng = np.random.default_rng(0)
X = np.where(rng.random((N, 4)) < 0.05, np.nan, rng.normal(size=(N, 4)))
SCORE = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + rng.normal(size=N)
Y = (SCORE > 0).astype(np.int64)
WEIGHT = rng.random(N)
FRAME = pd.DataFrame(X, columns=NAMES).assign(
    kind=pd.Categorical(np.where(rng.random(N) < 0.5, "b", "a"), ["b", "c", "a"]),
    label=np.where(Y, "good", "bad"),
    text=np.where(Y, "x", "y"),
)
LAZY_X, LAZY_Y = da.from_array(X, chunks=(170, 2)), da.from_array(Y, chunks=170)
SETTINGS = {"tradeoff": 1e-3, "n_estimators": 5}


def model(kind="Classifier", costs=COSTS, **more):
    return getattr(cf, f"CEGB{kind}")(costs, **SETTINGS, **more)


def assert_same(one, other, rows):
    assert np.array_equal(one.decision_function(rows), other.decision_function(rows))
    assert one.cost(rows).mean == other.cost(rows).mean
    assert sorted(vars(one)) == sorted(vars(other))


def test_arrays_train_the_model_of_rows_in_memory(client):
    weights = {"sample_weight": WEIGHT, "sample_weight_val": WEIGHT[:200]}
    whole = model(n_iter_no_change=3).fit(X, Y, X_val=X[:200], y_val=Y[:200], **weights)
    lazy = {name: da.from_array(values, chunks=70) for name, values in weights.items()}
    valid = {"X_val": da.from_array(X[:200], chunks=90), "y_val": da.from_array(Y[:200], chunks=50)}
    assert_same(model(n_iter_no_change=3).fit(LAZY_X, LAZY_Y, **valid, **lazy, client=client), whole, X)


def test_labels_in_memory_and_partitions_of_unknown_lengths():
    rows = LAZY_X[(LAZY_X[:, 3] > 0) | (da.arange(N, chunks=170) < 170)]
    kept = (X[:, 3] > 0) | (np.arange(N) < 170)
    whole = model().fit(X[kept], Y[kept])
    assert_same(model().fit(rows, Y[kept]), whole, X)
    assert_same(model().fit(rows, da.from_array(Y[kept], chunks=100)), whole, X)


def test_frames_with_categories_and_empty_partitions():
    frame = dd.from_pandas(FRAME, npartitions=4)
    frame = dd.concat([frame, frame[frame.a > 100.0]])  # some partitions have no rows
    columns = [*NAMES, "kind"]
    costs = {**COSTS.to_dict()["features"], "kind": 0.5}
    whole = model(costs=costs).fit(FRAME[columns], FRAME["label"])
    assert_same(model(costs=costs).fit(frame[columns], frame["label"]), whole, FRAME[columns])


def test_categories_found_in_texts_are_those_of_all_workers():
    columns = ["a", "text"]
    half = FRAME.sort_values("text", ignore_index=True)  # each worker has other texts
    settings = {"costs": {"a": 1.0, "text": 0.1}, "categorical_features": ["text"]}
    lazy = dd.from_pandas(half, npartitions=2)
    fits = model(**settings).fit(half[columns], half["label"]), model(**settings).fit(lazy[columns], lazy["label"])
    assert_same(*reversed(fits), half[columns])


def test_queries_over_partitions_are_brought_together():
    qid = np.random.default_rng(1).integers(0, 40, N)  # almost each is in every partition
    grades = np.digitize(SCORE, [0.0, 1.0])
    names = [f"query {q}" for q in qid]
    whole = model("Ranker").fit(X, grades, qid=qid)
    for queries in (qid, da.from_array(np.array(names), chunks=170)):
        lazy = model("Ranker").fit(LAZY_X, da.from_array(grades, chunks=170), qid=queries)
        assert np.array_equal(lazy.predict(X), whole.predict(X))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"y": LAZY_Y[:-1]}, "y: expected 600 values, one for each row of X, got shape"),
        ({"y": LAZY_Y, "sample_weight": WEIGHT[:5]}, "sample_weight: expected 600 values"),
        ({"X": X, "y": Y}, "client: has no effect on rows in memory"),
        ({"X": dd.from_pandas(FRAME, npartitions=2)[["a", "text"]], "y": Y}, "column 'text' holds text"),
        (
            {"X": dd.from_pandas(FRAME, npartitions=2)[["a"]].assign(k=1).astype({"k": "category"}), "y": Y},
            r"column 'k' are not known .* use X\['k'\].cat.as_known()",
        ),
    ],
)
def test_what_does_not_fit_is_refused_and_the_last_model_stays(client, given, words):
    kept = model(costs=None).fit(X, Y)
    before = dict(vars(kept))
    with pytest.raises(DataError, match=words):
        kept.fit(**{"X": LAZY_X, "client": client, **given})
    assert vars(kept) == before


def test_a_wrong_client_or_timeout_is_refused():
    with pytest.raises(ParameterError, match=r"client: expected a distributed\.Client"):
        model().fit(LAZY_X, LAZY_Y, client="tcp://here")
    with dask.config.set({"costframe.timeout": "soon"}), pytest.raises(ParameterError, match=r"costframe\.timeout"):
        model().fit(LAZY_X, LAZY_Y)


def test_tasks_of_joblib_run_on_the_cluster(client):
    import joblib

    candidates = [cf.CEGBClassifier(n_estimators=3), cf.MiserClassifier(n_estimators=3)]
    more = {"tradeoffs": [1e-3, 1e-2], "random_state": 0}
    here = cf.Frontier.fit(candidates, X, Y, n_jobs=1, **more)
    with joblib.parallel_backend("dask"):
        there = cf.Frontier.fit(candidates, X, Y, n_jobs=2, **more)
    assert [(each.name, each.cost, each.score) for each in here.points] == [
        (each.name, each.cost, each.score) for each in there.points
    ]
    assert client.run_on_scheduler(lambda dask_scheduler: any("fit" in name for name in dask_scheduler.task_prefixes))


def test_files_that_workers_do_not_have_are_named(tmp_path):
    """A fit of files that are there comes after: the cluster is well."""
    from costframe.datasets.large_tables import read_large_table

    folder, moved = tmp_path / "rows", tmp_path / "moved"
    folder.mkdir()
    pd.DataFrame(X, columns=NAMES).assign(ill=Y).to_parquet(folder / "0.parquet", row_group_size=200)
    data = read_large_table(folder, "ill")
    folder.rename(moved)
    with pytest.raises(DataError, match=f"{folder}: cannot be read: .*0.parquet"):
        model().fit(data.X, data.y)
    moved.rename(folder)
    data = read_large_table(folder, "ill")
    assert np.array_equal(model().fit(data.X, data.y).decision_function(X), model().fit(X, Y).decision_function(X))
