"""Wrong arguments of public functions are refused by name: never an exception of Python's own, never in silence."""

import asyncio
import importlib
import json
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import costframe as cf
from costframe import CostframeError
from costframe.core.checks import as_items, check_name_list
from costframe.datasets import Dataset
from costframe.plot import AcquisitionDisplay, FrontierDisplay, StagesDisplay
from costframe.plugin import DataError, ParameterError
from costframe.sources import CallSource, InquiryLog, Lookup, Policy, Sources, TableSource, audit, measure
from costframe.sources.audits import describe_audit

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
Y = (X[:, 0] > 0).astype(int)
NAMES, COSTS = ["a", "b", "c"], {"a": 1.0, "b": 2.0, "c": 3.0}
FRAME = pd.DataFrame(X, columns=NAMES)
MODEL = cf.CEGBClassifier(COSTS, n_estimators=2).fit(FRAME, Y)
PREDICTOR = MODEL.predictor_
FRONTIER = cf.Frontier.fit(MODEL, FRAME, Y)
DATA = Dataset.from_arrays(X, Y, COSTS, feature_names=NAMES)
ROW = dict(zip(NAMES, X[0].tolist(), strict=True))
TREE = cf.CEGBClassifier(COSTS, n_estimators=1)
WRONG = {
    "None": None, "5": 5, "-1": -1, "2.5": 2.5, "nan": math.nan, "'x'": "x", "bytes": b"x", "[]": [], "{}": {},
    "object": object(), "1-D": np.arange(3.0), "no rows": np.empty((0, 3)), "3-D": np.zeros((2, 2, 2)), "set": {"a"},
    "keys": {"a": 1.0}.keys(), "[5]": [5], "[None]": [None], "[[]]": [[]], "{5: 5}": {5: 5}, "class": int,
    "frame": pd.DataFrame({"q": [1.0]}), "0-D": np.array(1.0), "beyond doubles": 10**400,
}  # fmt: skip


def fetch(names):
    return {name: ROW[name] for name in names}


def sources():
    return Sources({"s": Lookup(CallSource(fetch_many), NAMES)})


def fetch_many(wanted):
    return {key: fetch(names) for key, names in wanted.items()}


def stream(**given):
    return list(cf.predict_stream(MODEL, sources(), [1, 2], **given))


def one_async(**given):
    return asyncio.run(cf.predict_one_async(**given))


TERMS = {"acquisition": "path", "known": (), "max_cost": None, "unavailable": ()}
CALLS = {
    cf.predict_one: {"predictor": MODEL, "source": ROW, "costs": None, **TERMS, "deadline": None, "observe": None},
    one_async: {"predictor": MODEL, "source": ROW, "costs": None, **TERMS, "deadline": None, "observe": None},
    cf.predict_many: {"predictor": MODEL, "source": FRAME, "keys": None, "costs": None, **TERMS, "deadline": None},
    stream: {"in_flight": 10, **TERMS, "deadline": None, "observe": None},
    PREDICTOR.inquire: {"costs": None, **TERMS},
    PREDICTOR.predict: {"X": X, "max_cost": None, "unavailable": ()},
    MODEL.predict_proba: {"X": FRAME, "max_cost": None, "unavailable": ()},
    MODEL.cost: {"X": FRAME, "costs": None, "rounds": False, "latency": False},
    cf.ExpectedCost(COSTS).evaluate: {"predictor": PREDICTOR, "X": X, "sample_weight": None, "rounds": False},
    TREE.fit: {"X": FRAME, "y": Y, "sample_weight": None, "X_val": None},
    TREE.fit_path: {"X": FRAME, "y": Y, "X_val": FRAME, "y_val": Y, "tradeoffs": None},
    cf.train_bank: {"X": X, "y": Y, "feature_names": None, "max_depth": 1, "n_estimators": 1},
    cf.adopt: {"model": len, "feature_names": NAMES, "features": ["a"]},
    cf.certain: {"model": MODEL, "until": 0.5},
    cf.importances: {"model": MODEL, "X": FRAME, "by": "gain", "costs": None},
    cf.estimator: {"name": "cegb", "task": "classification"},
    cf.CostModel.of: {"costs": COSTS},
    cf.CostModel.uniform: {"names": NAMES, "cost": 1.0},
    cf.Answer: {"learners": [0], "weights": [1.0], "intercept": [0.0], "link": "identity", "blends": ()},
    cf.StageTree: {"bank": PREDICTOR.bank, "stages": PREDICTOR.stages, "costs": None, "fallbacks": None},
    cf.WeakLearnerBank.columns: {"feature_names": NAMES, "features": None, "fill": 0.0, "evaluation": 1.0},
    cf.WeakLearnerBank.from_trees: {"trees": PREDICTOR.bank.trees, "feature_names": NAMES},
    cf.WeakLearnerBank.concatenate: {"banks": [PREDICTOR.bank]},
    cf.WeakLearnerBank.opaque: {"feature_names": NAMES, "learners": []},
    cf.Frontier: {"points": FRONTIER.points, "score_name": "roc_auc", "unit": "u", "full_cost": 6.0, "models": ()},
    FRONTIER.model: {"point": "model-1"},
    FRONTIER.best: {"budget": None},
    FRONTIER.cheapest: {"within": None},
    Dataset.from_arrays: {
        "X": X, "y": Y, "costs": None, "feature_names": NAMES, "split": None, "qid": None, "task": "classification",
        "seed": 0, "categorical": None, "notes": (),
    },
    DATA.part: {"name": "train"},
    Lookup: {"source": CallSource(fetch_many), "features": NAMES},
    Policy: {"timeout": 1.0, "retries": 0},
    TableSource: {"table": FRAME, "key": None},
    Sources: {"lookups": {"s": Lookup(CallSource(fetch_many), NAMES)}, "watch": None},
    measure: {"sources": sources(), "keys": [1, 2], "costs": None, "repeats": 1},
    FrontierDisplay.from_frontier: {"frontier": FRONTIER},
    StagesDisplay.from_estimator: {"estimator": MODEL, "X": FRAME},
    AcquisitionDisplay.from_estimator: {"estimator": MODEL, "X": FRAME},
}  # fmt: skip


def refuse_or_take(call, given):
    """Call with each wrong value in the place of each argument, which is refused by name, or taken for what it is."""
    for name in given:
        for text, value in WRONG.items():
            if text == "class" and name in {"source", "observe", "model"}:  # a class is a function, whose errors pass
                continue
            try:
                call(**given | {name: value})
            except CostframeError:
                pass
            except Exception as error:  # noqa: BLE001 - told below
                pytest.fail(f"{name}={text}: {type(error).__name__}: {error}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: getattr(call, "__qualname__", "call"))
def test_no_wrong_argument_ends_in_an_exception_of_python(call):
    refuse_or_take(call, CALLS[call])


def test_no_wrong_argument_of_reading_and_studies_ends_in_an_exception_of_python(ill):
    lists = {"ignore": (), "categorical": (), "missing": (), "keep_ids": ()}
    rest = {"target": "ill", "costs": None, "task": None, "group": None, "seed": 0, "epochs": None}
    refuse_or_take(cf.datasets.read_table, {"path": ill, **rest, **lists})
    terms = {"budget": None, "tradeoffs": [0.0], "points": None, "cv": 0, "time_limit": None, "costs": None}
    refuse_or_take(cf.Frontier.fit, {"estimators": MODEL, "X": FRAME, "y": Y, "groups": None, **terms})
    with pytest.raises(DataError, match=r"epochs: no feature 'day'; the features are 'a', 'b', 'ab'"):
        cf.datasets.read_table(ill, "ill", epochs={"day": "seconds"})


@pytest.fixture
def ill(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,ab,ill\n" + "1,2,3,0\n2,1,4,1\n" * 20)
    return tmp_path / "t.csv"


def sweep(**given):
    return cf.Frontier.sweep(**{"data": DATA, "algorithms": ["cegb"], "tradeoffs": [0.1], "cv": 0} | given)


@pytest.mark.parametrize(
    ("call", "given", "text"),
    [
        (cf.adopt, {"model": len, "features": {"a", "b"}}, "features: expected a list of names in order, not a set"),
        (cf.adopt, {"model": len, "features": "ab"}, "features: expected a list of names, got 'ab'"),
        (cf.adopt, {"model": len, "features": ["a"], "feature_names": frozenset("ab")}, "feature_names: .* not a set"),
        (cf.train_bank, {"X": X, "y": Y, "feature_names": {"a", "b", "c"}}, "feature_names: .* in order, not a set"),
        (cf.train_bank, {"X": X, "y": Y, "feature_names": "abc"}, "feature_names: expected a list of names, got 'abc'"),
        (cf.CostModel.uniform, {"names": {"a", "b"}}, "names: expected a list of names"),
        (cf.WeakLearnerBank.columns, {"feature_names": "abc"}, "feature_names: expected a list of names, got 'abc'"),
        (Dataset.from_arrays, {"X": X, "y": Y, "feature_names": set("abc")}, "feature_names: .* not a set"),
        (cf.predict_many, {"predictor": MODEL, "source": fetch_many, "keys": {1, 2}}, "keys: .* in order"),
        (cf.predict_many, {"predictor": MODEL, "source": FRAME, "deadline": 1.0}, "deadline: has no effect on values"),
        (cf.predict_many, {"predictor": MODEL, "source": [ROW], "deadline": 1.0}, "deadline: has no effect on values"),
        (cf.predict_one, {"predictor": MODEL, "source": ROW, "deadline": 1.0}, "deadline: has no effect on values"),
        (cf.predict_one, {"predictor": MODEL, "source": fetch, "observe": print}, "observe: is for Sources"),
        (one_async, {"predictor": MODEL, "source": ROW, "observe": print}, "observe: is for Sources"),
        (stream, {"observe": 5}, "observe: expected a function, got 5"),
        (
            cf.predict_one,
            {"predictor": None, "source": ROW},
            "predictor: expected a fitted model of costframe, got None",
        ),
        (PREDICTOR.inquire, {"acquisition": ["path"]}, r"acquisition: expected 'path' or 'learner', got \['path'\]"),
        (sweep, {"data": 5}, "data: expected a Dataset, or the name of one, got 5"),
        (sweep, {"algorithms": 5}, "algorithms: expected a list of names, got 5"),
        (sweep, {"parameters": ["a"]}, "parameters: expected a mapping of names"),
        (sweep, {"progress": 5}, "progress: expected a function, got 5"),
        (sweep, {"failed": "x"}, "failed: expected a function"),
        (sweep, {"points": 3}, "points: has no effect on given tradeoffs"),
        (sweep, {"resume": True}, "resume: needs a directory"),
        (sweep, {"resume": "yes"}, "resume: expected True or False"),
        (sweep, {"budget": math.inf}, "budget: expected a number >= 0 that is finite, got inf"),
        (sweep, {"tradeoffs": {0.1}}, "tradeoffs: expected a list of numbers"),
        (sweep, {"tradeoffs": b"x"}, "tradeoffs: expected a list of numbers"),
        (sweep, {"n_jobs": True}, "n_jobs: expected a whole number"),
        (FRONTIER.best, {"budget": math.inf}, "budget: expected a number >= 0 that is finite"),
        (FRONTIER.best, {"budget": math.nan}, "budget: expected a number >= 0 that is finite"),
        (cf.BudgetSearch(None, budget=1.0).fit, {"X": X, "y": Y}, "estimator: expected one of costframe's"),
        (cf.BudgetSearch(TREE, 1.0, minimize=["bill"]).fit, {"X": X, "y": Y}, "minimize: expected 'bill' or None"),
        (TREE.fit, {"X": X[0], "y": Y}, "X"),
        (sources().open, {"costs": COSTS}, "costs: has no effect without a predictor"),
        (measure, {"sources": sources(), "keys": "ab"}, "keys: expected a list of keys"),
        (measure, {"sources": sources(), "keys": [1], "clock": 5}, "clock: expected a function, got 5"),
        (cf.save, {"predictor": None, "path": "m"}, "expected a model to save, got None"),
    ],
)
def test_sets_texts_and_settings_without_effect_are_refused_by_name(call, given, text):
    with pytest.raises(CostframeError, match=text):
        call(**given)


@pytest.mark.parametrize("name", ["ignore", "categorical", "missing"])
def test_a_text_is_no_list_of_columns(ill, name):
    given = {"path": ill, "target": "ill"}
    with pytest.raises(CostframeError, match=f"{name}: expected a list of .*, got 'ab'"):
        cf.datasets.read_table(**given, **{name: "ab"})
    both = [cf.datasets.read_table(**given, ignore=names).feature_names for names in (["b", "a"], {"a", "b"})]
    assert both == [("ab",), ("ab",)]  # their order means nothing
    for wrong in ({"target": 5}, {"task": ["ranking"]}, {"seed": -1}, {"ignore": 5}):
        with pytest.raises(CostframeError, match=next(iter(wrong))):
            cf.datasets.read_table(**given | wrong)


def test_lists_of_names_are_read_in_one_way():
    names = ("a", "b")
    for same in (["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Index(["a", "b"]), pd.Series(["a", "b"]), iter("ab")):
        read = check_name_list("names", same)
        assert read == names
        assert {type(name) for name in read} == {str}
    assert sorted(check_name_list("names", {"b", "a"}, ordered=False)) == ["a", "b"]
    for wrong in ("ab", b"ab", {"a": 1}, 5, None, np.array("a"), np.array([["a"]]), str, {"a"}, {"a": 1}.keys()):
        assert as_items(wrong) is None
        with pytest.raises(DataError, match="names: expected a list of names"):
            check_name_list("names", wrong, error=DataError)
    with pytest.raises(ParameterError, match="names: expected names that are texts, got 5"):
        check_name_list("names", ["a", 5])


def test_arrays_are_lists_too():
    bank = cf.train_bank(X, Y, feature_names=np.array(NAMES), n_estimators=1)
    assert bank.feature_names == tuple(NAMES)
    falling = [0.1, 0.01]
    paths = [TREE.fit_path(FRAME, Y, X_val=FRAME, y_val=Y, tradeoffs=kind(falling)) for kind in (list, np.array)]
    assert len({repr(path) for path in paths}) == 1


def test_the_order_of_a_set_decides_nothing():
    code = "import costframe as cf; cf.adopt(lambda r: r[:, 0], ['a', 'b'], features={'a', 'b'})"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert "features: expected a list of names in order, not a set" in ended.stderr


def test_faces_list_their_names():
    rooms = ["trees", "stagewise", "sets", "gates", "sources", "datasets", "plot", "plugin", "testing", "adoption"]
    for face in ("costframe", *(f"costframe.{room}" for room in rooms)):
        module = importlib.import_module(face)
        assert set(module.__all__) <= set(dir(module)), face
        assert [name for name in dir(module) if not hasattr(module, name)] == []


def no_tokens(text):
    raise AssertionError(text)


def test_logs_are_json_that_any_reader_takes(tmp_path):
    strange = {"a": math.nan, "b": math.inf, "c": -math.inf}
    known = {"c": math.nan}
    with InquiryLog(tmp_path / "log") as log:
        for terms in ({}, {"known": known}, {"known": {"c": math.inf}}, {"known": {"c": None}}, {"max_cost": 2.0}):
            for key, row in {1: ROW, math.nan: strange, (1, "x"): dict.fromkeys(NAMES, math.nan)}.items():
                place = Sources({"s": Lookup(CallSource(lambda wanted, row=row: dict.fromkeys(wanted, row)), NAMES)})
                cf.predict_one(MODEL, place, key=key, observe=log, **terms)
    lines = (tmp_path / "log").read_text().splitlines()
    records = [json.loads(line, parse_constant=no_tokens) for line in lines]
    assert None in [value for line in records for each in line.get("rounds", ()) for value in each["values"].values()]
    found = audit(tmp_path / "log", MODEL)
    assert (found.rows, found.differences) == (15, [])


def test_an_audit_says_where_rows_are_too_few(tmp_path):
    with InquiryLog(tmp_path / "log") as log, sources() as place:
        for key in range(6):
            cf.predict_one(MODEL, place, key=key, observe=log)
    said = [list(describe_audit(audit(tmp_path / "log", MODEL, periods=periods)))[-1] for periods in (1, 3, 10)]
    assert said[0].startswith("paid")
    assert said[1].endswith("too few rows to tell, 2 in a part")
    assert said[2].endswith("too few rows to tell, 1 in a part")
    assert not any("nan" in line for line in said)
