"""Exact cost of predicting rows: the charges under hard routing, or their expectation under soft routing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from costframe.core.checks import check_number
from costframe.core.cost.replay import replay_rounds
from costframe.core.cost.report import CostReport
from costframe.core.errors import ParameterError
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import names_of
from costframe.core.stages.reading import check_acquisition
from costframe.core.tables.labels import check_weights
from costframe.core.tables.rows import as_rows

if TYPE_CHECKING:
    from attrs import Attribute
    from numpy.typing import ArrayLike, NDArray

    from costframe.core.predictors.predictor import Predictor

__all__ = ["CostReport", "ExpectedCost"]

ROUTINGS = ("hard", "soft")


@frozen
class ExpectedCost:
    """An exact cost evaluator.

    Parameters
    ----------
    costs : CostModel, or anything `CostModel.of` accepts
        None takes the predictor's own prices, or one for every feature.
    routing : {"hard", "soft"}
        "hard": the charges of each row. "soft": each route sends a row above with probability
        sigma(steepness * (score - threshold)), and the cost is the expectation over all paths, sum_l p^l c^l.
    acquisition : {"path", "learner"}
        Whether a tree acquires features split by split, or all of them before it is evaluated.
    steepness : float, optional
        Replaces every route's own; for soft routing only.
    max_cost : float, optional
        Hard cap on the cost of each row; for hard routing only, like `unavailable`.
    unavailable : iterable of str
        Unavailable features and resources; see `Predictor.inquire`.
    """

    costs: object = None
    routing: str = field(default="hard", kw_only=True)
    acquisition: str = field(default="path", kw_only=True)
    steepness: float | None = field(default=None, kw_only=True)
    max_cost: float | None = field(default=None, kw_only=True)
    unavailable: tuple[str, ...] = field(default=(), kw_only=True, converter=names_of)

    @routing.validator
    def _known_routing(self, _attribute: Attribute[str], value: str) -> None:
        if value not in ROUTINGS:
            raise ParameterError(f"routing: expected one of {', '.join(ROUTINGS)}, got {value!r}")

    def __attrs_post_init__(self) -> None:
        check_acquisition(self.acquisition)
        if self.steepness is not None and self.routing == "hard":
            raise ParameterError("steepness: has no effect on hard routing")
        for name, given in (("max_cost", self.max_cost is not None), ("unavailable", bool(self.unavailable))):
            if given and self.routing == "soft":
                raise ParameterError(f"{name}: has no meaning for soft routing, whose rows go all ways; use 'hard'")
        if self.steepness is not None:
            check_number("steepness", self.steepness, strict=True)

    @property
    def limited(self) -> bool:
        """Whether rows may be cut: there is a cap, or something is unavailable."""
        return self.max_cost is not None or bool(self.unavailable)

    def evaluate(
        self,
        predictor: Predictor,
        X: Any,
        *,
        sample_weight: ArrayLike | None = None,
        rounds: bool = False,
        n_jobs: int | None = None,
    ) -> CostReport:
        """Evaluate a predictor on rows.

        Parameters
        ----------
        predictor : Predictor
        X : float64 (rows, d), or data frame
        sample_weight : float64 (rows,), optional
            Means are weighted by it; a weight of two is a row given twice.
        rounds : bool
            Whether to count each row's trips to the sources (hard routing only; a stage tree is replayed, slowly).
        n_jobs : int, optional
            Threads; None uses all cores. The result does not depend on it.
        """
        rows = as_rows(X, predictor.feature_names, predictor.categories)
        weight = _weights(sample_weight, len(rows))
        model = CostModel.of(predictor.costs if self.costs is None else self.costs, predictor.feature_names)
        prices = model.select(predictor.feature_names)
        if rounds and self.routing == "soft":
            raise ParameterError("rounds: a softened routing has no number of rounds; use routing='hard'")
        charges = predictor.charges(rows, model, weight, self, n_jobs)
        counted = charges.rounds if rounds else None
        if rounds and counted is None:
            counted = replay_rounds(predictor, rows, model, self)
        return CostReport.of(prices, charges, weight, counted, self.max_cost)


def _weights(sample_weight: ArrayLike | None, count: int) -> NDArray[np.float64]:
    if sample_weight is None or count == 0:
        return np.ones(count)
    weight = check_weights(sample_weight, count, "sample_weight")
    largest = float(weight.max())
    # Only ratios matter to means; extreme ones are scaled so that sums stay finite.
    return weight if 1e-100 < largest < 1e100 else weight / largest
