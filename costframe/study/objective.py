"""What the models of a study are compared by: the score, or where errors have prices, the bill of cost and errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from costframe.core.arrays import F8
from costframe.study.estimates import Estimate, of_bill
from costframe.study.repeated_search import join_bills, join_scores
from costframe.training.data import Traits
from costframe.training.error_costs import ERROR_COST
from costframe.training.library_scores import LibraryScore


class Objective(ABC):
    """What is to be as high as possible, as a function of cost and score."""

    is_in_money: ClassVar[bool]  # so that cost and errors have one unit

    @abstractmethod
    def worth(self, cost: F8, score: F8, /) -> F8:
        """Return the objective of models with some costs and scores: float64 (n,)."""

    @abstractmethod
    def influence(self, of_score: F8 | None, of_cost: F8 | None, /) -> F8 | None:
        """Return the influence of each row on the objective, given those on score and cost, which may be unknown."""

    @abstractmethod
    def prepare(self, model: Any) -> Any:
        """Return the estimator of a path, given one at tradeoff 0."""

    @abstractmethod
    def best_places(self, cost: F8, score: F8, most: float, /) -> list[int]:
        """Return the places of models to keep of a path, beside those of the best scores; costs are at most `most`."""

    @abstractmethod
    def join_repeated(
        self, own: Sequence[Estimate | None], repeated: Sequence[Estimate | None], reads: Sequence[bool], /
    ) -> list[Estimate | None]:
        """Return the estimates of models of a search, from its own ones and those of its repetition.

        `reads` tells which models read features.
        """


class _Score(Objective):
    """The score alone."""

    is_in_money = False

    def worth(self, _cost: F8, score: F8) -> F8:
        """Return the scores."""
        return score

    def influence(self, of_score: F8 | None, _of_cost: F8 | None) -> F8 | None:
        """Return the influence on the score."""
        return of_score

    def prepare(self, model: Any) -> Any:
        """Return the estimator as it is."""
        return model

    def best_places(self, _cost: F8, _score: F8, _most: float) -> list[int]:
        """Return none."""
        return []

    def join_repeated(
        self, own: Sequence[Estimate | None], repeated: Sequence[Estimate | None], reads: Sequence[bool]
    ) -> list[Estimate | None]:
        """Return the own estimates, less one optimism for all."""
        return join_scores(own, repeated, reads)


class _Bill(Objective):
    """The bill of cost and errors, as small as possible; the score is minus what errors cost."""

    is_in_money = True

    def worth(self, cost: F8, score: F8) -> F8:
        """Return minus the bills."""
        return score - cost

    def influence(self, of_score: F8 | None, of_cost: F8 | None) -> F8 | None:
        """Return the influence on minus the bill, or without that on the cost, on minus the cost of errors."""
        of_both = of_bill(of_score, of_cost)
        return of_score if of_both is None else of_both

    def prepare(self, model: Any) -> Any:
        """Let the estimator plan in money, if it can."""
        return model.set_params(tradeoff=None) if Traits.of(model).plans_bills else model

    def best_places(self, cost: F8, score: F8, most: float) -> list[int]:
        """Return the place of the least bill."""
        return [int(np.argmin(np.where(cost <= max(most, cost[0]), cost - score, np.inf)))]

    def join_repeated(
        self, own: Sequence[Estimate | None], repeated: Sequence[Estimate | None], _reads: Sequence[bool]
    ) -> list[Estimate | None]:
        """Return a mean of both estimates of each model."""
        return join_bills(own, repeated)


# Stand below their classes.
SCORE, BILL = _Score(), _Bill()


def objective_of(score: str | LibraryScore) -> Objective:
    """Return the objective of a study with a score: the bill, if that is minus the cost of errors."""
    return BILL if str(score) == ERROR_COST else SCORE
