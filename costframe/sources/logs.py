"""Records of live inquiries: logs and their audit, OpenTelemetry's spans of rounds, Prometheus' counters of rows."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from attrs import define, field, frozen

from costframe.core.checks import as_path, check_number, needed
from costframe.core.errors import DataError, InquiryError, ParameterError, format_count, printable, shown
from costframe.core.predictors.fitted import FittedEstimator, as_predictor
from costframe.core.predictors.inquiry import Prediction
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.sources.live_row import LiveRow, RowTerms
from costframe.sources.sources import Sources, Watch
from costframe.sources.trips import Outcome

FORMAT = 1
_FEW = 5  # rows of a part, with fewer of which its mean tells nothing
_MISSING = "NaN"
_TERMS = ("acquisition", "known", "max_cost", "unavailable", "policies")


class InquiryLog:
    """A log of inquiries, one JSON line a row: what was asked, what came, what failed, what was paid, the answer.

    Give it to a driver as `observe`. A line is written when its row ends, and the file can be read at any time.

    Parameters
    ----------
    path : str or path
        Lines are added to a log that is there.
    """

    def __init__(self, path: Any) -> None:
        self._path = as_path(path)
        self._file: FileIO | None = None
        self._terms: RowTerms | None = None
        self._header: dict[str, Any] | None = None

    def __call__(self, key: Any, row: LiveRow, end: Prediction | Exception) -> None:
        """Write one row; where that fails, the next one begins a line of its own, after the terms."""
        header = self._header if row.terms is self._terms else _header(row.terms)
        file = self._open()
        lines = [header] if header != self._header else []
        written = (json.dumps(to_plain(line), allow_nan=False) for line in [*lines, _record(key, row, end)])
        text = "".join(f"{line}\n" for line in written)
        left = memoryview(text.encode())
        try:
            while left:
                left = left[file.write(left) :]
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                error.filename = str(self._path)
            raise
        self._terms, self._header = row.terms, header

    def _open(self) -> FileIO:
        """Return the file, open to add lines; an earlier process may have left a last line that is cut off."""
        if self._file is None:
            self._file, self._terms, self._header = FileIO(self._path, "a"), None, None
            if self._path.is_file() and (size := self._path.stat().st_size):
                with self._path.open("rb") as before:
                    before.seek(size - 1)
                    self._file.write(b"" if before.read() == b"\n" else b"\n")
        return self._file

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        """Open the file, or raise an `OSError`; return the log, which the end of the block closes."""
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_INFINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}  # as `float` reads them


def to_plain(value: Any) -> Any:
    """Return what JSON has in the place of values that it does not have: null of NaN, and texts."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return None if math.isnan(value) else _INFINITE.get(value, value)
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return value if isinstance(value, str | int | None) else str(value)


def _header(terms: RowTerms) -> dict[str, Any]:
    known = terms.known
    if isinstance(known, Mapping):  # here, null is a value that is not at hand, and not one that is missing
        known = {name: _MISSING if value != value else value for name, value in known.items()}  # noqa: PLR0124 - NaN
    plain = {
        "acquisition": terms.acquisition,
        "known": known if isinstance(known, Mapping) else [known] if isinstance(known, str) else list(known),
        "max_cost": terms.max_cost,
        "unavailable": list(terms.unavailable),
        "policies": dict(terms.policies),
    }
    return {"costframe": FORMAT, "prices": _digest(terms.costs), "terms": plain}


def _digest(costs: CostModel) -> str:
    return hashlib.sha256(json.dumps(costs.to_dict(), sort_keys=True).encode()).hexdigest()


def _record(key: Any, row: LiveRow, end: Prediction | Exception) -> dict[str, Any]:
    rounds = [
        {"values": each.values} | {name: kept for name in ("failed", "lost") if (kept := getattr(each, name))}
        for each in row.trail
    ]
    record: dict[str, Any] = {"row": row.number, "key": key, "rounds": rounds}
    if row.late_after is not None:
        record["late_after"] = row.late_after
    record |= {"cost": row.cost, "failed_cost": row.failed_cost}
    if isinstance(end, Prediction):
        return record | {"value": np.asarray(end.value).tolist(), "exit": end.exit, "reason": end.reason}
    return record | {"error": str(end)}


@frozen
class Period:
    """Some rows of a log that follow one another."""

    rows: int
    # mean, error: mean cost of a row, and its standard error
    mean: float
    error: float
    failed: float  # mean price of what was asked for in vain
    without_answer: int


@define
class Audit:
    """What a log's replay found.

    Attributes
    ----------
    rows : int
    paid, failed : float
        Sums of the log.
    differences : list of str
        Rows whose replay asks, pays or answers something else than the log says: at most 20, with their lines.
    different : int
        Number of such rows.
    periods : list of Period
    unit : str
    """

    rows: int
    paid: float
    failed: float
    differences: list[str] = field(factory=list)
    different: int = 0
    periods: list[Period] = field(factory=list)
    unit: str = "unit"

    @property
    def agrees(self) -> bool:
        """Whether what was paid is what the model says, for every row."""
        return self.different == 0

    @property
    def drift(self) -> tuple[float, float]:
        """Mean cost of the last period minus that of the first, and its standard error."""
        first, last = self.periods[0], self.periods[-1]
        return last.mean - first.mean, math.hypot(first.error, last.error)


def audit(path: Any, predictor: Predictor | FittedEstimator, costs: object = None, *, periods: int = 10) -> Audit:
    """Replay a log of inquiries with its model, and compare what was asked, paid and answered, row by row.

    Parameters
    ----------
    path : str or path
        Written by `InquiryLog`.
    predictor : Predictor, or an estimator fitted to one
        The model that was served, by `costframe.certain` if it was.
    costs : CostModel, or anything `CostModel.of` accepts
        The prices that it was served with; None uses the predictor's own.
    periods : int
        Parts of the log, equally long, whose mean costs are compared.

    Raises
    ------
    DataError
        If the file is no such log; the text names the line. A line that was cut off when its process ended is left out.
    """
    check_number("periods", periods, low=1, whole=True)
    file, model = as_path(path), as_predictor(predictor)
    prices = CostModel.of(model.costs if costs is None else costs, model.feature_names)
    found, amounts, terms = Audit(0, 0.0, 0.0, unit=prices.unit), list[tuple[int, int, float, float, bool]](), None
    for number, line in _lines(file):
        where = f"{file}, line {number}"
        if "costframe" in line:
            terms, begun = _terms(line, model, prices, where), number
            continue
        if terms is None:
            raise DataError(f"{where}: expected the terms of the rows first")
        row, cost, failed = (_amount(line, name, where) for name in ("row", "cost", "failed_cost"))
        amounts.append((begun, int(row), cost, failed, "error" in line))
        if difference := _compare(line, terms):
            found.different += 1
            if len(found.differences) < 20:
                found.differences.append(f"line {number}, key {shown(line.get('key'))}: {difference}")
    if not amounts:
        raise DataError(f"{file}: expected rows, got none")
    amounts.sort(key=lambda row: row[:2])  # as the rows began; those that needed least ended first
    table = np.array([row[2:] for row in amounts])
    found.rows, found.paid, found.failed = len(table), math.fsum(table[:, 0]), math.fsum(table[:, 1])
    parts = np.array_split(table, min(periods, len(table)))
    found.periods = [_period(part) for part in parts]
    return found


def _period(part: Any) -> Period:
    with np.errstate(over="ignore"):  # of amounts that somebody altered
        error = float(part[:, 0].std(ddof=1)) / math.sqrt(len(part)) if len(part) > 1 else math.nan
    return Period(len(part), float(part[:, 0].mean()), error, float(part[:, 1].mean()), int(part[:, 2].sum()))


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with file.open(encoding="utf-8") as lines:
            broken: tuple[int, str] | None = None  # cut off as its process ended, if a header or nothing follows
            for number, line in enumerate(lines, 1):
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    broken = broken or (number, line)
                    continue
                if broken and not (isinstance(record, dict) and "costframe" in record):
                    break
                broken = None
                if not isinstance(record, dict):
                    raise DataError(f"{file}, line {number}: expected a record, got {shown(record)}")
                yield number, record
        if broken and broken[1].endswith("\n"):
            raise DataError(f"{file}, line {broken[0]}: expected JSON, got {shown(broken[1].strip())}")
    except UnicodeDecodeError:
        raise DataError(f"{file}: expected a text in UTF-8, got other bytes") from None
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from None


def _terms(line: dict[str, Any], model: Predictor, prices: CostModel, where: str) -> RowTerms:
    if line["costframe"] != FORMAT or not isinstance(line.get("terms"), dict):
        raise DataError(f"{where}: expected the terms of format {FORMAT}")
    if line.get("prices") != _digest(prices):
        raise DataError(f"{where}: the rows were paid at other prices; give those that were in force")
    given = {name: line["terms"].get(name) for name in _TERMS}
    try:
        if isinstance(known := given["known"], dict):
            given["known"] = {name: _read_known(value, name in model.categories) for name, value in known.items()}
        terms = RowTerms(model, prices, **given)
        LiveRow(terms)
    except Exception as error:  # noqa: BLE001 - a log may hold anything
        raise DataError(f"{where}: terms that do not fit the model: {error}") from None
    return terms


def _read_known(value: Any, is_label: bool) -> Any:
    return float(value) if not is_label and value in (_MISSING, *_INFINITE.values()) else value


def _amount(line: dict[str, Any], name: str, where: str) -> float:
    value = line.get(name)
    with contextlib.suppress(OverflowError):
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    raise DataError(f"{where}: {name}: expected a number, got {shown(value)}")


def _compare(line: dict[str, Any], terms: RowTerms) -> str | None:
    """Replay one row; return how it differs from the log, or None."""
    row = LiveRow(terms)
    try:
        asked = _replay(line, row)
    except InquiryError as error:
        return _different_money(line, row) if "error" in line else f"the replay ends with an error: {error}"
    except Exception as error:  # noqa: BLE001 - a log may hold anything
        return f"cannot be replayed: {type(error).__name__}: {printable(str(error))}"
    if asked is not None:
        return asked
    if row.needs:
        return f"the log ends, the model still asks for {sorted(row.needs)}"
    if "error" in line:
        return "the log has an error, the replay an answer"
    return _different_end(line, row.answer) or _different_money(line, row)


def _replay(line: dict[str, Any], row: LiveRow) -> str | None:
    """Supply a row with the rounds of the log; return how what was asked differs, or None."""
    late = line.get("late_after")
    for number, each in enumerate(line["rounds"], 1):
        outcome = _outcome(each)
        asked = outcome.values.keys() | outcome.failed.keys()
        if asked != set(row.needs):
            return f"round {number} asked for {sorted(asked)}, the model asks for {sorted(row.needs)}"
        row.supply(outcome, late=late == number)
    return None


def _different_end(line: dict[str, Any], end: Prediction) -> str | None:
    if not _same(end.value, line.get("value")):
        return f"the log's answer is {shown(line.get('value'))}, the model's {shown(np.asarray(end.value).tolist())}"
    if (end.exit, end.reason) != (line.get("exit"), line.get("reason")):
        logged = f"{shown(line.get('exit'))}, {shown(line.get('reason'))}"
        return f"the log ends at {logged}; the model at {end.exit}, {shown(end.reason)}"
    return None


def _same(value: Any, logged: Any) -> bool:
    try:
        return np.array_equal(np.asarray(value), np.asarray(logged, dtype=np.float64), equal_nan=True)
    except (TypeError, ValueError, OverflowError):
        return False


def _outcome(record: dict[str, Any]) -> Outcome:
    values = {str(name): math.nan if value is None else float(value) for name, value in record["values"].items()}
    return Outcome(values, dict(record.get("failed", {})), tuple(map(tuple, record.get("lost", []))))


def _different_money(line: dict[str, Any], row: LiveRow) -> str | None:
    for name, money in (("cost", row.cost), ("failed_cost", row.failed_cost)):
        if not math.isclose(line[name], money, rel_tol=1e-12, abs_tol=0.0):
            return f"the log's {name} is {line[name]:.17g}, the model's {money:.17g}"
    return None


def describe_audit(found: Audit) -> Iterable[str]:
    """Return lines that tell a person what an audit found."""
    if found.agrees:
        yield f"{format_count(found.rows, 'row')}: every one asked, paid and answered what the model says"
    else:
        yield f"{format_count(found.different, 'row')} of {found.rows:,} differ from what the model says:"
        yield from (f"  {each}" for each in found.differences)
    yield f"paid {found.paid:,.6g} {found.unit}, and {found.failed:,.6g} in vain"
    if len(found.periods) > 1:
        few = min(found.periods[0].rows, found.periods[-1].rows)
        if few < _FEW:
            yield f"mean cost of the last part minus the first: too few rows to tell, {few} in a part"
            return
        moved, error = found.drift
        sure = "which is no more than chance may do" if not abs(moved) > 2 * error else "which chance does not explain"
        yield f"mean cost of the last part minus the first: {moved:+,.4g} +- {error:.2g}, {sure}"


def trace_rounds(tracer_provider: Any = None) -> Watch:
    """Return a `watch` for `Sources` that makes a span of every lookup's part of a round.

    Its name is "costframe.round", its attributes are ``costframe.lookup``, ``costframe.keys`` and ``costframe.failed``,
    the number of keys that did not get all they wanted; its status is an error if there are any. It is a child of the
    caller's span, also in the sync drivers, and a parent of spans that libraries of databases make.

    Parameters
    ----------
    tracer_provider : opentelemetry.trace.TracerProvider, optional
        None uses the global one.
    """
    trace = needed("opentelemetry.trace", "otel")
    if tracer_provider is not None and not callable(getattr(tracer_provider, "get_tracer", None)):
        raise ParameterError(f"tracer_provider: expected one of OpenTelemetry, got {shown(tracer_provider)}")
    tracer = trace.get_tracer("costframe", tracer_provider=tracer_provider)

    @contextmanager
    def watch(lookup: str, keys: int) -> Iterator[Callable[[int], None]]:
        attributes = {"costframe.lookup": lookup, "costframe.keys": keys}
        with tracer.start_as_current_span("costframe.round", attributes=attributes, record_exception=False) as span:

            def end(failed: int) -> None:
                span.set_attribute("costframe.failed", failed)
                if failed:
                    span.set_status(trace.Status(trace.StatusCode.ERROR))

            yield end

    return watch


class PrometheusCounters:
    """Counters of rows that have ended, equal to what the rows report. Give it to drivers as `observe`.

    ======================================= =========== =============================================================
    counter                                 label       counts
    ======================================= =========== =============================================================
    costframe_rows_total                    reason      rows by the reason of their end; "failed" has no answer
    costframe_cost_total                    unit        `cost` of the rows
    costframe_failed_cost_total             unit        `failed_cost` of the rows: what was asked for in vain
    costframe_failures_total                lookup      values that did not come
    costframe_trips_total                   lookup      trips to the source, retries included: `Sources.trips`
    ======================================= =========== =============================================================

    Parameters
    ----------
    sources : Sources
        Those that the rows come from; their trips count from now on.
    namespace : str
        Beginning of the names; two models in one process need two.
    registry : prometheus_client.CollectorRegistry, optional
        None uses the global one.
    """

    def __init__(self, sources: Sources, *, namespace: str = "costframe", registry: Any = None) -> None:
        client = needed("prometheus_client", "prometheus")
        if not callable(getattr(sources, "fetch", None)):
            raise ParameterError(f"sources: expected Sources, got {shown(sources)}")

        def counter(name: str, label: str, text: str) -> Any:
            into = client.REGISTRY if registry is None else registry
            return client.Counter(name, text, [label], namespace=namespace, registry=into)

        self._rows = counter("rows", "reason", "Rows that have ended.")
        self._cost = counter("cost", "unit", "Price of what came.")
        self._failed_cost = counter("failed_cost", "unit", "Price of what was asked for in vain.")
        self._failures = counter("failures", "lookup", "Values that did not come.")
        self._trips = counter("trips", "lookup", "Trips to sources.")
        self._sources, self._seen = sources, sources.trips
        self._lookup_of = {name: lookup for lookup, each in sources.lookups.items() for name in each.features}
        for lookup in sources.lookups:  # zeros, so that rates begin at once
            self._failures.labels(lookup)
            self._trips.labels(lookup)

    def __call__(self, _key: Any, row: LiveRow, end: Prediction | Exception) -> None:
        """Count one row."""
        self._rows.labels(end.reason if isinstance(end, Prediction) else "failed").inc()
        paid, unit = end if isinstance(end, Prediction) else row, row.terms.costs.unit
        self._cost.labels(unit).inc(paid.cost)
        self._failed_cost.labels(unit).inc(paid.failed_cost)
        for feature in paid.failures:
            self._failures.labels(self._lookup_of[feature]).inc()
        seen, self._seen = self._seen, self._sources.trips
        for lookup, made in self._seen.items():
            if made > seen[lookup]:
                self._trips.labels(lookup).inc(made - seen[lookup])
