"""Names and units from files, as a terminal and pictures show them: escaped, whatever letters they hold."""

import json

import matplotlib.text
import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from rich.console import Console

import costframe as cf
from costframe.core.amounts import compare_cost, cost, saving
from costframe.core.cost.expected import ExpectedCost
from costframe.frontier.frontier import Frontier
from costframe.frontier.points import Point
from costframe.frontier.words import describe_model
from costframe.plot import (
    AcquisitionDisplay,
    FrontierDisplay,
    RowAcquisitionDisplay,
    RowsPerStageDisplay,
    StagesDisplay,
)
from costframe.report.tables import paid_table
from costframe.training.console import Output

EVIL = "\x1b[31mr\n\t\u202ea\u200b\u2028\x9b2J"
SHOWN = r"\x1b[31mr\n\t\u202ea\u200b\u2028\x9b2J"


def plain(text):
    """Whether no line of a text holds what controls a terminal."""
    return all(line.isprintable() for line in text.split("\n"))


def report():
    """A model with an evil feature, resource and unit, its prices and its cost."""
    room = {f"room {EVIL}": 2.0}
    features = {EVIL: {"cost": 1.0, "needs": list(room)}}
    costs = cf.CostModel.from_dict({"unit": EVIL, "features": features, "resources": room})
    bank = cf.WeakLearnerBank.columns(costs.names, fill=0.0)
    tree = cf.StageTree(bank, (cf.Answer([0], [1.0], 0.0),)).with_costs(costs)
    return tree, costs, ExpectedCost(costs).evaluate(tree, np.ones((3, 1)))


def frontier():
    point = Point("odd" + EVIL, 0.1, 0.97, 0.005, 2.0, 0.98, 0.01, 3.0, 0.0, 26, 96, 3.0, 0.1)
    return Frontier((point,), "roc_auc", EVIL, 5.0)


def test_tables_and_reports():
    _, costs, paid = report()
    console = Console(width=400)
    with console.capture() as captured:
        console.print(paid_table({"all": paid}, costs, width=400))
    assert plain(captured.get())
    assert "\\u202e" in captured.get()
    assert SHOWN in repr(paid)


def test_costs_of_any_size_are_short():
    costs = (0.0, 3e-9, 2.5, 123_456.7, 9e14, 2e300)
    assert [cost(each) for each in costs] == [
        "0.00", "3.0e-09", "2.50", "123,457", "900,000,000,000,000", "2.0e+300"
    ]  # fmt: skip


def test_a_model_in_a_sentence():
    text = describe_model(frontier(), frontier().points[0])
    assert plain(text)
    assert text.count(SHOWN) == 3  # name, unit and resource
    assert "costs 3.00 " in text
    assert "40% less than all features together; its roc_auc is 0.9800 there (estimated 0.9700 \u00b1.005)" in text
    assert text.endswith(" It is the best of all models.")


@pytest.mark.parametrize(
    ("paid", "text"),
    [(5.0, "0%"), (6.0, "0%"), (5.0 - 1e-15, "0%"), (4.985, "<1%"), (4.9, "2%"), (2.5, "50%"), (0.05, "99%"),
     (0.02, ">99%"), (1e-6, ">99%"), (0.0, "100%")],
)  # fmt: skip
def test_a_saving_is_all_or_nothing_only_if_it_is(paid, text):
    found = evolve(frontier().points[0], cost=paid, test_cost=None, test_score=None)
    assert saving(paid, 5.0) == text
    assert "; its roc_auc is estimated as 0.9700 \u00b1.005." in describe_model(frontier(), found)
    assert saving(paid, 0.0) == "0%"


def test_costs_are_compared_in_words():
    assert compare_cost(0.02, 5.0) == ">99% less than"
    assert compare_cost(4.0, 5.0) == "20% less than"
    assert compare_cost(5.0, 5.0) == "as much as"
    assert compare_cost(4.98, 5.0) == "hardly less than"
    assert compare_cost(6.0, 5.0) == "20% more than"


def test_what_a_console_prints(capsys):
    Output(highlight=False).print(f"wrote {EVIL}\ud800\nnext", soft_wrap=True, markup=False)
    out = capsys.readouterr().out
    assert plain(out)
    assert out.endswith("\nnext\n")


def test_pictures(monkeypatch):
    drawn, make = [], matplotlib.text.Text.set_text
    monkeypatch.setattr(
        matplotlib.text.Text, "set_text", lambda self, text: (drawn.append(str(text)), make(self, text))
    )
    tree = report()[0]
    rows = {"X": np.ones((3, 1)), "y": [EVIL, "other", EVIL], "title": EVIL}
    FrontierDisplay(frontier(), title=EVIL).to_bytes()
    for kind in (StagesDisplay, RowsPerStageDisplay, AcquisitionDisplay, RowAcquisitionDisplay):
        kind.of(tree, **rows).to_bytes()
    assert all(map(plain, drawn))
    assert not any("r\n" in text for text in drawn)
    assert sum("\\u202e" in text for text in drawn) >= 4


@pytest.mark.parametrize("command", ["cost", "compare"])
def test_commands(run, tmp_path, command):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({EVIL: rng.normal(size=90), "age": rng.normal(size=90)})
    frame["ill"] = np.where(frame[EVIL] > 0, "yes", "no")
    frame.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "prices.json").write_text(json.dumps({"unit": EVIL, "features": {EVIL: 1.0, "age": 2.0}}))
    if command == "cost":
        bank = cf.WeakLearnerBank.columns((EVIL, "age"), fill=0.0)
        tree = cf.StageTree(bank, (cf.Answer([0, 1], [1.0, 1.0], 0.0),))
        cf.save(tree, tmp_path / "model", tmp_path / "prices.json")
        result = run("cost", str(tmp_path / "model"), str(tmp_path / "rows.parquet"))
    else:
        options = ["--costs", "prices.json", "--output", "out"]
        options[1::2] = [str(tmp_path / name) for name in options[1::2]]
        fits = ["--target", "ill", "--algorithms", "reweighted", "--points", "2", "--folds", "0"]
        result = run("compare", str(tmp_path / "rows.parquet"), *options, *fits)
    assert result.exit_code == 0, result.output
    assert plain(result.output)
    assert "\\u202e" in result.output


def test_refusals(run, tmp_path):
    assert str(cf.CostframeError("a\x1b\u202e\nb")) == "a\\x1b\\u202e\nb"
    (tmp_path / "prices.json").write_text(json.dumps({"features": {EVIL: -1.0}}))
    result = run("compare", "--costs", str(tmp_path / "prices.json"))
    assert result.exit_code == 2
    assert plain(result.stderr)
    assert len(result.stderr.splitlines()) == 1
