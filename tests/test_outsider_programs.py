"""Policies in programs of their own: exact costs, what they are told, and how each way to fail is named."""

import csv
import gc
import hashlib
import json
import os
import pickle
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from program_cases import program, seen, table

import costframe as cf
from costframe.errors import InquiryError, OutsiderError, ParameterError
from costframe.programs import OutsiderProgram
from costframe.testing import expect_as_reported, inquire

# Rows of young people end at once; of others, it buys sex, or both blood values, by what it was told.
WAY = """
def first(values):
    if "age" not in values:
        return ["age"]
    if (values["age"] or 0) < 40:
        return None
    if "iron" not in values and "sex" not in values:
        return ["sex"] if values["age"] < 60 else [{"name": "iron"}, {"name": "sugar"}]
    return None if values.get("sex", "f") == "f" else ["sugar"] if "sugar" not in values else None
def chance(values):
    return (1 + len(values) + (values.get("sugar") or 0.0) ** 2) / (7 + len(values) + (values.get("sugar") or 0.0) ** 2)
"""
BUYS = f"""
exec({WAY!r})
if is_row:
    asks, p = first(values), chance(values)
    reply = {{"asks": asks, "answer": None}} if asks else {{"asks": [], "answer": {{"label": "well", "probabilities": [
        {{"label": "well", "probability": p}}, {{"label": "ill", "probability": 1 - p}}]}}}}
"""


def twin(data):
    """Return the same policy as a generator function, whose categories are numbers."""
    told = {}
    exec(WAY, told)  # noqa: S102 - the text above

    def steps():
        values = {}
        while asks := told["first"](values):
            got = yield [one["name"] if isinstance(one, dict) else one for one in asks]
            values |= {name: None if np.isnan(value) else value for name, value in got.items()}
            values |= {"sex": data.categorical["sex"][int(got["sex"])]} if got.get("sex", np.nan) >= 0 else {}
        return told["chance"](values)

    return cf.SteppedPredictor(data.feature_names, steps, data.costs, fallback=0.5)


def test_a_program_predicts_and_pays_as_the_same_policy_in_python(tmp_path):
    data = table()
    (model,) = program(tmp_path, BUYS).fit(seen(data))
    rows, expected = data.part("test").X, twin(data)
    report, other = (cf.ExpectedCost(data.costs).evaluate(one, rows, rounds=True) for one in (model, expected))
    assert report.predictions.tolist() == other.predictions.tolist()
    assert report.per_row.tolist() == other.per_row.tolist()
    assert set(report.per_row) == {0.0, 1.0, 8.0, 9.0}  # not dear: 4 + 3 after 1 is 8, both blood values 2 + 4 + 3
    for i, row in enumerate(rows):
        values = dict(zip(data.feature_names, row.tolist(), strict=True))
        sex = values["sex"]
        values["sex"] = None if np.isnan(sex) else data.categorical["sex"][int(sex)]
        expect_as_reported(report, i, *inquire(model, values, data.costs), f"row {i}")
    assert model.labels(rows).tolist() == np.where(report.predictions > 0.5, "well", "ill").tolist()


def test_limits_are_kept_and_cut_rows_answer_the_share_of_the_training_rows(tmp_path):
    data = table()
    (model,) = program(tmp_path, BUYS).fit(seen(data))
    rows = data.part("test").X
    report = cf.ExpectedCost(data.costs, max_cost=8).evaluate(model, rows)
    assert report.per_row.max() <= 8
    assert report.cut.any()
    assert set(report.predictions[report.cut]) == {(data.part("train").y == "well").mean()}
    assert not cf.ExpectedCost(data.costs, unavailable=["blood"]).evaluate(model, rows).acquired[:, 2:].any()


def test_it_is_told_the_table_in_the_words_of_a_service_and_rows_as_files(tmp_path):
    data, noted = table(), tmp_path / "noted.json"
    text = "if not is_row: open(sys.argv[1], 'w').write(line)\nelse: reply = {'answer': {}}"
    models = program(tmp_path, text, arguments=[noted]).fit(seen(data))
    message = json.loads(noted.read_text())
    told = message["fit"]
    assert (message["format"], told["kind"], told["classes"], told["seed"]) == (1, "classifier", ["ill", "well"], 7)
    assert (told["unit"], told["resources"], told["target"], told["query"]) == ("unit", ["blood"], "target", None)
    labels = ["f", "m, or 'other'"]
    assert told["features"][1:3] == [
        {"name": "sex", "kind": "category", "labels": labels, "other": False, "price": 1.0},
        {"name": "iron", "kind": "number", "price": 5.0},
    ]
    assert tomllib.loads(Path(told["costs"]).read_text())["resources"]["blood"] in ({"cost": 3.0}, 3.0)
    for part in ("train", "valid"):
        with Path(told[part]).open(newline="") as file:
            head, *lines = csv.reader(file)
        rows = data.part(part)
        assert head == [*data.feature_names, "target"]
        assert [line[4] for line in lines] == rows.y.tolist()
        assert [float(line[2] or "nan") for line in lines] == pytest.approx(rows.X[:, 2], abs=0, nan_ok=True)
        assert [line[1] for line in lines] == ["" if np.isnan(x) else labels[int(x)] for x in rows.X[:, 1]]
    folder = Path(told["train"]).parent
    assert folder.is_dir()
    del models
    gc.collect()
    assert not folder.exists()  # it ended with its models


@pytest.mark.parametrize("task", ["regression", "ranking"])
def test_regressions_and_rankings_have_values(tmp_path, task):
    data, text = (
        table(task=task),
        "if is_row: reply = {'answer': {'value': values['iron']}} if values else {'asks': ['iron']}",
    )
    (model,) = program(tmp_path, text).fit(seen(data))
    rows = np.nan_to_num(data.part("test").X)
    assert model.predict(rows).tolist() == rows[:, 2].tolist()
    assert model.with_classes(None).cost(rows, data.costs).mean == 5.0


def test_three_classes_that_are_numbers_come_in_their_order(tmp_path):
    data = table(classes=(1, 2, 30))
    answer = [{"label": 30, "probability": 0.5}, {"label": 1, "probability": 0.125}, {"label": 2, "probability": 0.375}]
    (model,) = program(tmp_path, f"if is_row: reply = {{'answer': {{'probabilities': {answer}}}}}").fit(seen(data))
    assert model.predict(data.X[:2]).tolist() == [[0.125, 0.375, 0.5]] * 2
    assert model.labels(data.X[:1]).tolist() == [30]


def test_several_points_share_a_process_and_states_come_back_with_their_row(tmp_path):
    text = """
if not is_row: reply["points"] = [{"budget": 3}, {"budget": 9}]
elif len(values) <= message["point"]:
    reply = {"asks": [["age", "iron"][len(values)]], "state": message.get("state", "") + "x"}
else: reply = {"answer": {"value": message["state"].count("x") + os.getpid()}}
"""
    data = table(task="regression")
    cheap, dear = program(tmp_path, text).fit(seen(data))
    rows = data.part("test").X
    one, two = cheap.predict(rows), dear.predict(rows)
    assert set(two) == {one[0] + 1}
    assert [model.cost(rows, data.costs).mean for model in (cheap, dear)] == [0.0, 5.0]
    first, second = dear.inquire(data.costs), dear.inquire(data.costs)  # two rows at a time
    for needs in ("age", "iron"):
        for inquiry in (first, second):
            assert inquiry.needs == (needs,)
            inquiry.supply({needs: np.inf})
    assert first.answer.value == second.answer.value == two[0]


FAILURES = {
    "dies": ("if is_row: sys.exit('out of memory')", "a row with the values {}: it ended with exit code 1; .*memory$"),
    "dies in training": ("raise ImportError('needs torch')", "fit: it ended with exit code 1; .*Error: needs torch$"),
    "hangs": ("if is_row: time.sleep(60)", "did not answer in 1 seconds; its stderr is empty"),
    "hangs in training": ("time.sleep(60)", "fit: it did not answer in 1 seconds"),
    "closes its stdout": ("os.close(1); time.sleep(60)", "closed its stdout"),
    "prints": ("if is_row: print('loss 0.5')", "expected a line of JSON on stdout, got 'loss 0.5'"),
    "writes no end": ("sys.stdout.write('x' * (1 << 25))", "16,777,216 bytes without an end"),
    "writes bytes": ("sys.stdout.buffer.write(bytes([255, 10]))", "expected a line of JSON"),
    "writes NaN": ("if is_row: reply = {'answer': {'value': float('nan')}}", "expected JSON without NaN"),
    "answers twice": ("if is_row: print('{}')", "answers nothing; use stderr|expected either 'asks'"),
    "unknown feature": ("if is_row: reply = {'asks': ['irom']}", r"asks for 'irom' \(did you mean 'iron'\?\), which"),
    "no name": ("if is_row: reply = {'asks': [3]}", r"asks: expected a list of names of features, got \[3\]"),
    "a text": ("if is_row: reply = {'asks': 'age'}", "asks: expected a list of names of features, got 'age'"),
    "asks again": ("if is_row: reply = {'asks': ['age']}", "{'age': .*}: asks for 'age' alone, which it has been told"),
    "another version": ("reply['format'] = 2", "format: expected 1, the version of the messages, got 2"),
    "no version": ("reply = {'points': [{}]}", "format: expected 1, .*, got None"),
    "no points": ("reply['points'] = []", r"points: expected a list of objects, at least one, got \[\]"),
    "refuses": ("reply = {'error': 'no rankings'}", "fit: it refuses: no rankings"),
    "a list": ("if is_row: reply = []", r"expected a JSON object, got \[\]"),
    "neither": ("if is_row: reply = {}", "expected either 'asks', names of features, or 'answer', got asks None"),
    "both": ("if is_row: reply = {'asks': ['age'], 'answer': {'value': 1}}", "expected either 'asks'"),
    "state": ("if is_row: reply = {'asks': ['age'], 'state': 1}", "state: expected a text, got 1"),
    "a number": ("if is_row: reply = {'answer': 0.5}", "answer: expected an object, got 0.5"),
    "no chances": ("if is_row: reply = {'answer': {'label': 'ill'}}", "probabilities: expected a list of objects"),
    "a label less": (
        "if is_row: reply = {'answer': {'probabilities': [{'label': 'ill', 'probability': 1}]}}",
        "probabilities: expected one of each label 'ill', 'well', got 'ill'",
    ),
    "a sum": (
        "if is_row: reply = {'answer': {'probabilities': [{'label': k, 'probability': .6} for k in ('ill', 'well')]}}",
        r"expected numbers >= 0 whose sum is 1, got \[0.6, 0.6\]",
    ),
    "a truth": (
        "if is_row: reply = {'answer': {'probabilities': [dict(label=k, probability=True) for k in ('ill', 'well')]}}",
        "probability: expected a number, got True",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILURES)
def test_a_program_that_fails_is_named_with_what_it_said(tmp_path, kind):
    body, words = FAILURES[kind]
    data, limits = table(), {"time_limit": 1, "fit_time_limit": 1} if "hangs" in kind else {}
    outsider = program(tmp_path, body, **limits)
    with pytest.raises(OutsiderError, match=r"(?s)policy\.py: .*" + words):
        [model.predict(data.X) for model in outsider.fit(seen(data))]


def test_what_it_wrote_to_stderr_last_is_shown_and_no_terminal_obeys_it(tmp_path):
    body = "for i in range(1000): print('line', i, '\\33[2J' + 'x' * 999, file=sys.stderr)\nif is_row: sys.exit(3)"
    (model,) = program(tmp_path, body).fit(seen(table()))
    with pytest.raises(OutsiderError, match="exit code 3") as raised:
        model.predict(table().X)
    text = str(raised.value)
    assert "line 999 \\x1b[2J" in text
    assert "line 900" not in text
    assert "\33" not in text
    assert len(text) < 9000


def test_a_row_that_fails_ends_a_broken_program_but_not_one_that_can_go_on(tmp_path):
    data = table(task="regression")
    text = """
if is_row: reply = {'asks': ['agee' if values else 'age']}
if is_row and values.get('age'): reply = {'answer': {'value': os.getpid()}}
"""
    (model,) = program(tmp_path, text).fit(seen(data))
    inquiry = model.inquire(data.costs)
    with pytest.raises(OutsiderError, match="'agee'"):
        inquiry.supply({"age": None})
    inquiry.supply({"age": 3.0})
    number = int(inquiry.answer.value)
    os.kill(number, 0)  # it goes on
    (model,) = program(tmp_path, text.replace("os.getpid()", "sys.exit(5)")).fit(seen(data))
    inquiry = model.inquire(data.costs)
    for _ in range(2):  # and is not started again, as it might be another model
        with pytest.raises(OutsiderError, match="exit code 5"):
            inquiry.supply({"age": 3.0})
    assert inquiry.needs == ("age",)


def test_a_program_that_does_not_end_is_killed_with_what_it_started(tmp_path):
    body = """
if is_row:
    import subprocess
    other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
    open(sys.argv[1], 'w').write(f'{os.getpid()} {other.pid}')
    time.sleep(60)
"""
    (model,) = program(tmp_path, body, arguments=[tmp_path / "pids"], time_limit=1).fit(seen(table()))
    with pytest.raises(OutsiderError, match="did not answer in 1 seconds"):
        model.predict(table().X)
    numbers = (tmp_path / "pids").read_text().split()
    patience = time.monotonic() + 30  # a busy machine ends a process some time after it was told to
    while any(map(_runs, numbers)) and time.monotonic() < patience:
        time.sleep(0.01)
    assert not any(map(_runs, numbers))


def _runs(number: str) -> bool:
    """Whether a process goes on: one that has ended may be listed until its parent asks for it."""
    try:
        return Path(f"/proc/{number}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_models_stay_in_their_process_and_the_outsider_can_go(tmp_path):
    outsider = program(tmp_path, BUYS)
    assert pickle.loads(pickle.dumps(outsider)) == outsider  # noqa: S301 - our own
    assert outsider.settings["command"] == list(outsider.command)
    (model,) = outsider.fit(seen(table()))
    with pytest.raises(OutsiderError, match="cannot be copied or sent to another"):
        pickle.dumps(model)
    with pytest.raises(InquiryError, match="a SteppedPredictor has a function"):
        model.inquire().to_json()


def test_wrong_commands_and_limits_are_refused():
    assert OutsiderProgram("a", "python 'my policy.py' --k 3").command == ("python", "my policy.py", "--k", "3")
    for command in ("", [], [3], 3, "python 'open"):
        with pytest.raises(ParameterError, match="command: expected a command as a text"):
            OutsiderProgram("a", command)
    with pytest.raises(ParameterError, match="time_limit: expected a number > 0"):
        OutsiderProgram("a", "x", time_limit=0)
    with pytest.raises(OutsiderError, match="no-such-program: cannot be started: No such file"):
        OutsiderProgram("a", "no-such-program").fit(seen(table()))


def test_a_program_whose_file_has_changed_is_fitted_anew(tmp_path):
    output = tmp_path / "output"
    data, bills = table(), []
    for ill, well in ((0.8, 0.2), (0.3, 0.7), (0.3, 0.7)):
        chances = [{"label": "ill", "probability": ill}, {"label": "well", "probability": well}]
        outsider = program(tmp_path, f"if is_row: reply = {{'answer': {{'probabilities': {chances}}}}}", "rule")
        found = cf.Comparison.run(
            data, [outsider], repeats=1, score="neg_log_loss", directory=output, resume=output.exists()
        )
        (record,) = found.records
        bills.append(next(model.test_score for model in record.models if model.name == "rule-1"))
    assert bills[0] != bills[1] == bills[2]
    assert len((output / "results.jsonl").read_text().splitlines()) == 2
    script = str(tmp_path / "policy.py")
    assert outsider.settings["files"][script] == hashlib.sha256(Path(script).read_bytes()).hexdigest()[:32]
    assert OutsiderProgram("a", ["no-such-program", str(tmp_path), "a\0b"]).settings.keys() == {"command"}


def test_programs_are_sides_of_a_comparison_and_end_with_their_fit(tmp_path):
    body = BUYS + "\nif not is_row: open(os.path.join(sys.argv[1], str(os.getpid())), 'w').close()"
    data, noted = table(), tmp_path / "pids"
    noted.mkdir()
    good = program(tmp_path, body, "good", arguments=[noted])
    bad = OutsiderProgram("bad", [sys.executable, "-c", "raise SystemExit('no licence')"])
    found = cf.Comparison.run(data, [good, bad, OutsiderProgram("absent", "no-such-program")], repeats=2)
    by_side = {side: [one for one in found.records if one.side.name == side] for side in ("good", "bad", "absent")}
    for split, record in enumerate(by_side["good"]):
        test = data.split_anew(split).part("test")
        (figures,) = [one for one in record.models if one.name == "good-1"]
        assert figures.test_cost == cf.ExpectedCost(data.costs).evaluate(twin(data), test.X).mean
        assert record.side.settings == good.settings
    for side, words in (("bad", "exit code 1; its stderr ends:\n  no licence"), ("absent", "cannot be started")):
        assert all(words in record.error for record in by_side[side])
    assert len(list(noted.iterdir())) == 2
    for path in noted.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name), 0)
