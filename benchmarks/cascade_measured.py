"""Ways to make models, each a set of fits, and all their points on one table."""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

import cascade_points
import cascade_tables
import cascade_verdicts
import numpy as np
from attrs import evolve, frozen
from cascade_banks import BOOSTED, Source
from cascade_points import Job, Point, Stages, Variant
from paper_figures import LEAST, MOST, Line, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NEAR = 0.99  # of the best score on valid: the model whose stages are shown is the cheapest that reaches it
GREEDY = Variant("greedy")


@frozen
class Fits:
    """A variant over the trees of a model, at several tradeoffs."""

    variant: Variant
    tradeoffs: tuple[float, ...] = (0.0,)
    source: Source = BOOSTED


@frozen(eq=False)
class Measured:
    """All points of one table: for each way, a list for each split; the constant is always there."""

    table: str
    ways: dict[str, list[list[Point]]]
    quick: bool

    def scored(self) -> dict[str, dict[str, list[list[Point]]]]:
        """Return all points, looked at by each score of the table."""
        return {
            name: {
                way: [[evolve(point, at=at) for point in points] for points in several]
                for way, several in self.ways.items()
            }
            for at, name in enumerate(cascade_tables.KINDS[self.table].scores)
        }

    def shown(self, way: str) -> Stages:
        """Choose, on valid, the cascade of the first split whose stages are shown."""
        chains = [point for point in self.ways[way][0] if point.stages is not None]
        best = max(point.valid_score for point in chains)
        met = cascade_verdicts.cheapest(chains, NEAR * best).stages
        assert met is not None  # noqa: S101 - chosen among cascades
        return met

    def panel(self, ways: Sequence[str], title: str | None = None) -> Panel:
        """Put some ways in a panel, as scores at budgets."""
        table = cascade_tables.load(self.table, 0, quick=self.quick)
        lines = budget_lines({way: self.ways[way] for way in ways}, table.full_cost)
        return Panel(title or self.table, table.kind.scores[0], table.costs.unit, table.full_cost, lines)


def budget_lines(ways: Mapping[str, Sequence[Sequence[Point]]], full_cost: float) -> tuple[Line, ...]:
    """Make a line of each way's points of several splits: the best model at each budget."""
    bought = [point.valid_cost for several in ways.values() for found in several for point in found if point.valid_cost]
    least = np.clip(0.7 * min(bought) / full_cost, LEAST, 0.1)
    budgets, lines = np.geomspace(least, MOST, 90) * full_cost, []
    for way, several in ways.items():
        scores = np.array([cascade_verdicts.at_budgets(points, budgets) for points in several])
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.zeros(len(budgets))
        lines.append(Line(way, budgets, scores.mean(axis=0), error))
    return tuple(lines)


def measure(
    name: str, ways: Mapping[str, Sequence[Fits]], *, quick: bool, acquisition: str = "path", splits: int | None = None
) -> Measured:
    """Do all fits on a table; every way also has the constant, which costs nothing.

    Parameters
    ----------
    name : str
    ways : mapping of str to sequence of Fits
    quick : bool
        One split, and smaller tables.
    acquisition : {"path", "learner"}
    splits : int, optional
        As many as the table has by default.
    """
    start, before = time.perf_counter(), _processor_time()
    count = 1 if quick else splits or cascade_tables.KINDS[name].splits
    constants = {split: Job(name, split, GREEDY, acquisition=acquisition, quick=quick) for split in range(count)}
    jobs = {
        (split, way): [
            Job(name, split, fits.variant, tradeoff, fits.source, acquisition, quick)
            for fits in several
            for tradeoff in fits.tradeoffs
        ]
        for split in range(count)
        for way, several in ways.items()
    }
    done = cascade_points.run([*constants.values(), *(job for several in jobs.values() for job in several)])
    found: dict[str, list[list[Point]]] = {}
    for (split, way), several in jobs.items():
        own = [point for job in several for point in done[job]]
        found.setdefault(way, []).append([done[constants[split]][0], *own])
    took, used = time.perf_counter() - start, _processor_time() - before
    print(f"{name}: {len(done)} fits in {took:.0f} s, {used:.0f} s of processors", flush=True)
    return Measured(name, found, quick)


def _processor_time() -> float:
    """Return the seconds that all processes that have ended have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
