"""`costframe predict --source` and `costframe audit`: rows kept as they end, whole files, statuses by outcome."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from live_cases import COSTS, NAMES, table, tree

import costframe as cf
from costframe import Answer, CostModel, WeakLearnerBank
from costframe.cli.live import LiveRun
from costframe.plugin import DataError

FRAME = table(40)
ROWS = "kind = 'table'\npath = 'rows.csv'\nkey = 'key'\n"


@pytest.fixture
def folder(tmp_path):
    """Write a model, its rows, a file of sources and one of keys."""
    cf.save(tree(), tmp_path / "my.model")
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    FRAME[["key"]].to_csv(tmp_path / "keys.csv", index=False)
    rest = f"[sources.rest]\n{ROWS}features = ['age', 'scan']\n"
    (tmp_path / "sources.toml").write_text(f"[sources.blood]\n{ROWS}{rest}")
    return tmp_path


def live(run, *more):
    return run("predict", "my.model", "--source", "sources.toml", "--keys", "keys.csv", *more)


def test_rows_of_sources_are_predicted_in_the_order_of_their_keys(run, folder):
    done = live(run, "--output", "out.csv", "--in-flight", "7", "--log", "log.jsonl", "--acquired")
    assert (done.exit_code, done.stderr) == (0, "keys.csv: 40 keys under 'key'\n")  # no progress in a file of errors
    out, report = pd.read_csv(folder / "out.csv"), tree().cost(FRAME[list(NAMES)], COSTS, rounds=True)
    assert out.key.tolist() == FRAME.key.tolist()
    np.testing.assert_array_equal(out.prediction, report.predictions)
    np.testing.assert_array_equal(out.cost, report.per_row)
    np.testing.assert_array_equal(out.rounds, report.rounds)
    assert set(out.reason) == {"complete"}
    had = [{NAMES[f] for f in np.flatnonzero(row)} for row in report.acquired]
    assert [set(each.split("; ")) for each in out.acquired] == had
    assert not (folder / "out.csv.part").exists()
    audit = run("audit", "log.jsonl", "my.model")
    assert audit.exit_code == 0, audit.output
    assert "40 rows: every one asked, paid and answered what the model says" in audit.output
    text = (folder / "log.jsonl").read_text()
    (folder / "log.jsonl").write_text(text.replace('"cost": 1.0', '"cost": 2.0', 1))
    assert run("audit", "log.jsonl", "my.model").exit_code == 1


SLOW = """
import asyncio
import pandas as pd
from costframe.hooks import hookimpl
from costframe.sources import Source

class Slow(Source):
    is_open = False

    def __init__(self, seconds, opening=0.0):
        self.rows = pd.read_csv("rows.csv").set_index("key").to_dict("index")
        self.seconds, self.opening = seconds, opening

    async def connect(self, places):
        self.is_open = True
        await asyncio.sleep(self.opening)

    async def fetch(self, wanted):
        if not self.is_open:
            await self.connect(())
        await asyncio.sleep(self.seconds)
        with open("trips", "a") as trips:
            trips.write("x")
        return {key: self.rows[key] for key in wanted}

@hookimpl
def costframe_sources():
    return {"slow": Slow}
"""


def test_a_deadline_starts_when_all_is_ready_and_the_summary_names_it(run, folder, installed):
    """What takes longer than the deadline takes it before; what comes too late is counted."""
    installed("slow", SLOW)
    text = (
        f"[sources.all]\nkind = 'slow'\nopening = 2.5\nseconds = 0\nfeatures = {list(NAMES)}\non_failure = 'without'\n"
    )
    (folder / "sources.toml").write_text(text)
    done = live(run, "--deadline", "2s", "--output", "out.csv")
    assert (done.exit_code, "deadline" in done.output) == (0, False), done.output
    (folder / "sources.toml").write_text(text.replace("seconds = 0", "seconds = 60"))
    late = live(run, "--deadline", "50ms", "--output", "out.csv", "--force")
    assert late.exit_code == 4
    assert "  40 rows ended at the deadline of 0.05 s, which up to 1,000 share (--in-flight)\n" in late.output
    assert re.search(
        "sources.toml: no row got any value; the last failure of 'all': no answer within 0.0[45]", late.stderr
    )
    assert "leaves" not in late.stderr


PAID = """
import pandas as pd
from costframe.hooks import hookimpl
from costframe.sources import PaidCall

def make(price, failing=""):
    rows = pd.read_csv("rows.csv").set_index("key").to_dict("index")

    def fetch(key):
        if key == failing:
            raise ConnectionError
        return rows[key]

    return PaidCall(fetch, lambda key, output: price / (2 if key == "k0" else 1), max_price=price)

@hookimpl
def costframe_sources():
    return {"paid": make}
"""


def test_the_bill_says_what_sources_were_really_paid(run, folder, installed):
    installed("paid", PAID)
    free = f"[sources.free]\n{ROWS}features = {[name for name in NAMES if name != 'scan']}\n"
    text = f"{free}[sources.scan]\nkind = 'paid'\nprice = 0.1\nfeatures = ['scan']\non_failure = 'without'\n"
    (folder / "sources.toml").write_text(text)
    done = live(run, "--output", "out.csv", "--acquired")
    assert done.exit_code == 0, done.output
    out = pd.read_csv(folder / "out.csv")
    scanned = out.acquired.fillna("").str.contains("scan")
    due = np.where(scanned, np.where(out.key == "k0", 0.05, 0.1), 0.0)
    np.testing.assert_array_equal(out.paid, due)
    assert 0 < scanned.sum() < 40
    total = round(due.sum(), 6)
    assert f"  sources were really paid {total:g} {COSTS.unit}, {total / 40:.6g} per row\n" in done.output
    failing = out.key[scanned].iloc[-1]
    (folder / "sources.toml").write_text(f"{text}failing = '{failing}'\n".replace("'without'", "'raise'"))
    failed = live(run, "--output", "out.csv", "--force")
    assert failed.exit_code == 4
    assert pd.read_csv(folder / "out.csv").paid.sum() == pytest.approx(total)  # the call that failed too
    assert f"sources were really paid {total:g} " in failed.output
    FRAME.assign(paid=1)[["key", "paid"]].to_csv(folder / "keys.csv", index=False)
    (folder / "sources.toml").write_text(text.replace("[sources.scan]", "by = 'key'\n[sources.scan]\nby = 'key'"))
    assert "--keys 'paid': the predictions have a column of this name" in live(run, "--output", "new.csv").stderr


@pytest.mark.parametrize("keys", ["0007\n7\n", "k1\nk2\nx\n", "anna\nbob\nanna\n"])
def test_a_file_of_keys_without_a_header_loses_no_key(run, folder, keys):
    (folder / "keys.csv").write_text(keys)
    refused = live(run, "--output", "out.csv")
    assert refused.exit_code == 2
    assert f"the first line, {keys.split()[0]!r}, looks like a key; write the name" in refused.stderr
    assert not (folder / "out.csv").exists()


def test_blocks_of_rows_are_tasks_of_a_cluster(client, run, folder):
    live(run, "--output", "here.csv")
    done = live(run, "--output", "out.csv", "--in-flight", "7", "--cluster", client.scheduler.address)
    assert done.exit_code == 0, done.output
    assert (folder / "out.csv").read_text() == (folder / "here.csv").read_text()
    rows = FRAME.assign(**{NAMES[0]: np.nan})
    rows.to_csv(folder / "rows.csv", index=False)
    here = live(run, "--output", "here.csv", "--force")
    done = live(run, "--output", "out.csv", "--force", "--in-flight", "7", "--cluster", client.scheduler.address)
    assert f"feature {NAMES[0]!r}: no value in any of 40 rows" in done.stderr
    assert (done.exit_code, done.stderr) == (here.exit_code, here.stderr)
    FRAME.assign(key="x").to_csv(folder / "rows.csv", index=False)
    none = live(run, "--output", "none.csv", "--in-flight", "7", "--cluster", client.scheduler.address)
    assert (none.exit_code, "'rest' has a row for none of the keys" in none.stderr) == (4, True)
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        gone = live(run, "--output", "out.csv", "--force", "--cluster", "tcp://127.0.0.1:1")
    assert (gone.exit_code, "no scheduler of dask at" in gone.output) == (2, True)
    assert (folder / "out.csv").read_text() == (folder / "here.csv").read_text()


def test_a_killed_run_goes_on_where_it_was(run, folder, installed):
    paths = os.pathsep.join([str(installed("slow", SLOW)), os.environ.get("PYTHONPATH", "")])
    text = f"[sources.all]\nkind = 'slow'\nseconds = 0.2\nfeatures = {list(NAMES)}\n"
    (folder / "sources.toml").write_text(text)
    asked = ["--output", "out.csv", "--in-flight", "2"]
    command = [sys.executable, "-m", "costframe", "predict", "my.model", "--source", "sources.toml"]
    command += ["--keys", "keys.csv", *asked]
    settings = {"cwd": folder, "env": os.environ | {"PYTHONPATH": paths}, "stdout": -1, "stderr": -1, "text": True}
    for number, how in enumerate((signal.SIGINT, signal.SIGKILL)):
        process = subprocess.Popen([*command, *["--resume"] * number], **settings)  # noqa: S603 - ours
        while process.poll() is None and len(_lines(folder / "out.csv.part")) < 4 + 4 * number:
            time.sleep(0.02)
        process.send_signal(how)
        _, error = process.communicate()
        assert process.returncode == {signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL}[how], error
        assert not (folder / "out.csv").exists()
    assert "add --resume" in live(run, *asked).stderr
    kept = len(_lines(folder / "out.csv.part")) - 1
    before = (folder / "trips").stat().st_size
    done = live(run, *asked, "--resume")
    assert done.exit_code == 0, done.stderr
    assert kept >= 7
    rounds = tree().cost(FRAME[list(NAMES)], COSTS, rounds=True).rounds
    assert (folder / "trips").stat().st_size - before <= rounds.max() * (len(FRAME) - kept + 2)
    out = pd.read_csv(folder / "out.csv")
    np.testing.assert_array_equal(out.cost, tree().cost(FRAME[list(NAMES)], COSTS).per_row)
    assert not (folder / "out.csv.part").exists()


def _lines(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("kept", [b"\xff\xfe\n", b"", b'{"run": "other"}\n{"row": 0, "value": 1.0}\n'])
def test_rows_of_another_run_or_damaged_ones_are_not_mixed_in(run, folder, kept):
    (folder / "out.csv.part").write_bytes(kept)
    refused = live(run, "--output", "out.csv", "--resume")
    assert refused.exit_code == 2
    assert "holds rows of another model, source file, keys or options" in refused.output
    assert live(run, "--output", "out.csv", "--force").exit_code == 0


def test_rows_until_certain_are_logged_audited_and_not_mixed_with_others(run, folder):
    trees = cf.estimator("cegb", "regression", costs=COSTS, tradeoff=0.0, n_estimators=5, min_samples_leaf=2)
    model = trees.fit(FRAME[list(NAMES)], FRAME.age + FRAME.chol)
    cf.save(model, folder / "my.model")
    done = live(run, "--output", "out.csv", "--log", "log.jsonl", "--until", "0.5")
    assert done.exit_code == 0, done.output
    out, report = pd.read_csv(folder / "out.csv"), cf.certain(model, 0.5).cost(FRAME[list(NAMES)])
    np.testing.assert_array_equal(out.cost, report.per_row)
    assert ((out.reason == "certain") == report.cut).all()
    assert report.cut.any()
    for until, status in (((), 1), (("--until", "0.5"), 0), (("--until", "class"), 2)):
        assert run("audit", "log.jsonl", "my.model", *until).exit_code == status, until


ODD = ["7", "0007", "1E5", "00e1", "+39", "true", "1.50", "12345678901234567890123", "NA", " 7"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_keys_are_texts_as_they_are_written(run, folder, kind):
    rows = FRAME[: len(ODD)].assign(key=ODD)
    rows.to_csv(folder / "rows.csv", index=False) if kind == "csv" else rows.to_parquet(folder / "rows.parquet")
    where = ROWS.replace(".csv", f".{kind}")
    (folder / "sources.toml").write_text(f"[sources.all]\n{where}features = ['age', 'chol', 'pulse', 'scan']\n")
    rows[["key"]].to_csv(folder / "keys.csv")  # with an index
    done = live(run, "--output", "out.csv")
    assert done.exit_code == 0, done.output
    assert "'Unnamed: 0': left out, an index without a name; keys.csv: 10 keys under 'key'\n" in done.stderr
    out = pd.read_csv(folder / "out.csv", dtype={"key": str}, keep_default_na=False)
    assert out.key.tolist() == ODD
    np.testing.assert_array_equal(out.prediction, tree().cost(rows[list(NAMES)], COSTS).predictions)


def test_a_run_without_any_value_says_why_and_has_the_columns_of_others(run, folder):
    one = {"age": [0.0, 1.0, 2.0, 3.0], "key": ["k1", "k2", "k3", "k4"]}
    model = cf.CEGBClassifier({"age": 1.0}, min_samples_leaf=1).fit(pd.DataFrame(one)[["age"]], ["n", "n", "y", "y"])
    cf.save(model, folder / "my.model")
    text = f"[sources.rows]\n{ROWS}features = ['age']\n"
    for keys, policy, why in [
        ("nobody", "", "'rows' has a row for none of the keys it was asked for"),
        ("nobody", "on_failure = 'missing'", "'rows' has a row for none of the keys it was asked for"),
        (
            "k1",
            "on_failure = 'without'",
            "no row got any value; the last failure of 'rows': expected a number, got 'old'",
        ),
    ]:
        FRAME.assign(age="old").to_csv(folder / "rows.csv", index=False)
        (folder / "sources.toml").write_text(f"{text}{policy}\n")
        pd.DataFrame({"key": [keys]}).to_csv(folder / "keys.csv", index=False)
        done = live(run, "--output", "out.csv", "--force")
        assert done.exit_code == 4
        assert why in done.stderr
        assert {"prediction", "probability_n", "probability_y"} < set(pd.read_csv(folder / "out.csv").columns)
    (folder / "sources.toml").write_text(text.replace("['age']", "{ age = 'ege' }"))
    wrong = live(run, "--output", "new.csv", "--log", "log.jsonl")
    assert wrong.exit_code == 2
    assert "error: sources: rows: no column 'ege'; the table has 'age'" in wrong.stderr
    assert not list(folder.glob("new*"))


LIVE = "--source sources.toml --keys keys.csv --output out.csv"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("--source sources.toml --output out.csv", "--source goes with --keys"),
        (f"rows.csv {LIVE}", "without DATA"),
        ("--output out.csv", "expected DATA, or --source and --keys"),
        ("rows.csv --deadline 2s --output out.csv", "go with --source"),
        (LIVE.replace("out.csv", "-"), "needs a file"),
        (f"{LIVE} --log l --cluster tcp://a:1", "--log goes without --cluster"),
        (LIVE.replace("keys.csv", "rows.csv"), "expected one column of keys"),
        (LIVE.replace("keys.csv", "named.csv"), "--keys 'cost'"),
        (LIVE.replace("sources.toml", "none.toml"), "cannot be read"),
        (f"{LIVE} --deadline soon", "200ms"),
        (f"{LIVE.replace('out.csv', 'keys.csv')} --force", "another file than that of --keys"),
        (f"{LIVE} --log keys.csv", "--log keys.csv: expected another file than that of --keys"),
        (f"{LIVE} --log out.csv", "another file than that of --output"),
        (f"{LIVE} --log none/log.jsonl", "none/log.jsonl: No such file"),
    ],
)
def test_what_does_not_go_together_is_refused_before_it_pays(run, folder, arguments, why):
    FRAME.rename(columns={"key": "cost"})[["cost"]].to_csv(folder / "named.csv", index=False)
    keys = (folder / "keys.csv").read_bytes()
    refused = run("predict", "my.model", *arguments.split())
    assert refused.exit_code == 2
    assert why in refused.output
    assert not list(folder.glob("out*"))
    assert (folder / "keys.csv").read_bytes() == keys


def test_the_status_tells_rows_without_values_and_rows_without_answers(run, folder):
    FRAME.assign(chol=["high", 1.0] * 20).to_csv(folder / "rows.csv", index=False)
    text = (folder / "sources.toml").read_text()
    for policy, status, words in [
        ("", 4, "without an answer: no value of 'chol': expected a number, got 'high' of type str"),
        ("on_failure = 'without'\n", 3, "had to do without some values"),
    ]:
        (folder / "sources.toml").write_text(text.replace("[sources.rest]", f"{policy}[sources.rest]"))
        done = live(run, "--output", "out.csv", "--force")
        assert (done.exit_code, words in done.output) == (status, True), done.output
        out = pd.read_csv(folder / "out.csv")
        assert out.prediction.isna().sum() == out.error.notna().sum() == (out.reason == "failed").sum()
        assert out.prediction.isna().any() == (status == 4)


def test_kept_rows_are_json_also_of_values_that_it_does_not_have(run, folder, monkeypatch):
    bank, costs = WeakLearnerBank.columns(("a", "b"), range(2)), CostModel.uniform(("a", "b"))
    cf.save(cf.StageTree(bank, [Answer([0, 1], [[1.0], [1.0]], [0.0])], costs), folder / "my.model")
    (folder / "rows.csv").write_text("key,a,b\nk1,inf,-inf\nk2,inf,1\nk3,-inf,1\nk4,2,3\n")
    (folder / "keys.csv").write_text("key\nk1\nk2\nk3\nk4\n")
    (folder / "sources.toml").write_text(f"[sources.all]\n{ROWS}features = ['a', 'b']\n")

    def fail(*_, **_more):
        raise DataError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(LiveRun, "_write", fail)
        assert live(run, "--output", "out.csv").stderr.endswith("the disk is full\n")
    kept = [json.loads(line, parse_constant=fail) for line in (folder / "out.csv.part").read_text().splitlines()]
    assert [line["value"] for line in kept[1:]] == [None, "Infinity", "-Infinity", 5.0]
    assert live(run, "--output", "out.csv", "--resume").exit_code == 0
    out = pd.read_csv(folder / "out.csv")
    np.testing.assert_array_equal(out["prediction"], [np.nan, np.inf, -np.inf, 5.0])
    assert set(out["reason"]) == {"complete"}


def test_the_rows_of_a_log_are_records_of_what_was_asked(run, folder):
    live(run, "--output", "out.csv", "--log", "log.jsonl")
    done = run("audit", "log.jsonl", "my.model", "--output", "records.csv")
    assert done.exit_code == 0, done.output
    assert "wrote records.csv: 40 rows, empty where nothing was asked for" in done.output
    records, report = pd.read_csv(folder / "records.csv").set_index("key"), tree().cost(FRAME[list(NAMES)], COSTS)
    there = records.loc[FRAME.key].notna()[list(NAMES)].to_numpy()
    np.testing.assert_array_equal(there, report.acquired)
    np.testing.assert_array_equal(
        records.loc[FRAME.key, list(NAMES)].to_numpy()[there], FRAME[list(NAMES)].to_numpy()[there]
    )
    assert run("audit", "log.jsonl", "my.model", "--output", "records.csv").exit_code == 2  # it is there
    assert run("audit", "log.jsonl", "my.model", "--output", "log.csv/x.csv").exit_code == 2
