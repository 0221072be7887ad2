"""Tables of studies of records: how many stated figures are near the truth, and what choices pay beside others'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.histories import HISTORIES
from harness.points import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("score", "bill")  # of studies
CLOSE, ERRORS = 0.02, 2.0  # how near a stated figure is to the truth
SHOWN = ("loss", "auc", "bill")


def stated_table(studies: list[dict[str, Any]], kind: str) -> str:
    """Return how many stated figures are near the truth: of all points, of the chosen ones, and of the records."""
    what = ("score", "cost", "bill") if kind == "bill" else ("score", "cost")
    heads = [f"{of} {name}" for of in ("all:", "chosen:") for name in (*what, f"{kind} interval")]
    lines = []
    for cells, some in _by_history(studies):
        points = [point for one in some for point in one["points"].values()]
        chosen = [one["points"][one[_choice(kind)]] for one in some]
        shares = [share for each in (points, chosen) for share in _shares_near(each, what, kind)]
        told = [point for point in points if _has_records(point)]
        of_records = np.mean([_is_told_by_records(point, kind) for point in told])
        completed = np.mean([_near(p["test_score"], _true(p, kind), p["test_error"], kind) for p in told])
        shown = (f"{share:.0%}" for share in (*shares, completed, of_records))
        cells += [str(min(one["donors"] for one in some)), *shown]
        lines.append(cells)
    return markdown(
        ["table", "history", "studies", "fewest donors", *heads, "buying: test score", "buying: records"], lines
    )


def kept_table(studies: list[dict[str, Any]], kind: str) -> str:
    """Return what chosen models pay or score, beside free columns and the choice with all tests made."""
    what, better = ("bill", -1) if kind == "bill" else ("auc", 1)
    lines = []
    for cells, some in _by_history(studies):
        found = np.array([_kept(one, kind, what, better) for one in some])
        kept, free, whole, lost = found.T
        gap = better * (whole - free).mean()
        reached = f"{better * (kept - free).mean() / gap:.0%}" if gap > CLOSE * abs(free.mean()) else "-"
        ways = [one[_choice(kind)].rsplit("-", 1)[0] for one in some]
        counts = ", ".join(f"{way} {ways.count(way)}" for way in sorted(set(ways), key=lambda way: -ways.count(way)))
        figures = [f"{values.mean():.4g}" for values in (kept, free, whole)]
        lines.append([*cells, *figures, reached, f"{np.mean(lost):.0%}", counts if cells[0] != "all" else ""])
    heads = ["kept", "free columns", "all made", "of the gap", "worse than free", "kept models"]
    return markdown(["table", "history", "studies", *heads], lines)


def rivals_table(studies: list[dict[str, Any]], kind: str) -> str:
    """Return log loss, ROC AUC and bill of the chosen model, and of what people do today."""
    lines = []
    for cells, some in _by_history(studies):
        ways = {"kept": [one["points"][one[_choice(kind)]]["true"] for one in some]}
        for name in dict.fromkeys(name for one in some for name in one["rivals"]):
            ways[name] = [one["rivals"][name] for one in some if name in one["rivals"]]
        shown = [" ".join(f"{np.mean([true[w] for true in each]):.3g}" for w in SHOWN) for each in ways.values()]
        lines.append([*cells, *shown])
    return markdown(["table", "history", "studies", *ways], lines)


def page_table(studies: list[dict[str, Any]]) -> str:
    """Return the table of docs/records.md: of both kinds of study, a line for each table and history."""
    lines = []
    for cells, some in _by_history(studies):
        of_kind = {kind: [one for one in some if one["kind"] == kind] for kind in KINDS}
        if not all(of_kind.values()):
            continue
        cells[2] = str(len({(one["table"], one["history"], one["seed"]) for one in some}))
        points = {kind: [point for one in of_kind[kind] for point in one["points"].values()] for kind in KINDS}
        near = [
            [_is_near(point, "score", "score") for point in points["score"]],
            [_is_near(point, "cost", kind) for kind in KINDS for point in points[kind]],
            [_is_near(point, "bill", "bill") for point in points["bill"]],
            [_is_in_interval(point, "bill") for point in points["bill"]],
            [_is_near(one["points"][one[_choice(kind)]], kind, kind) for kind in KINDS for one in of_kind[kind]],
            [_is_told_by_records(point, kind) for kind in KINDS for point in points[kind] if _has_records(point)],
        ]
        kept, free, whole, _ = np.mean([_kept(one, "bill", "bill", -1) for one in of_kind["bill"]], axis=0)
        reached = f"{(free - kept) / (free - whole):.0%}" if free - whole > CLOSE * free else "-"
        shares = (f"{np.mean(each):.0%}" if each else "-" for each in near)
        donors = str(min(one["donors"] for one in some))
        lines.append([*cells, donors, *shares, *(f"{bill:.2f}" for bill in (kept, free, whole)), reached])
    heads = ["score near", "cost near", "bill near", "bill in interval", "chosen near", "records near"]
    bills = ["kept bill", "free columns", "all made", "of the gap"]
    return markdown(["table", "history", "draws", "fewest donors", *heads, *bills], lines)


def _by_history(studies: list[dict[str, Any]]) -> Iterator[tuple[list[str], list[dict[str, Any]]]]:
    """Yield the first cells of a line, and the studies of a table and history; all of them at the end."""
    for table in dict.fromkeys(one["table"] for one in studies):
        for history in HISTORIES:
            some = [one for one in studies if (one["table"], one["history"]) == (table, history)]
            if some:
                yield [table, history, str(len(some))], some
    yield ["all", "", str(len(studies))], studies


def _choice(kind: str) -> str:
    return "recommended" if kind == "bill" else "best"


def _true(point: dict[str, Any], kind: str) -> float:
    """Return the true score: minus the cost of errors, or ROC AUC."""
    true = point["true"]
    return float(true["cost"] - true["bill"] if kind == "bill" else true["auc"])


def _shares_near(points: list[dict[str, Any]], what: tuple[str, ...], kind: str) -> list[float]:
    """Return the share of points with each figure near its truth, and of those with the truth in the interval."""
    by_figure = [[_is_near(point, name, kind) for point in points] for name in what]
    return [float(np.mean(near)) for near in (*by_figure, [_is_in_interval(point, kind) for point in points])]


def _is_near(point: dict[str, Any], name: str, kind: str) -> bool:
    """Return whether the stated score, cost or bill of a point is near its truth."""
    true = _true(point, kind) if name == "score" else point["true"][name]
    return _near(point[name], true, point[f"{name}_error"], "score" if kind == name else "bill")


def _is_in_interval(point: dict[str, Any], kind: str) -> bool:
    """Return whether the true score or bill is in the interval that holds nine times of ten, or within .02 of it."""
    true = point["true"]["bill"] if kind == "bill" else _true(point, kind)
    close = CLOSE * abs(true) if kind == "bill" else CLOSE
    return bool(point[f"{kind}_low"] - close <= true <= point[f"{kind}_high"] + close)


def _near(stated: float, true: float, error: float, kind: str) -> bool:
    """Return whether a figure is within .02, of money in parts of the truth, or within two errors."""
    close = CLOSE if kind == "score" else CLOSE * abs(true)
    return abs(stated - true) <= max(close, ERRORS * error) + 1e-6


def _has_records(point: dict[str, Any]) -> bool:
    """Return whether a point buys tests, and records alone say a score of it."""
    return point["recorded_score"] is not None and not point["free"]


def _is_told_by_records(point: dict[str, Any], kind: str) -> bool:
    return _near(point["recorded_score"], _true(point, kind), point["test_error"], kind)


def _kept(one: dict[str, Any], kind: str, what: str, better: int) -> tuple[float, float, float, bool]:
    """Return the truth of the chosen point, of free columns, of all made, and whether it is worse beyond its error."""
    point = one["points"][one[_choice(kind)]]
    free = max((p["true"][what] for p in one["points"].values() if p["free"]), key=lambda value: better * value)
    lost = better * (free - point["true"][what]) > ERRORS * point["score_error"]
    return point["true"][what], free, one["all made"][_choice(kind)][what], lost
