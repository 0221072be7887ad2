"""A frontier in sentences, which claim no more than the estimates support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from costframe.choices.bill_wording import BillWording
from costframe.choices.choices import Choices
from costframe.choices.figures import FIGURES
from costframe.choices.phrases import name_of
from costframe.choices.score_wording import ScoreWording
from costframe.choices.wording import Wording
from costframe.core.display import compare_cost, format_cost, round_up
from costframe.core.errors import format_count, printable, shown
from costframe.study.points import CONSTANT, Point
from costframe.study.references import describe_reference
from costframe.training.query_scores import QueryScore

FEW_OF_A_CLASS = 50


def wording_of(frontier: Choices) -> Wording:
    """Return what sentences say of a frontier's points: of bills, where prices have errors, else of scores."""
    return BillWording(frontier) if frontier.has_bills else ScoreWording(frontier)


def describe_model(frontier: Choices, point: Point, *, chosen: bool = True) -> str:
    """Return a sentence about a point: its cost against that of all features, its score, and why it was `chosen`.

    Where tests were not made, another one says what the records alone would show.
    """
    tested = point.test_score is not None and point.test_cost is not None
    paid, unit, simple = point.test_cost if tested else point.cost, printable(frontier.unit), describe_reference(point)
    name = f"{name_of(frontier, point)}, {simple}," if simple else name_of(frontier, point)
    text = f"{name} costs {format_cost(paid)} {unit} per row" + (" on the test rows" if tested else "")
    if frontier.full_cost > 0 and paid is not None:
        text += f", {compare_cost(paid, frontier.full_cost)} all features together"
    if point.fixed:
        text += f", and {FIGURES['once per batch'](frontier, point)} once per batch"
    text += wording_of(frontier).figures(point)
    text += f". It is {describe_recommendation(frontier, point)}." if chosen else "."
    return " ".join(filter(None, [text, wording_of(frontier).in_records(point)]))


def describe_recommendation(frontier: Choices, chosen: Point) -> str:
    """Return words that say why a point was chosen of all, perhaps within a budget."""
    if _is_nothing_else(frontier, chosen):
        return "a constant, for no fit has ended"
    return wording_of(frontier).reason(chosen)


def _is_nothing_else(frontier: Choices, point: Point) -> bool:
    """Return whether a point is the constant, and there is no other."""
    return point.algorithm == CONSTANT and len(frontier) == 1


def describe_useless_budget(frontier: Choices, chosen: Point, budget: float | None) -> str | None:
    """Return a text that names the cheapest model above the constant if the constant was chosen, else None."""
    if chosen.n_features:
        return None
    if _is_nothing_else(frontier, chosen):
        return "no fit has ended: this model is a constant, which reads nothing"
    return wording_of(frontier).nothing_better(chosen, budget)


def describe_choice(frontier: Choices, point: Point) -> str:
    """Return sentences that compare a point with the best one, with simple ones, and with none or without prices."""
    return wording_of(frontier).comparison(point)


def describe_few_rows(frontier: Choices, point: Point, classes: Mapping[Any, int] | None = None) -> str | None:
    """Return sentences that warn of estimates on too few rows, and say about how many it would take; None if not.

    They are too few if it is open whether the point is within 1 % of the best one, if the interval of the best score is
    wide against its gain over a constant, or if one of the `classes`, with their numbers of rows, has fewer than 50.
    """
    rows = max((int(np.count_nonzero(moved)) for moved in frontier.influences if moved is not None), default=0)
    texts, needs = [], wording_of(frontier).open_questions(point) if rows else []
    if needs:
        what = "queries" if QueryScore.named(frontier.score_name) else "rows"
        number = f"{round_up(rows * max(times for _, times in needs)):,}"
        texts.append(
            f"The estimates rest on {rows:,} {what}, too few to tell {' and '.join(text for text, _ in needs)}; it "
            f"would take about {number}."
        )
    if few := {label: count for label, count in (classes or {}).items() if count < FEW_OF_A_CLASS}:
        label = min(few, key=lambda part: few[part])
        texts.append(f"Of class {shown(label)} there are only {format_count(few[label], 'row')} to estimate on.")
    return " ".join(texts) or None
