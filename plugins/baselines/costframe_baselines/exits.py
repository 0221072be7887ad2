"""Exits of an additive model after every few learners: scores and exact cost of rows at each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, frozen

from costframe.core.errors import DataError
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.stages import Answer, Route

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from costframe.core.prices.costs import CostModel
    from costframe.core.stages.stages import Stage
    from costframe.core.tables.categories import Categories, Labels
    from costframe.training.data import Rows

__all__ = [
    "EVERY_ROW",
    "ExitPoint",
    "ExitTable",
    "Exits",
    "check_labels",
    "confidence",
    "confidence_exits",
    "confidence_tree",
]

EVERY_ROW = -np.inf  # a threshold: rows leave before the first learner


@frozen(eq=False)
class Exits:
    """An additive model and its exits.

    Attributes
    ----------
    tree : StageTree
        One answer.
    ends : tuple of int
        Learners evaluated at each exit: 0 first, which only `EVERY_ROW` takes, and all of them last.
    """

    tree: StageTree
    ends: tuple[int, ...]

    @classmethod
    def of(cls, tree: StageTree, every: int) -> Exits:
        """Place an exit after every so many trees; a round of one tree for each of several outputs counts as one."""
        answer = only_answer(tree)
        feeds = np.add.reduceat(answer.weights != 0, _first_outputs(tree), axis=0) if len(answer.learners) else None
        one_each = feeds is not None and answer.weights.shape[1] > 1 and (feeds.sum(axis=1) <= 1).all()
        step, count = every * (answer.weights.shape[1] if one_each else 1), len(answer.learners)
        return cls(tree, (*range(0, count, step), count) if count else (0, 0))

    @property
    def answer(self) -> Answer:
        """The answer of all learners."""
        return only_answer(self.tree)

    def prefix(self, number: int, link: str = "identity") -> StageTree:
        """Return the model of the learners before an exit; its prediction is the score by default."""
        return StageTree(self.tree.bank, (self.prefix_answer(number, link),))

    def prefix_answer(self, number: int, link: str) -> Answer:
        """Return the answer of the learners before an exit."""
        count, first = self.ends[number], np.append(_first_outputs(self.tree), len(self.answer.weights))
        learners, weights = self.answer.learners[:count], self.answer.weights[: first[count]]
        return evolve(self.answer, learners=learners, weights=weights, link=link, by_scores=False, cut=0.0)


def only_answer(tree: StageTree) -> Answer:
    """Return the only stage of a model."""
    answer = tree.stages[0]
    assert isinstance(answer, Answer)  # noqa: S101 - a tree of one stage
    return answer


def _first_outputs(tree: StageTree) -> NDArray[np.int64]:
    """Return the first row of weights of each learner of the answer: int64 (L,)."""
    widths = tree.bank.widths[only_answer(tree).learners].astype(np.int64)
    return np.cumsum(widths) - widths


def check_labels(tree: StageTree, categories: Categories) -> None:
    """Refuse a given model that numbers the categories of X in another way."""
    for name in sorted(set(tree.feature_names) & set(categories)):
        known, wanted = tree.categories.get(name, ()), categories[name]
        if known != wanted:
            raise DataError(
                f"model: knows the categories {_listed(known)} of {name!r}, expected those of X, {_listed(wanted)}"
            )


def _listed(labels: Labels) -> str:
    return str(list(labels)) if isinstance(labels, tuple) else "by their hashes"


@frozen(eq=False)
class ExitTable:
    """Scores and exact cost of rows at every exit.

    Attributes
    ----------
    rows : Rows
    scores : float64 (exits, n, K)
    cost : float64 (exits, n)
    bought : bool (exits, n, o)
        Acquired features among those with once-prices.
    once : float64 (o,)
    """

    rows: Rows
    scores: NDArray[np.float64]
    cost: NDArray[np.float64]
    bought: NDArray[np.bool_]
    once: NDArray[np.float64]

    @classmethod
    def of(cls, exits: Exits, rows: Rows, costs: CostModel, n_jobs: int | None) -> ExitTable:
        """Evaluate the learners before every exit; the core prices them."""
        prices = costs.select(exits.tree.feature_names)
        priced = np.flatnonzero(prices.once)
        scores, cost, bought = [], [], []
        for number in range(len(exits.ends)):
            prefix = exits.prefix(number)
            report = prefix.cost(rows.X, costs)
            scores.append(prefix.decision_function(rows.X, n_jobs=n_jobs).reshape(len(rows), -1))
            cost.append(report.per_row)
            bought.append(np.asarray(report.acquired[:, priced], np.bool_))
        return cls(rows, np.array(scores), np.array(cost), np.array(bought), prices.once[priced])

    def scores_at(self, exits: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return each row's scores at its exit: float64 (n, K)."""
        return np.asarray(self.scores[exits, np.arange(len(exits))])

    def mean_cost(self, exits: NDArray[np.int64]) -> float:
        """Return the mean cost of rows that leave at these exits."""
        return float(np.average(self.cost[exits, np.arange(len(exits))], weights=self.rows.weight))

    def batch(self, exits: NDArray[np.int64]) -> float:
        """Return each row's equal share of the once-prices."""
        bought = self.bought[exits, np.arange(len(exits))].any(axis=0)
        return float(bought @ self.once) / self.rows.total_weight


@frozen
class ExitPoint:
    """A threshold, measured on held-out rows.

    Attributes
    ----------
    threshold : float
        Infinite: no row leaves early; minus infinite: all leave before the first tree.
    n_rounds : int
        Learners of the model.
    tradeoff : float
        0, for its trees know no prices.
    loss, cost, score : float
        Mean loss, exact mean cost per row, and the given score or minus the loss.
    batch : float
        Each row's equal share of the once-prices, which `cost` leaves out.
    """

    threshold: float
    n_rounds: int
    tradeoff: float
    loss: float
    cost: float
    score: float
    batch: float

    def total(self, tradeoff: float) -> tuple[float, float]:
        """Return loss + tradeoff * cost with the share of once-prices, and a key by which later exits win ties."""
        return self.loss + tradeoff * (self.cost + self.batch), -self.threshold


def confidence(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log odds of the likeliest class: float64 (..., n) for scores (..., n, K), K = 1 for two classes."""
    if scores.shape[-1] == 1:
        return np.abs(scores[..., 0])
    best = np.sort(scores, axis=-1)
    return np.asarray(best[..., -1] - np.logaddexp.reduce(best[..., :-1], axis=-1))


def confidence_exits(scores: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
    """Return the first exit at which the confidence of each row exceeds the threshold, or the last: int64 (n,)."""
    if threshold == EVERY_ROW:
        return np.zeros(scores.shape[1], np.int64)
    leaves = confidence(scores) > threshold
    leaves[0], leaves[-1] = False, True
    return np.asarray(leaves.argmax(axis=0))


def confidence_tree(exits: Exits, threshold: float) -> StageTree:
    """Return a model of two classes whose rows leave if |log odds| exceeds the threshold: a chain with two sides.

    The second route of an exit has the learners of the first one, which are free by then.
    """
    link, last = exits.answer.link, len(exits.ends) - 1
    if threshold == EVERY_ROW:
        return exits.prefix(0, link)
    stages: list[Stage] = []
    for number in range(1, last) if threshold < np.inf else ():
        answer = exits.prefix_answer(number, link)
        for sign in (1.0, -1.0):
            place, weights = len(stages), sign * answer.weights
            route = Route(answer.learners, weights, sign * answer.intercept, threshold, 1.0, place + 2, place + 1)
            stages += [route, answer]
    return StageTree(exits.tree.bank, (*stages, exits.prefix_answer(last, link)))
