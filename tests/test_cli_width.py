"""Tables on terminals of any width: names, numbers and marks stay, lesser columns go; and what the help shows."""

from __future__ import annotations

import itertools
import re
import shlex

import numpy as np
import pytest
from rich.console import Console

import costframe as cf
from costframe import CostModel, Frontier
from costframe.choices import Point
from costframe.cli.commands import costframe
from costframe.core.plugins.entries import TASKS
from costframe.report.frontier_tables import EXPENDABLE, points_table
from costframe.report.payments import paid_table
from costframe.report.tables import algorithms_table
from costframe.training.console import LEAST_WIDTH, output

WIDTHS = (40, 50, 60, 80, 200)


def test_help_fits_and_its_examples_can_be_read(run):
    """Those of every command: what people use first comes first."""
    commands = {name: costframe.get_command(None, name) for name in costframe.list_commands(None)}
    for command in (None, *commands):
        result = run(*filter(None, [command]), "--help")
        assert result.exit_code == 0
        assert max(map(len, result.stdout.splitlines())) <= 82
    first, _, others = run("--help").stdout.partition("Other commands:")
    named = [line.split()[0] for line in first.partition("use first:\n")[2].splitlines() if line]
    assert named == ["compare", "costs", "predict", "cost", "inspect"]
    assert others.split("\n")[1].startswith("  fit, page, promise, pilot, serve, board, audit, algorithms, datasets")
    epilogs = [costframe.epilog, *(command.epilog for command in commands.values())]
    examples = re.findall(r"^  costframe (.*)$", "\n".join(filter(None, epilogs)).replace("\\\n", " "), re.MULTILINE)
    assert len(examples) > 25
    for example in examples:
        name, *arguments = shlex.split(re.split(r" [>|] ", example)[0])
        assert commands[name].make_context(name, arguments).params


def lines(table, width):
    """Return a table as printed in a width."""
    console = Console(width=width)
    with console.capture() as captured:
        console.print(table)
    shown = captured.get().splitlines()
    assert max(map(len, shown)) <= width
    assert "…" not in captured.get()  # nothing is cut
    return shown


def a_frontier(*names, cost=38.6):
    points = [
        Point(name, tradeoff, 0.97, 0.005, cost, 0.9834, 0.01, cost + 1, 0.0, 26 + number, 96, 3.0, 0.1)
        for number, (name, tradeoff) in enumerate(itertools.product(names, (0.0, 1.52e-5)))
    ]
    return Frontier(tuple(points), "roc_auc", "minutes", 43.5)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("names", "cost"), [(["miser"], 38.6), (["miser", "n" * 60], 9_876_543.0)])
def test_points_fit_with_names_numbers_and_marks(width, names, cost):
    frontier = a_frontier(*names, cost=cost)
    table, without = points_table(frontier, frontier.points[0], width=width)
    shown = lines(table, width)
    text = "\n".join(shown)
    assert text.count("0.9834") == len(frontier.points)
    assert text.count(f"{cost + 1:,.2f}" if cost < 1e5 else f"{cost + 1:,.0f}") == len(frontier.points)
    assert sum(line.startswith("*>") for line in shown) == 1
    assert set(without) <= set(EXPENDABLE)


def test_what_goes_first_is_what_matters_least():
    frontier = a_frontier("miser")
    gone = [points_table(frontier, frontier.points[0], width=width)[1] for width in range(120, 29, -1)]
    assert gone[0] == []
    assert gone[-1] == ["tradeoff", "score", "cost", "features", "learners", "rounds"]
    assert all(set(more) <= set(less) for less, more in itertools.pairwise(gone[::-1]))


PRICES = CostModel.from_dict({
    "features": {
        "free": 0.0, "a feature of a long name": {"cost": 1234.5, "needs": ["a laboratory"]},
        "batched": {"cost": 0.0, "once": 40.0}, "never": 3.0,
    },
    "resources": {"a laboratory": 100.0, "an unused room": 9.0},
    "split": 0.01,
})  # fmt: skip


def reading(*features):
    bank = cf.WeakLearnerBank.columns(list(PRICES.names), features)
    answer = cf.Answer(range(len(features)), [[1.0]] * len(features), [0.0], "identity")
    return cf.StageTree(bank, [answer], PRICES).cost(np.zeros((4, 4)))


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_paid_fits(width):
    shown = lines(paid_table("chosen", reading(0, 1, 2), PRICES, width=width), width)
    (batched,) = (line for line in shown if "batched" in line)
    assert "100.0%" in batched
    if width < 200:
        return
    for name, price in {"a laboratory": "100.00", "a feature of a long name": "1,234.50"}.items():
        row = next(line for line in shown if f" {name} " in line)
        assert re.fullmatch(rf"\w+ +{name} +{price} +100\.0% +{price}", row)
    assert re.sub(r" {2,}", "|", batched.strip()) == "feature|batched|0.00|40.00|100.0%|0.00"
    assert not any("never" in line or "unused room" in line for line in shown)


@pytest.mark.parametrize("width", WIDTHS)
def test_algorithms_fit(width):
    every = cf.algorithms()
    shown = " ".join(lines(algorithms_table(every, TASKS, width=width), width))
    assert all(name in shown for name in every)


@pytest.mark.parametrize(("columns", "width"), [("10", LEAST_WIDTH), ("55", 55), ("x", 80)])
def test_the_width_of_the_output(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert output().width == width
