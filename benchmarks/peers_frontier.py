"""Needs ../shared: all of costframe's algorithms beside LightGBM, CatBoost, a learned policy and a prototype.

    python benchmarks/peers_frontier.py [heart synthetic ...] [--splits 5] [--algorithms planner cegb ...] [--peers ...]
                                        [--save points.json] [--keep DIR] [--stored]
                                        [--picture frontier] [--report frontier.md]

Sides are those of harness/sides.py, figures those of ../shared/bench: the side's own estimates choose a point (those of
its path, or scores on valid), and the report has its score and exact cost on test. Split 0 is the table's own; seeds
draw the others, and the "synthetic" ranking. Every side also has the constant, which costs nothing, so each budget has
a model. The script prints the mean test score of each side at each budget with its standard error over splits, the
saving within 1 % of the best, and seconds, of the clock and of all processors together, which are steadier on a busy
machine; and the mean difference to LightGBM, split by split, in points (hundredths).

With --save, an interrupted run continues: it does not measure again the points in the file. The report shows a side on
its measured splits. --stored measures nothing and shows the contents of the file. GDFS needs
PyTorch, that of the Python which COSTFRAME_TORCH names, and is skipped with a message where there is none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

import costframe as cf
from costframe.study.algorithms import choose_algorithms
from harness.pictures import DASHES, dress, sheet
from harness.points import (
    BUDGETS,
    HEAD,
    budget_row,
    figures,
    markdown,
    measure_constant,
    scores_at_budgets,
    standard_error,
    with_errors,
)
from harness.sides import PEERS, USUAL, points_of
from harness.tables import SCORES, STORED, load, options
from harness.timing import clock

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from costframe.datasets import Dataset

REFERENCE, UNION = "LightGBM", "union"
COLORS = ("#1f77b4", "#d9660a", "#2a9134", "#8c4fb5", "#b8860b", "#17a2b8", "#c2185b")  # ours
GREYS = ("#222222", "#777777", "#a0a0a0", "#bdbdbd")  # of peers, whose lines are dashed
Figures = dict[str, dict[int, dict[str, Any]]]  # by side and split
OPENING = """# Score at equal budget

Which score does each side reach if rows may cost at most a share of the cost of all features in the mean? Measured by
`benchmarks/peers_frontier.py`. The heart, thyroid, nhanes, mslr and sat12 tables have published or measured prices;
letter and cover have one price for all features.

Each side chooses its models by its own estimates; the tables show their scores and exact costs on test rows, resources
included, in the mean over splits of the rows, with standard errors. *Saved within 1 %* is the share of the cost of all
features that the cheapest model within 1 % of the best score saves, and *at* is its test score.

- **planner** and **cegb** are costframe's. Their defaults were chosen on these tables, with their test scores, which
  flatters both a little. **union**, in the first table, chooses among the points of both, as `costframe compare` does.
- **LightGBM** is the best of 42 fits: plain, and ten strengths each of its lazy and coupled penalties, at two sizes of
  trees. **CatBoost** has as many fits with its penalties. **GDFS** is a learned policy: one network picks the next
  feature, another one answers.
- **prototype** is the planner's idea in 140 lines, with LightGBM as its engine.
"""


@frozen(eq=False)
class Summary:
    """A side in the mean over tables.

    Attributes
    ----------
    mean, error : float64 (budgets,)
        Points above LightGBM, and the standard error over splits.
    n_tables : int
    saved : float
        Share of the cost of all features saved within 1 % of the best score.
    """

    mean: np.ndarray
    error: np.ndarray
    n_tables: int
    saved: float


def main() -> None:
    asked = _options()
    results, found = Results(asked.save), dict[str, Figures]()
    for name in asked.tables:
        for split in range(asked.splits):
            sides = measure_split(results, name, split, asked)
        found[name] = figures_of(results, name, sides)
        print(f"\n{table_text(name, found[name], times=True)}\n\n{differences_text(found[name])}\n", flush=True)
    summary = summarize(found)
    if summary:
        print(summary_text(summary))
    if asked.report and summary:
        tables = [table_text(name, {s: by for s, by in sides.items() if s != UNION}) for name, sides in found.items()]
        asked.report.write_text("\n\n".join([OPENING.rstrip(), summary_text(summary), *tables]) + "\n")
    if asked.picture and summary:
        draw_tables(asked.picture, found)


def _options() -> argparse.Namespace:
    asked = options(
        __doc__,
        STORED,
        splits={"type": int, "default": 5},
        algorithms={"nargs": "*", "help": "of costframe, or none; all that are installed by default"},
        peers={"nargs": "*", "default": USUAL, "choices": list(PEERS)},
        save={"type": Path, "help": "a JSON file of all points, continued if it is there"},
        stored={"action": "store_true", "help": "measure nothing, show what the file holds"},
        keep={"type": Path, "help": "a folder for what ours fitted, which choice.py reads"},
        picture={"type": Path, "help": "where to draw the scores of each table: .png and .svg"},
        report={"type": Path, "help": "where to write all figures, as Markdown"},
    )
    for name in asked.algorithms or ():
        cf.estimator(name)  # refuses a name that is unknown
    return asked


class Results:
    """Points by table, split and side, kept in a file where there is one.

    `stored[table][split]` has "full_cost", "constant" (a point), and "sides": each with "points", "seconds" and "busy"
    (seconds of all processors).
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.stored: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}

    def split(self, data: Dataset, split: int) -> dict[str, Any]:
        """Return the known points of a split, at first the constant."""
        new = {"full_cost": data.full_cost, "constant": measure_constant(data, SCORES[data.name]), "sides": {}}
        found: dict[str, Any] = self.stored.setdefault(data.name, {}).setdefault(str(split), new)
        return found

    def write(self) -> None:
        """Replace the file by all known points."""
        if self.path:
            draft = self.path.with_suffix(".tmp")
            draft.write_text(json.dumps(self.stored))
            draft.replace(self.path)


def measure_split(results: Results, name: str, split: int, asked: argparse.Namespace) -> list[str]:
    """Measure the sides of one split that are not known yet; return all that are asked for, ours first."""
    data = load(name, split)
    fitting = choose_algorithms(data.task, None, len(data.classes))[0]
    algorithms = fitting if asked.algorithms is None else [one for one in asked.algorithms if one in fitting]
    known = results.split(data, split)["sides"]
    for side in [*algorithms, *asked.peers]:
        if side in known or asked.stored:
            continue
        try:
            with clock() as spent:
                points = points_of(side, name, split, asked.keep)
        except Exception as error:  # noqa: BLE001 - a run of hours goes on without this side
            print(f"{name} {split}: no {side}: {type(error).__name__}: {error}", flush=True)
            continue
        known[side] = {"points": points} | spent
        print(f"{name} {split}: {side}, {len(points)} points, {_times(spent)}", flush=True)
        results.write()
    return [*algorithms, *asked.peers]


def figures_of(results: Results, name: str, sides: list[str]) -> Figures:
    """Return the figures of each side on the splits that it is known on, and of the union of our algorithms."""
    found = Figures()
    for split, part in sorted((int(number), part) for number, part in results.stored[name].items()):
        known = [side for side in sides if side in part["sides"]]
        ours = [side for side in known if side not in PEERS]
        joined = {side: [side] for side in known} | ({UNION: ours} if len(ours) > 1 else {})
        for side, members in joined.items():
            points = [part["constant"], *(point for member in members for point in part["sides"][member]["points"])]
            spent = {key: sum(part["sides"][member][key] for member in members) for key in ("seconds", "busy")}
            found.setdefault(side, {})[split] = figures(points, part["full_cost"]) | spent
    order = [*(side for side in sides if side not in PEERS), UNION, *PEERS]
    return {side: found[side] for side in order if side in found}


def differences(found: Figures, side: str) -> np.ndarray:
    """Return by how many points a side is above LightGBM, on the splits that both have: float64 (splits, budgets)."""
    both = [split for split in found[side] if split in found[REFERENCE]]
    return 100 * np.subtract(*(scores_at_budgets([found[one][split] for split in both]) for one in (side, REFERENCE)))


def summarize(found: Mapping[str, Figures]) -> dict[str, Summary]:
    """Return the mean over tables of each side that all tables with LightGBM have; errors are those over splits."""
    tables = [sides for sides in found.values() if REFERENCE in sides]
    out = {}
    for side in dict.fromkeys(side for sides in tables for side in sides):
        own = [sides for sides in tables if side in sides and sides[side].keys() & sides[REFERENCE].keys()]
        moves = [differences(sides, side) for sides in own]
        mean = np.mean([move.mean(axis=0) for move in moves], axis=0)
        error = np.sqrt(np.sum([standard_error(move) ** 2 for move in moves], axis=0)) / len(moves)
        saved = float(np.mean([np.mean([one["saving"] for one in sides[side].values()]) for sides in own]))
        out[side] = Summary(mean, error, len(own), saved)
    return out


def table_text(name: str, found: Figures, *, times: bool = False) -> str:
    """Write the scores of a table at all budgets, equal columns as one, with the seconds taken if asked for."""
    rows = []
    for side, by_split in found.items():
        several = list(by_split.values())
        spent = {key: float(np.mean([one[key] for one in several])) for key in ("seconds", "busy")}
        rows.append([*budget_row(side, several), *([_times(spent)] if times else [])])
    head = [*HEAD, *(["time"] if times else [])]
    columns = [[title, *cells] for title, *cells in zip(head, *rows, strict=True)]
    merged = columns[:1]
    for column in columns[1:]:
        if column[1:] == merged[-1][1:]:  # no side buys more
            merged[-1][0] = f"{merged[-1][0].partition(' ')[0]} to {column[0]}"
        else:
            merged.append(column)
    head, *rows = map(list, zip(*merged, strict=True))
    return f"## {name}, {SCORES[name].replace('_', ' ')}\n\n{markdown(head, rows)}"


def differences_text(found: Figures) -> str:
    """Write by how many points each side is above LightGBM."""
    rows = []
    for side in found if REFERENCE in found else ():
        if side != REFERENCE and found[side].keys() & found[REFERENCE].keys():
            gained = differences(found, side)
            rows.append([f"{side} - {REFERENCE}", *with_errors(gained.mean(axis=0), standard_error(gained), "+.1f")])
    return markdown(["points", *HEAD[1:-3]], rows) if rows else ""


def summary_text(summary: Mapping[str, Summary]) -> str:
    """Write means over tables."""
    rows = [
        [side, *with_errors(one.mean, one.error, "+.1f"), f"{one.saved:.0%}", str(one.n_tables)]
        for side, one in summary.items()
    ]
    note = "A point is a hundredth of a score. A mean is over a side's own tables: compare sides of equal tables only."
    return f"## Over all tables, points above LightGBM\n\n{note}\n\n{markdown([*HEAD[:-2], 'tables'], rows)}"


def _times(spent: Mapping[str, float]) -> str:
    return f"{spent['seconds']:.0f} s, {spent['busy']:.0f} s of processors"


def draw_tables(path: Path, found: Mapping[str, Figures]) -> None:
    """Write `path`.png and .svg: mean test score over splits against the budget, with its standard error."""
    every = list(dict.fromkeys(side for sides in found.values() for side in sides))
    ours, peers = ([side for side in every if (side in PEERS) == peer] for peer in (False, True))
    looks = {side: (COLORS[at % len(COLORS)], DASHES[0]) for at, side in enumerate(ours)}
    looks |= {side: (GREYS[at % len(GREYS)], DASHES[at + 1]) for at, side in enumerate(peers)}
    place, subtitle = np.arange(len(BUDGETS)), "budgets are shares of the cost of all features"
    with sheet(path, "Test score at equal budget", subtitle, 1 + len(found), columns=4) as panels:
        for axes, (name, sides) in zip(panels, found.items(), strict=False):
            for side, by_split in sides.items():
                score = scores_at_budgets(by_split.values())
                mean, error = score.mean(axis=0), np.nan_to_num(standard_error(score))
                color, dashes = looks[side]
                front = 2 + len(every) - every.index(side)
                axes.plot(place, mean, color=color, ls=dashes, lw=1.5, marker="o", ms=2.5, zorder=front)
                axes.fill_between(place, mean - error, mean + error, color=color, alpha=0.12, lw=0)
            dress(axes, f"{name}, {SCORES[name]}", "", "")
            axes.set_xticks(place, [f"{share:.0%}" for share in BUDGETS], fontsize=8)
        legend = panels[len(found)]
        legend.set_axis_off()
        lines = [legend.plot([], [], color=color, ls=dashes, lw=1.5)[0] for color, dashes in looks.values()]
        legend.legend(lines, list(looks), loc="center left", frameon=False, fontsize=10)


if __name__ == "__main__":
    main()
