"""What commands refuse: one line, exit code 2, nothing written, and known errors before any work."""

from __future__ import annotations

import os
import sys

import pytest
from cli_cases import refused

pytestmark = pytest.mark.usefixtures("undrawn")

ILL = ("compare", "patients.csv", "--target", "ill")
NONE = ("compare", "none.csv", "--target", "y")  # is not there: some errors come before it is read
FIT = ("fit", "none.csv", "--target", "y", "--tradeoff", 1, "--output", "m", "--algorithm", "miser")
EMPTY = "expected a text, got an empty one (see costframe compare --help)"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("compare", "nowhere"), "nowhere: no such file, and no data set has this name"),
        (NONE, "none.csv: cannot be read: No such file"),
        (ILL[:2], "say with --target which column to predict"),
        ((*ILL[:3], "il"), "no target column 'il' (did you mean 'ill'?)"),
        ((*ILL, "--costs", "none.toml"), "error: none.toml: cannot be read"),
        ((*ILL, "--costs", "bad.toml"), "bad.toml: features.age.cost: expected a finite number >= 0"),
        ((*ILL[:3], "age", "--costs", "prices.toml"),
         "patients.csv and prices.toml do not fit: columns without a price: 'ill'; prices without a column: 'age'"),
        (("compare", "cut.parquet", "--target", "ill"), "cut.parquet: cannot be read"),
        ((*ILL, "--score", "r2"), "classification of 2 classes has accuracy"),
        ((*ILL, "--task", "regression"), "regression needs numbers"),
        (("compare", "breast-cancer", "--target", "x"), "--target is for files"),
        (("compare", "parity", "--seed", 1), "seed: has no effect, the rows of parity come in train, valid and test"),
        (("compare", "parts.csv", "--target", "ill", "--seed", 1), "--seed: has no effect, the column split of"),
        (("compare", "--nothing"), "No such option '--nothing' (see costframe compare --help)"),
        (("compare", "--target", " "), f"error: Invalid value for '--target': {EMPTY}"),
        (("compare", ""), f"error: Invalid value for '[DATA]...': {EMPTY}"),
        ((*NONE, "--algorithms", "miser,misr"), "algorithm 'misr': expected one of"),
        ((*NONE, "--algorithms", " , "), "--algorithms: expected names, separated by commas, got ' , '"),
        ((*NONE, "--score", "beauty"), "beauty"),
        ((*NONE, "--points", 0), "--points"),
        *(((*NONE, "--budget", number), "'--budget': expected a finite number >= 0") for number in ("inf", "nan", -1)),
        ((*NONE, "--time-limit", "soon"), "expected a time such as 90"),
        ((*NONE, "--output", "patients.csv"), "--output patients.csv: is a file, expected a directory"),
        ((*NONE, "--output", "patients.csv/deeper"), "patients.csv/deeper: cannot be written: Not a directory"),
        ((*NONE, "--output", "adrift"), "--output adrift: is a link to nothing, expected a directory"),
        ((*FIT, "--budget", 1), "either --tradeoff"),
        ((*FIT, "--output", "none/m"), "there is no directory"),
        ((*FIT, "--output", "."), "is a directory"),
        ((*FIT[:6], *FIT[8:]), "Missing option '--output'"),
        ((*FIT[:-1], "misr"), "algorithm 'misr': expected one of"),
        ((*FIT, "--output", "patients.csv"), "patients.csv would be overwritten; choose another place, or add --force"),
        (("fit", "letter.csv", "--target", "letter", *FIT[4:-1], "early-exit"),
         "'early-exit': its models of 3 classes cannot be saved to a file"),
        (("cost", "no.model", "patients.csv"), "no.model"),
        (("cost", "prices.toml", "patients.csv"), "not a costframe model"),
        (("cost", "list.json", "patients.csv", "--costs", "prices.toml"), "error: list.json: "),
    ],
)  # fmt: skip
def test_what_commands_refuse(run, patients, tmp_path, arguments, text):
    table, prices = patients
    for path in (table, prices):
        path.rename(tmp_path / path.name)
    table.parent.rmdir()
    files = {
        "bad.toml": "[features]\nage = -1\n", "cut.parquet": "PAR1 and no more", "list.json": "[1, 2]",
        "parts.csv": "age,ill,split\n" + "1,0,train\n2,1,valid\n3,0,test\n4,1,train\n" * 9,
        "letter.csv": "a,letter\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(60)),
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "adrift").symlink_to("nowhere")
    before = {path.name: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()}
    assert text in refused(run(*arguments))
    assert {path.name: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("amount", ["nan", "-1", "1e999", "two", ""])
@pytest.mark.parametrize("option", ["--budget", "--tradeoff"])
def test_amounts_are_finite_numbers(run, option, amount):
    """Each is refused before the table, which is not there, is looked for."""
    given = ["fit", "none.csv", "--target", "y", "--algorithm", "miser", "--output", "m", option, amount]
    assert refused(run(*given)) == (
        f"error: Invalid value for '{option}': expected a finite number >= 0, got {amount!r} (see costframe fit --help)"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
@pytest.mark.parametrize("kind", ["a pipe", "a directory", "a link to nothing"])
@pytest.mark.parametrize("command", ["compare", "fit"])
def test_a_place_that_is_no_file_is_refused_before_any_work(run, tmp_path, command, kind):
    (tmp_path / "out").mkdir()
    place = tmp_path / "out" / "points.csv"
    {"a pipe": os.mkfifo, "a directory": os.mkdir}.get(kind, lambda link: link.symlink_to("nowhere"))(place)
    given = (*NONE, "--output", "out") if command == "compare" else (*FIT, "--output", "out/points.csv")
    assert refused(run(*given)) == f"error: --output out/points.csv: cannot be written: is {kind}, expected a file"
    assert list((tmp_path / "out").iterdir()) == [place]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("age,ill\n1,0\n2,1\n".encode("utf-16-be"), "expected text in UTF-8, got UTF-16 without"),
        ("age,ill\nälter,1\n".encode() + b"\xe4lter,0\n", "got letters in UTF-8 beside some in another"),
        (b"age,ill\n\x81,1\n", "expected text in UTF-8, UTF-16 or Windows-1252"),
    ],
)
def test_an_encoding_that_cannot_be_read_is_named_with_a_way_out(run, table, content, text):
    (path := table("")).write_bytes(content)
    said = refused(run("compare", path, "--target", "ill"))
    assert text in said
    assert said.endswith("save it as UTF-8 (in Excel: 'CSV UTF-8')")
