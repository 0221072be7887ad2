"""The replay of a log's rows: its lines, read, and how each row differs from what the model says."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from costframe.core.errors import DataError, InquiryError, printable, shown
from costframe.core.predictors.prediction import Prediction
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.digest import prices_digest
from costframe.core.terms.terms import ASKED
from costframe.sources.live_row import LiveRow
from costframe.sources.logs import FORMAT, INFINITE, MISSING
from costframe.sources.rounds import Outcome
from costframe.sources.terms import RowTerms

_TERMS = (*ASKED, "policies")


def read_lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the records of a log with the numbers of their lines; leave out a line that its process cut off."""
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


def read_terms(line: dict[str, Any], model: Predictor, prices: CostModel, where: str) -> RowTerms:
    """Return the terms of the rows below a line, for this model at these prices; `where` names the line."""
    if line["costframe"] != FORMAT or not isinstance(line.get("terms"), dict):
        raise DataError(f"{where}: expected the terms of format {FORMAT}")
    if line.get("prices") != prices_digest(prices):
        raise DataError(f"{where}: the rows were paid at other prices; give those that were in force")
    given = {name: line["terms"].get(name) for name in _TERMS}
    try:
        if isinstance(known := given["known"], dict):
            given["known"] = {
                name: read_known(value, is_label=name in model.categories) for name, value in known.items()
            }
        terms = RowTerms.of(model, prices, **given)
        LiveRow(terms)
    except Exception as error:  # noqa: BLE001 - a log may hold anything
        raise DataError(f"{where}: terms that do not fit the model: {error}") from None
    return terms


def read_known(value: Any, *, is_label: bool) -> Any:
    """Return a known value as it was given: a log has texts in place of numbers that JSON does not have."""
    return float(value) if not is_label and value in (MISSING, *INFINITE.values()) else value


def read_amount(line: dict[str, Any], name: str, where: str) -> float:
    """Return an amount of a line, a finite number; `where` names the line."""
    value = line.get(name)
    with contextlib.suppress(OverflowError):
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    raise DataError(f"{where}: {name}: expected a number, got {shown(value)}")


def compare_row(line: dict[str, Any], terms: RowTerms) -> str | None:
    """Replay one row; return how it differs from the log, or None."""
    row = LiveRow(terms)
    try:
        asked = _replay(line, row)
    except InquiryError as error:
        return _compare_money(line, row) if "error" in line else f"the replay ends with an error: {error}"
    except Exception as error:  # noqa: BLE001 - a log may hold anything
        return f"cannot be replayed: {type(error).__name__}: {printable(str(error))}"
    if asked is not None:
        return asked
    if row.needs:
        return f"the log ends, the model still asks for {sorted(row.needs)}"
    if "error" in line:
        return "the log has an error, the replay an answer"
    return _compare_end(line, row.answer) or _compare_money(line, row)


def _replay(line: dict[str, Any], row: LiveRow) -> str | None:
    """Supply a row with the rounds of the log; return how what was asked differs, or None."""
    late = line.get("late_after")
    for number, logged in enumerate(line["rounds"], 1):
        outcome = _read_outcome(logged)
        asked = outcome.values.keys() | outcome.failed.keys()
        if asked != set(row.needs):
            return f"round {number} asked for {sorted(asked)}, the model asks for {sorted(row.needs)}"
        row.supply(outcome, late=late == number)
    return None


def _read_outcome(record: dict[str, Any]) -> Outcome:
    values = {str(name): math.nan if value is None else float(value) for name, value in record["values"].items()}
    broken, unpaid = (set(record.get(name, ())) for name in ("broken", "unpaid"))
    lost = tuple(map(tuple, record.get("lost", [])))
    return Outcome(values, dict(record.get("failed", {})), lost, broken, unpaid)


def _compare_end(line: dict[str, Any], end: Prediction) -> str | None:
    if not _is_same(end.value, line.get("value")):
        return f"the log's answer is {shown(line.get('value'))}, the model's {shown(np.asarray(end.value).tolist())}"
    if (end.exit, end.reason) != (line.get("exit"), line.get("reason")):
        logged = f"{shown(line.get('exit'))}, {shown(line.get('reason'))}"
        return f"the log ends at {logged}; the model at {end.exit}, {shown(end.reason)}"
    return None


def _is_same(value: Any, logged: Any) -> bool:
    try:
        return np.array_equal(np.asarray(value), np.asarray(logged, dtype=np.float64), equal_nan=True)
    except (TypeError, ValueError, OverflowError):
        return False


def _compare_money(line: dict[str, Any], row: LiveRow) -> str | None:
    for name, money in (("cost", row.cost), ("failed_cost", row.failed_cost)):
        if not math.isclose(line[name], money, rel_tol=1e-12, abs_tol=0.0):
            return f"the log's {name} is {line[name]:.17g}, the model's {money:.17g}"
    return None
