"""Tables on terminals of any width: names, numbers and marks stay, lesser columns go."""

from __future__ import annotations

import itertools
import re
import shlex

import pytest
from rich.console import Console

from costframe.cli.commands import costframe
from costframe.core.plugins.registry import TASKS
from costframe.core.prices.costs import CostModel
from costframe.frontier.frontier import Frontier
from costframe.frontier.points import Point
from costframe.hooks import Algorithm
from costframe.report.frontier_table import EXPENDABLE, points_table
from costframe.report.tables import algorithms_table, paid_table
from costframe.training.console import LEAST_WIDTH, output

WIDTHS = (40, 45, 50, 60, 70, 80, 100, 200)


@pytest.mark.parametrize(
    "command", [[], ["compare"], ["fit"], ["cost"], ["costs"], ["predict"], ["inspect"], ["algorithms"], ["datasets"]]
)
def test_help_fits_in_80_columns(run, command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 82


def test_help_shows_first_what_people_use_first(run):
    first, _, others = run("--help").stdout.partition("Other commands:")
    named = [line.split()[0] for line in first.partition("use first:\n")[2].splitlines() if line]
    assert named == ["compare", "costs", "predict", "cost", "inspect"]
    assert others.split("\n")[1].startswith("  fit, audit, algorithms, datasets")
    options = re.findall(r"^  --([a-z-]+)", run("compare", "--help").stdout, re.MULTILINE)
    assert options[:3] == ["costs", "target", "budget"]
    assert options.index("output") < options.index("score") < options.index("folds")


def test_every_example_of_a_command_can_be_read():
    epilogs = [costframe.epilog, *(command.epilog for command in costframe.commands.values())]
    examples = re.findall(r"^  costframe (.*)$", "\n".join(filter(None, epilogs)).replace("\\\n", " "), re.MULTILINE)
    assert len(examples) > 25
    for example in examples:
        name, *arguments = shlex.split(re.split(r" [>|] ", example)[0])
        assert costframe.commands[name].make_context(name, arguments).params


def lines(table, width):
    """Return a table as printed in a width."""
    console = Console(width=width)
    with console.capture() as captured:
        console.print(table)
    return captured.get().splitlines()


def a_frontier(*names, cost=38.6):
    points = [
        Point(name, tradeoff, 0.97, 0.005, cost, 0.9834, 0.01, cost + 1, 0.0, 26 + number, 96, 3.0, 0.1)
        for number, (name, tradeoff) in enumerate(itertools.product(names, (0.0, 1.52e-5)))
    ]
    return Frontier(tuple(points), "roc_auc", "minutes", 43.5)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("names", [["miser"], ["miser", "a-name-of-24-letters-xxx"], ["n" * 60]])
@pytest.mark.parametrize("cost", [38.6, 12_345.6, 9_876_543.0])
def test_points_fit_with_names_numbers_and_marks(width, names, cost):
    frontier = a_frontier(*names, cost=cost)
    table, without = points_table(frontier, frontier.points[0], width=width)
    shown = lines(table, width)
    assert max(map(len, shown)) <= width
    text = "\n".join(shown)
    assert "…" not in text
    assert text.count("0.9834") == len(frontier.points)
    tested = f"{cost + 1:,.2f}" if cost < 1e5 else f"{cost + 1:,.0f}"
    assert text.count(tested) == len(frontier.points)
    assert sum(line.startswith("*>") for line in shown) == 1
    letters = re.sub(r"\s", "", "".join(line[3:] for line in shown))
    assert all(name in letters or len(name) > 20 for name in names)
    assert set(without) <= set(EXPENDABLE)
    for name in without:
        assert name.split()[-1] not in text or name in {"score", "cost"}


def test_what_goes_first_is_what_matters_least():
    frontier = a_frontier("miser")
    gone = [points_table(frontier, frontier.points[0], width=width)[1] for width in range(120, 29, -1)]
    assert gone[0] == []
    assert gone[-1] == ["tradeoff", "score", "cost", "features", "learners", "rounds"]
    for less, more in zip(gone[1:], gone, strict=False):
        assert set(more) <= set(less)
    assert next(some for some in gone if some) == ["learners"]
    assert points_table(frontier, frontier.points[0], width=66)[1] == ["learners", "rounds"]


PRICES = CostModel.from_dict({
    "features": {
        "free": 0.0,
        "a feature of a long name": {"cost": 1234.5, "needs": ["a laboratory"]},
        "batched": {"cost": 0.0, "once": 40.0},
        "never": 3.0,
    },
    "resources": {"a laboratory": 100.0, "an unused room": 9.0},
    "split": 0.01,
})  # fmt: skip


@pytest.fixture(scope="module")
def reports():
    import numpy as np

    import costframe as cf
    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.stages import Answer

    def reading(*features):
        bank = WeakLearnerBank.columns(list(PRICES.names), features)
        learners = list(range(len(features)))
        return cf.StageTree(bank, [Answer(learners, [[1.0]] * len(features), [0.0], "identity")], PRICES)

    rows = np.zeros((4, 4))
    return {"chosen": reading(0, 2).cost(rows), "tradeoff 0": reading(0, 1, 2).cost(rows)}


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_paid_fits(reports, width):
    shown = lines(paid_table(reports, PRICES, width=width), width)
    assert max(map(len, shown)) <= width
    text = "\n".join(shown)
    assert "…" not in text
    (batched,) = (line for line in shown if "batched" in line)
    assert "100.0%" in batched
    assert "0.00" in batched
    assert [line for line in shown if re.search(r"\bfree\b", line)] == [line for line in shown if "1 free" in line]
    assert ("tradeoff 0" in text) == ("1,234.50" in text)
    assert ("tradeoff 0" in text) == (width >= 60)
    assert ("price" in text) == ("once" in text) == (width not in {60, 70})
    assert ("feature " in text.replace("a feature", "")) == (width in {50, 100, 200})


def test_who_pays_nothing_is_blank_alike(reports):
    shown = lines(paid_table(reports, PRICES, width=200), 200)
    for name, price in {"a laboratory": "100.00", "a feature of a long name": "1,234.50"}.items():
        row = next(line for line in shown if f" {name} " in line)
        assert re.fullmatch(rf"\w+ +{name} +{price} {{25,}}100\.0% +{price}", row)  # under the second alone
    batched = next(line for line in shown if " batched " in line)
    assert re.sub(r" {2,}", "|", batched) == "feature|batched|0.00|40.00|100.0%|0.00|100.0%|0.00"
    assert not any("never" in line or "unused room" in line for line in shown)
    alone = "\n".join(lines(paid_table({"chosen": reports["chosen"]}, PRICES, width=200), 200))
    assert "laboratory" not in alone
    assert "a long name" not in alone


def test_no_column_of_once_prices_where_there_are_none():
    import numpy as np

    import costframe as cf
    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.core.stages.stages import Answer

    names = [f"f{number:02}" for number in range(26)]
    prices = CostModel.uniform(names)
    tree = cf.StageTree(
        WeakLearnerBank.columns(names, range(26)), [Answer(range(26), [[1.0]] * 26, [0.0], "identity")], prices
    )
    two = {"all": tree.cost(np.zeros((3, 26))), "none": tree.cost(np.zeros((0, 26)))}
    shown = lines(paid_table(two, prices, width=100), 100)
    assert not any("once" in line for line in shown)
    rest = next(line for line in shown if " 6 more" in line)
    assert rest.split() == ["feature", "6", "more", "6.00"]  # no share, no price; and nothing where none paid


@pytest.mark.parametrize("width", WIDTHS)
def test_algorithms_fit(width):
    one = Algorithm(
        "n" * 15, "A summary of some length that wraps", "Somebody: A paper, 2012", classifier=int, ranker=int
    )
    shown = lines(algorithms_table({one.name: one}, TASKS, width=width), width)
    assert max(map(len, shown)) <= width
    text = " ".join(" ".join(shown).split())
    assert one.name in text
    if width < 70:
        assert "classification, ranking A summary of some length that wraps (Somebody: A paper, 2012)" in text


@pytest.mark.parametrize(("columns", "width"), [("10", LEAST_WIDTH), ("0", LEAST_WIDTH), ("55", 55), ("x", 80)])
def test_the_width_of_the_output(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert output().width == width


@pytest.mark.parametrize("width", [40, 50, 60, 80])
def test_compare_fits(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    result = run("compare", "--algorithms", "miser", "--points", 4, "--folds", 0, "--all")
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines() if not line.startswith("wrote")) <= width
    assert "…" not in result.stdout
    assert len(re.findall(r"^[* ][> ] *miser +\S+ .* 0\.\d{4} +\d+\.\d\d", result.stdout, re.MULTILINE)) == 4
    assert re.search(r"[a-z] +(\S+ +)?\d+\.\d% +\d\.\d\d", result.stdout)
    said = " ".join(result.stdout.split())
    assert ("in points.csv, too wide for here: features, learners, rounds" in said) == (width == 60)
    assert ("too wide for here" in said) == (width < 80)
    assert ("rows buy" in said) == (width == 80)
    ranged = re.search(r"^> +miser-\d+ +0\.\d{4} +0\.\d{4} to", result.stdout, re.MULTILINE)
    assert (ranged is not None) == (width >= 60)
