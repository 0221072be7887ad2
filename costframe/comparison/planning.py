"""The jobs of a comparison, and those whose records a file has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from costframe.comparison.jobs import Job, describe_prices, describe_side, describe_split, describe_table
from costframe.comparison.lines import read_lines
from costframe.comparison.records import PriceFacts, Record, SideFacts, TableFacts
from costframe.comparison.sides import FitSettings, Side
from costframe.comparison.splits import Split
from costframe.core.errors import ParameterError
from costframe.datasets import Dataset


def plan_jobs(
    tables: Sequence[Dataset], splits: Mapping[str, Sequence[Split]], sides: Sequence[Side], how: FitSettings
) -> tuple[list[Job], tuple[str, ...]]:
    """Return jobs in the order in which they begin, the first split of all tables first; and sides that do not fit."""
    jobs, left_out = list[Job](), list[str]()
    facts, fitting = dict[str, tuple[TableFacts, PriceFacts]](), dict[str, list[tuple[Side, SideFacts]]]()
    about = {side.name: describe_side(side) for side in sides}
    for data in tables:
        facts[data.name] = describe_table(data), describe_prices(data)
        refusals = {side.name: side.refusal(splits[data.name][0]) for side in sides}
        left_out += [f"{name} does not fit {data.name}: {text}" for name, text in refusals.items() if text is not None]
        fitting[data.name] = [(side, about[side.name]) for side in sides if refusals[side.name] is None]
    for of_repeat in zip(*(splits[data.name] for data in tables), strict=True):
        for split in of_repeat:
            name, at = split.data.name, describe_split(split)
            jobs += [Job.of(side, split, how, *facts[name], at, known) for side, known in fitting[name]]
    return jobs, tuple(sorted(left_out))


def known_records(path: Path | None, jobs: Sequence[Job], *, resume: bool) -> dict[Any, Record]:
    """Return the records of a file that jobs would make again, by key, without those of fits that failed.

    Raises
    ------
    ParameterError
        If there is a file and it is not to be gone on with, or its lines are of other rows, prices, scores or splits.
    """
    if path is None or not path.exists():
        if resume:
            raise ParameterError(f"resume: there are no results in {'a directory' if path is None else path.parent}")
        return {}
    if not resume:
        raise ParameterError(f"directory: {path.parent} has results; resume them, or give another directory")
    records = read_lines(path, repair=True).records
    for record in records:
        _check_alike(record, jobs, path)
    wanted = {job.blank.key for job in jobs}
    return {record.key: record for record in records if record.models and record.key in wanted}


def _check_alike(record: Record, jobs: Sequence[Job], path: Path) -> None:
    """Refuse a record of a job's table that is of something else: it would not be told from those to come."""
    for job in jobs:
        blank = job.blank
        if record.table.name != blank.table.name:
            continue
        other = {
            "rows": record.table.digest != blank.table.digest,
            "prices": record.prices.digest != blank.prices.digest,
            "scores": record.score != blank.score,
            "splits": record.split.repeat == blank.split.repeat and record.split.digest != blank.split.digest,
        }
        if differing := [what for what, differs in other.items() if differs]:
            raise ParameterError(
                f"directory: the lines of {record.table.name} in {path} have other {' and '.join(differing)}; give "
                "another directory"
            )
