"""Answers of live rows: a record of each, which a file keeps, and the columns of all records."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.prediction import Prediction
from costframe.core.prices.exact_prices import exact, rounded_up
from costframe.core.prices.limits import REASONS, UNAVAILABLE
from costframe.core.strict_json import as_json
from costframe.core.terms.classes import both_classes
from costframe.sources.logs import INFINITE

_MONEY = {
    "cost": pa.float64(), "failed_cost": pa.float64(), "rounds": pa.int64(), "reason": pa.string(), "error": pa.string()
}  # fmt: skip


def record_of(end: Prediction | Exception) -> dict[str, Any]:
    """Return the record of a row that ended with an answer or an error, to be written as JSON.

    What its sources were really paid is in it where any of them says so.
    """
    paid = {} if (amount := getattr(end, "paid", None)) is None else {"paid": amount}
    if not isinstance(end, Prediction):
        bill = {name: getattr(end, name, 0.0) for name in ("cost", "failed_cost")} | paid
        return {"value": None, **bill, "rounds": None, "reason": "failed", "error": str(end), "acquired": []}
    value = as_json(np.asarray(end.value).tolist(), INFINITE)
    money = {"cost": end.cost, "failed_cost": end.failed_cost, **paid, "rounds": end.rounds}
    degraded = bool(end.failures) or end.reason in {REASONS[UNAVAILABLE], "deadline"}
    ended = {"reason": end.reason, "error": None, "acquired": list(end.acquired)}
    return {"value": value, "label": end.label, **money, **ended} | ({"degraded": True} if degraded else {})


def sum_paid(records: Iterable[dict[str, Any]]) -> float:
    """Return what sources were really paid for all records together, rounded up once."""
    amounts = [record["paid"] for record in records if "paid" in record]
    return rounded_up(*sum(map(exact, amounts), Fraction(0)).as_integer_ratio())


def tabulate_records(
    fitted: FittedEstimator, records: list[dict[str, Any]], *, names_acquired: bool, names_paid: bool
) -> dict[str, Any]:
    """Return the columns of records: predictions and costs; what was paid and acquired for each row if asked for."""
    columns = _predictions(fitted, records)
    columns |= {name: pa.array([record[name] for record in records], kind) for name, kind in _MONEY.items()}
    if names_paid:
        columns["paid"] = pa.array([record.get("paid", 0.0) for record in records], pa.float64())
    if names_acquired:
        columns["acquired"] = [name_acquired(record["acquired"]) for record in records]
    return columns


def name_acquired(names: Iterable[str]) -> str:
    """Return the text of a row's features in a table of answers."""
    return "; ".join(names)


def _predictions(fitted: FittedEstimator, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns of predictions; None where a row has no answer."""
    answered = [i for i, record in enumerate(records) if record["error"] is None]

    def spread(values: Any) -> list[Any]:
        column: list[Any] = [None] * len(records)
        for i, value in zip(answered, np.asarray(values).tolist(), strict=True):
            column[i] = value
        return column

    values = np.array([records[i]["value"] for i in answered], dtype=np.float64)  # null is NaN
    if fitted.kind != "classifier":
        if values.ndim <= 1:
            return {"prediction": spread(values)}
        return {f"prediction_{k}": spread(output) for k, output in enumerate(values.T)}
    classes = fitted.classes_
    values = values if answered else np.empty((0, len(classes)))
    probabilities = zip(classes.tolist(), both_classes(values).T, strict=True)
    labels = [record.get("label") for record in records]
    return {"prediction": labels} | {f"probability_{label}": spread(p) for label, p in probabilities}
