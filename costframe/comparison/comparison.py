"""Comparisons of algorithms, and of outsiders, over tables and repeated splits: fitted, or read from lines."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from attrs import evolve, field, frozen

from costframe.comparison.compared import Compared, check_reference
from costframe.comparison.figures import ComparisonDisplay
from costframe.comparison.files import write_files
from costframe.comparison.levels import LEVELS, check_levels
from costframe.comparison.lines import RESULTS, append_record, read_lines
from costframe.comparison.planning import known_records, plan_jobs
from costframe.comparison.records import Record
from costframe.comparison.runs import run_jobs
from costframe.comparison.sides import FitSettings, sides_of
from costframe.comparison.splits import split_repeatedly
from costframe.comparison.tables import open_tables
from costframe.core.checks import as_items, as_path, check_functions, check_number
from costframe.core.errors import ParameterError, format_count, quote_names, shown
from costframe.core.machine import thread_count
from costframe.study.failures import UnfinishedError
from costframe.study.progress import Progress
from costframe.study.run_folder import hold_alone
from costframe.study.settings import StudyPlan, check_run_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@frozen(eq=False, repr=False)
class Comparison(Compared):
    """Sides on the same splits of the same tables: each chooses by its own estimates, and is scored on test rows.

    A side is an algorithm, an estimator, or an outsider. At each level of cost, a share of the cost of all features, it
    is the model of the best estimated score, or the least bill, whose estimated cost is within; the constant is a model
    of each side. Figures do not depend on the order of tables, sides, splits or processes.

    Attributes
    ----------
    records : tuple of Record
        One for each table, split and side, as lines of results have them.
    levels : tuple of float
        Shares of the cost of all features, ascending.
    reference : str
        Label of the side that differences are to.
    notes : tuple of str
        Remarks on what was left out or kept apart.
    standings : tuple of Standing
        One for each table: the values of all sides on all splits at all levels.
    """

    records: tuple[Record, ...]
    levels: tuple[float, ...] = field(default=LEVELS, converter=check_levels)
    _reference: str | None = None
    remarks: tuple[str, ...] = field(default=(), kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not any(record.models for record in self.records):
            failed = "; ".join(sorted({f"{one.side.name} on {one.table.name}: {one.error}" for one in self.records}))
            what = f"nothing could be fitted: {failed}" if failed else "records: expected at least one, got none"
            raise ParameterError(what)
        self.reference  # noqa: B018 - refuses an unknown one

    @classmethod
    def run(
        cls,
        tables: Any,
        algorithms: Any = None,
        *,
        repeats: int = 10,
        reference: str | None = None,
        score: Any = None,
        seed: int = 0,
        levels: Sequence[float] = LEVELS,
        points: int | None = None,
        cv: int | None = None,
        target: str | None = None,
        costs: object = None,
        progress: Progress | None = None,
        n_jobs: int | None = None,
        cluster: Any = None,
        directory: str | os.PathLike[str] | None = None,
        resume: bool = False,
        time_limit: float | None = None,
        interim: Callable[[Callable[[], Any]], None] | None = None,
    ) -> Self:
        """Fit sides on repeated splits of tables.

        Parameters
        ----------
        tables : list of data sets, names, or paths; a mapping of names to these; or one
            A `Dataset`, the name of one, a file that `datasets.read_table` reads, or a folder: of Parquet files, or of
            one table beside its prices, `costs.toml` or `costs.json`. Files of one name are named with their folders.
        algorithms : list of names, estimators and outsiders; a mapping of names to these; or one, optional
            An estimator of costframe is fitted at many tradeoffs or along its path; one of another library is fitted
            once, and adopted; an `Outsider` is anybody's policy. By default the usual algorithms of the tables' tasks;
            "all" are all but baselines.
        repeats : int
            Number of splits of each table. The first is the table's own, if its rows come in parts; others are drawn by
            seed, in parts of the same sizes (else 60/20/20), with equal shares of classes, groups and queries together.
        reference : str, optional
            Name of the side that differences are to; by default the first by the alphabet.
        score : str or callable, optional
            As `score` of `Frontier.sweep`; all tables must have it. By default each has that of its task, or where
            prices have errors the bill.
        seed : int
            Split r is drawn by seed + r.
        levels : sequence of float
            Shares of the cost of all features at which sides are compared.
        points, cv : int, optional
            As for `Frontier.sweep`: number of models of a side, and of folds for its estimates.
        target : str, optional
            Column to predict, of tables that are files.
        costs : path, or anything `CostModel.of` accepts, optional
            Prices of all tables, in place of those beside them.
        progress : callable, optional
            As for `Frontier.sweep`.
        n_jobs : int or None
            Processes that fit side by side. None takes one for each core if all sides are algorithms of plugins, and
            tables small, else fits in this process.
        cluster : dask.distributed.Client or str, optional
            As for `Frontier.sweep`: each fit is a task for one of its workers.
        directory : path, optional
            Folder for `results.jsonl`, to which the line of each fit is appended as soon as it ends.
        resume : bool
            Whether to go on from the lines in `directory`, and fit only what these do not have. Fits that failed are
            tried again.
        time_limit : float, optional
            Seconds after which it ends with the fits that have ended; it needs a directory. A fit in this process ends
            when it next reports progress, one of another process at once.
        interim : callable, optional
            Called when a further fit has ended, with a function that returns the comparison so far.

        Raises
        ------
        CostframeError
            If an argument is wrong, before anything is fitted; or if no side could be fitted, or in time.
        """
        check_number("repeats", repeats, low=1, whole=True)
        check_number("seed", seed, whole=True, low=0)
        StudyPlan(points=points)  # refuses what is no number
        if cv is not None and cv != 0:
            check_number("cv", cv, low=3, whole=True)
        check_run_options(directory, time_limit, resume=resume)
        check_functions(progress=progress, interim=interim)
        thread_count(n_jobs)
        levels = check_levels(levels)
        opened = open_tables(tables, target=target, costs=costs)
        splits = {data.name: split_repeatedly(data, repeats, seed, score) for data in opened}
        sides = sides_of(algorithms, splits)
        check_reference(reference, [side.name for side in sides])
        jobs, left_out = plan_jobs(opened, splits, sides, FitSettings(points, cv))
        path = None if directory is None else as_path(directory, "directory") / RESULTS
        with contextlib.ExitStack() as stack:
            if path is not None:
                stack.enter_context(hold_alone(path.parent))
            done = known_records(path, jobs, resume=resume)
            wanted = [job for job in jobs if job.blank.key not in done]

            def keep(record: Record) -> None:
                if path is not None:
                    append_record(path, record)
                done[record.key] = record
                if interim is not None and any(one.models for one in done.values()):
                    interim(lambda: cls._so_far(done.values(), levels, reference, left_out))

            in_time = run_jobs(
                wanted, keep, n_jobs=n_jobs, cluster=cluster, time_limit=time_limit, progress=progress
            )  # fmt: skip
        if not done:
            raise UnfinishedError("time_limit: time was up before the first fit ended; give more time, or fewer points")
        late = () if in_time else (f"time was up after {len(done)} of {format_count(len(jobs), 'fit')}",)
        return cls._so_far(done.values(), levels, reference, (*left_out, *late))

    @classmethod
    def _so_far(
        cls, records: Iterable[Record], levels: tuple[float, ...], reference: str | None, remarks: tuple[str, ...]
    ) -> Self:
        """Return the comparison of records, to another reference while that has no models."""
        known = tuple(sorted(records, key=lambda record: record.order))
        if reference is not None and not any(one.models and one.side.name == reference for one in known):
            lacking = cls(known, levels, remarks=remarks)
            return evolve(lacking, remarks=(*remarks, f"{reference} has no results, differences are to another side"))
        return cls(known, levels, reference, remarks=remarks)

    @classmethod
    def load(
        cls,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        reference: str | None = None,
        levels: Sequence[float] = LEVELS,
    ) -> Self:
        """Read lines of results, of one run or of anybody's: files, or directories of `run`.

        Equal lines count once. Sides are compared where table, prices, score and splits are the same, by digests; what
        differs under one name is kept apart, and `notes` say so.

        Raises
        ------
        StorageError
            If a file cannot be read.
        ParameterError
            If a line is damaged, but for the end of a last one that was cut off.
        """
        given = [files] if isinstance(files, str | os.PathLike) else as_items(files, ordered=False)
        if not given:
            raise ParameterError(f"files: expected paths, at least one, got {shown(files)}")
        records, notes = list[Record](), list[str]()
        for one in given:
            path = as_path(one, "files")
            path = path / RESULTS if path.is_dir() else path
            found = read_lines(path)
            records.extend(found.records)
            notes += [f"{path}: its last line was cut off, and is left out"] if found.is_cut else []
        if not records:
            raise ParameterError(f"files: expected lines of results, got none in {quote_names(map(str, given))}")
        return cls(tuple(records), check_levels(levels), reference, remarks=tuple(notes))

    def write(self, directory: str | os.PathLike[str], *, title: str = "Comparison") -> list[Path]:
        """Write all files into a directory, whole or not at all, and return their paths.

        These are `report.html`, a page; for each table a picture, `table-NAME.svg` and `.png`; over several tables
        `differences-points.svg` and `.png`; `levels.csv`, with each model that a side chose on a split;
        `summary.csv` and `summary.jsonl`, means, differences and ranks; and all tables as `tables.tex`, for a document
        with the package booktabs, and as `tables.md`. `results.jsonl`, the lines, stays as it is; pictures of tables
        that an earlier comparison had there, and this one has not, go.
        """
        return write_files(self, as_path(directory, "directory"), title)

    def plot(self, table: str | None = None, ax: Axes | None = None, **options: Any) -> Any:
        """Draw a table, by its label, or the only one: a line and a band a side; return a `ComparisonDisplay`."""
        if table is None and len(self.standings) > 1:
            raise ParameterError(f"table: expected one of {quote_names(self.tables)}")
        standing = self.standings[0] if table is None else self.standing(table)
        return ComparisonDisplay(standing, self.sides, **options).plot(ax)
