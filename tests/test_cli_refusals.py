"""What commands refuse: one line, exit code 2, nothing written, and known errors before any work."""

from __future__ import annotations

import pytest
from cli_cases import refused


def test_what_compare_refuses(run, patients, tmp_path):
    table, prices = patients
    before = sorted(tmp_path.rglob("*"))
    (bad_prices := prices.with_name("bad.toml")).write_text("[features]\nage = -1\n")
    (cut := table.with_name("cut.parquet")).write_bytes(b"PAR1 and no more")
    parts = table.with_name("parts.csv")
    parts.write_text(
        "age,ill,split\n" + "".join(f"{i},{i % 2},{('train', 'valid', 'test')[i % 3]}\n" for i in range(60))
    )
    for arguments, text in [
        (("nowhere",), "nowhere: no such file, and no data set has this name"),
        (("nowhere.csv", "--target", "ill"), "nowhere.csv: cannot be read: No such file"),
        ((table,), "say with --target which column to predict"),
        ((table, "--target", "il"), "no target column 'il' (did you mean 'ill'?)"),
        ((table, "--target", "ill", "--costs", "none.toml"), "error: none.toml: cannot be read"),
        (
            (table, "--target", "ill", "--costs", bad_prices),
            "bad.toml: features.age.cost: expected a finite number >= 0",
        ),
        (
            (table, "--target", "age", "--costs", prices),
            f"error: {table} and {prices} do not fit: columns without a price: 'ill'; prices without a column: 'age'",
        ),
        ((cut, "--target", "ill"), "cut.parquet: cannot be read"),
        ((table, "--target", "ill", "--algorithms", "misr"), "algorithm 'misr'"),
        ((table, "--target", "ill", "--score", "r2"), "classification of 2 classes has accuracy"),
        ((table, "--target", "ill", "--task", "regression"), "regression needs numbers"),
        ((table, "--target", "ill", "--output", table), "is a file, expected a directory"),
        ((table, "--target", "ill", "--output", table / "deeper"), "cannot be written"),
        (("breast-cancer", "--target", "x"), "--target is for files"),
        (("parity", "--seed", 1), "seed: has no effect, the rows of parity come in train, valid and test"),
        ((parts, "--target", "ill", "--seed", 1), "--seed: has no effect, the column split of"),
        (("--score", "adjusted_rand_score"), "'adjusted_rand_score' compares clusterings"),
        (("--points", 0), "--points"),
        (("--budget", "-1"), "--budget"),
        (("--nothing",), "No such option '--nothing' (see costframe compare --help)"),
    ]:
        assert text in refused(run("compare", *arguments)), arguments
    assert sorted(tmp_path.rglob("*")) == sorted([*before, bad_prices, cut, parts])  # nothing was written


def test_what_fit_and_cost_refuse(run, patients, tmp_path):
    table, prices = patients
    fit = ("fit", table, "--target", "ill", "--algorithm", "miser", "--output")
    assert "either --tradeoff" in refused(run(*fit, "m"))
    assert "either --tradeoff" in refused(run(*fit, "m", "--tradeoff", 1, "--budget", 1))
    assert "there is no directory" in refused(run(*fit, "none/m", "--tradeoff", 1))
    assert "is a directory" in refused(run(*fit, tmp_path, "--tradeoff", 1))
    assert "Missing option '--output'" in refused(run(*fit[:-1], "--tradeoff", 1))
    assert "no.model" in refused(run("cost", "no.model", table))
    assert "not a costframe model" in refused(run("cost", prices, table))
    assert "no.json" in refused(run("cost", "no.json", table, "--costs", prices))
    assert run("fit", "breast-cancer", "--algorithm", "miser", "--tradeoff", 0.01, "--output", "t.model").exit_code == 0
    several = ("fit", "letter.csv", "--target", "letter", "--algorithm", "early-exit", "--tradeoff", 1, "--output", "m")
    (tmp_path / "letter.csv").write_text("a,letter\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(60)))
    assert "'early-exit': its models of 3 classes cannot be saved to a file" in refused(run(*several))
    assert "which t.model reads" in refused(run("cost", "t.model", table))


BUDGETS = ("nan", "-inf", "-1", "-0.5", "1e999", "two", "")


@pytest.mark.parametrize("amount", BUDGETS)
@pytest.mark.parametrize("option", ["--budget", "--tradeoff"])
def test_amounts_are_finite_numbers(run, tmp_path, option, amount):
    """Each is refused before the table, which is not there, is looked for."""
    given = ["fit", "none.csv", "--target", "y", "--algorithm", "miser", "--output", "m", option, amount]
    assert refused(run(*given)) == (
        f"error: Invalid value for '{option}': expected a finite number >= 0, got {amount!r} (see costframe fit --help)"
    )
    if option == "--budget":
        assert f"finite number >= 0, got {amount!r}" in refused(run("compare", "none.csv", "--budget", amount))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("blank", ["", "  "])
@pytest.mark.parametrize("option", ["--algorithms", "--output", "--target", "--costs", "--score", "--ignore"])
def test_an_empty_text_is_named_as_such(run, tmp_path, option, blank):
    assert refused(run("compare", option, blank)) == (
        f"error: Invalid value for '{option}': expected a text, got an empty one (see costframe compare --help)"
    )
    assert not list(tmp_path.iterdir())


def test_other_empty_texts(run, tmp_path):
    assert "Invalid value for '[DATA]': expected a text" in refused(run("compare", ""))
    assert "Invalid value for 'MODEL': expected a text" in refused(run("cost", "", "x.csv"))
    assert "--algorithms: expected names, separated by commas, got ' , '" in refused(
        run("compare", "--algorithms", " , ")
    )
    fit = ("fit", "none.csv", "--target", "y", "--tradeoff", 1)
    assert "Invalid value for '--output': expected a text" in refused(run(*fit, "--algorithm", "miser", "--output", ""))
    assert "Invalid value for '--algorithm': expected a text" in refused(run(*fit, "--algorithm", "", "--output", "m"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("--algorithms", "miser,misr"), "algorithm 'misr': expected one of"),
        (("--score", "beauty"), "beauty"),
        (("--output", "taken"), "--output taken: is a file, expected a directory"),
        (("--output", "taken/deeper"), "--output taken/deeper: cannot be written: Not a directory"),
        (("--output", "adrift"), "--output adrift: is a link to nothing, expected a directory"),
    ],
)
def test_what_is_known_before_the_table_is_read_comes_first(run, tmp_path, given, text):
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "adrift").symlink_to("nowhere")
    assert text in refused(run("compare", "none.csv", "--target", "y", *given))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adrift", "taken"]


def test_fit_knows_its_algorithm_and_score_before_the_table(run):
    fit = ("fit", "none.csv", "--target", "y", "--tradeoff", 1, "--output", "m")
    assert "algorithm 'misr': expected one of" in refused(run(*fit, "--algorithm", "misr"))
    assert "beauty" in refused(run(*fit, "--algorithm", "miser", "--score", "beauty"))


ENCODINGS = {
    "UTF-16 without a mark": ("age,ill\n1,0\n2,1\n".encode("utf-16-be"), "expected text in UTF-8, got UTF-16 without"),
    "UTF-32": ("age,ill\n1,0\n2,1\n".encode("utf-32"), "expected text in UTF-8, got UTF-16 without"),
    "half UTF-8": ("age,ill\nälter,1\n".encode() + b"\xe4lter,0\n", "got letters in UTF-8 beside some in another"),
    "no text": (b"age,ill\n\x81,1\n", "expected text in UTF-8, UTF-16 or Windows-1252"),
}


@pytest.mark.parametrize("what", ENCODINGS)
def test_an_encoding_that_cannot_be_read_is_named_with_a_way_out(run, tmp_path, what):
    content, text = ENCODINGS[what]
    (tmp_path / "table.csv").write_bytes(content)
    said = refused(run("compare", "table.csv", "--target", "ill"))
    assert said.startswith("error: table.csv: ")
    assert text in said
    assert said.endswith("save it as UTF-8 (in Excel: 'CSV UTF-8')")
    assert "b'" not in said


def test_a_column_to_ignore_may_have_any_encoding(run, patients):
    table, _ = patients
    lines = table.read_bytes().splitlines()
    table.write_bytes(b"\n".join([b"name," + lines[0], *(b"J\xf6rg," + line for line in lines[1:])]))
    given = ("--target", "ill", "--algorithms", "miser", "--points", 1, "--folds", 0)
    assert run("compare", table, "--ignore", "name", *given).exit_code == 0
