"""The law of labels: a row has the same one in every answer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from costframe.core.arrays import F8, I8
from costframe.core.errors import CostframeError, StorageError
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.guarded import GuardedPredictor
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.storage.loading import load
from costframe.core.storage.saving import save
from costframe.sources.many_rows import predict_many
from costframe.testing.case import Case, expect, law

SOME = 20  # rows to step through one by one
NO_LIMIT = 1e9  # a cap that every row can pay


@law
def a_row_has_one_label(case: Case) -> None:
    """An estimator, its predictor, inquiries, a stream of rows and the saved model give a row the same label."""
    if case.is_classifier:
        estimator, rows = case.fitted(0.0), case.table.fresh
        expect_one_label(estimator.predictor_, rows, estimator.predict(rows))


def expect_one_label(predictor: Any, rows: F8, wanted: Any, *, some: int = SOME) -> None:
    """Expect that a predictor gives rows, float64 (rows, d), these labels, (rows,), in every way to ask.

    A table is asked as it is, under a cap that every row can pay, and of the model after saving and loading. The first
    `some` rows are asked one by one, as an inquiry and as one of several rows.
    """
    for title, ask in _tables(predictor):
        asked_labels = ask(rows)
        differ = np.flatnonzero(np.asarray(asked_labels) != np.asarray(wanted))
        expect(not len(differ), f"{title} labels {len(differ)} rows otherwise: {_first(differ, asked_labels, wanted)}")
    few = rows[:some]
    mappings = [dict(zip(predictor.feature_names, row.tolist(), strict=True)) for row in few]
    ends = {
        "an inquiry": [_end(predictor, row) for row in mappings],
        "a row of a table": list(predict_many(predictor, few)),
        "a row of many": list(predict_many(predictor, mappings)),
    }
    for title, answers in ends.items():
        labels = [answer.label for answer in answers]
        differ = np.flatnonzero(
            [label != other for label, other in zip(labels, np.asarray(wanted).tolist(), strict=False)]
        )
        expect(not len(differ), f"{title} is labelled otherwise: {_first(differ, labels, wanted)}")


def _tables(predictor: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield the ways to ask for the labels of a table, by name."""
    yield "the predictor", predictor.labels
    yield "its estimator", FittedEstimator(predictor).predict
    try:
        predictor.inquire(max_cost=NO_LIMIT)
    except CostframeError:  # it takes no limits
        pass
    else:
        yield "a cap that all can pay", lambda rows: predictor.labels(rows, max_cost=NO_LIMIT)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.model"
        try:
            save(predictor, path)
        except StorageError:  # only some kinds are saved
            return
        yield "the loaded model", load(path, opaque=dict(_functions(predictor))).labels  # type: ignore[union-attr]


def _functions(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and functions of what a file of the model does not hold."""
    if isinstance(model, MixedPredictor):
        return
    if isinstance(model, GuardedPredictor):
        yield from _functions(model.inner)
    if isinstance(model, PreparedPredictor):
        yield from ((operation.name, operation.function) for operation in model.preparation.opaques)
        yield from _functions(model.inner)
    elif hasattr(model, "bank"):
        yield from ((learner.name, learner.function) for learner in model.bank.opaques)


def _end(predictor: Any, row: dict[str, float]) -> Any:
    inquiry = predictor.inquire()
    while needs := inquiry.needs:
        inquiry.supply({name: row[name] for name in needs})
    return inquiry.answer


def _first(differ: I8, labels: Any, wanted: Any) -> str:
    return f"row {differ[0]} is {labels[differ[0]]!r}, not {wanted[differ[0]]!r}" if len(differ) else ""
