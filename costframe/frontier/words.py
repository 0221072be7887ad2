"""A frontier in words, which claim no more than the estimates support, and as a table at a prompt or in a notebook."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import fields_dict, frozen

from costframe.core.cells import guard
from costframe.core.display import compare_cost, cost, html_table, round_up, saving, with_error
from costframe.core.errors import brief, format_count, printable, shown
from costframe.frontier.choices import NEGLIGIBLE, Choices, plain_point
from costframe.frontier.intervals import NINE_OF_TEN, Difference
from costframe.frontier.paths import choose_places
from costframe.frontier.points import CONSTANT, Point, plus_minus
from costframe.frontier.references import describe_reference, is_reference
from costframe.training.library_scores import QueryScore

if TYPE_CHECKING:
    import pandas as pd

NEAR = 0.01  # share of the best score
FEW_OF_A_CLASS = 50
WIDE = 0.25  # largest half-width of the best score's interval, as a share of its gain over a constant


def describe_model(frontier: Choices, point: Point, *, chosen: bool = True) -> str:
    """Return one sentence about a point: its cost against that of all features, its score, and why it was `chosen`."""
    tested = point.test_score is not None and point.test_cost is not None
    paid, (name, unit) = point.test_cost if tested else point.cost, map(printable, (frontier.score_name, frontier.unit))
    known = describe_reference(point)
    name_of_point = f"{_name(frontier, point)}, {known}," if known else _name(frontier, point)
    text = f"{name_of_point} costs {cost(paid)} {unit} per row" + (" on the test rows" if tested else "")
    if frontier.full_cost > 0 and paid is not None:
        text += f", {compare_cost(paid, frontier.full_cost)} all features together"
    if point.fixed:
        text += f", and {cost(point.fixed)} {unit} once per batch"
    if frontier.has_bills:
        text += f"; {_bill_in_words(frontier, point)}"
    else:
        estimate = with_error(point.score, point.score_error)
        text += f"; its {name} is {point.test_score:.4f} there (estimated {estimate})" if tested else ""
        text += "" if tested else f"; its {name} is estimated as {estimate}"
    return text + (f". It is {describe_recommendation(frontier, point)}." if chosen else ".")


def _bill_in_words(frontier: Choices, point: Point) -> str:
    low, high = map(cost, frontier.bill_interval(point))
    bill = f"{plus_minus(frontier.bill(point), frontier.bill_error(point))}, nine times of ten from {low} to {high}"
    bill += f"; counted: {point.mistakes}" if point.mistakes else ""
    if point.test_score is None or point.test_cost is None:
        return f"its errors are estimated to cost {cost(frontier.errors(point))}, so its bill is {bill}"
    total = cost(point.test_cost - point.test_score)
    return f"its errors cost {cost(-point.test_score)} there, so its bill is {total} (estimated {bill})"


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
        texts = [f"Its {name} is {_apart(found, f'that of the best model, {_name(frontier, best)}')}."]
        if found.low >= -near:
            texts.append("So it is within 1 % of the best.")
        elif found.high < -near:
            texts.append("So it is more than 1 % below the best.")
    if plain is not None and plain not in {point, best}:
        other = f"that of {_name(frontier, plain)}, trained without prices"
        texts.append(f"Its {name} is {_apart(frontier.difference(point, plain), other)}.")
    simple = _best_reference(frontier, point)
    if simple is not None and simple not in {best, plain}:
        other = f"that of {_name(frontier, simple)}, {describe_reference(simple)}"
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
        bill = plus_minus(frontier.bill(constant), frontier.bill_error(constant))
        texts.append(f"Without features the bill is {bill}, all of it errors.")
        if point.n_features:
            found = frontier.gain(point, constant)
            texts.append(f"This model's is {plus_minus(found.value, found.error)} lower.")
    if (simple := _best_reference(frontier, point)) is not None:
        bill, found = plus_minus(frontier.bill(simple), frontier.bill_error(simple)), frontier.gain(point, simple)
        words, way = str(describe_reference(simple)), "lower" if found.value >= 0 else "higher"
        texts.append(
            f"{words[0].upper()}{words[1:]} ({_name(frontier, simple)}) has the bill {bill}; this model's is "
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


def describe_buy(frontier: Choices, more: float, gain: Difference, point: Point) -> str:
    """Return a sentence about the gain in score of a point that costs more."""
    value, error = (_rounded(number, gain.error) for number in (gain.value, gain.error))
    end = "" if gain.value > gain.error else ", which may be chance"
    raised = "lower the bill" if frontier.has_bills else f"raise {frontier.score_name}"
    end = f"would {raised} by {value} \u00b1 {error} ({_name(frontier, point)}){end}."
    dearer = f"{more:.3g}" if more < 1000 else f"{more:,.0f}"
    return f"{dearer} {printable(frontier.unit)} more per row {end}"


@frozen(repr=False)
class Buy:
    """A better model at a higher cost; its text is a sentence."""

    point: Point
    cost: float  # by how much it costs more per row, in the cost model's unit
    gain: Difference  # of its score to the other model's
    text: str

    def __repr__(self) -> str:
        return brief(self, self.text.removesuffix("."))

    def __str__(self) -> str:
        return self.text

    @property
    def is_certain(self) -> bool:
        """Whether the gain is above its standard error."""
        return self.gain.value > self.gain.error


def next_buys(frontier: Choices, point: Point, count: int = 2) -> tuple[Buy, ...]:
    """Return at most `count` points up the frontier, each the cheapest with a certain gain over the one before.

    All gains and costs are against `point`. If no gain is certain, it returns the point with the best score alone, and
    nothing if no point has a better score.
    """
    dearer = [each for each in frontier.non_dominated() if each.cost > point.cost]
    above = [each for each in dearer if frontier.worth(each) > frontier.worth(point)]
    found: list[Buy] = []

    def buy_of(each: Point) -> Buy:
        more, gain = each.cost - point.cost, frontier.gain(each, point)
        return Buy(each, more, gain, describe_buy(frontier, more, gain, each))

    before = point
    for each in above:
        step = frontier.gain(each, before)
        buy = buy_of(each)
        if step.value > step.error and buy.is_certain:
            found.append(buy)
            before = each
        if len(found) == count:
            break
    if not found and above:
        best = max(above, key=frontier.worth)
        found = [buy_of(best)]
    return tuple(found)


def _name(frontier: Choices, point: Point) -> str:
    at = f"{printable(point.algorithm)} at {point.cost:.4g} {printable(frontier.unit)}"
    return printable(point.name) if point.name else at


def _apart(found: Difference, other: str) -> str:
    """Return by how much a score is above or below another one, with its interval."""
    value, low, high = (_side(value, found.error) for value in (found.value, found.low, found.high))
    return f"{value or 'equal to'} {other} (90% interval: {low or '0'} to {high or '0'})"


def _side(value: float, error: float) -> str:
    text = _rounded(abs(value), error)
    return f"{text} {'below' if value < 0 else 'above'}" if float(text) else ""


def _rounded(value: float, error: float) -> str:
    """Return a value with two digits of its error that is 1.x, or one of a larger one."""
    if not error > 0:
        return f"{value:.4f}"
    place = math.floor(math.log10(error))
    return f"{value:.{max(-place + (error < 2 * 10.0**place), 0)}f}"


MOST_ROWS = 6  # of a table of the frontier
COLUMNS: dict[str, Callable[[Choices, Point], str]] = {
    "model": lambda _, point: point.name or point.algorithm,
    "algorithm": lambda _, point: point.algorithm,
    "tradeoff": lambda _, point: f"{point.tradeoff:.2e}" if point.tradeoff else "0",
    "score": lambda _, point: with_error(point.score, point.score_error),
    "score alone": lambda _, point: f"{point.score:.4f}",
    "90% interval": lambda frontier, point: "{:.4f} to {:.4f}".format(*frontier.score_interval(point)),
    "cost": lambda _, point: cost(point.cost),
    "errors": lambda frontier, point: cost(frontier.errors(point)),
    "bill": lambda frontier, point: f"{cost(frontier.bill(point))} \u00b1{frontier.bill_error(point):.2g}",
    "saves": lambda frontier, point: saving(point.cost, frontier.full_cost),
    "test score": lambda _, point: "-" if point.test_score is None else f"{point.test_score:.4f}",
    "test cost": lambda _, point: cost(point.test_cost),
    "test errors": lambda _, point: "-" if point.test_score is None else cost(-point.test_score),
    "test bill": lambda _, point: "-" if point.test_score is None else cost((point.test_cost or 0) - point.test_score),
    "features": lambda _, point: str(point.n_features),
    "learners": lambda _, point: f"{point.n_learners:,}",
    "rounds": lambda _, point: f"{point.rounds:.1f}",
}


# What replaces columns where points have bills.
_BILLS = dict.fromkeys(("score", "score alone", "90% interval", "test score"), ()) | {
    "cost": ("cost", "errors", "bill"),
    "test cost": ("test cost", "test errors", "test bill"),
}


def columns_of(frontier: Choices, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of a table, with cost, errors and bill for score and cost where points have bills."""
    return tuple(name for each in columns for name in (_BILLS.get(each, (each,)) if frontier.has_bills else (each,)))


def to_cells(frontier: Choices, points: Iterable[Point], columns: Sequence[str]) -> list[list[str]]:
    """Return a row of texts for each point."""
    return [[COLUMNS[name](frontier, point) for name in columns] for point in points]


def rows_of_frontier(frontier: Choices, chosen: Point) -> list[Point]:
    """Return at most six points by descending cost: the chosen, the best, and non-dominated ones with little loss.

    Each further point most reduces the loss in score against the whole frontier, summed over budgets.
    """
    front = frontier.non_dominated()
    shown = {frontier.best(), chosen, front[0]}
    kept = [place for place, point in enumerate(front) if point in shown]
    cost, score = np.array([(point.cost, frontier.rank(point)[0]) for point in front]).T
    further = choose_places(cost, score, kept, MOST_ROWS - len(shown), frontier.full_cost)
    return sorted(shown | {front[place] for place in further}, key=lambda point: (-point.cost, -point.score))


def describe_frontier(frontier: Choices) -> str:
    """Return four lines: the range of scores and costs, and the points that matter most."""
    front = frontier.non_dominated() or frontier.points
    sign, name = (-1, "errors") if frontier.has_bills else (1, frontier.score_name)
    scores = f"{name} {sign * front[0].score:.3g} to {sign * front[-1].score:.3g}"
    span = f"{scores} at {front[0].cost:.4g} to {front[-1].cost:.4g} {frontier.unit}"
    chosen = {"recommended": frontier.recommended(), "best": frontier.best(), "cheapest useful": frontier.useful()}
    if frontier.has_bills:
        least = min(frontier, key=frontier.bill)
        chosen = {"recommended": frontier.recommended(), "least bill": least, "fewest errors": frontier.best()}
    lines = [f"{label}: {_in_words(frontier, point) if point else 'none'}" for label, point in chosen.items()]
    return brief(frontier, _count(frontier), span, more=lines)


def frontier_html(frontier: Choices) -> str:
    """Return a table of at most six non-dominated points with the recommendation, without colors of its own."""
    chosen = frontier.recommended()
    points = rows_of_frontier(frontier, chosen)
    columns = columns_of(frontier, ("model", "score", "cost", "saves"))
    rows = to_cells(frontier, points, columns)
    named = {
        "model": "point",
        "score": f"{frontier.score_name} \u00b1 error",
        "cost": f"cost ({frontier.unit} per row)",
    }
    header = [named.get(column, column) for column in columns]
    table = html_table(f"{_count(frontier)}; the best at each cost:", header, rows, points.index(chosen))
    return f"<div>{table}<p>Recommended: {escape(describe_model(frontier, chosen))}</p></div>"


def points_records(frontier: Choices) -> list[dict[str, Any]]:
    """Return a record of each point: the attributes of `Point`, `non_dominated`, `score_name`, `unit`, `full_cost`.

    Where prices have errors, also `bill`, `bill_error`, and the ends of its interval, `bill_low` and `bill_high`.
    """
    worth_having = frozenset(frontier.non_dominated())
    more = {"score_name": frontier.score_name, "unit": frontier.unit, "full_cost": frontier.full_cost}
    return [
        {name: getattr(p, name) for name in fields_dict(Point)}
        | {"non_dominated": int(p in worth_having)}
        | more
        | (_bill_record(frontier, p) if frontier.has_bills else {})
        for p in frontier.points
    ]


def _bill_record(frontier: Choices, point: Point) -> dict[str, float]:
    """Return a point's bill, its standard error, and the ends of its interval."""
    low, high = frontier.bill_interval(point)
    bill, error = frontier.bill(point), frontier.bill_error(point)
    return {"bill": bill, "bill_error": error, "bill_low": low, "bill_high": high}


def points_csv(frontier: Choices) -> str:
    """Return one line per point, with floats that read back to the same bits.

    The columns are those of `points_records`; `non_dominated` is 1 or 0. Texts are as `guard` has them.
    """
    text, records = io.StringIO(), points_records(frontier)
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: guard(value) if isinstance(value, str) else value for key, value in record.items()}
                     for record in records)  # fmt: skip
    return text.getvalue()


def points_frame(frontier: Choices) -> pd.DataFrame:
    """Return the columns of the CSV as a data frame, indexed by the names of points; None becomes NaN."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas; to_csv gives the same table") from error
    frame = pd.DataFrame(points_records(frontier)).set_index("name")
    return frame.astype(dict.fromkeys(("test_score", "test_error", "test_cost"), "float64"))


def _count(frontier: Choices) -> str:
    algorithms = {point.algorithm for point in frontier}
    references = {point.algorithm for point in frontier if is_reference(point)}
    of = format_count(len(algorithms - references), "algorithm") if algorithms > references else ""
    also = format_count(len(references), "reference") if references else ""
    return f"{format_count(len(frontier), 'point')} of {' and '.join(filter(None, (of, also)))}"


def _in_words(frontier: Choices, point: Point) -> str:
    """Return a point's name, score and cost, and the share of the price of all features that it saves."""
    score = f"{frontier.score_name} {plus_minus(point.score, point.score_error)}"
    if frontier.has_bills:
        score = f"bill {plus_minus(frontier.bill(point), frontier.bill_error(point))}"
    saved = f", saves {saving(point.cost, frontier.full_cost)}" if frontier.full_cost > 0 else ""
    return (
        f"{point.name or point.algorithm}, {score} at {plus_minus(point.cost, point.cost_error)} {frontier.unit}{saved}"
    )
