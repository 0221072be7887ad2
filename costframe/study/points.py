"""Scores and costs of fitted models, their names, and their CSV."""

from __future__ import annotations

from attrs import frozen

from costframe.core.display import format_cost, html_table
from costframe.core.errors import brief, format_count

CONSTANT = "constant"  # in place of an algorithm, where no fit has ended
FIRST_LOOK = "quick"  # in names of points, after the algorithm: of fits with few rows


@frozen(repr=False)
class Point:
    """One fitted model on the plane of cost and score.

    Attributes
    ----------
    algorithm : str
    tradeoff : float
        Loss accepted per unit of cost per row; 0 for the model trained without prices. On a path, where the tradeoff
        falls while the model grows, the tradeoff of the last round; the first point of an algorithm is trained without
        prices. Points within sets of features, at the end, have 0 too.
    score : float
        Estimate on held-out rows; higher is better. See `Frontier.sweep` for the method.
    score_error : float
        Its standard error.
    shared_error : float
        The part of that error which is the same for all points that a repeated search found: how optimistic it is. 0 of
        others, and of constants.
    cost : float
        Estimate of the mean cost of fresh rows, in the cost model's unit, without once-per-batch prices: the mean of
        valid, or the algorithm's own estimate.
    test_score, test_error, test_cost : float or None
        Score on test, its standard error, and the exact mean cost there; None without test rows.
    fixed : float
        Once-per-batch prices paid on test (on valid without test rows).
    n_features : int
        Features that the model reads.
    n_learners : int
        Weak learners that it evaluates, over all stages.
    rounds : float
        Mean number of trips to the sources for a row, over a few of the test (else valid) rows.
    seconds : float
        Time to fit; on a path, an equal share of the time of all its points.
    rows_lacked : float
        Share of the model's training rows that the models behind `score` did not have; 0 if `score` is of the model
        itself.
    name : str
        The algorithm and a number, such as "planner-3"; distinct in a frontier that a sweep, fit or search made. The
        model of the point in a run is `models/NAME.model`.
    cost_error : float
        Standard error of `cost`; 0 if all rows cost the same.
    mixed_with : float or None
        Of a mixture (`MixedPredictor`): the tradeoff of the second model, which answers a part of the rows.
    mistakes : str
        Where wrong answers of classes have prices: how many held-out rows had which; "" if `score` is of the
        algorithm's own rows.
    recorded_score, recorded_cost : float or None
        What the records say, in which tests were not made, of the test rows, else valid: an empty cell is then taken
        for an answer. None where all were made. All other figures are of rows whose tests are made as the model asks.
    """

    algorithm: str
    tradeoff: float
    score: float
    score_error: float
    cost: float
    test_score: float | None
    test_error: float | None
    test_cost: float | None
    fixed: float
    n_features: int
    n_learners: int
    rounds: float
    seconds: float
    rows_lacked: float = 0.0
    cost_error: float = 0.0
    name: str = ""
    mixed_with: float | None = None
    mistakes: str = ""
    shared_error: float = 0.0
    recorded_score: float | None = None
    recorded_cost: float | None = None

    @property
    def is_first_look(self) -> bool:
        """Whether it is of a first look, with few rows."""
        return self.name.startswith(f"{self.algorithm}-{FIRST_LOOK}-")

    def __repr__(self) -> str:
        tested = "" if self.test_score is None else f"test {self.test_score:.4g} at {self.test_cost:.4g}"
        figures = f"score {plus_minus(self.score, self.score_error)}", f"cost {plus_minus(self.cost, self.cost_error)}"
        return brief(self, self.name or self.algorithm, *figures, tested, format_count(self.n_features, "feature"))

    def _repr_html_(self) -> str:
        rows = [("held-out rows", plus_minus(self.score, self.score_error), plus_minus(self.cost, self.cost_error))]
        if self.test_score is not None:
            rows.append(("test", plus_minus(self.test_score, self.test_error or 0.0), format_cost(self.test_cost)))
        title = f"{self.name or self.algorithm}, {format_count(self.n_features, 'feature')}"
        return html_table(title, ("", "score", "cost per row"), rows)


def plus_minus(value: float, error: float) -> str:
    """Return a value with its standard error, as representations show them."""
    return f"{value:.4g} \u00b1 {error:.2g}"


def at_tradeoff(point: Point) -> str:
    """Return a point's algorithm, with its tradeoff if that is above 0; models without a tradeoff have 0 too."""
    if point.mixed_with is not None:
        return f"{point.algorithm}, a mixture of tradeoffs {point.tradeoff:.3g} and {point.mixed_with:.3g}"
    return f"{point.algorithm} at tradeoff {point.tradeoff:.3g}" if point.tradeoff else point.algorithm


def score_and_cost(point: Point) -> tuple[float, float]:
    """Return the sort key of a point: score, then cost."""
    return (point.score, -point.cost)
