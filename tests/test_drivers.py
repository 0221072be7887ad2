"""Drivers: every way to fetch a row gives the same prediction, and what sources do wrong is said by name."""

import asyncio

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe import Answer, CostframeError, CostModel, Route, StageTree, SteppedPredictor, WeakLearnerBank
from costframe.errors import InquiryError
from costframe.plugin import DataError, TreeTable
from costframe.sources import predict_many, predict_one, predict_one_async
from costframe.testing import CountingSource, strategies

quiet = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


@st.composite
def cases(draw):
    names = draw(strategies.feature_names())
    tree = draw(strategies.stage_trees(draw(strategies.banks(names))))
    return (
        tree,
        draw(strategies.cost_models(names)),
        draw(strategies.rows(len(names))),
        draw(st.sampled_from(("path", "learner"))),
    )


def bits(prediction):
    """All of a prediction, to be compared with ==; the payload of a NaN does not count."""
    value = np.asarray(prediction.value, np.float64)
    value = np.where(np.isnan(value), np.nan, value)
    return value.shape, value.tobytes(), prediction.cost, prediction.acquired, prediction.rounds, prediction.exit


def awaited(*args, **options):
    return asyncio.run(predict_one_async(*args, **options))


def later(fetch):
    async def fetched(names):
        await asyncio.sleep(0)
        return fetch(names)

    return fetched


def by_name(tree, row):
    return dict(zip(tree.feature_names, row.tolist(), strict=True))


# --- one answer, whatever the source ---------------------------------------------------------------------------------


@quiet
@given(cases())
def test_all_drivers_and_sources_give_the_same_prediction(case):
    tree, costs, X, acquisition = case
    report = tree.cost(X, costs, acquisition=acquisition, rounds=True)
    values, exits = tree.predict(X), tree.exits(X)
    dicts = [by_name(tree, row) for row in X]
    one = [predict_one(tree, row, costs, acquisition=acquisition) for row in dicts]
    for i, end in enumerate(one):
        assert bits(end)[:2] == bits(end.__class__(values[i], 0.0, (), 0, 0))[:2]
        assert end.cost == pytest.approx(report.per_row[i], rel=1e-9, abs=1e-9)
        assert set(end.acquired) == {n for n, had in zip(tree.feature_names, report.acquired[i], strict=True) if had}
        assert (end.rounds, end.exit) == (report.rounds[i], exits[i])
    for row, values_by_name, end in zip(X, dicts, one, strict=True):
        source, source_later = CountingSource(values_by_name, costs), CountingSource(values_by_name, costs)
        same = [
            predict_one(tree, row, costs, acquisition=acquisition),
            predict_one(tree, row.tolist(), costs, acquisition=acquisition),
            predict_one(tree, source, costs, acquisition=acquisition),
            awaited(tree, values_by_name, costs, acquisition=acquisition),
            awaited(tree, CountingSource(values_by_name, costs), costs, acquisition=acquisition),
            awaited(tree, later(source_later), costs, acquisition=acquisition),
        ]
        assert {bits(each) for each in same} == {bits(end)}
        assert source.fetched == source_later.fetched == list(end.acquired)
        assert source.calls == source_later.calls == end.rounds
    assert_many_equal_one(tree, costs, X, acquisition, one)


def assert_many_equal_one(tree, costs, X, acquisition, one):
    expected = [bits(each) for each in one]
    frame = pd.DataFrame(X, columns=tree.feature_names)
    dicts = [by_name(tree, row) for row in X]
    for table in (X, X.tolist() or dicts, frame, frame[list(reversed(tree.feature_names))], dicts, tuple(dicts)):
        assert [bits(each) for each in predict_many(tree, table, costs=costs, acquisition=acquisition)] == expected
    keys = [("row", i) for i in reversed(range(len(X)))]  # not in the order of the rows
    sources = {key: CountingSource(dicts[key[1]], costs) for key in keys}
    trips = []

    def fetch(requests):
        trips.append(set(requests))
        return {key: sources[key](names) for key, names in reversed(requests.items())}

    ends = predict_many(tree, fetch, iter(keys), costs, acquisition=acquisition)
    assert [bits(each) for each in ends] == expected[::-1]
    assert [source.fetched for source in sources.values()] == [list(end.acquired) for end in ends]
    # Lockstep: trip r asks for all rows of more than r rounds, and there are no further trips.
    assert trips == [
        {key for key, end in zip(keys, ends, strict=True) if end.rounds > r}
        for r in range(max((end.rounds for end in ends), default=0))
    ]


def test_data_frames_and_series_are_read_by_name():
    tree = forest()
    row = {"a": 2.0, "b": 1.0, "c": 7.0, "more": 9.0}
    expected = bits(predict_one(tree, row))
    shuffled = pd.DataFrame([row])[["more", "c", "b", "a"]]
    assert bits(predict_one(tree, shuffled.iloc[0])) == expected
    assert bits(predict_one(tree, pd.Series([2.0, 1.0, 7.0]))) == expected
    assert bits(predict_one(tree, pl.Series([2.0, 1.0, 7.0]))) == expected
    assert [bits(each) for each in predict_many(tree, pl.DataFrame(shuffled.to_dict("list")))] == [expected]
    with pytest.raises(InquiryError, match="the source lacks 'a'"):
        predict_one(tree, pd.Series([1.0, 7.0, 3.0], ["b", "c", "d"]))


def test_values_at_hand_that_are_masked_or_named_twice():
    tree = forest()
    names = tree.feature_names
    masked = np.ma.array(np.ones(len(names)), mask=True)
    assert predict_one(tree, masked).value == predict_one(tree, np.full(len(names), np.nan)).value
    twice = pd.Series([0.0, *np.ones(len(names))], [names[0], *names])
    with pytest.raises(DataError, match="different names"):
        predict_one(tree, twice)


# --- known -----------------------------------------------------------------------------------------------------------


# --- sources that fail -----------------------------------------------------------------------------------------------


def stump(feature, threshold):
    return TreeTable.single([feature, -1, -1], [threshold, 0, 0], [True, False, False], [1, -1, -1], [2, -1, -1],
                            np.arange(3.0))  # fmt: skip


def forest():
    """First asks for a, then above 1 for c, else for b."""
    bank = WeakLearnerBank.from_trees(TreeTable.concatenate([stump(f, 1.0) for f in range(3)]), ("a", "b", "c"))
    stages = (Route([0], [1.0], 0.0, 1.5, 1.0, 1, 2), Answer([1], [1.0], 0.0), Answer([2], [1.0], 0.0))
    return StageTree(bank, stages, CostModel.from_array([1.5, 2.0, 4.0], ("a", "b", "c")))


class LostError(RuntimeError):
    pass


def test_a_source_failing_for_many_rows_gets_a_note_with_the_keys():
    def fetch(requests):
        if any("b" in names for names in requests.values()):
            raise LostError
        return {key: {"a": 0.0 if key < "z" else 2.0} for key in requests}

    with pytest.raises(LostError) as caught:
        predict_many(forest(), fetch, ["x", "y", "z"])
    note = (
        "costframe: while fetching 'b', 'c' for 'x', 'y', 'z'; acquired so far: 3 values for 3 rows; paid so far: 4.5"
    )
    assert caught.value.__notes__ == [note]


# --- predictors that can only be stepped -----------------------------------------------------------------------------


def stepped(steps):
    return SteppedPredictor(("a", "b", "c"), steps, CostModel.from_array([1.0, 2.0, 4.0], ("a", "b", "c")))


def test_a_model_that_asks_for_nothing_new_is_stopped():
    def model():
        while True:
            yield ["a"]

    with pytest.raises(InquiryError, match="in a row for nothing but what it has"):
        SteppedPredictor(["a"], model).predict([[1.0]])


def test_predictions_of_several_lengths_are_refused():
    def model():
        values = yield ["a"]
        return [1.0] * int(values["a"])

    with pytest.raises(DataError, match="different lengths"):
        SteppedPredictor(["a"], model).predict([[1.0], [2.0]])


@pytest.mark.parametrize("call", [predict_one, awaited, lambda tree, fetch: awaited(tree, later(fetch))])
def test_a_failing_source_keeps_its_exception_and_gets_a_note(call):
    error = LostError("gone")

    def fetch(names):
        if "b" in names:
            raise error
        return dict.fromkeys(names, 0.0)

    with pytest.raises(LostError) as caught:
        call(forest(), fetch)
    assert caught.value is error
    assert error.__notes__ == ["costframe: while fetching 'b'; acquired so far: 'a'; paid so far: 1.5"]


def nobody(_):
    pytest.fail("called")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: predict_one(forest(), {"a": 0.0}), "the source lacks 'b'"),
        (lambda: predict_one(forest(), [0.0, "1", 2.0]), "the source: value of 'b': expected a number"),
        (lambda: predict_one(forest(), np.zeros(4)), "the source: expected"),
        (lambda: predict_one(forest(), lambda _: [1.0]), "expected a mapping, values of 'a' by name, got list"),
        (lambda: awaited(forest(), later(lambda _: {"A": 1.0})), "the source gave no 'a'; asked for 'a', it gave 'A'"),
        (lambda: predict_one(forest(), later(lambda _: {"a": 1.0})), "predict_one_async awaits"),
        (lambda: predict_many(forest(), lambda _: {"k": {"a": "x"}}, ["k"]), "the source, key 'k': value of 'a': exp"),
        (lambda: predict_many(forest(), lambda _: {"k": {"a": 1.0, "c": 2.0}}, ["k"]), "gave 'c', which nobody asked"),
        (lambda: predict_many(forest(), lambda _: {"k": {"a": 1.0}}, ["k", "l"]), "the source gave no 'l'"),
        (lambda: predict_many(forest(), [{"a": 0.0, "b": 0.0}, {"a": 2.0}]), "row 1 of the source lacks 'c'"),
        (lambda: predict_many(forest(), np.zeros((2, 4))), "expected"),
        (lambda: predict_many(forest(), nobody, None), "needs a list of keys"),
        (lambda: predict_many(forest(), nobody, [1, 2, 1]), "got 1 twice"),
        (lambda: predict_many(forest(), np.zeros((1, 3)), ["k"]), "numbered from 0"),
        (lambda: predict_many(forest(), nobody, ["k"], {"features": {"a": 1.0}}), "no price for 'b'"),
        (lambda: predict_one(forest(), {}, known=["d"]), "'d' is neither a feature"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, words):
    with pytest.raises(CostframeError, match=words):
        call()


def test_no_rows_are_no_predictions_and_known_names_are_read_once():
    assert predict_many(forest(), nobody, []).value.shape == (0,)
    assert list(predict_many(forest(), pd.DataFrame(columns=["a", "b", "c"], dtype=float))) == []
    ends = predict_many(forest(), [[0.0, 1.0, 0.0]] * 2, known=iter(["a"]))
    assert [end.acquired for end in ends] == [("b",), ("b",)]
