"""All of costframe's algorithms beside LightGBM, CatBoost, a learned acquisition policy and the planner's prototype.

    python benchmarks/peers_frontier.py [heart synthetic ...] [--splits 5] [--algorithms planner cegb ...] [--peers ...]
                                        [--save points.json] [--keep DIR] [--stored]
                                        [--picture frontier] [--report frontier.md]

Tables and figures are those of ../shared/bench: a point is chosen by the side's own estimates (those of its path, or
scores on valid), and reported by its score and exact cost on test; split 0 is the table's own, others are drawn by
seed, and so is the "synthetic" ranking. Every side also has the constant, which costs nothing, so no budget is without
a model. For every side it prints the mean test score at each budget with its standard error over splits; the mean
difference to LightGBM, split by split, in points (hundredths); what is saved within 1 % of the best; and the seconds it
took, of the clock and of all processors together, which is the steadier figure on a busy machine.

With --save a run can be broken off and goes on where it was: whatever the file holds is not measured again. A side is
shown on the splits that it was measured on, so some may have fewer. --stored measures nothing and shows what there is.
GDFS needs PyTorch and is skipped with a message where there is none.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
from cegb_frontier import SCORES, full_cost, load, shared_bench
from peers_picture import draw_tables
from peers_report import Summary, by_budget, error_of, report
from peers_sides import PEERS, constant_point, installed, measure

import costframe as cf

REFERENCE, UNION = "LightGBM", "union"
Points = list[dict[str, float]]
Figures = dict[str, dict[int, dict[str, Any]]]  # by side and split


def main() -> None:
    asked = _arguments()
    common, results = shared_bench(), Results(asked.save)
    tables, found = asked.tables or common.OPEN, {}
    print("budgets:", "  ".join(f"{share:.0%}" for share in common.BUDGETS), "of the cost of all features\n")
    for name in tables:
        for split in range(asked.splits):
            sides = measure_split(results, name, split, asked)
        found[name] = figures_of(results, name, sides)
        _print_table(name, found[name])
    summary = summarize(found)
    _print_summary(summary, len(tables))
    if asked.report and summary:
        asked.report.write_text(report(found, summary, common.BUDGETS))
    if asked.picture and summary:
        scores = {name: SCORES[common.METRIC.get(name, "ndcg5")] for name in tables}
        draw_tables(asked.picture, found, common.BUDGETS, list(PEERS), scores)


def _arguments() -> argparse.Namespace:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("tables", nargs="*")
    given.add_argument("--splits", type=int, default=5)
    given.add_argument("--algorithms", nargs="*", help="of costframe; all that are installed by default")
    given.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    given.add_argument("--save", type=Path, help="a JSON file of all points, continued if it is there")
    given.add_argument("--stored", action="store_true", help="measure nothing, show what the file holds")
    given.add_argument("--keep", type=Path, help="a folder for what ours fitted, which choice.py reads")
    given.add_argument("--picture", type=Path, help="where to draw the scores of each table: .png and .svg")
    given.add_argument("--report", type=Path, help="where to write all figures, as Markdown")
    asked = given.parse_args()
    if unknown := set(asked.algorithms or ()) - set(cf.algorithms()):
        given.error(f"no algorithm {', '.join(sorted(unknown))}; installed are {', '.join(cf.algorithms())}")
    return asked


class Results:
    """Points by table, split and side, kept in a file where there is one.

    `stored[table][split]` has "full_cost", "constant" (a point), and "sides": each with "points", "seconds" and "busy"
    (seconds of all processors).
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.stored: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}

    def split(self, table: Any, split: int) -> dict[str, Any]:
        """Return what is known of a split, beginning it with the constant."""
        new = {"full_cost": full_cost(table), "constant": constant_point(table), "sides": {}}
        found: dict[str, Any] = self.stored.setdefault(table.name, {}).setdefault(str(split), new)
        return found

    def write(self) -> None:
        """Replace the file by what is known now."""
        if self.path:
            draft = self.path.with_suffix(".tmp")
            draft.write_text(json.dumps(self.stored))
            draft.replace(self.path)


def measure_split(results: Results, name: str, split: int, asked: argparse.Namespace) -> list[str]:
    """Measure the sides of one split that are not known yet; return all that are asked for, ours first."""
    table = load(name, split)
    fitting = installed(table)
    algorithms = fitting if asked.algorithms is None else [one for one in asked.algorithms if one in fitting]
    known = results.split(table, split)["sides"]
    for side in [*algorithms, *asked.peers]:
        if side in known or asked.stored:
            continue
        begun = np.array([time.perf_counter(), time.process_time()])
        try:
            points = measure(side, table, split, asked.keep)
        except Exception as error:  # noqa: BLE001 - a run of hours goes on without this side
            print(f"{name} {split}: no {side}: {type(error).__name__}: {error}", flush=True)
            continue
        seconds, busy = (np.array([time.perf_counter(), time.process_time()]) - begun).tolist()
        known[side] = {"points": points, "seconds": seconds, "busy": busy}
        print(f"{name} {split}: {side}, {len(points)} points, {seconds:.0f} s, {busy:.0f} s busy", flush=True)
        results.write()
    return [*algorithms, *asked.peers]


def figures_of(results: Results, name: str, sides: list[str]) -> Figures:
    """Return the figures of each side on the splits that it is known on, and of the union of our algorithms."""
    figures, found = shared_bench().figures, Figures()
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
    return 100 * np.subtract(*(by_budget([found[one][split] for split in both]) for one in (side, REFERENCE)))


def summarize(found: dict[str, Figures]) -> dict[str, Summary]:
    """Return the mean over tables of each side that all tables with LightGBM have; errors are those over splits."""
    tables = [sides for sides in found.values() if REFERENCE in sides]
    out = {}
    for side in dict.fromkeys(side for sides in tables for side in sides):
        own = [sides for sides in tables if side in sides and sides[side].keys() & sides[REFERENCE].keys()]
        moves = [differences(sides, side) for sides in own]
        mean = np.mean([move.mean(axis=0) for move in moves], axis=0)
        error = np.sqrt(np.sum([error_of(move) ** 2 for move in moves], axis=0)) / len(moves)
        saved = float(np.mean([np.mean([one["saving"] for one in sides[side].values()]) for sides in own]))
        out[side] = Summary(mean, error, len(own), saved)
    return out


def _print_table(name: str, found: Figures) -> None:
    print()
    most = max(map(len, found.values()))
    for side, by_split in found.items():
        each = list(by_split.values())
        means = {key: np.mean([one[key] for one in each]) for key in each[0] if key != "by_budget"}
        cheap = f"within 1 %: {means['saving']:4.0%} saved @ {means['within1_test']:.4f}"
        spent = f"{means['seconds']:.0f} s, {means['busy']:.0f} s busy"
        fewer = "" if len(each) == most else f"  ({len(each)} of {most} splits)"
        print(f"{name:8s} {side:11s} {_pairs(by_budget(each), '.4f')}  {cheap}  {spent}{fewer}")
        if side != REFERENCE and by_split.keys() & found.get(REFERENCE, {}).keys():
            print(f"{'':8s} {'- LightGBM':>11s} {_pairs(differences(found, side), '+.1f')}")
    print(flush=True)


def _print_summary(summary: dict[str, Summary], n_tables: int) -> None:
    """Print means over tables; `2-50 %` is the mean over budgets from 2 to 50 % of the cost of all features."""
    shares = np.array(shared_bench().BUDGETS)
    middle = (shares >= 0.02) & (shares <= 0.5)
    for side, one in summary.items():
        where = "" if one.n_tables == n_tables else f"  ({one.n_tables} of {n_tables} tables)"
        cells = "  ".join(f"{mean:+6.1f} ± {error:4.1f}" for mean, error in zip(one.mean, one.error, strict=True))
        print(f"all tables {side:11s} {cells}  2-50 %: {one.mean[middle].mean():+.1f}  {one.saved:4.0%} saved{where}")


def _pairs(values: np.ndarray, form: str) -> str:
    """Write means over splits (rows) with standard errors."""
    return "  ".join(
        f"{mean:{form}}±{error:{form.replace('+', '')}}"
        for mean, error in zip(values.mean(axis=0), error_of(values), strict=True)
    )


if __name__ == "__main__":
    main()
