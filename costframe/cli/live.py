"""Live prediction on the command line: rows by their keys, and answers as they come."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import warnings
from collections import Counter, deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from attrs import frozen

from costframe.cli.exits import end_interrupted, print_error
from costframe.cli.given_model import PricedModel
from costframe.cli.kept_rows import KeptRows
from costframe.cli.live_answers import record_of, sum_paid, tabulate_records
from costframe.cli.live_keys import Keys
from costframe.core.errors import ParameterError, UnknownValuesWarning, format_count, printable, quote_names, shown
from costframe.core.files import open_atomically
from costframe.core.tables.unknown_values import Coverage
from costframe.datasets.table_writing import check_writable, table_writer
from costframe.sources import InquiryLog, Sources, predict_stream
from costframe.sources.partitions import stream_parts
from costframe.sources.summary import SourcesSummary
from costframe.training.cluster.fitting import open_client

DEGRADED, UNANSWERED = 3, 4  # exit statuses


@frozen(eq=False)
class LiveRun:
    """A run over keys: each row that ends is kept beside the output, which is written when all have ended."""

    model: PricedModel
    # sources, keys, output: files
    sources: Path
    keys: Path
    output: Path
    limits: dict[str, Any]  # terms of `predict_stream`
    log: Path | None = None
    cluster: str | None = None  # address of a dask cluster, whose workers read the source file at the same path
    names_acquired: bool = False  # whether a column names the features of each row
    allow_unknown: bool = False  # whether most rows may have labels that the model does not know, or none a value

    @property
    def unfinished(self) -> Path:
        """The file of rows that have ended."""
        return self.output.with_name(f"{self.output.name}.part")

    def run(self, *, resume: bool, force: bool) -> int:
        """Predict all rows and write the output; return the exit status."""
        self._check_files()
        with Sources.load(self.sources, self.model.prices) as sources:
            keys = Keys.read(self.keys, sources)
            is_paid = bool(sources.paid)  # whether any says what it is paid
            self._columns(keys, [], names_paid=is_paid)  # before anything is paid
            ended_rows = KeptRows(self.unfinished, self._digest(keys))
            records = ended_rows.read(resume=resume, force=force)
            print_error(keys.note)
            left, ended = [i for i in range(len(keys.rows)) if i not in records], SourcesSummary()
            try:
                with ended_rows.open(records) as file:
                    for i, record in self._predict(sources, keys, left, ended):
                        records[i] = record
                        ended_rows.add(file, i, record)
            except KeyboardInterrupt:
                rows = f"{len(records):,} of {format_count(len(keys.rows), 'row')}"
                end_interrupted(f"interrupted, {rows} are kept in {self.unfinished}; add --resume to go on")
            except Exception as error:
                if isinstance(error, OSError):  # of a disk; sources raise none here
                    error.filename = error.filename or str(self.unfinished)
                if not records:
                    self.unfinished.unlink(missing_ok=True)
                raise
            ended.add(SourcesSummary.of(sources))
        self._write(keys, [records[i] for i in range(len(keys.rows))], names_paid=is_paid)
        self.unfinished.unlink(missing_ok=True)
        return self._close(list(records.values()), ended, names_paid=is_paid)

    def _check_files(self) -> None:
        """Refuse to write over what the run reads."""
        taken = {
            Path(self.model.path).resolve(): "the model",
            self.sources.resolve(): "--source",
            self.keys.resolve(): "--keys",
        }
        for option, path in (("--output", self.output), ("--output", self.unfinished), ("--log", self.log)):
            if path is not None and (other := taken.setdefault(path.resolve(), option)) is not option:
                raise ParameterError(f"{option} {path}: expected another file than that of {other}")

    def _columns(self, keys: Keys, records: list[dict[str, Any]], *, names_paid: bool) -> dict[str, Any]:
        """Return the columns of the output besides the keys; refuse keys whose columns have their names."""
        check_writable(keys.columns, self.output.suffix.lower())
        names = {"names_acquired": self.names_acquired, "names_paid": names_paid}
        columns = tabulate_records(self.model.fitted, records, **names)
        if twice := [name for name in columns if name in keys.columns]:
            raise ParameterError(f"--keys {quote_names(twice)}: the predictions have a column of this name")
        return columns

    def _predict(
        self, sources: Sources, keys: Keys, left: list[int], ended: SourcesSummary
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield rows as they end; add to `ended` what the sources of other processes report."""
        waiting: dict[Any, deque[int]] = {}
        for i in left:
            waiting.setdefault(keys.name(i), deque()).append(i)
        with contextlib.ExitStack() as open_until_the_end:
            observe = open_until_the_end.enter_context(InquiryLog(self.log)) if self.log else None
            hidden = sys.stderr is None or not sys.stderr.isatty()  # it would print its label there
            bar = click.progressbar(length=len(left), label="rows", file=sys.stderr, hidden=hidden)
            progress = open_until_the_end.enter_context(bar)
            open_until_the_end.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", UnknownValuesWarning)  # the end tells of these
            rows: Any
            fitted, prices = self.model.fitted, self.model.prices
            if self.cluster is None:
                asked = (keys.rows[i] for i in left)
                rows = predict_stream(fitted, sources, asked, prices, observe=observe, **self.limits)
            else:
                open_until_the_end.enter_context(open_client(self.cluster))
                make, parts = partial(Sources.load, self.sources.resolve(), prices), self._partitions(keys, left)
                rows = stream_parts(predict_stream, fitted, make, parts, prices, ended, **self.limits)
            for key, end in open_until_the_end.enter_context(contextlib.closing(rows)):
                yield waiting[keys.name_of(key)].popleft(), record_of(end)
                progress.update(1)

    def _partitions(self, keys: Keys, left: list[int]) -> Any:
        """Return keys as a dask array of blocks of rows that advance together."""
        import dask.array as da

        listed = np.empty(len(left), object)
        listed[:] = [keys.rows[i] for i in left]
        return da.from_array(listed, chunks=self.limits["in_flight"])

    def _digest(self, keys: Keys) -> str:
        """Return a text that differs between runs whose rows must not be mixed."""
        prices = json.dumps(self.model.prices.to_dict(), sort_keys=True)
        texts = [text.encode() for text in (repr(keys.rows), repr(self.limits), repr(self.model.fitted), prices)]
        parts = [Path(self.model.path).read_bytes(), self.sources.read_bytes(), *texts]
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()

    def _write(self, keys: Keys, records: list[dict[str, Any]], *, names_paid: bool) -> None:
        columns = keys.columns | self._columns(keys, records, names_paid=names_paid)
        with open_atomically(self.output) as sink, table_writer(sink, self.output.suffix.lower()) as write:
            write(columns)

    def _close(self, records: list[dict[str, Any]], ended: SourcesSummary, *, names_paid: bool) -> int:
        """Print what the run paid, and how it ended; return the exit status."""
        errors = [record["error"] for record in records if record["error"] is not None]
        degraded = sum("degraded" in record for record in records)
        self._print_records(records, degraded, errors, names_paid=names_paid)
        without_keys = ended.without_keys
        for name in (name for name, has_no_row in without_keys.items() if has_no_row):
            print_error(f"{self.sources}: {shown(name)} has a row for none of the keys it was asked for")
        asked, got = (any(record[name] for record in records) for name in ("rounds", "acquired"))
        is_in_vain = asked and not got
        if is_in_vain and not errors:
            why = "; ".join(f"{shown(name)}: {text}" for name, text in ended.failures.items())
            print_error(f"{self.sources}: no row got any value" + (f"; the last failure of {why}" if why else ""))
        is_odd = self._print_unknown(ended.coverage) and not is_in_vain
        has_no_key = bool(without_keys) and all(without_keys.values())
        if errors or is_in_vain or (is_odd and not self.allow_unknown) or has_no_key:
            return UNANSWERED
        return DEGRADED if degraded else 0

    def _print_records(
        self, records: list[dict[str, Any]], degraded: int, errors: list[str], *, names_paid: bool
    ) -> None:
        """Print the bill of rows, and how many lacked values or ended late or without an answer."""
        unit, count = printable(self.model.prices.unit), max(1, len(records))
        paid, vain = (sum(record[name] for record in records) for name in ("cost", "failed_cost"))
        verb = "costs" if len(records) == 1 else "cost"
        click.echo(f"{format_count(len(records), 'row')} {verb} {paid / count:,.6g} {unit} per row on average")
        if names_paid:
            really = sum_paid(records)
            click.echo(f"  sources were really paid {really:,.6g} {unit}, {really / count:,.6g} per row")
        if vain:
            click.echo(f"  and {vain / count:,.6g} {unit} were asked for in vain")
        if degraded:
            click.echo(f"  {format_count(degraded, 'row')} had to do without some values")
        if late := sum(record["reason"] == "deadline" for record in records):
            together = "" if (size := self.limits["in_flight"]) == 1 else f", which up to {size:,} share (--in-flight)"
            click.echo(
                f"  {format_count(late, 'row')} ended at the deadline of {self.limits['deadline']:,.6g} s{together}"
            )
        for error, times in Counter(errors).most_common(3):
            click.echo(f"  {format_count(times, 'row')} without an answer: {printable(error)}")
        click.echo(f"wrote {printable(str(self.output))}")

    def _print_unknown(self, coverage: dict[str, Coverage]) -> bool:
        """Print what rows lacked of features; return whether most lacked what the model knows of one."""
        categories = self.model.predictor.categories
        for name, values in coverage.items():
            if (text := values.describe(self.model.path, categories.get(name))) is not None:
                is_status = values.is_odd and not self.allow_unknown
                way_out = "; --allow-unknown ends such a run with status 0" if is_status else ""
                print_error(f"{self.sources}: feature {shown(name)}: {text}{way_out}")
        return any(values.is_odd for values in coverage.values())
