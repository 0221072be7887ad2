"""Inquiries are put away and go on: by text, pickle and copy, at the same prices and at new ones."""

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from predictor_cases import NAMES, predictors, some_steps

import costframe as cf
from costframe.core.errors import InquiryError
from costframe.core.learners.opaque_learner import OpaqueLearner
from costframe.testing import strategies
from costframe.testing.laws_of_resuming import expect_as_if_never_put_away, expect_same_end

LABORATORY = cf.CostModel.of({
    "features": {"a": 0.0, "b": {"cost": 1.0, "needs": ["lab"]}, "c": {"cost": 2.0, "needs": ["lab"]}, "d": 0.1},
    "resources": {"lab": {"cost": 3.0, "round": 0.5}},
})  # fmt: skip


def end_of(inquiry, row):
    while inquiry.needs:
        inquiry.supply({name: row[name] for name in inquiry.needs})
    return inquiry.answer


@st.composite
def what_is_asked(draw):
    """Draw what is asked of a row."""
    asked = {}
    if draw(st.booleans()):
        asked["max_cost"] = draw(st.sampled_from((0.0, 0.1, 1.0, 2.6, 1e9)))
    if draw(st.booleans()):
        asked["unavailable"] = tuple(draw(st.sets(st.sampled_from(NAMES), max_size=2)))
    known = draw(st.sampled_from(((), ("b",), {"b": 0.5, "d": None}, {"c": np.nan}, dict.fromkeys(NAMES, 1.0))))
    asked["known"] = known
    asked["acquisition"] = draw(st.sampled_from(("path", "learner")))
    return asked


@given(st.data())
def test_an_inquiry_goes_on_as_if_it_had_never_been_put_away(data):
    predictor = data.draw(predictors())
    asked = data.draw(what_is_asked())
    for row in data.draw(strategies.rows(len(NAMES), most=2)):
        expect_as_if_never_put_away(predictor, dict(zip(NAMES, row.tolist(), strict=True)), **asked)


@given(st.data())
def test_a_row_that_went_without_something_goes_on_and_says_why_as_if_never_put_away(data):
    predictor, costs = data.draw(predictors()), data.draw(st.sampled_from((None, LABORATORY)))
    row = dict(zip(NAMES, data.draw(strategies.rows(len(NAMES)).filter(len))[0].tolist(), strict=True))
    awake = predictor.inquire(costs, **data.draw(what_is_asked()))
    asleep = predictor.resume(awake.to_json(), costs)
    while True:
        for tell in (type(awake).why, type(awake).changes, repr):
            assert tell(asleep) == tell(awake)
        if not awake.needs:
            break
        gone = data.draw(st.sets(st.sampled_from(awake.needs)))
        came = {name: row[name] for name in awake.needs if name not in gone and data.draw(st.booleans())}
        awake, asleep = (inquiry.without(gone, came) if gone else supplied(inquiry, row) for inquiry in (awake, asleep))
        asleep = predictor.resume(asleep.to_json(), costs)
    expect_same_end(asleep.answer, awake.answer, "put away as text")


def supplied(inquiry, row):
    inquiry.supply({name: row[name] for name in inquiry.needs})
    return inquiry


def cells():
    """Fit a plan and boosted trees at prices with resources; return them with rows by name."""
    data = cf.datasets.load("breast-cancer")
    train, test = data.part("train"), data.part("test")
    rows = [dict(zip(data.feature_names, row.tolist(), strict=True)) for row in test.X[:4]]
    settings = {"planner": {}, "cegb": {"n_estimators": 10}}
    models = {
        name: cf.estimator(name, costs=data.costs, tradeoff=2e-3, **more).fit(train.X, train.y)
        for name, more in settings.items()
    }
    return models, rows


@pytest.fixture(scope="module")
def fitted():
    return cells()


ANOTHER_PROCESS = """
import json, sys
import costframe as cf
model = cf.load(sys.argv[1])
for line in sys.stdin:
    text, values = json.loads(line)
    inquiry = model.resume(text)
    if inquiry.needs:
        inquiry.supply({name: values[name] for name in inquiry.needs})
        print(json.dumps([inquiry.to_json(), None]), flush=True)
    else:
        end = inquiry.answer
        shown = [float(end.value).hex(), end.cost.hex(), end.acquired, end.rounds, end.exit, end.reason, str(end.label)]
        print(json.dumps([None, shown]), flush=True)
"""


@pytest.mark.parametrize("name", ["planner", "cegb"])
def test_a_saved_model_goes_on_in_another_process(name, fitted, tmp_path):
    models, rows = fitted
    model, file = models[name], tmp_path / "cells.model"
    cf.save(model, file)
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:  # noqa: S603
        for row in rows:
            text, end = model.predictor_.inquire().to_json(), None
            while end is None:
                other.stdin.write(json.dumps([text, row]) + "\n")
                other.stdin.flush()
                text, end = json.loads(other.stdout.readline())
            wanted = end_of(model.predictor_.inquire(), row)
            assert float.fromhex(end[0]) == wanted.value
            assert float.fromhex(end[1]) == wanted.cost
            assert end[2:] == [
                list(wanted.acquired), wanted.rounds, wanted.exit, wanted.reason, str(wanted.label)
            ]  # fmt: skip
        other.stdin.close()


def test_another_model_and_other_prices_are_named(fitted, tmp_path):
    models, rows = fitted
    cf.save(models["cegb"], tmp_path / "trees.model")  # fallbacks of a model just fitted follow its prices
    plan, trees = models["planner"].predictor_, cf.load(tmp_path / "trees.model").predictor_
    text, dear = plan.inquire().to_json(), cf.CostModel.of(dict.fromkeys(plan.feature_names, 7.0))
    with pytest.raises(InquiryError, match=r"^resume: the model has changed since"):
        trees.resume(text)
    with pytest.raises(InquiryError, match=r"^resume: the prices have changed since"):
        trees.with_costs(dear).resume(trees.inquire().to_json())
    with pytest.raises(InquiryError, match=r"^resume: the model and the prices have changed since"):
        trees.with_costs(dear).resume(text)
    with pytest.raises(InquiryError, match="the prices have changed"):
        trees.resume(trees.inquire(dear).to_json())
    other = trees.inquire(dear)
    assert trees.resume(other.to_json(), dear).needs == other.needs
    assert end_of(trees.resume(other.to_json(), dear), rows[0]).cost == end_of(other, rows[0]).cost


@pytest.mark.parametrize("name", ["planner", "cegb"])
def test_at_new_prices_the_whole_row_is_billed_at_these(name, fitted):
    models, rows = fitted
    predictor = models[name].predictor_
    dear = cf.CostModel.of({name: 1.0 + f for f, name in enumerate(predictor.feature_names)})
    for row in rows:
        inquiry = predictor.inquire()
        while inquiry.needs:
            bought = inquiry.acquired
            moved = predictor.resume(inquiry.to_json(), dear)
            assert moved.acquired == bought
            assert moved.cost == pytest.approx(dear.full_cost(bought))
            assert not {*moved.needs} & {*bought}
            end = expect_from(predictor, moved, dear, row)
            assert end.cost == pytest.approx(dear.full_cost(end.acquired))
            assert len(set(end.acquired)) == len(end.acquired)
            spent = moved.cost
            capped = predictor.inquire(max_cost=1e9)
            while capped.needs and capped.acquired != bought:
                capped.supply({each: row[each] for each in capped.needs})
            if capped.acquired == bought and spent:
                text = capped.to_json().replace('"max_cost":1000000000.0', f'"max_cost":{spent + 20.0}')
                assert end_of(predictor.resume(text, dear), row).cost <= spent + 20.0
            inquiry.supply({each: row[each] for each in inquiry.needs})


def expect_from(predictor, inquiry, costs, row):
    """Go on with an inquiry twice: as it is, and put away at each step; expect the same end."""
    other = predictor.resume(inquiry.to_json(), costs)
    while other.needs:
        assert other.needs == inquiry.needs
        values = {name: row[name] for name in other.needs}
        inquiry.supply(values)
        other.supply(values)
        other = predictor.resume(other.to_json(), costs)
    wanted, end = inquiry.answer, other.answer
    assert (end.cost, end.acquired, end.rounds, end.reason) == (
        wanted.cost, wanted.acquired, wanted.rounds, wanted.reason
    )  # fmt: skip
    assert np.array_equal(end.value, wanted.value)
    return end


def test_opaque_learners_are_called_once_a_row():
    calls = []

    def paid(rows):
        calls.append(rows.tolist())
        return np.full(len(rows), float(len(calls)))

    bank = cf.WeakLearnerBank.concatenate([
        cf.WeakLearnerBank.columns(NAMES, [0]),
        cf.WeakLearnerBank.opaque(NAMES, [OpaqueLearner("paid", paid, (1,)), OpaqueLearner("other", paid, (2,))]),
    ])  # fmt: skip
    first = cf.Route([1], np.ones((1, 1)), [0.0], 0.0, 1.0, 1, 2)
    answers = cf.Answer([1], np.ones((1, 1)), [0.0]), cf.Answer([1, 2], np.ones((2, 1)), [0.0])
    tree = cf.StageTree(bank, (first, *answers))
    inquiry = tree.inquire()
    inquiry.supply({"b": 0.5})
    for _ in range(3):
        inquiry = tree.resume(inquiry.to_json())
    assert (inquiry.needs, len(calls)) == (("c",), 1)
    inquiry.supply({"c": np.nan})
    inquiry = copy.deepcopy(tree.resume(inquiry.to_json()))
    assert inquiry.answer.value == 1.0 + 2.0
    assert len(calls) == 2


def test_a_failed_step_keeps_no_output():
    def fails(rows):
        if rows[0, 0] < 0:
            raise ValueError("below zero")
        return rows[:, 0]

    learners = [OpaqueLearner("first", lambda rows: rows[:, 0] * 10, (0,)), OpaqueLearner("second", fails, (1,))]
    tree = cf.StageTree(cf.WeakLearnerBank.opaque(NAMES, learners), (cf.Answer([0, 1], np.ones((2, 1)), [0.0]),))
    inquiry = tree.inquire()
    with pytest.raises(ValueError, match="below zero"):
        inquiry.supply({"a": 1.0, "b": -1.0})
    inquiry.supply({"a": 2.0, "b": 1.0})
    assert inquiry.answer.value == 21.0


def test_copies_go_on_apart(fitted):
    models, rows = fitted
    inquiry = models["planner"].predictor_.inquire()
    other = copy.deepcopy(inquiry)
    inquiry.supply({name: rows[0][name] for name in inquiry.needs})
    assert (other.acquired, other.cost) == ((), 0.0)
    ends = [end_of(each, rows[0]) for each in (inquiry, other)]
    assert ends[0].cost == ends[1].cost


def test_a_model_without_a_digest_says_what_it_needs():
    steps = cf.SteppedPredictor(NAMES, some_steps)
    with pytest.raises(InquiryError, match=r"SteppedPredictor\(version=...\)"):
        steps.inquire().to_json()
    assert pickle.loads(pickle.dumps(steps.inquire())).needs == ("a",)  # noqa: S301 - its own
    first, second = (cf.SteppedPredictor(NAMES, some_steps, version=name) for name in "12")
    with pytest.raises(InquiryError, match="the model has changed"):
        second.resume(first.inquire().to_json())


def test_values_of_all_kinds_come_back():
    labels = {"b": ("low", "high")}
    tree = cf.SteppedPredictor(NAMES, some_steps, categories=labels, version="1")
    inquiry = tree.inquire(known={"d": np.inf, "c": None})
    inquiry.supply({"a": 0.1 + 0.2})
    inquiry.supply({"b": "high"})
    text = inquiry.to_json()
    assert '"b":"high"' in text
    assert json.loads(text)["asked"] == {"paid": ["c"], "known": {"d": {"float": "inf"}}}
    assert tree.resume(text).answer.value == 0.1 + 0.2 + 1.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "in JSON"),
        ("[]", "format 1"),
        ("{}", "format 1"),
        ("[" * 100_000, "nested too deeply"),
        ('{"format":1,"format":1}', "stands twice"),
        ('{"format":NaN}', "without NaN"),
        ('{"format":2}', "format 1, got 2"),
        ('{"format":1' + "0" * 5000 + "}", "in JSON"),
        ('{"format":1}', "expected the keys"),
        (" " * (2**24 + 1), "at most"),
        (b"{}", "got bytes"),
    ],
)
def test_what_is_no_state_is_refused(text, words, fitted):
    with pytest.raises(InquiryError, match=words):
        fitted[0]["cegb"].predictor_.resume(text)


TEXTS = st.sampled_from((*NAMES, "", "inf", "\ud800"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((*NAMES, "float")), inner, max_size=3),
    max_leaves=5,
)


def change(state, data):
    """Return a JSON value with one part replaced, removed or added at a place that is drawn."""
    if not isinstance(state, list | dict) or not state or data.draw(st.integers(0, 3)) == 0:
        return data.draw(JSON)
    changed, keys = copy.copy(state), list(state) if isinstance(state, dict) else list(range(len(state)))
    key = data.draw(st.sampled_from(keys))
    way = data.draw(st.sampled_from(("deeper", "deeper", "remove", "add")))
    if way == "remove":
        del changed[key]
    elif way == "deeper":
        changed[key] = change(state[key], data)
    elif isinstance(changed, dict):
        name = data.draw(st.sampled_from(("restart", "outputs", "needs", "known", "max_cost", *NAMES)))
        changed[name] = data.draw(JSON)
    else:
        changed.append(data.draw(JSON))
    return changed


@given(st.data())
def test_changed_text_is_refused_or_another_valid_inquiry(data):
    predictor = data.draw(predictors())
    row = dict(zip(NAMES, data.draw(strategies.rows(len(NAMES)).filter(len))[0].tolist(), strict=True))
    inquiry = predictor.inquire(known=data.draw(st.sampled_from(((), ("b",), {"b": 0.5}))))
    for _ in range(data.draw(st.integers(0, 2))):
        if inquiry.needs:
            inquiry.supply({name: row[name] for name in inquiry.needs})
    state = json.loads(inquiry.to_json())
    for _ in range(data.draw(st.integers(1, 3))):
        state = change(state, data)
    try:
        resumed = predictor.resume(json.dumps(state))
    except cf.errors.CostframeError:
        return
    end_of(resumed, row)


@given(st.data())
def test_cut_or_garbled_text_is_refused_or_another_valid_inquiry(data):
    tree = cf.SteppedPredictor(NAMES, some_steps, fallback=0.5, version="1")
    inquiry = tree.inquire(max_cost=3.0, known={"d": 1.0})
    inquiry.supply({"a": 1.0})
    text = inquiry.to_json()
    first = data.draw(st.integers(0, len(text)))
    last = data.draw(st.integers(first, min(len(text), first + 5)))
    text = text[:first] + data.draw(st.text(max_size=3)) + text[last:]
    try:
        resumed = tree.resume(text)
    except cf.errors.CostframeError:
        return
    end_of(resumed, dict.fromkeys(NAMES, 1.0))
