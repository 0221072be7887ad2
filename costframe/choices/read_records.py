"""Records read in two ways, to say how wrong the figures of a frontier's models may be; `HowWrong` has the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from costframe.choices.chosen_model import choose_model, score_of
from costframe.choices.how_wrong import HowWrong, InService
from costframe.choices.model_pool import Points
from costframe.core.arrays import F8
from costframe.core.errors import DataError
from costframe.records.completion import COPIES
from costframe.records.readings import BY_COLUMNS, BY_LABEL, contradicts_columns
from costframe.records.suspicion import HiddenSuspicion
from costframe.study.points import Point
from costframe.study.row_worths import row_worths
from costframe.study.rows import StudyRows
from costframe.training.library_scores import LibraryScore

_COPIES = 20  # so that the worst donors of a row are some, not one; figures are from the first, as those of studies
_MOST_ROWS = 10_000  # of which copies are made


class Advice(Points, Protocol):
    """What readings of records ask of a frontier."""

    @property
    def score_name(self) -> str:
        """Name of the score."""

    @property
    def has_bills(self) -> bool:
        """Whether prices have errors."""

    def __getitem__(self, point: Point | str, /) -> Point:
        """Return the point with a name."""

    def recommended(self) -> Point:
        """Return the recommended point."""

    def worth(self, point: Point, /) -> float:
        """Return the score, or minus the bill."""


def find_how_wrong(frontier: Any, point: Point | str | None, rows: StudyRows, scoring: Any) -> HowWrong:
    """Return how wrong a frontier's figures of a point may be; see `Choices.how_wrong`."""
    chosen, model = choose_model(frontier, point)
    rows = _with_records(rows, model)
    recorded, score = rows.recorded, score_of(frontier, model, scoring)
    assert recorded is not None  # noqa: S101 - see `_with_records`
    assert recorded.records is not None  # noqa: S101
    lacking = {recorded.names[column] for columns in recorded.records.columns for column in columns}
    known, other = _find_alternatives(frontier, chosen, lacking)
    runner_up = other if known == chosen else known
    points = [chosen] if runner_up is None else [chosen, runner_up]
    models = {point: frontier.model(point) for point in points}
    by_columns_alone = (BY_COLUMNS, COPIES)
    by_label, by_columns = (
        _worths(score, models, list(rows.completed_by(*reading))) for reading in ((BY_LABEL, _COPIES), by_columns_alone)
    )
    donors = recorded.donors_by(*by_columns_alone)
    assert donors is not None  # noqa: S101 - some rows lack tests
    figures = [_in_service(frontier, point, known, by_label, by_columns) for point in points]
    gain = None if runner_up is None else HiddenSuspicion(by_label[chosen] - by_label[runner_up])
    return HowWrong(
        figures[0],
        None if gain is None else figures[1],
        None if gain is None else gain.odds_until(),
        contradicts_columns(
            np.asarray(recorded.y, np.float64), donors, by_class=recorded.by_class, weight=recorded.weight
        ),
        "bill" if frontier.has_bills else frontier.score_name,
        HiddenSuspicion(by_label[chosen]),
        gain,
    )


def _worths(score: str | LibraryScore, models: Mapping[Point, Any], copies: list[StudyRows]) -> dict[Point, F8]:
    return {point: row_worths(score, model, copies) for point, model in models.items()}


def _in_service(
    frontier: Advice, point: Point, known: Point | None, by_label: Mapping[Point, F8], by_columns: Mapping[Point, F8]
) -> InService:
    """Return a model's figures by both readings.

    By columns, rows without tests have the labels of others. What is `known` of the best model that asks for no test
    that they lack, by their own labels, takes out what these others have by chance: the figure is that one's, and the
    difference to it in the completed rows.
    """
    of_label, of_columns = (
        {each: float(worths[:, :COPIES].mean(axis=1).sum()) for each, worths in both.items()}
        for both in (by_label, by_columns)
    )
    shift = of_label[known] - of_columns[known] if known is not None else 0.0
    sign = -1.0 if frontier.has_bills else 1.0
    return InService(point.name, sign * of_label[point], sign * (of_columns[point] + shift))


def _with_records(rows: StudyRows, model: Any) -> StudyRows:
    """Return the rows, at most a number of them, with what is known of their tests; refuse rows that lack none."""
    if len(rows.y) > _MOST_ROWS:
        rows = rows.take(np.sort(np.random.default_rng(0).choice(len(rows.y), _MOST_ROWS, replace=False)))
    rows = rows.with_records_for(model)
    if not rows.lacks_tests:
        raise DataError(
            "X: all tests were made, by the prices (absent) and by made; so there is one reading of these rows"
        )
    return rows


def _find_alternatives(frontier: Advice, chosen: Point, lacking: set[str]) -> tuple[Point | None, Point | None]:
    """Return the best point that asks for nothing that rows lack, the chosen one if it is such, and the best other."""
    asks = {point: _asks(frontier, point, lacking) for point in frontier.points if frontier.has_model(point)}

    def best(*, asking: bool) -> Point | None:
        if asks[chosen] == asking:
            return chosen
        points = [point for point, is_asking in asks.items() if is_asking == asking]
        return max(points, key=lambda point: (frontier.worth(point), -point.cost), default=None)

    return best(asking=False), best(asking=True)


def _asks(frontier: Advice, point: Point, lacking: set[str]) -> bool:
    return bool(point.n_features) and not lacking.isdisjoint(frontier.model(point).predictor_.used_features)
