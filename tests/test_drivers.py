"""Drivers: every way to fetch a row gives the same prediction, and what sources do wrong is said by name."""

import asyncio
import collections
import warnings

import naive
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costframe.core.errors import CostModelError, DataError, InquiryError, ParameterError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.opaque import OpaqueLearner
from costframe.core.learners.tree_table import TreeTable
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.predictors.stepped import SteppedPredictor
from costframe.core.prices.costs import CostModel
from costframe.core.stages.stages import Answer, Route
from costframe.sources import predict_many, predict_one, predict_one_async
from costframe.testing.counting import CountingSource
from costframe.testing.strategies import banks, cost_models, feature_names, rows, stage_trees

quiet = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


@st.composite
def cases(draw):
    names = draw(feature_names())
    tree = draw(stage_trees(draw(banks(names))))
    return tree, draw(cost_models(names)), draw(rows(len(names))), draw(st.sampled_from(("path", "learner")))


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


def test_a_source_that_is_a_mapping_need_hold_only_what_is_asked_for():
    lazy = collections.defaultdict(lambda: pytest.fail("a feature nobody needs was read"), {"a": 0.0, "b": 1.0})
    assert predict_one(forest(), lazy).acquired == ("a", "b")


@pytest.mark.parametrize("empty", [[], (), np.empty((0, 3)), pd.DataFrame(columns=["a", "b", "c"], dtype=float)])
def test_no_rows_are_no_predictions(empty):
    assert list(predict_many(forest(), empty)) == []
    assert predict_many(forest(), lambda _: pytest.fail("called"), []).value.shape == (0,)


def test_missing_values_are_acquired():
    end = predict_one(forest(), {"a": np.nan, "b": np.float32(0.5), "c": np.int64(3)})
    assert end.acquired == ("a", "b")


# --- known -----------------------------------------------------------------------------------------------------------


def closure(costs, names):
    """Names of the resources that features or resources pay for."""
    table = costs.to_dict()
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        entry = table["features"].get(name, table.get("resources", {}).get(name))
        if name in table.get("resources", {}):
            found.add(name)
        waiting += entry["needs"] if isinstance(entry, dict) and "needs" in entry else []
    return found


def price(costs, name):
    table = costs.to_dict()
    entry = table["features"].get(name, table.get("resources", {}).get(name))
    return entry["cost"] if isinstance(entry, dict) else entry


@quiet
@given(cases(), st.data())
def test_what_is_known_is_free(case, data):
    """Against the naive cost of the same walk, less what is known; the first use of a known feature is free too."""
    tree, costs, X, acquisition = case
    some = data.draw(st.sets(st.sampled_from([*tree.feature_names, *costs.resource_names])))
    features, paid = some & set(tree.feature_names), closure(costs, some)
    for row in X[:2]:
        values = by_name(tree, row)
        cost, acquired = naive.hard_cost(tree, row, costs, acquisition)
        free = sum(price(costs, name) for name in acquired & features)
        free += sum(price(costs, name) for name in closure(costs, acquired) & paid)
        expected = cost - free
        with_values = {name: values.get(name, 0.0) for name in some}
        for known in (some, sorted(some), with_values):
            source = CountingSource(values, costs)
            end = predict_one(tree, source, costs, acquisition=acquisition, known=known)
            assert end.cost == pytest.approx(expected, rel=1e-9, abs=1e-6)
            assert set(end.acquired) == acquired - features
            assert set(source.fetched) == acquired - (features if known is with_values else set())
            assert bits(end)[:2] == bits(predict_one(tree, row, costs))[:2]
            assert bits(awaited(tree, values, costs, acquisition=acquisition, known=known)) == bits(end)
            again = predict_many(tree, row[None], costs=costs, acquisition=acquisition, known=known)
            assert bits(again[0]) == bits(end)


@pytest.mark.parametrize("known", [["d"], {"d": 1.0}, "d", {"a": "1"}])
def test_known_names_are_read_once_and_wrong_ones_refused(known):
    for call, source in ((predict_one, {}), (awaited, {}), (predict_many, [[1.0, 2.0, 3.0]])):
        with pytest.raises(InquiryError, match=r"'d' is neither a feature|value of 'a': expected a number"):
            call(forest(), source, known=known)
    ends = predict_many(forest(), [[0.0, 1.0, 0.0]] * 2, known=iter(["a"]))
    assert [end.acquired for end in ends] == [("b",), ("b",)]


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


def failing_at(name, error):
    def fetch(names):
        if name in names:
            raise error
        return dict.fromkeys(names, 0.0)

    return fetch


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (predict_one, LostError("gone")),
        (predict_one, KeyError("b")),
        (predict_one, StopIteration("over")),
        (awaited, LostError("gone")),
        (lambda tree, fetch: awaited(tree, later(fetch)), LostError("gone")),
    ],
)
def test_a_failing_source_keeps_its_exception_and_gets_a_note(call, error):
    with pytest.raises(type(error)) as caught:
        call(forest(), failing_at("b", error))
    assert caught.value is error
    assert error.__notes__ == ["costframe: while fetching 'b'; acquired so far: 'a'; paid so far: 1.5"]


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


def test_an_interruption_passes_without_a_note():
    with pytest.raises(KeyboardInterrupt) as caught:
        predict_one(forest(), failing_at("b", KeyboardInterrupt()))
    assert not hasattr(caught.value, "__notes__")


def test_a_failing_model_names_the_row():
    def refuse(X):
        if (X > 1).any():
            raise LostError
        return X[:, 0]

    bank = WeakLearnerBank.opaque(("a",), [OpaqueLearner("o", refuse, (0,))])
    tree = StageTree(bank, (Answer([0], [1.0], 0.0),))
    with pytest.raises(LostError) as caught:
        predict_many(tree, [[1.0], [2.0]])
    assert caught.value.__notes__[0].startswith("costframe: while predicting row 1; acquired so far: nothing")


REPLIES = {
    "nothing": (lambda _: None, "the source: expected a mapping, values of 'a' by name, got NoneType"),
    "a list": (lambda _: [1.0], "expected a mapping, values of 'a' by name, got list"),
    "another name": (lambda _: {"A": 1.0}, "the source gave no 'a'; asked for 'a', it gave 'A'"),
    "more": (lambda _: {"a": 1.0, "c": 2.0}, "the source gave 'c', which nobody asked for"),
    "a text": (lambda _: {"a": "1.0"}, "the source: value of 'a': expected a number (NaN if missing), got '1.0'"),
    "None": (lambda _: {"a": None}, "the source: value of 'a': expected a number (NaN if missing), got None"),
    "a list for a number": (lambda _: {"a": [1.0]}, "the source: value of 'a': expected a number"),
}


@pytest.mark.parametrize("case", REPLIES)
def test_a_wrong_reply_is_the_sources_fault(case):
    reply, words = REPLIES[case]
    for call in (lambda: predict_one(forest(), reply), lambda: awaited(forest(), later(reply))):
        with pytest.raises(InquiryError) as caught:
            call()
        assert words in str(caught.value)
        assert "while fetching 'a'" in caught.value.__notes__[0]
    with pytest.raises(InquiryError) as caught:
        predict_many(forest(), lambda requests: {key: reply(names) for key, names in requests.items()}, ["k"])
    assert words.replace("the source", "the source, key 'k'") in str(caught.value)


def test_a_wrong_reply_for_many_rows_names_the_keys():
    def reply_of(reply):
        with pytest.raises(InquiryError) as caught:
            predict_many(forest(), lambda _: reply, ["k", "l"])
        return str(caught.value)

    good = {"a": 1.0}
    assert "expected a mapping, a mapping of values for each key, got list" in reply_of([good, good])
    assert "the source gave no 'l'" in reply_of({"k": good})
    assert "the source gave 'm', which nobody asked for" in reply_of({"k": good, "l": good, "m": good})
    assert "the source, key 'l' gave no 'a'" in reply_of({"k": good, "l": {}})


def test_something_to_await_is_refused_where_nobody_awaits():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a coroutine that nobody awaited would warn
        with pytest.raises(InquiryError, match="predict_one_async awaits"):
            predict_one(forest(), later(lambda _: {"a": 1.0}))
        with pytest.raises(InquiryError, match="predict_one_async awaits"):
            predict_many(forest(), later(lambda _: {}), ["k"])


def test_values_at_hand_that_do_not_fit_are_refused_by_name():
    with pytest.raises(InquiryError, match="the source lacks 'b'"):
        predict_one(forest(), {"a": 0.0})
    with pytest.raises(InquiryError, match="the source: value of 'b': expected a number"):
        predict_one(forest(), [0.0, "1", 2.0])
    with pytest.raises(InquiryError, match="row 1 of the source lacks 'c'"):
        predict_many(forest(), [{"a": 0.0, "b": 0.0}, {"a": 2.0, "b": 0.0}])
    with pytest.raises(InquiryError, match="the source, key 1: value of 'a'"):
        predict_many(forest(), [{"a": 0.0, "b": 0.0}, {"a": "2"}])


@pytest.mark.parametrize("source", [[1.0], np.zeros(4), np.zeros((1, 3)), 3.0, None, "abc", {1.0}])
def test_a_source_of_another_form_is_refused(source):
    with pytest.raises(DataError, match="the source: expected"):
        predict_one(forest(), source)


@pytest.mark.parametrize("source", [{"a": 1.0}, [1.0, 2.0, 3.0], np.zeros((2, 4)), [{"a": 1.0}, 3.0], None])
def test_a_table_of_another_form_is_refused(source):
    with pytest.raises(DataError, match="expected"):
        predict_many(forest(), source)


@pytest.mark.parametrize(
    ("keys", "words"),
    [(None, "needs a list of keys"), ("abc", "needs a list of keys"), (3, "needs a list of keys"),
     ([1, 2, 1], "got 1 twice"), ([1, [2]], r"got \[2\] of type list")],
)  # fmt: skip
def test_keys_that_name_no_rows_are_refused(keys, words):
    with pytest.raises(ParameterError, match=words):
        predict_many(forest(), lambda _: pytest.fail("called"), keys)
    with pytest.raises(ParameterError, match="numbered from 0"):
        predict_many(forest(), np.zeros((1, 3)), ["k"])


def test_prices_that_do_not_fit_are_refused_before_anything_is_fetched():
    for call in (predict_one, awaited):
        with pytest.raises(CostModelError, match="no price for 'b'"):
            call(forest(), lambda _: pytest.fail("called"), {"features": {"a": 1.0}})
    with pytest.raises(CostModelError, match="no price for 'b'"):
        predict_many(forest(), lambda _: pytest.fail("called"), ["k"], {"features": {"a": 1.0}})


# --- predictors that can only be stepped -----------------------------------------------------------------------------


def stepped(steps):
    return SteppedPredictor(("a", "b", "c"), steps, CostModel.from_array([1.0, 2.0, 4.0], ("a", "b", "c")))


def asks_again():
    first = yield ["a"]
    second = yield ["a", "b"]
    third = yield ["b"]
    assert second["a"] == first["a"]
    assert third == {"b": second["b"]}
    if first["a"] > 0:
        return second["a"] + (yield "c")["c"]
    return second["b"]


@given(st.lists(st.tuples(*[st.sampled_from((-1.0, 0.0, 2.5))] * 3), max_size=4))
def test_a_stepped_predictor_is_driven_like_any_other(table):
    predictor = stepped(asks_again)
    X = np.array(table).reshape(-1, 3)
    report = predictor.cost(X, rounds=True)
    ends = predict_many(predictor, X)
    for i, (row, end) in enumerate(zip(X, ends, strict=True)):
        source = CountingSource(dict(zip("abc", row, strict=True)), predictor.costs)
        assert end.value == predictor.predict(X)[i] == (row[0] + row[2] if row[0] > 0 else row[1])
        assert end.acquired == (("a", "b", "c") if row[0] > 0 else ("a", "b"))
        assert end.cost == report.per_row[i] == (7.0 if row[0] > 0 else 3.0)
        assert end.rounds == report.rounds[i] == len(end.acquired)
        assert bits(predict_one(predictor, source)) == bits(awaited(predictor, row)) == bits(end)
        assert source.fetched == list(end.acquired)


def test_known_values_are_sent_to_a_stepped_predictor():
    source = CountingSource({"a": -5.0, "b": 3.0, "c": 1.0}, stepped(asks_again).costs)
    end = predict_one(stepped(asks_again), source, known={"a": 1.0})
    assert (end.value, end.cost, end.acquired, source.fetched) == (2.0, 6.0, ("b", "c"), ["b", "c"])
    end = predict_one(stepped(asks_again), {"a": 1.0, "b": 3.0, "c": 1.0}, known=["a"])
    assert (end.value, end.cost, end.acquired) == (2.0, 6.0, ("b", "c"))
    everything = predict_one(stepped(asks_again), {}, known={"a": 1.0, "b": 3.0, "c": 1.0})
    assert (everything.value, everything.cost, everything.rounds) == (2.0, 0.0, 0)


def test_a_model_that_asks_for_an_unknown_feature_is_named():
    def steps():
        yield ["a"]
        yield ["z"]
        return 0.0

    with pytest.raises(InquiryError, match="the model asks for 'z', which is none of its features") as caught:
        predict_one(stepped(steps), {"a": 1.0})
    assert "while predicting row from 'a'" in caught.value.__notes__[0]


def test_a_model_that_raises_passes_its_exception():
    def steps():
        yield ["a"]
        raise LostError

    for call in (predict_one, awaited):
        with pytest.raises(LostError) as caught:
            call(stepped(steps), [1.0, 2.0, 3.0])
        assert "while predicting row from 'a'" in caught.value.__notes__[0]
    with pytest.raises(LostError) as caught:
        predict_many(stepped(steps), lambda requests: {key: {"a": 1.0} for key in requests}, ["k"])
    assert "while predicting row 'k' from 'a'" in caught.value.__notes__[0]


@pytest.mark.parametrize("take", [lambda requests: requests.clear(), lambda requests: requests.popitem()])
def test_a_source_may_take_its_requests_apart(take):
    model = StageTree(WeakLearnerBank.columns(["a"]), (Answer([0], [1.0], 0.0),))

    def fetch(requests):
        reply = {key: dict.fromkeys(names, 2.0) for key, names in requests.items()}
        take(requests)
        return reply

    assert [end.value for end in predict_many(model, fetch, ["u", "v"])] == [2.0, 2.0]


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
