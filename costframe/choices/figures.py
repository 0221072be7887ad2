"""The figures of a point as texts: one format for each, for terminals, pages, pictures and searches."""

from __future__ import annotations

from collections.abc import Callable

from costframe.choices.choices import Choices
from costframe.core.display import format_cost, saving, with_error
from costframe.core.errors import format_count, printable
from costframe.study.points import Point, plus_minus
from costframe.training.scoring import score_label

FIGURES: dict[str, Callable[[Choices, Point], str]] = {
    "model": lambda _, point: point.name or point.algorithm,
    "algorithm": lambda _, point: point.algorithm,
    "tradeoff": lambda _, point: f"{point.tradeoff:.2e}" if point.tradeoff else "0",
    "score": lambda _, point: with_error(point.score, point.score_error),
    "score alone": lambda _, point: f"{point.score:.4f}",
    "score in brief": lambda _, point: f"{point.score:.3f} \u00b1 {point.score_error:.3f}",
    "score in words": lambda _, point: plus_minus(point.score, point.score_error),
    "90% interval": lambda frontier, point: "{:.4f} to {:.4f}".format(*frontier.score_interval(point)),
    "cost": lambda _, point: format_cost(point.cost),
    "cost in brief": lambda _, point: f"{format_cost(point.cost)} \u00b1 {point.cost_error:.2g}",
    "cost in words": lambda _, point: plus_minus(point.cost, point.cost_error),
    "errors": lambda frontier, point: format_cost(frontier.errors(point)),
    "bill": lambda frontier, point: f"{format_cost(frontier.bill(point))} \u00b1{frontier.bill_error(point):.2g}",
    "bill alone": lambda frontier, point: format_cost(frontier.bill(point)),
    "bill in brief": lambda frontier, point: (
        f"{format_cost(frontier.bill(point))} \u00b1 {frontier.bill_error(point):.2g}"
    ),
    "bill in words": lambda frontier, point: plus_minus(frontier.bill(point), frontier.bill_error(point)),
    "90% interval of bill": lambda frontier, point: "{} to {}".format(*map(format_cost, frontier.bill_interval(point))),
    "saves": lambda frontier, point: saving(point.cost, frontier.full_cost),
    "test score": lambda _, point: "-" if point.test_score is None else f"{point.test_score:.4f}",
    "test cost": lambda _, point: format_cost(point.test_cost),
    "test errors": lambda _, point: "-" if point.test_score is None else format_cost(-point.test_score),
    "test bill": lambda _, point: (
        "-" if point.test_score is None else format_cost((point.test_cost or 0) - point.test_score)
    ),
    "features": lambda _, point: str(point.n_features),
    "learners": lambda _, point: f"{point.n_learners:,}",
    "size": lambda _, point: (
        f"{format_count(point.n_features, 'feature')}, {format_count(point.n_learners, 'learner')}"
    ),
    "rounds": lambda _, point: f"{point.rounds:.1f}",
    "once per batch": lambda frontier, point: f"{format_cost(point.fixed)} {printable(frontier.unit)}",
}


def figures_of(frontier: Choices, point: Point, *names: str) -> list[str]:
    """Return figures of a point by their names in `FIGURES`; those of errors and bills need prices with errors."""
    return [FIGURES[name](frontier, point) for name in names]


def name_worth(frontier: Choices) -> str:
    """Return the name in pictures of the measure that chooses points: a score, or the bill."""
    return "bill" if frontier.has_bills else score_label(frontier.score_name)


def describe_worth(frontier: Choices, point: Point, form: str) -> str:
    """Return a point's score, or its bill where prices have errors, after its name and in a form as "in words"."""
    name, figure = ("bill", "bill") if frontier.has_bills else (frontier.score_name, "score")
    return f"{name} {FIGURES[f'{figure} {form}'](frontier, point)}"
