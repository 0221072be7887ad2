"""Live prediction on the command line: keys of rows, and answers as they come."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import warnings
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np
from attrs import define, field, frozen

from costframe.cli.group import end_interrupted, print_error
from costframe.core.errors import (
    DataError,
    ParameterError,
    UnknownValuesWarning,
    format_count,
    printable,
    quote_names,
    shown,
)

if TYPE_CHECKING:
    from costframe.core.predictors.fitted import FittedEstimator
    from costframe.core.predictors.inquiry import Prediction
    from costframe.core.prices.costs import CostModel
    from costframe.core.tables.unknown_values import Coverage
    from costframe.sources.sources import Sources
    from costframe.sources.summary import SourcesSummary

_DIGITS, _LETTERS = re.compile("[0-9]+"), re.compile("[A-Za-z0-9]")
_CODE = 8  # letters of a code such as 3f2a99cd: as many are rarely the same number in a name and all keys by chance


@define
class Keys:
    """The keys of a run: one column, or several for lookups that name theirs."""

    columns: dict[str, Any]
    note: str
    rows: list[Any] = field(factory=list)

    @classmethod
    def read(cls, path: Path, sources: Sources) -> Keys:
        """Read keys as the file writes them; only a file with types, such as Parquet, has keys that are numbers."""
        from costframe.core.tables.categories import is_missing
        from costframe.core.tables.columns import decode_column
        from costframe.datasets.reading import find_indices
        from costframe.datasets.table_files import TableFile

        file = TableFile.open(path)
        columns = file.read(texts=file.names())
        named = [lookup.key for lookup in sources.lookups.values() if lookup.key is not None]
        indices, notes = find_indices(columns, named)
        columns = {name: column for name, column in columns.items() if name not in indices} or columns
        columns = {name: decode_column(column, f"{path}: column {shown(name)}") for name, column in columns.items()}
        if lacking := [name for name in named if name not in columns]:
            raise DataError(f"{path}: no column {quote_names(lacking)}; it has {quote_names(columns)}")
        values = [[None if is_missing(key) else key for key in column.to_pylist()] for column in columns.values()]
        for name, column in zip(columns, values, strict=True):
            kinds = list | dict | bool if name in (named or columns) else list | dict
            if wrong := [each for each in column if isinstance(each, kinds)]:
                raise DataError(
                    f"{path}: column {shown(name)}: expected keys that are texts or numbers, got {shown(wrong[0])}"
                )
        if not named:
            if len(columns) > 1:
                raise DataError(
                    f"{path}: expected one column of keys, got {quote_names(columns)}; or name each source's in the "
                    "source file, by = NAME"
                )
            _check_header(path, next(iter(columns)), values[0])
        notes = [*([file.note] if file.note else []), *notes]
        notes.append(f"{path.name}: {format_count(len(values[0]), 'key')} under {quote_names(columns)}")
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)] if named else values[0]
        return cls(columns, "; ".join(notes), rows)

    def name(self, row: int) -> Any:
        """Return a hashable name of a row's key."""
        return self.name_of(self.rows[row])

    @staticmethod
    def name_of(key: Any) -> Any:
        """Return a hashable name of a key."""
        return tuple(key.values()) if isinstance(key, dict) else key


def _check_header(path: Path, header: str, keys: list[Any]) -> None:
    """Refuse a first line that is a key rather than the name of the column, as in a file without a header."""
    texts = {key for key in keys if isinstance(key, str)}
    is_alike = _DIGITS.sub("0", header) in {_DIGITS.sub("0", text) for text in texts}
    is_code = len(header) >= _CODE and {_LETTERS.sub("x", text) for text in texts} == {_LETTERS.sub("x", header)}
    if header in texts or (_DIGITS.search(header) and (is_alike or is_code)):
        raise DataError(
            f"{path}: the first line, {shown(header)}, looks like a key; write the name of the column above the keys, "
            "or name it in the source file, by = NAME"
        )


DEGRADED, UNANSWERED = 3, 4  # exit statuses


@frozen(eq=False)
class LiveRun:
    """A run over keys: each row that ends is kept beside the output, which is written when all have ended."""

    fitted: FittedEstimator
    prices: CostModel
    # sources, keys, output: files
    sources: Path
    keys: Path
    output: Path
    model: str  # name of the model's file
    limits: dict[str, Any]  # terms of `predict_stream`
    log: Path | None = None
    cluster: str | None = None  # address of a dask cluster, whose workers read the source file at the same path
    names_acquired: bool = False  # whether a column names the features of each row
    allow_unknown: bool = False  # whether most rows may have labels that the model does not know, or none a value

    @property
    def kept(self) -> Path:
        """The file of rows that have ended."""
        return self.output.with_name(f"{self.output.name}.part")

    def run(self, *, resume: bool, force: bool) -> int:
        """Predict all rows and write the output; return the exit status."""
        from costframe.sources import Sources
        from costframe.sources.summary import SourcesSummary

        self._check_files()
        with Sources.load(self.sources, self.prices) as sources:
            keys = Keys.read(self.keys, sources)
            self._columns(keys, [])  # before anything is paid
            found = self._read_kept(keys, resume=resume, force=force)
            print_error(keys.note)
            left, ended = [i for i in range(len(keys.rows)) if i not in found], SourcesSummary()
            try:
                with self._open_kept(keys, found) as file:
                    for i, record in self._predict(sources, keys, left, ended):
                        found[i] = record
                        file.write(json.dumps({"row": i, **record}, allow_nan=False) + "\n")
                        file.flush()
            except KeyboardInterrupt:
                rows = f"{len(found):,} of {format_count(len(keys.rows), 'row')}"
                end_interrupted(f"interrupted, {rows} are kept in {self.kept}; add --resume to go on")
            except Exception as error:
                if isinstance(error, OSError):  # of a disk; sources raise none here
                    error.filename = error.filename or str(self.kept)
                if not found:
                    self.kept.unlink(missing_ok=True)
                raise
            ended.add(SourcesSummary.of(sources))
        self._write(keys, [found[i] for i in range(len(keys.rows))])
        self.kept.unlink(missing_ok=True)
        return self._close(list(found.values()), ended)

    def _check_files(self) -> None:
        """Refuse to write over what the run reads."""
        taken = {
            Path(self.model).resolve(): "the model",
            self.sources.resolve(): "--source",
            self.keys.resolve(): "--keys",
        }
        for option, path in (("--output", self.output), ("--output", self.kept), ("--log", self.log)):
            if path is not None and (other := taken.setdefault(path.resolve(), option)) is not option:
                raise ParameterError(f"{option} {path}: expected another file than that of {other}")

    def _columns(self, keys: Keys, records: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the columns of the output besides the keys; refuse keys whose columns have their names."""
        from costframe.datasets.table_writing import check_writable

        check_writable(keys.columns, self.output.suffix.lower())
        columns = self._answers(records) | _money(records)
        if self.names_acquired:
            columns["acquired"] = [name_acquired(record["acquired"]) for record in records]
        if twice := [name for name in columns if name in keys.columns]:
            raise ParameterError(f"--keys {quote_names(twice)}: the predictions have a column of this name")
        return columns

    def _predict(
        self, sources: Sources, keys: Keys, left: list[int], told: SourcesSummary
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield rows as they end; add to `told` what the sources of other processes tell."""
        from costframe.sources import InquiryLog, Sources, predict_stream
        from costframe.sources.partitions import stream_parts

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
            if self.cluster is None:
                rows = predict_stream(
                    self.fitted, sources, (keys.rows[i] for i in left), self.prices, observe=observe, **self.limits
                )
            else:
                from costframe.training.cluster.fitting import open_client

                open_until_the_end.enter_context(open_client(self.cluster))
                make, parts = partial(Sources.load, self.sources.resolve(), self.prices), self._partitions(keys, left)
                rows = stream_parts(predict_stream, self.fitted, make, parts, self.prices, told, **self.limits)
            for key, end in open_until_the_end.enter_context(contextlib.closing(rows)):
                yield waiting[keys.name_of(key)].popleft(), self._record(end)
                progress.update(1)

    def _partitions(self, keys: Keys, left: list[int]) -> Any:
        """Return keys as a dask array of blocks of rows that advance together."""
        import dask.array as da

        listed = np.empty(len(left), object)
        listed[:] = [keys.rows[i] for i in left]
        return da.from_array(listed, chunks=self.limits["in_flight"])

    def _record(self, end: Prediction | Exception) -> dict[str, Any]:
        from costframe.core.predictors.inquiry import Prediction
        from costframe.sources.logs import to_plain

        if not isinstance(end, Prediction):
            paid = {name: getattr(end, name, 0.0) for name in ("cost", "failed_cost")}
            return {"value": None, **paid, "rounds": None, "reason": "failed", "error": str(end), "acquired": []}
        value = to_plain(np.asarray(end.value).tolist())
        money = {"cost": end.cost, "failed_cost": end.failed_cost, "rounds": end.rounds}
        degraded = bool(end.failures) or end.reason in {"unavailable", "deadline"}
        ended = {"reason": end.reason, "error": None, "acquired": list(end.acquired)}
        return {"value": value, "label": end.label, **money, **ended} | ({"degraded": True} if degraded else {})

    def _digest(self, keys: Keys) -> str:
        """Return a text that differs between runs whose rows must not be mixed."""
        prices = json.dumps(self.prices.to_dict(), sort_keys=True)
        texts = [each.encode() for each in (repr(keys.rows), repr(self.limits), repr(self.fitted), prices)]
        parts = [Path(self.model).read_bytes(), self.sources.read_bytes(), *texts]
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()

    def _read_kept(self, keys: Keys, *, resume: bool, force: bool) -> dict[int, dict[str, Any]]:
        """Return the rows of an interrupted run."""
        if not self.kept.exists():
            return {}
        if not resume:
            if not force:
                raise ParameterError(f"{self.kept}: holds rows of an interrupted run; add --resume or --force")
            return {}
        records = []
        for line in self.kept.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
            with contextlib.suppress(ValueError):
                if line.endswith("\n"):  # else it was cut off while it was written
                    records.append(json.loads(line))
        if not records or records[0] != {"run": self._digest(keys)}:
            raise ParameterError(
                f"{self.kept}: holds rows of another model, source file, keys or options; remove it, or add --force "
                "without --resume"
            )
        return {record.pop("row"): record for record in records[1:]}

    @contextlib.contextmanager
    def _open_kept(self, keys: Keys, found: dict[int, dict[str, Any]]) -> Iterator[IO[str]]:
        """Open the file of kept rows anew, with those found."""
        from costframe.core.files import write_atomically

        lines = [{"run": self._digest(keys)}, *({"row": i, **record} for i, record in found.items())]
        if self.kept.exists():
            with self.kept.open("rb") as before:
                self._lock(before)
        write_atomically(self.kept, "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines).encode())
        with self.kept.open("a", encoding="utf-8") as file:
            self._lock(file)
            yield file

    def _lock(self, file: IO[Any]) -> None:
        """Keep a second run out, which would pay for the same rows again; the lock ends with the process at last."""
        if sys.platform == "win32":
            return
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ParameterError(f"{self.kept}: another run writes it; wait, or give another --output") from None
        except OSError:  # a file system without locks
            return
        if os.fstat(file.fileno()).st_ino != self.kept.stat().st_ino:
            raise ParameterError(f"{self.kept}: another run began it at the same time")

    def _write(self, keys: Keys, records: list[dict[str, Any]]) -> None:
        from costframe.core.files import open_atomically
        from costframe.datasets.table_writing import table_writer

        columns = keys.columns | self._columns(keys, records)
        with open_atomically(self.output) as sink, table_writer(sink, self.output.suffix.lower()) as write:
            write(columns)

    def _answers(self, records: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the columns of predictions; None where a row has no answer."""
        from costframe.core.predictors.classes import both_classes

        there = [i for i, record in enumerate(records) if record["error"] is None]

        def spread(values: Any) -> list[Any]:
            column: list[Any] = [None] * len(records)
            for i, value in zip(there, np.asarray(values).tolist(), strict=True):
                column[i] = value
            return column

        values = np.array([records[i]["value"] for i in there], dtype=np.float64)  # null is NaN
        if self.fitted.kind != "classifier":
            if values.ndim <= 1:
                return {"prediction": spread(values)}
            return {f"prediction_{k}": spread(each) for k, each in enumerate(values.T)}
        classes = self.fitted.classes_
        values = values if there else np.empty((0, len(classes)))
        named = zip(classes.tolist(), both_classes(values).T, strict=True)
        labels = [record.get("label") for record in records]
        return {"prediction": labels} | {f"probability_{label}": spread(p) for label, p in named}

    def _close(self, records: list[dict[str, Any]], ended: SourcesSummary) -> int:
        """Print what the run paid, and how it ended."""
        unit, count = printable(self.prices.unit), max(1, len(records))
        paid, vain = (sum(record[name] for record in records) for name in ("cost", "failed_cost"))
        verb = "costs" if len(records) == 1 else "cost"
        click.echo(f"{format_count(len(records), 'row')} {verb} {paid / count:,.6g} {unit} per row on average")
        if vain:
            click.echo(f"  and {vain / count:,.6g} {unit} were asked for in vain")
        degraded, errors = sum("degraded" in each for each in records), [each["error"] for each in records]
        if degraded:
            click.echo(f"  {format_count(degraded, 'row')} had to do without some values")
        if late := sum(each["reason"] == "deadline" for each in records):
            together = "" if (size := self.limits["in_flight"]) == 1 else f", which up to {size:,} share (--in-flight)"
            click.echo(
                f"  {format_count(late, 'row')} ended at the deadline of {self.limits['deadline']:,.6g} s{together}"
            )
        failed = Counter(error for error in errors if error is not None)
        for error, times in failed.most_common(3):
            click.echo(f"  {format_count(times, 'row')} without an answer: {printable(error)}")
        click.echo(f"wrote {printable(str(self.output))}")
        for name in (name for name, found_none in ended.without_keys.items() if found_none):
            print_error(f"{self.sources}: {shown(name)} has a row for none of the keys it was asked for")
        is_in_vain = any(each["rounds"] for each in records) and not any(each["acquired"] for each in records)
        if is_in_vain and not failed:
            why = "; ".join(f"{shown(name)}: {text}" for name, text in ended.failures.items())
            print_error(f"{self.sources}: no row got any value" + (f"; the last failure of {why}" if why else ""))
        is_odd = self._tell_unknown(ended.coverage) and not is_in_vain
        without = ended.without_keys
        if failed or is_in_vain or (is_odd and not self.allow_unknown) or (without and all(without.values())):
            return UNANSWERED
        return DEGRADED if degraded else 0

    def _tell_unknown(self, coverage: dict[str, Coverage]) -> bool:
        """Print what rows lacked of features; return whether most lacked what the model knows of one."""
        categories = self.fitted.predictor_.categories
        for name, each in coverage.items():
            if (text := each.describe(self.model, categories.get(name))) is not None:
                is_status = each.is_odd and not self.allow_unknown
                way_out = "; --allow-unknown ends such a run with status 0" if is_status else ""
                print_error(f"{self.sources}: feature {shown(name)}: {text}{way_out}")
        return any(each.is_odd for each in coverage.values())


def name_acquired(names: Iterable[str]) -> str:
    """Return the text of a row's features in a table of answers."""
    return "; ".join(names)


def _money(records: list[dict[str, Any]]) -> dict[str, Any]:
    import pyarrow as pa

    kinds = {"cost": pa.float64(), "failed_cost": pa.float64(), "rounds": pa.int64(), "reason": pa.string()}
    kinds["error"] = pa.string()
    return {name: pa.array([record[name] for record in records], kind) for name, kind in kinds.items()}
