"""A frontier in sentences, which claim no more than the estimates support."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costframe.choices.choices import NEGLIGIBLE, Choices, plain_point
from costframe.choices.figures import FIGURES, figures_of
from costframe.choices.intervals import Difference
from costframe.core.display import compare_cost, cost, round_up
from costframe.core.errors import format_count, printable, shown
from costframe.study.estimates import NINE_OF_TEN
from costframe.study.points import CONSTANT, Point, plus_minus
from costframe.study.references import describe_reference
from costframe.training.query_scores import QueryScore

NEAR = 0.01  # share of the best score
FEW_OF_A_CLASS = 50
WIDE = 0.25  # largest half-width of the best score's interval, as a share of its gain over a constant


def describe_model(frontier: Choices, point: Point, *, chosen: bool = True) -> str:
    """Return one sentence about a point: its cost against that of all features, its score, and why it was `chosen`."""
    tested = point.test_score is not None and point.test_cost is not None
    paid, (name, unit) = point.test_cost if tested else point.cost, map(printable, (frontier.score_name, frontier.unit))
    known = describe_reference(point)
    name_of_point = f"{name_of(frontier, point)}, {known}," if known else name_of(frontier, point)
    text = f"{name_of_point} costs {cost(paid)} {unit} per row" + (" on the test rows" if tested else "")
    if frontier.full_cost > 0 and paid is not None:
        text += f", {compare_cost(paid, frontier.full_cost)} all features together"
    if point.fixed:
        text += f", and {FIGURES['once per batch'](frontier, point)} once per batch"
    if frontier.has_bills:
        text += f"; {_bill_in_words(frontier, point)}"
    else:
        estimate, on_test = figures_of(frontier, point, "score", "test score")
        text += f"; its {name} is {on_test} there (estimated {estimate})" if tested else ""
        text += "" if tested else f"; its {name} is estimated as {estimate}"
    return text + (f". It is {describe_recommendation(frontier, point)}." if chosen else ".")


def _bill_in_words(frontier: Choices, point: Point) -> str:
    errors, estimate, between = figures_of(frontier, point, "errors", "bill in words", "90% interval of bill")
    bill = f"{estimate}, nine times of ten from {between}"
    bill += f"; counted: {point.mistakes}" if point.mistakes else ""
    if point.test_score is None or point.test_cost is None:
        return f"its errors are estimated to cost {errors}, so its bill is {bill}"
    errors, total = figures_of(frontier, point, "test errors", "test bill")
    return f"its errors cost {errors} there, so its bill is {total} (estimated {bill})"


def describe_recommendation(frontier: Choices, chosen: Point) -> str:
    """Return words that say why a point was chosen of all, perhaps within a budget."""
    if chosen.algorithm == CONSTANT and len(frontier) == 1:
        return "a constant, for no fit has ended"
    if frontier.has_bills:
        return _describe_near_bill(frontier, chosen)
    if not chosen.n_features:
        return "a constant, which nothing clearly beats"
    points = [point for point in frontier.points if point.n_features]
    best = max(points, key=frontier.rank)
    if chosen == best:
        return "the best of all models"
    return _describe_near_best(frontier, chosen, best, points)


def _describe_near_best(frontier: Choices, chosen: Point, best: Point, points: Sequence[Point]) -> str:
    if frontier.is_within_error(chosen, best):
        unsure = any(point.cost < chosen.cost and point.score >= chosen.score for point in points)
        less_sure = ", by the lower ends of intervals, as a cheaper one with such a score is less sure"
        return "the cheapest within one standard error of the best" + (less_sure if unsure else "")
    if frontier.is_near(chosen, best):
        return f"the cheapest that is surely within {NEGLIGIBLE:.1%} of the best"
    best_within = max((point for point in points if point.cost <= chosen.cost), key=frontier.rank)
    return "the best at its cost" if chosen == best_within else "nearly the best at its cost"


def _describe_near_bill(frontier: Choices, chosen: Point) -> str:
    """Return words that say why a point was chosen by its bill, perhaps within a budget."""
    if chosen == min(frontier.points, key=frontier.bill):
        return "the model with the least bill"
    if not chosen.n_features:
        return "a constant, whose bill nothing clearly beats"
    if chosen == frontier.recommended():
        return "the cheapest within one standard error of the least bill, by the upper ends of intervals"
    least = min((point for point in frontier.points if point.cost <= chosen.cost), key=frontier.bill)
    return "the model with the least bill up to its cost" if chosen == least else "nearly of the least bill at its cost"


def describe_useless_budget(frontier: Choices, chosen: Point, budget: float | None) -> str | None:
    """Return a text that names the cheapest model above the constant if the constant was chosen, else None."""
    if chosen.n_features:
        return None
    if chosen.algorithm == CONSTANT and len(frontier) == 1:
        return "no fit has ended: this model is a constant, which reads nothing"
    unit, useful = printable(frontier.unit), frontier.useful()
    within = "nothing" if budget is None else f"nothing within {budget:g} {unit}"
    if frontier.has_bills:
        points = frontier.points if budget is None else [each for each in frontier if each.cost <= budget]
        unsure = min(map(frontier.bill, points)) < frontier.bill(chosen)
        lower = "surely has a lower bill" if unsure else "has a lower bill"
        return f"{within} {lower} than the constant, which reads nothing"
    if useful is None:
        return f"{within} beats the constant by more than the error, and nothing found at any cost does"
    return (
        f"{within} beats the constant by more than the error; the cheapest that does: {useful.algorithm}, "
        f"{useful.cost:.4g} {unit} per row, {frontier.score_name} {useful.score:.4g} "
        f"\u00b1 {useful.score_error:.2g}"
    )


def describe_choice(frontier: Choices, point: Point) -> str:
    """Return sentences that compare a point's score with the best one, and with the same algorithm without prices."""
    if frontier.has_bills:
        return describe_bills(frontier, point)
    best, plain, name = frontier.best(), plain_point(frontier, point.algorithm), frontier.score_name
    texts = []
    if point != best:
        found, near = frontier.difference(point, best), NEAR * abs(best.score)
        texts = [f"Its {name} is {_apart(found, f'that of the best model, {name_of(frontier, best)}')}."]
        if found.low >= -near:
            texts.append("So it is within 1 % of the best.")
        elif found.high < -near:
            texts.append("So it is more than 1 % below the best.")
    if plain is not None and plain not in {point, best}:
        other = f"that of {name_of(frontier, plain)}, trained without prices"
        texts.append(f"Its {name} is {_apart(frontier.difference(point, plain), other)}.")
    simple = _best_reference(frontier, point)
    if simple is not None and simple not in {best, plain}:
        other = f"that of {name_of(frontier, simple)}, {describe_reference(simple)}"
        texts.append(f"Its {name} is {_apart(frontier.difference(point, simple), other)}.")
    return " ".join(texts)


def _best_reference(frontier: Choices, point: Point) -> Point | None:
    """Return the best reference beside a point, but the constant: if there are some, of those that cost no more."""
    others = [each for each in frontier.points if describe_reference(each) and each != point]
    cheap = [] if frontier.has_bills else [each for each in others if each.cost <= point.cost]
    return max(cheap or others, key=lambda each: (frontier.worth(each), -each.cost), default=None)


def describe_bills(frontier: Choices, point: Point) -> str:
    """Return sentences that compare a point's bill with those of all features, of none, and of the best reference."""
    full, fewest, constant = frontier.full_cost, min(map(frontier.errors, frontier.points)), frontier.constant()
    all_features = f"All features for each row cost {cost(full)}, so that their bill is {cost(full + fewest)}"
    texts = [f"{all_features} with the fewest errors found, {cost(fewest)}."]
    if constant is not None:
        bill = FIGURES["bill in words"](frontier, constant)
        texts.append(f"Without features the bill is {bill}, all of it errors.")
        if point.n_features:
            found = frontier.gain(point, constant)
            texts.append(f"This model's is {plus_minus(found.value, found.error)} lower.")
    if (simple := _best_reference(frontier, point)) is not None:
        bill, found = FIGURES["bill in words"](frontier, simple), frontier.gain(point, simple)
        words, way = str(describe_reference(simple)), "lower" if found.value >= 0 else "higher"
        texts.append(
            f"{words[0].upper()}{words[1:]} ({name_of(frontier, simple)}) has the bill {bill}; this model's is "
            f"{plus_minus(abs(found.value), found.error)} {way}."
        )
    return " ".join(texts)


def describe_few_rows(frontier: Choices, point: Point, classes: Mapping[Any, int] | None = None) -> str | None:
    """Return sentences that warn of estimates on too few rows, and say about how many it would take; None if not.

    They are too few if it is open whether the point is within 1 % of the best one, if the interval of the best score is
    wide against its gain over a constant, or if one of the `classes`, with their numbers of rows, has fewer than 50.
    """
    rows = max((int(np.count_nonzero(moved)) for moved in frontier.influences if moved is not None), default=0)
    texts, needs = [], [need for need in _needs(frontier, point) if rows]
    if needs:
        what = "queries" if QueryScore.named(frontier.score_name) else "rows"
        number = f"{round_up(rows * max(times for _, times in needs)):,}"
        texts.append(
            f"The estimates rest on {rows:,} {what}, too few to tell {' and '.join(text for text, _ in needs)}; it "
            f"would take about {number}."
        )
    if few := {label: count for label, count in (classes or {}).items() if count < FEW_OF_A_CLASS}:
        label = min(few, key=lambda each: few[each])
        texts.append(f"Of class {shown(label)} there are only {format_count(few[label], 'row')} to estimate on.")
    return " ".join(texts) or None


def _needs(frontier: Choices, point: Point) -> list[tuple[str, float]]:
    """Return what the estimates leave open, with the factor by which more rows would answer it."""
    if frontier.has_bills:
        return []
    best, needs = frontier.best(), []
    found, near = frontier.difference(point, best), NEAR * abs(best.score)
    if near and found.low < -near <= found.high:
        needs.append(("whether this model is within 1 % of the best", (found.high - found.low) / near))
    constant = max((each.score for each in frontier.points if not each.n_features), default=best.score)
    wide = NINE_OF_TEN * best.score_error / (WIDE * (best.score - constant)) if best.score > constant else 0.0
    if wide > 1:
        needs.append(("how much better the best model is than a constant", wide))
    return [(text, width**2) for text, width in needs]


def name_of(frontier: Choices, point: Point) -> str:
    """Return a point's name, or its algorithm and cost if it has none."""
    at = f"{printable(point.algorithm)} at {point.cost:.4g} {printable(frontier.unit)}"
    return printable(point.name) if point.name else at


def _apart(found: Difference, other: str) -> str:
    """Return by how much a score is above or below another one, with its interval."""
    value, low, high = (_side(value, found.error) for value in (found.value, found.low, found.high))
    return f"{value or 'equal to'} {other} (90% interval: {low or '0'} to {high or '0'})"


def _side(value: float, error: float) -> str:
    text = round_to_error(abs(value), error)
    return f"{text} {'below' if value < 0 else 'above'}" if float(text) else ""


def round_to_error(value: float, error: float) -> str:
    """Return a value with two digits of its error that is 1.x, or one of a larger one."""
    if not error > 0:
        return f"{value:.4f}"
    place = math.floor(math.log10(error))
    return f"{value:.{max(-place + (error < 2 * 10.0**place), 0)}f}"
