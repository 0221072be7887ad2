"""`costframe compare` over tables and repeated splits, and `costframe board`."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest
from cli_cases import refused, words
from comparison_cases import table

import costframe as cf
from costframe.comparison.lines import RESULTS

QUICK = "--algorithms", "cegb,linear", "--points", "3", "--cv", "0"


@pytest.fixture
def folders(tmp_path):
    """Two folders, each with a table and its prices."""
    for name, seed in (("first", 1), ("second", 2)):
        data, folder = table(name, seed), tmp_path / name
        folder.mkdir()
        with (folder / "data.csv").open("w") as file:
            writer = csv.writer(file)
            writer.writerow([*data.feature_names, "ill"])
            writer.writerows([*row, label] for row, label in zip(data.X.tolist(), data.y.tolist(), strict=True))
        data.costs.save(folder / "costs.toml")
    return tmp_path


def test_several_tables_make_a_comparison_that_resumes_and_that_a_board_merges(folders, run):
    tables, output = [str(folders / "first"), str(folders / "second")], folders / "out"
    begun = run("compare", *tables, "--target", "ill", *QUICK, "--repeats", "1", "--output", str(output))
    said = words(begun)
    assert "2 sides on 2 tables, 1 split each" in said
    assert "above cegb in the mean over 2 tables" in said
    names = {path.name for path in output.iterdir()}
    assert names == {
        RESULTS, "report.html", "levels.csv", "summary.csv", "summary.jsonl", "tables.tex", "tables.md",
        "table-first.svg", "table-first.png", "table-second.svg", "table-second.png", "differences-points.svg",
        "differences-points.png",
    }  # fmt: skip
    lines = (output / RESULTS).read_text()
    again = run("compare", *tables, "--target", "ill", *QUICK, "--repeats", "2", "--output", str(output))
    assert "--resume goes on with its fits" in refused(again)
    more = ("--repeats", "2", "--output", str(output), "--resume", "--reference", "linear")
    resumed = run("compare", *tables, "--target", "ill", *QUICK, *more)
    assert "above linear in the mean over 2 tables" in words(resumed)
    assert (output / RESULTS).read_text().startswith(lines)
    assert len((output / RESULTS).read_text().splitlines()) == 8
    prices = json.loads(lines.splitlines()[0])["prices"]
    assert prices["full_cost"] == 7.0

    other = folders / "other"
    words(run("compare", tables[0], "--target", "ill", "--algorithms", "boosting", "--points", "3", "--cv", "0",
              "--repeats", "2", "--output", str(other)))  # fmt: skip
    board = run("board", str(output), str(other / RESULTS), "--output", str(folders / "board"))
    assert "3 sides on 2 tables, 2 splits each" in words(board)
    merged = cf.Comparison.load(folders / "board")
    assert merged.standing("first").sides == ("boosting", "cegb", "linear")
    assert merged.standing("second").sides == ("cegb", "linear")
    assert "3 sides on 2 tables" in (folders / "board" / "report.html").read_text()
    assert "would be overwritten" in refused(run("board", str(output), "--output", str(folders / "board")))


def test_tables_of_one_name_are_told_apart_and_their_pictures_go_with_them(folders, run):
    tables, output = [str(folders / name / "data.csv") for name in ("first", "second")], folders / "out"
    given = "--target", "ill", "--algorithms", "linear", "--points", "2", "--cv", "0", "--repeats", "1"
    assert "second/data.csv: ROC AUC on test" in words(run("compare", *tables, *given, "--output", str(output)))
    assert {record.table.name for record in cf.Comparison.load(output).records} == {"first/data.csv", "second/data.csv"}
    assert len(list(output.glob("*.png"))) == 2
    words(run("compare", tables[1], *given, "--output", str(output), "--force"))
    assert [path.name for path in output.glob("*.png")] == ["table-data.csv.png"]


def test_one_table_is_compared_on_repeated_splits(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run("compare", "breast-cancer", "--algorithms", "linear", "--points", "2", "--cv", "0", "--repeats", "2",
                "--levels", "5,100", "--seed", "3")  # fmt: skip
    assert "breast-cancer: ROC AUC on test" in words(found)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "comparison" / "levels.csv").read_text())))
    assert {row["seed"] for row in rows} == {"3", "4"}
    assert {row["level"] for row in rows} == {"0.05", "1.0"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("breast-cancer", "parity", "--budget", "3"), "--budget: has no effect on several tables"),
        (("breast-cancer", "--repeats", "2", "--all"), "--all: has no effect"),
        (("breast-cancer", "--outsider", "a=b", "--promise", "error<=0.1"), "--promise: has no effect"),
        (("breast-cancer", "--reference", "cegb"), "--reference: needs several tables, or --repeats"),
        (("breast-cancer", "--levels", "5"), "--levels: needs several tables, or --repeats"),
        (("breast-cancer", "--repeats", "0"), "0 is not in the range x>=1"),
        (("breast-cancer", "--repeats", "2", "--levels", "none"), "expected percents such as 1,5,20, got 'none'"),
        (("breast-cancer", "breast-cancer"), "error: DATA: 'breast-cancer' stands twice"),
        (("breast-cancer", "--repeats", "2", "--algorithms", "nothing"), "algorithm 'nothing'"),
        (("breast-cancer", "--repeats", "2", "--reference", "nothing"), "error: --reference: expected one of"),
        (("breast-cancer", "--repeats", "2", "--cv", "2"), "error: --cv: expected a whole number >= 3"),
        (("breast-cancer", "--repeats", "2", "--score", "nothing"), "error: --score: expected 'accuracy'"),
        (
            ("breast-cancer", "--repeats", "2", "--score", "r2"),
            "breast-cancer, repeat 0: --score: classification",
        ),
        (("breast-cancer", "--repeats", "2", "--time-limit", "1ms"), "error: --time-limit: time was up"),
        (("breast-cancer", "no-such-table"), "no such file, and no data set has this name"),
        (("breast-cancer", "--repeats", "2", "--resume"), "--resume: there are no results in"),
    ],
)
def test_refusals(arguments, text, run, tmp_path):
    assert text in refused(run("compare", *arguments, "--output", str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


def test_a_board_refuses_what_is_no_file_of_lines(run, tmp_path):
    assert "cannot be read" in refused(run("board", str(tmp_path / "none.jsonl"), "--output", str(tmp_path / "b")))
    file = tmp_path / "lines.jsonl"
    file.write_text("{}\n{}\n")
    assert "lines.jsonl, line 1: there is no 'format'" in refused(run("board", str(file), "--output", str(tmp_path)))


def test_programs_are_compared_beside_algorithms(folders, run):
    script, output = folders / "my policy.py", folders / "out"
    script.write_text(
        "import json, sys\n"
        "for message in map(json.loads, sys.stdin):\n"
        "    if 'fit' in message:\n"
        "        first, labels = message['fit']['features'][0]['name'], message['fit']['classes']\n"
        "        reply = {'format': 1, 'points': [{}]}\n"
        "    else:\n"
        "        chances = [{'label': label, 'probability': 0.5} for label in labels]\n"
        "        reply = {'answer': {'probabilities': chances}} if message['values'] else {'asks': [first]}\n"
        "    print(json.dumps(reply))\n"
    )
    given = "compare", str(folders / "first"), "--target", "ill", "--algorithms", "linear", "--points", "3", "--cv", "0"
    more = "--outsider", f'coin={sys.executable} "{script}"', "--outsider", "broken=false", "--output", str(output)
    said = words(run(*given, *more, "--repeats", "2"))
    assert "2 sides on 1 table, 2 splits" in said
    assert "broken" in said
    found = cf.Comparison.load(output)
    models = {record.side.name: record.models for record in found.records}
    price = table("first", 1).costs.full_cost(["a"])
    assert {model.test_cost for model in models["coin"]} == {0.0, price}
    assert not models["broken"]
    for option, text in {"coin": "expected NAME=", "=python x": "expected NAME=", "a=  ": "expected NAME="}.items():
        assert text in refused(run(*given, "--outsider", option))
    assert "'a' is given twice" in refused(run(*given, "--outsider", "a=x", "--outsider", "a=y"))
