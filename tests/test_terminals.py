"""Names and units from files, as a terminal and pictures show them: escaped, whatever letters they hold."""

import json

import matplotlib.text
import numpy as np
import pandas as pd
from rich.console import Console

import costframe as cf
from costframe import ExpectedCost, Frontier
from costframe.choices import Point
from costframe.core.display import compare_cost, format_cost, saving
from costframe.plot import (
    AcquisitionDisplay,
    FrontierDisplay,
    RowAcquisitionDisplay,
    RowsPerStageDisplay,
    StagesDisplay,
)
from costframe.report.payments import paid_table

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
        console.print(paid_table("all", paid, costs, width=400))
    assert plain(captured.get())
    assert "\\u202e" in captured.get()
    assert SHOWN in repr(paid)


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


def test_amounts_are_short_and_a_saving_is_all_or_nothing_only_if_it_is():
    costs = (0.0, 3e-9, 2.5, 123_456.7, 2e300)
    assert [format_cost(each) for each in costs] == ["0.00", "3.0e-09", "2.50", "123,457", "2.0e+300"]
    paid = (6.0, 5.0 - 1e-15, 4.985, 4.9, 0.02, 0.0)
    assert [saving(each, 5.0) for each in paid] == ["0%", "0%", "<1%", "2%", ">99%", "100%"]
    assert compare_cost(0.02, 5.0) == ">99% less than"
    assert compare_cost(6.0, 5.0) == "20% more than"


def test_commands(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({EVIL: rng.normal(size=90), "age": rng.normal(size=90)})
    frame["ill"] = np.where(frame[EVIL] > 0, "yes", "no")
    frame.to_parquet("rows.parquet")
    (tmp_path / "prices.json").write_text(json.dumps({"unit": EVIL, "features": {EVIL: 1.0, "age": 2.0}}))
    fits = ["--target", "ill", "--algorithms", "reweighted", "--points", "2", "--cv", "0"]
    result = run("compare", "rows.parquet", "--costs", "prices.json", *fits)
    assert result.exit_code == 0, result.output
    (tmp_path / "prices.json").write_text(json.dumps({"features": {EVIL: -1.0}}))
    refused = run("compare", "--costs", "prices.json")
    assert (refused.exit_code, len(refused.stderr.splitlines())) == (2, 1)
    assert plain(result.output + refused.output)
    assert "\\u202e" in result.output
