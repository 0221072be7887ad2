"""Experiments of papers: options, splits measured two at a time with progress, and tables of claims.

A script measures each split of each table by a function of its own, which returns points by way; see `harness.points`.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from joblib import Parallel, delayed
from scipy import stats

from costframe.comparison.statistics import standard_error
from harness.points import CLOSE, NEAR, NEGLIGIBLE, cheapest, compare, markdown
from harness.tables import OUTPUT, SCORES, options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from harness.points import Point

SPLITS, FEW_SPLITS = 5, 2  # re-splits of each table, and with --quick
WORKERS = 2


def paper_options(
    doc: str | None,
    tables: Sequence[str],
    *,
    quick: Sequence[str],
    known: Collection[str] = SCORES,
    free: Collection[str] = (),
    **flags: dict[str, Any],
) -> argparse.Namespace:
    """Parse the options of all papers' scripts: tables (fewer with --quick), --splits, --output, --keep, and `flags`.

    `splits` are numbers of re-splits, from 1; 0 would be a table's own split.
    """
    asked = options(
        doc,
        tables,
        known=known,
        free=free,
        quick={"action": "store_true", "help": f"{FEW_SPLITS} splits of {' '.join(quick)}, with smaller fits"},
        splits={"type": int, "help": f"re-splits of each table, {SPLITS} by default"},
        keep={"type": Path, "help": "folder to keep what was measured, and to read it from in later runs"},
        output=OUTPUT,
        **flags,
    )
    if asked.quick and asked.tables == list(tables):
        asked.tables = list(quick)
    count = asked.splits or (FEW_SPLITS if asked.quick else SPLITS)
    asked.splits = range(1, count + 1)
    if asked.keep is not None:
        asked.keep.mkdir(parents=True, exist_ok=True)
    return asked


def measure_all(
    measure_split: Callable[..., dict[Any, Any]], asked: argparse.Namespace, *given: Any
) -> dict[str, dict[Any, list[Any]]]:
    """Measure all splits of all tables in two processes; return, by table and way, what each split found.

    `measure_split(table, split, *given)` returns something by way. Ways that a split lacks are left out. Each finished
    split is reported on the standard error, with the time that the others may take.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    tasks = [(table, split) for split in asked.splits for table in asked.tables]
    name, begun = Path(sys.argv[0]).stem, time.perf_counter()
    stored = None if asked.keep is None else asked.keep / f"{name}{'-quick' if asked.quick else ''}"
    found: dict[tuple[str, int], dict[Any, Any]] = {}
    calls = (delayed(_measure_or_read)(stored, measure_split, task, given) for task in tasks)
    ended = Parallel(WORKERS, return_as="generator_unordered", batch_size=1)(calls)
    for done, ((table, split), measured) in enumerate(ended, start=1):
        found[table, split] = measured
        spent = time.perf_counter() - begun
        left = spent / done * (len(tasks) - done)
        times = f"{_minutes(spent)}, some {_minutes(left)} left"
        print(f"{name}: {done} of {len(tasks)} in {times} ({table}, split {split})", file=sys.stderr, flush=True)
    return {
        table: {
            way: [found[table, split][way] for split in asked.splits]
            for way in found[table, asked.splits[0]]
            if all(way in found[table, split] for split in asked.splits)
        }
        for table in asked.tables
    }


def _measure_or_read(
    stored: Path | None, measure_split: Callable[..., dict[Any, Any]], task: tuple[str, int], given: tuple[Any, ...]
) -> tuple[tuple[str, int], dict[Any, Any]]:
    if stored is None:
        return task, measure_split(*task, *given)
    path = stored.with_name(f"{stored.name}-{task[0]}-{task[1]}.pickle")
    if path.exists():
        kept: dict[Any, Any] = pickle.loads(path.read_bytes())  # noqa: S301 - our own file
        return task, kept
    found = measure_split(*task, *given)
    part = path.with_suffix(".part")
    part.write_bytes(pickle.dumps(found))
    part.replace(path)
    return task, found


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


HOLDS, FAILS, NO_DIFFERENCE, UNDECIDED = "✓", "✗", "=", "?"


@frozen(eq=False)
class Claim:
    """A sentence of a paper, and by how much it holds on each table.

    Attributes
    ----------
    text : str
        The claim, in our words.
    margins : mapping of str to float64 (splits,)
        By table: above zero where the claim holds, in `unit`.
    unit : str
        Of the margins.
    equal : bool
        Whether the claim is that there is no difference.
    """

    text: str
    margins: Mapping[str, np.ndarray]
    unit: str = "points"
    equal: bool = False

    def cell(self, table: str) -> str:
        """Return what the table of claims says of a table."""
        margins = np.asarray(self.margins.get(table, ()), np.float64)
        known = margins[~np.isnan(margins)]
        if not len(known):
            return ""
        mean, error = float(known.mean()), float(standard_error(known))
        mark = self.mark(mean, error, len(known))
        return mark if mark in {NO_DIFFERENCE, UNDECIDED} else f"{mark} {mean:+.1f}±{error:.1f}"

    def mark(self, mean: float, error: float, n_splits: int) -> str:
        """Mark what the 95 % interval of the mean tells; a difference that is surely below one unit is none."""
        if n_splits < 2:
            return "one split"
        margin = float(stats.t.ppf(0.975, n_splits - 1)) * error
        if abs(mean) + margin < CLOSE and (self.equal or abs(mean) <= max(margin, NEGLIGIBLE)):
            return HOLDS if self.equal else NO_DIFFERENCE
        if abs(mean) > max(margin, NEGLIGIBLE):
            return HOLDS if mean > 0 and not self.equal else FAILS
        return UNDECIDED


def better(text: str, found: Mapping[str, Mapping[Any, Any]], first: Any, second: Any, *, equal: bool = False) -> Claim:
    """Compare two ways on all tables that have both: the second should score higher at equal budgets."""
    both = {table: ways for table, ways in found.items() if first in ways and second in ways}
    return Claim(text, {table: compare(ways[first], ways[second]) for table, ways in both.items()}, equal=equal)


def by_split(
    text: str,
    found: Mapping[str, Mapping[Any, Any]],
    ways: Sequence[Any],
    measured: Callable[..., float],
    unit: str,
) -> Claim:
    """Measure a margin on each split of all tables that have all ways, by `measured(table, points of each way)`."""
    margins = {
        table: np.array([measured(table, *each) for each in zip(*(several[way] for way in ways), strict=True)])
        for table, several in found.items()
        if set(ways) <= several.keys()
    }
    return Claim(text, margins, unit)


def saved_beyond(share: float, points: Sequence[Point], plain: Sequence[Point]) -> float:
    """Return by how many per cent of plain's cost the cheapest model as good as plain's best stays below a share of it.

    As good is within 1 % on valid, and on test but for a point.
    """
    best = max(plain, key=lambda point: point["val"])
    near = cheapest([best, *points], NEAR * best["val"])
    kept = near["test"] >= NEAR * best["test"] - 0.01
    return 100 * (share - (near["test_cost"] / best["test_cost"] if kept else 1.0))


def _short(claim: Claim) -> str:
    """Return a claim's text for a table, with ° for "as printed", and its unit if that is not points."""
    text = re.sub(r", at (low|high) budgets", r" (\1)", claim.text.replace(", as printed", "°"))
    return text if claim.unit == "points" else f"{text} ({claim.unit})"


def report_claims(paper: str, claims: Iterable[Claim], asked: argparse.Namespace) -> None:
    """Print the table of claims, and write it to `paper`_claims.md in the output folder."""
    rows = [[_short(claim), *(claim.cell(table) for table in asked.tables)] for claim in claims if claim.margins]
    text = markdown(["claim", *asked.tables], rows)
    (asked.output / f"{paper}_claims.md").write_text(text + "\n", encoding="utf-8")
    print(f"\n{text}\n\npictures and this table are in {asked.output}", flush=True)
