"""Rows with which adopted models are compared with the models themselves: of the kinds that training had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from attrs import evolve, frozen

from costframe.adoption.examples import collect_texts, collect_values, find_accepted_row
from costframe.adoption.handing import Handing, may_need_polars
from costframe.adoption.inside import categories_inside
from costframe.core.arrays import B1, F8
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.tables.as_given import OBJECT, STR, AsGiven
from costframe.core.tables.given_rows import GivenColumn, GivenRows
from costframe.core.tables.kinds import FIRST
from costframe.core.tables.restored_rows import restore_together

_ROWS = 64
_MISSING = 0.2  # of the cells in further rows
_DAY = datetime(2024, 1, 31)  # noqa: DTZ001 - as tables have them


@frozen(eq=False, slots=False)
class CheckRows:
    """Rows to compare answers for."""

    numbers: F8  # as a predictor takes them, (rows, d)
    predictor: Predictor
    handing: Handing
    tried_alone: int = 0  # rows to try one by one if the model refuses them together

    @cached_property
    def given(self) -> Any:
        """The rows as the model takes them, with labels in place of their numbers in a frame."""
        return _hand(self.handing, self.numbers, self.predictor)

    def take(self, rows: Sequence[int]) -> CheckRows:
        """Return some of the rows."""
        return evolve(self, numbers=self.numbers[list(rows)])


def draw_check_rows(model: Any, predictor: Predictor, values: Sequence[F8], handing: Handing) -> Iterator[CheckRows]:
    """Yield tables of values drawn for each column: with missing values, without them, without signs, and all ones.

    Columns whose values foreign code reads as they came have values of a kind that the model takes.
    """
    plain = _draw(values, np.random.default_rng(0))
    hole = np.random.default_rng(1).random(plain.shape) < _MISSING
    names, categories = predictor.feature_names, predictor.categories
    if isinstance(
        predictor, PreparedPredictor
    ):  # an encoder may tell None from NaN among texts, one missing value here
        hole &= [not isinstance(categories.get(name), tuple) for name in names]
    given = [name for name, labels in categories.items() if isinstance(labels, AsGiven)]
    kinds = _find_accepted(model, handing, predictor, plain, given) if given else {}
    full, texts = np.zeros_like(hole), [isinstance(categories.get(name), tuple) for name in names]
    ones = np.where(texts, plain, 1.0)

    def filled(drawn: F8, holes: B1) -> CheckRows:
        rows = np.where(holes, np.nan, drawn)
        for name in given:
            f = names.index(name)
            rows[:, f] = _draw_kind(kinds[name], values[f], holes[:, f])
        return CheckRows(rows, predictor, handing)

    for drawn, holes in ((plain, hole), (plain, full), (np.abs(plain), full), (ones, full)):
        yield filled(drawn, holes)
    yield evolve(filled(plain, full), tried_alone=_ROWS)


def list_handings(model: Any, predictor: Predictor, library: str) -> list[Handing]:
    """List ways to hand rows to a model of a library: frames with labels where it was fitted on one, else arrays."""
    names = getattr(model, "feature_names_in_", getattr(model, "feature_names", None))
    if names is None or (library != "sklearn" and not predictor.categories):
        return Handing(tries_polars=may_need_polars(model)).ways(predictor.feature_names)
    fitted_names = tuple(map(str, names))
    ways = Handing(fitted_names, tries_polars=may_need_polars(model)).ways(fitted_names)
    categories = categories_inside(model, fitted_names)
    return [*ways[:1], *([evolve(ways[0], categories=categories)] if categories else []), *ways[1:]]


def _hand(handing: Handing, rows: F8, predictor: Predictor) -> Any:
    """Return rows as a model takes them, with labels in place of their numbers in a frame."""
    if handing.names is None:
        as_given = any(isinstance(labels, AsGiven) for labels in predictor.categories.values())
        return handing.hand(restore_together(rows) if as_given else rows)
    columns: list[GivenColumn] = []
    read = set(predictor.used_features)
    for f, name in enumerate(predictor.feature_names):
        labels = predictor.categories.get(name)
        if labels is None and f in handing.categories and name not in read:
            some = np.array([*handing.categories[f], None], object)[:-1]
            columns.append(GivenColumn(np.resize(some, len(rows)), None, OBJECT))
            continue
        if labels is None or isinstance(labels, AsGiven):
            part = restore_together(rows[:, [f]])
            columns += part.columns if isinstance(part, GivenRows) else [GivenColumn(part[:, 0])]
            continue
        known = [*labels] if isinstance(labels, tuple) else []
        texts = np.array([*known, None], object)  # the last stands for a missing one
        column = GivenColumn(texts[np.where(np.isnan(rows[:, f]), -1, rows[:, f]).astype(int)], None, OBJECT)
        columns.append(column if isinstance(predictor, PreparedPredictor) else column.as_category(tuple(known)))
    return handing.hand(GivenRows(tuple(columns), len(rows)))


def _find_accepted(
    model: Any, handing: Handing, predictor: Predictor, plain: F8, given: Sequence[str]
) -> dict[str, list[Any]]:
    """Return values of a kind that a model takes, for each column that foreign code reads as it came."""
    names = predictor.feature_names
    places = [names.index(name) for name in given]

    def ask(row: F8) -> Any:
        rows = plain[:1].copy()
        rows[:, places] = row
        return (getattr(model, "predict_proba", None) or model.predict)(_hand(handing, rows, predictor))

    fitted_name = dict(zip(names, handing.names or names, strict=True))
    told, texts = collect_values(model, tuple(fitted_name.values())), collect_texts(model)
    known = {name: told[fitted_name[name]] for name in given if fitted_name[name] in told}
    tried = {name: [value] for name, value in _collect_examples(predictor).items() if name in given}
    row, _ = find_accepted_row(ask, given, [{**tried, **known}, known, {}], texts)
    return {
        name: known.get(name, texts if isinstance(value, str) and value in texts else [value])
        for name, value in zip(given, row, strict=True)
    }


def _collect_examples(predictor: Predictor) -> dict[str, Any]:
    """Return values of raw columns with which the foreign steps of a predictor were tried."""
    if not isinstance(predictor, PreparedPredictor):
        return {}
    names, examples = predictor.feature_names, dict[str, Any]()
    for operation in predictor.preparation.opaques:
        values = getattr(operation.function, "example", ())
        examples |= {names[f]: value for f, value in zip(operation.reads, values, strict=False) if f < len(names)}
    return examples


def _draw_kind(known: Sequence[Any], tested: F8, holes: B1) -> F8:
    """Draw values of the kind of the known ones, some of them missing, as numbers: float64 (rows,)."""
    rng, value = np.random.default_rng(len(known)), known[0]
    numbers = tested[np.abs(tested) < FIRST]
    if type(value) is float:
        return np.where(holes, np.nan, np.resize(rng.permutation(numbers), _ROWS) if len(numbers) else value)
    if type(value) is int and len(known) == 1:
        known = np.unique(np.round(numbers)).astype(int).tolist() or [0, 1, 2, 30]
    elif isinstance(value, datetime):
        known = [value, *(_DAY + timedelta(days=days) for days in (0, 1, 40, 400))]
    elif isinstance(value, bool):
        known = [False, True]
    drawn = [known[place] for place in rng.integers(0, len(known), _ROWS)]
    if value is None or isinstance(value, int):  # columns of which have no missing ones
        return AsGiven().numbers(drawn, None)
    texts = [None if hole else value for hole, value in zip(holes.tolist(), drawn, strict=True)]
    return AsGiven().numbers(texts, STR if isinstance(value, str) else None)


def _draw(values: Sequence[F8], rng: np.random.Generator) -> F8:
    """Return rows of the values of each column, as many different ones as there is room for: float64 (rows, d)."""
    columns = [np.resize(rng.permutation(column), _ROWS)[rng.permutation(_ROWS)] for column in values]
    return np.column_stack(columns)
