"""Sentences about bills, of cost and errors, which claim no more than the estimates support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import frozen

from costframe.choices.choices import Choices
from costframe.choices.figures import FIGURES, figures_of
from costframe.choices.phrases import name_of
from costframe.choices.wording import Wording, best_reference
from costframe.core.display import format_cost
from costframe.core.errors import printable
from costframe.study.points import Point, plus_minus
from costframe.study.references import describe_reference

_NO_COLUMNS = dict.fromkeys(("score", "score alone", "90% interval", "test score"), ())


@frozen(eq=False)
class BillWording(Wording):
    """Words about bills."""

    choices: Choices
    columns: ClassVar[dict[str, tuple[str, ...]]] = {
        **_NO_COLUMNS,
        "cost": ("cost", "errors", "bill"),
        "test cost": ("test cost", "test errors", "test bill"),
    }

    def figures(self, point: Point) -> str:
        """Return what errors cost, and the bill with its interval and the wrong answers that were counted."""
        names = "errors", "bill in words", "90% interval of bill", "test errors", "test bill"
        errors, estimate, between, test_errors, test_bill = figures_of(self.choices, point, *names)
        bill = f"{estimate}, nine times of ten from {between}"
        bill += f"; counted: {point.mistakes}" if point.mistakes else ""
        if point.test_score is None or point.test_cost is None:
            return f"; its errors are estimated to cost {errors}, so its bill is {bill}"
        return f"; its errors cost {test_errors} there, so its bill is {test_bill} (estimated {bill})"

    def in_records(self, point: Point) -> str | None:
        """Return the bill that the records alone show, and that with the tests made."""
        if point.recorded_score is None or point.recorded_cost is None:
            return None
        tested = point.test_score is not None and point.test_cost is not None
        (made,) = figures_of(self.choices, point, "test bill" if tested else "bill in words")
        seems, paid = point.recorded_cost - point.recorded_score, format_cost(point.recorded_cost)
        cost = format_cost(point.test_cost if tested else point.cost)
        return (
            f"In the records its bill seems {format_cost(seems)}, of which {paid} for features; with the tests made, "
            f"it is {made}, of which {cost}."
        )

    def _bill(self, point: Point) -> str:
        return FIGURES["bill in words"](self.choices, point)

    def reason(self, chosen: Point) -> str:
        """Return how a point's bill compares with the least one, or with those up to its cost."""
        choices = self.choices
        if chosen == min(choices.points, key=choices.bill):
            return "the model with the least bill"
        if not chosen.n_features:
            return "a constant, whose bill nothing clearly beats"
        if chosen == choices.recommended():
            return "the cheapest within one standard error of the least bill, by the upper ends of intervals"
        least = min((point for point in choices.points if point.cost <= chosen.cost), key=choices.bill)
        if chosen == least:
            return "the model with the least bill up to its cost"
        return "nearly of the least bill at its cost"

    def nothing_better(self, constant: Point, budget: float | None) -> str:
        """Return that no bill is lower, or surely lower, than the constant's."""
        choices = self.choices
        within = "nothing" if budget is None else f"nothing within {budget:g} {printable(choices.unit)}"
        points = choices.points if budget is None else [point for point in choices if point.cost <= budget]
        unsure = min(map(choices.bill, points)) < choices.bill(constant)
        lower = "surely has a lower bill" if unsure else "has a lower bill"
        return f"{within} {lower} than the constant, which reads nothing"

    def comparison(self, point: Point) -> str:
        """Return sentences that compare a bill with those of all features, of none, and of the best reference."""
        choices, full = self.choices, self.choices.full_cost
        fewest, constant = min(map(choices.errors, choices.points)), choices.constant()
        all_features = (
            f"All features for each row cost {format_cost(full)}, so that their bill is {format_cost(full + fewest)}"
        )
        texts = [f"{all_features} with the fewest errors found, {format_cost(fewest)}."]
        if constant is not None:
            texts.append(f"Without features the bill is {self._bill(constant)}, all of it errors.")
            if point.n_features:
                gain = choices.gain(point, constant)
                texts.append(f"This model's is {plus_minus(gain.value, gain.error)} lower.")
        if (simple := best_reference(choices, point)) is not None:
            gain, words = choices.gain(point, simple), str(describe_reference(simple))
            way = "lower" if gain.value >= 0 else "higher"
            texts.append(
                f"{words[0].upper()}{words[1:]} ({name_of(choices, simple)}) has the bill {self._bill(simple)}; this "
                f"model's is {plus_minus(abs(gain.value), gain.error)} {way}."
            )
        return " ".join(texts)

    def open_questions(self, _point: Point) -> list[tuple[str, float]]:
        """Return none: the intervals of bills say what is open."""
        return []

    def improvement(self) -> str:
        """Return that a bill is lowered."""
        return "lower the bill"

    def span(self, front: Sequence[Point]) -> str:
        """Return the range of what errors cost."""
        return f"errors {-front[0].score:.3g} to {-front[-1].score:.3g}"

    def highlights(self) -> dict[str, Point | None]:
        """Return the recommended point, that of the least bill, and that of the fewest errors."""
        choices = self.choices
        least = min(choices, key=choices.bill)
        return {"recommended": choices.recommended(), "least bill": least, "fewest errors": choices.best()}

    def record(self, point: Point) -> dict[str, float]:
        """Return a point's bill, its standard error, and the ends of its interval."""
        low, high = self.choices.bill_interval(point)
        bill, error = self.choices.bill(point), self.choices.bill_error(point)
        return {"bill": bill, "bill_error": error, "bill_low": low, "bill_high": high}
