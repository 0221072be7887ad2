"""What `costframe compare` does over several tables, or repeated splits of one: a comparison, in one command."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from attrs import evolve
from rich.console import Group

from costframe.cli.compare_options import FitOptions, SplitOptions
from costframe.cli.compared import FILES, print_comparison, sheet_table
from costframe.cli.exits import end_interrupted, name_written_files
from costframe.cli.fit_checks import check_fit
from costframe.cli.given_data import DEFAULT_DATA, is_file, open_data
from costframe.cli.listings import print_broken_plugins
from costframe.cli.outputs import check_apart, check_directory, check_overwrite
from costframe.cli.outsiders import read_outsiders
from costframe.cli.reading import ReadingOptions
from costframe.cli.screen import Screen
from costframe.comparison.comparison import Comparison
from costframe.comparison.files import write_files
from costframe.comparison.lines import RESULTS
from costframe.comparison.sheets import over_tables, score_sheet
from costframe.comparison.tables import find_in_folder, name_apart
from costframe.core.errors import ParameterError
from costframe.datasets import Dataset
from costframe.study.run_folder import hold_alone
from costframe.training.console import Output
from costframe.training.console import output as make_console

REPEATS = 10
TO_END = 0.05, 6.0  # share of a time limit, and seconds, for the last tables and pictures


def compare_tables(data: tuple[str, ...], reading: ReadingOptions, fits: FitOptions, splits: SplitOptions) -> None:
    """Compare algorithms and outsiders on the same splits of tables, write the results, and print them."""
    began, output, time_limit = time.monotonic(), fits.output or Path("comparison"), fits.time_limit
    outsiders = read_outsiders(splits.outsiders)
    check_fit(fits.algorithms, reading.task, fits.score)
    for name in data:
        check_apart({"--output": [output / name for name in FILES]}, {"DATA": name, "--costs": reading.costs})
    check_directory(output, FILES)
    click.get_current_context().with_resource(hold_alone(output))
    _check_room(output, resume=fits.resume, force=fits.force)
    tables = _open_all(data or (DEFAULT_DATA,), reading)
    print_broken_plugins()
    console = make_console()
    if fits.force:
        (output / RESULTS).unlink(missing_ok=True)
    ends = math.inf if time_limit is None else began + time_limit
    screen = Screen(
        lambda found: ", ".join(map(str, write_files(found, output))),
        lambda found: _small(found, console),
        ends,
        identify=lambda found: len(found.records),
        is_lasting=lambda _found: True,
    )
    found = _compare(
        screen,
        tables=tables,
        algorithms=[*([None] if fits.algorithms is None else fits.algorithms), *outsiders],
        repeats=splits.repeats or REPEATS,
        reference=splits.reference,
        score=fits.score,
        seed=reading.seed or 0,
        points=fits.points,
        cv=fits.cv,
        cluster=fits.cluster,
        directory=output,
        resume=fits.resume,
        time_limit=None if time_limit is None else time_to_fit(time_limit, began),
        **({} if splits.levels is None else {"levels": splits.levels}),
    )
    written = screen.keep(found)
    with name_written_files(written):
        print_comparison(console, found)
        lines = output / RESULTS
        console.print(f"\nwrote {written}, and {lines}", markup=False, soft_wrap=not console.is_terminal)
        console.finish()
    if screen.interrupted:
        end_interrupted(f"interrupted; the lines of all finished fits are in {lines}, --resume goes on")


def _compare(screen: Screen, **arguments: Any) -> Comparison:
    """Return the comparison of all fits, or after an interrupt of those that ended."""
    try:
        with screen.showing():
            return Comparison.run(**arguments, n_jobs=None, progress=screen.progress, interim=screen.interim)
    except KeyboardInterrupt:
        if screen.so_far is None:
            raise
        screen.interrupted = True
        return screen.so_far()  # type: ignore[no-any-return]


def _small(found: Comparison, console: Output) -> Group:
    """Return what the screen shows of a comparison so far: differences over tables, or the scores of one."""
    sheets = list(over_tables(found))[:1] or [score_sheet(found.standings[0])]
    return Group(*(sheet_table(sheet, width=console.width) for sheet in sheets))


def _open_all(given: Sequence[str], reading: ReadingOptions) -> list[Dataset]:
    """Return the data sets of all DATA; files and folders of one name are named apart."""
    opened = [open_for_comparison(name, reading) for name in given]
    return name_apart(opened, [Path(name) if is_file(name) else None for name in given])


def open_for_comparison(name: str, reading: ReadingOptions) -> Dataset:
    """Return the data set of DATA, whose folder may have its prices; its rows are split later."""
    reading = evolve(reading, seed=None)
    file, prices = find_in_folder(Path(name))
    if prices is not None:
        beside = str(prices) if reading.costs is None else reading.costs
        return evolve(open_data(str(file), evolve(reading, costs=beside)), name=Path(name).name)
    if is_file(name):
        return open_data(name, reading)
    return open_data(name, ReadingOptions(costs=reading.costs, records=reading.records))


def _check_room(output: Path, *, resume: bool, force: bool) -> None:
    """Refuse a directory with results, unless the command is to resume or to replace them."""
    if resume:
        if not (output / RESULTS).exists():
            raise ParameterError(f"--resume: there are no results in {output}")
        return
    goes_on = "--resume goes on with its fits, " if (output / RESULTS).exists() else ""
    check_overwrite([output / name for name in FILES], force=force, instead=f"{goes_on}choose another place")


def time_to_fit(limit: float, began: float) -> float:
    """Return the seconds for fits: without those since the command began, and those for the last tables and files."""
    share, most = TO_END
    return max(limit - (time.monotonic() - began) - max(share * limit, min(most, 0.4 * limit)), 0.01)
