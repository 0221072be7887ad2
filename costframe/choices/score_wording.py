"""Sentences about scores, which claim no more than the estimates support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import frozen

from costframe.choices.choices import Choices
from costframe.choices.criterion import NEGLIGIBLE
from costframe.choices.figures import figures_of
from costframe.choices.phrases import how_far_apart, name_of
from costframe.choices.wording import Wording, best_reference
from costframe.core.display import format_cost
from costframe.core.errors import printable
from costframe.study.estimates import NINE_OF_TEN
from costframe.study.points import Point
from costframe.study.references import describe_reference

NEAR = 0.01  # share of the best score
WIDE = 0.25  # largest half-width of the best score's interval, as a share of its gain over a constant


@frozen(eq=False)
class ScoreWording(Wording):
    """Words about scores."""

    choices: Choices
    columns: ClassVar[dict[str, tuple[str, ...]]] = {}

    def figures(self, point: Point) -> str:
        """Return the score on test rows beside the estimate, or the estimate."""
        name, (estimate, on_test) = self.choices.score_name, figures_of(self.choices, point, "score", "test score")
        if point.test_score is None or point.test_cost is None:
            return f"; its {printable(name)} is estimated as {estimate}"
        return f"; its {printable(name)} is {on_test} there (estimated {estimate})"

    def in_records(self, point: Point) -> str | None:
        """Return the score and cost that the records alone show, and those with the tests made."""
        if point.recorded_score is None or point.recorded_cost is None:
            return None
        score, error, cost = point.score, point.score_error, point.cost
        if point.test_score is not None and point.test_cost is not None:
            score, error, cost = point.test_score, point.test_error or 0.0, point.test_cost
        name, unit = printable(self.choices.score_name), printable(self.choices.unit)
        seems = f"{point.recorded_score:.3f} at {format_cost(point.recorded_cost)}"
        made = f"{score:.3f} \u00b1 {error:.3f} at {format_cost(cost)}"
        return f"In the records its {name} seems {seems} {unit} per row; with the tests made, it is {made}."

    def reason(self, chosen: Point) -> str:
        """Return how a point's score compares with the best, or with those at its cost."""
        choices = self.choices
        if not chosen.n_features:
            return "a constant, which nothing clearly beats"
        points = [point for point in choices.points if point.n_features]
        best = max(points, key=choices.rank)
        if chosen == best:
            return "the best of all models"
        if choices.is_within_error(chosen, best):
            unsure = any(point.cost < chosen.cost and point.score >= chosen.score for point in points)
            less_sure = ", by the lower ends of intervals, as a cheaper one with such a score is less sure"
            return "the cheapest within one standard error of the best" + (less_sure if unsure else "")
        if choices.is_near(chosen, best):
            return f"the cheapest that is surely within {NEGLIGIBLE:.1%} of the best"
        best_within = max((point for point in points if point.cost <= chosen.cost), key=choices.rank)
        return "the best at its cost" if chosen == best_within else "nearly the best at its cost"

    def nothing_better(self, _constant: Point, budget: float | None) -> str:
        """Return a text that names the cheapest model above the constant, if there is one."""
        choices, unit, useful = self.choices, printable(self.choices.unit), self.choices.useful()
        within = "nothing" if budget is None else f"nothing within {budget:g} {unit}"
        if useful is None:
            return f"{within} beats the constant by more than the error, and nothing found at any cost does"
        return (
            f"{within} beats the constant by more than the error; the cheapest that does: {useful.algorithm}, "
            f"{useful.cost:.4g} {unit} per row, {choices.score_name} {useful.score:.4g} "
            f"\u00b1 {useful.score_error:.2g}"
        )

    def comparison(self, point: Point) -> str:
        """Return sentences that compare a score with the best one, with that without prices, and with a reference."""
        choices, name = self.choices, self.choices.score_name
        best, plain = choices.best(), _plain_point(choices, point.algorithm)
        texts = []
        if point != best:
            gain, near = choices.difference(point, best), NEAR * abs(best.score)
            texts = [f"Its {name} is {how_far_apart(gain, f'that of the best model, {name_of(choices, best)}')}."]
            if gain.low >= -near:
                texts.append("So it is within 1 % of the best.")
            elif gain.high < -near:
                texts.append("So it is more than 1 % below the best.")
        if plain is not None and plain not in {point, best}:
            other = f"that of {name_of(choices, plain)}, trained without prices"
            texts.append(f"Its {name} is {how_far_apart(choices.difference(point, plain), other)}.")
        simple = best_reference(choices, point, point.cost)
        if simple is not None and simple not in {best, plain}:
            other = f"that of {name_of(choices, simple)}, {describe_reference(simple)}"
            texts.append(f"Its {name} is {how_far_apart(choices.difference(point, simple), other)}.")
        return " ".join(texts)

    def open_questions(self, point: Point) -> list[tuple[str, float]]:
        """Return whether the point is within 1 % of the best, and how much better the best is than a constant."""
        choices, questions = self.choices, []
        best = choices.best()
        gain, near = choices.difference(point, best), NEAR * abs(best.score)
        if near and gain.low < -near <= gain.high:
            questions.append(("whether this model is within 1 % of the best", (gain.high - gain.low) / near))
        constant = max((other.score for other in choices.points if not other.n_features), default=best.score)
        wide = NINE_OF_TEN * best.score_error / (WIDE * (best.score - constant)) if best.score > constant else 0.0
        if wide > 1:
            questions.append(("how much better the best model is than a constant", wide))
        return [(text, width**2) for text, width in questions]

    def improvement(self) -> str:
        """Return that a score is raised."""
        return f"raise {self.choices.score_name}"

    def span(self, front: Sequence[Point]) -> str:
        """Return the range of scores."""
        return f"{self.choices.score_name} {front[0].score:.3g} to {front[-1].score:.3g}"

    def highlights(self) -> dict[str, Point | None]:
        """Return the recommended, the best, and the cheapest useful point."""
        choices = self.choices
        return {"recommended": choices.recommended(), "best": choices.best(), "cheapest useful": choices.useful()}

    def record(self, _point: Point) -> dict[str, float]:
        """Return no further columns."""
        return {}


def _plain_point(frontier: Choices, algorithm: str) -> Point | None:
    """Return the point of an algorithm that was trained without prices; on a path, only its first one.

    First looks, with few rows, are none: what they lack is not the prices alone.
    """
    points = (point for point in frontier.points if point.algorithm == algorithm and not point.is_first_look)
    return next((point for point in points if point.tradeoff == 0), None)
