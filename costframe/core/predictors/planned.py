"""A predictor that plans for each row which set of features to buy next, at prices given at prediction."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import define, evolve, field
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8, I8
from costframe.core.checks import check_number
from costframe.core.cost.expected import CostReport, ExpectedCost
from costframe.core.cost.report import Charges
from costframe.core.errors import ParameterError, StageError, format_count
from costframe.core.gains import Gains, gains_of_answers
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.bits import as_set
from costframe.core.predictors.classes import as_classes, check_classes
from costframe.core.predictors.inquiry import Ledger
from costframe.core.predictors.planned_terms import Terms
from costframe.core.predictors.planned_walk import PlannedRows, PlannedWalker, PlannedWay, planned_charges, walk_table
from costframe.core.predictors.predictor import Predictor, RowRequest, check_costs
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import Limits
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.stages.links import squeeze
from costframe.core.stages.run_stages import mean_outputs
from costframe.core.stages.stops import (
    PlanLayout,
    Rung,
    Stop,
    as_ladder,
    as_stops,
    check_ladder,
    check_stops,
    read_by,
    stop_prices,
)
from costframe.core.tables.categories import Categories
from costframe.core.tables.rows import as_rows


@define(eq=False, frozen=True, repr=False)
class PlannedPredictor(Predictor):
    """A list of m stops, each with a set of features; prediction chooses for each row the next stop to go to.

    A row begins at stop 0, or, if values are known, at the last stop whose features are all known. At stop k, with A
    acquired, it goes on to the stop j >= k with the least

        G_kj(x) + tradeoff * price(A -> A + S_j),    G_kk = 0, without a price for j = k;

    of equal ones, with the first. There it chooses again with more features known. A row that stays gets its answer
    there. The models do not depend on prices: prices, tradeoff, cap and unavailable features are given at prediction.
    A row chooses among the stops that its cap allows and whose features are all available. Unavailable features of
    stop 0 are missing (NaN) there.

    Parameters
    ----------
    bank : WeakLearnerBank
        Learners of all answers.
    gains_bank : WeakLearnerBank
        Learners of all gains, over the same d features followed by the K scores of the answer at the row's stop. It
        has no opaque learners.
    stops : tuple of Stop
    tradeoff : float
        Default loss accepted per unit of cost.
    costs : CostModel or None
        Default prices.
    batch : float or None
        Rows that share once-per-batch prices in the choice of the next stop; None ignores these prices there.
    ladder : tuple of Rung
        At its own prices, the last rung that a tradeoff reaches decides; see `Rung`. Without any, the tradeoff itself.
    classes : (M,), optional
        Labels of the classes whose probabilities the answers give.

    Raises
    ------
    StageError
        If stops do not fit the banks or each other.
    CostModelError
        If the prices do not fit its features.
    """

    bank: WeakLearnerBank
    gains_bank: WeakLearnerBank
    stops: tuple[Stop, ...] = field(converter=as_stops)
    tradeoff: float = 0.0
    costs: CostModel | None = None
    batch: float | None = None
    ladder: tuple[Rung, ...] = field(default=(), kw_only=True, converter=as_ladder)
    classes: NDArray[Any] | None = field(default=None, kw_only=True, converter=as_classes)

    def __attrs_post_init__(self) -> None:
        check_number("tradeoff", self.tradeoff)
        if self.batch is not None:
            check_number("batch", self.batch, strict=True)
        for name in ("bank", "gains_bank"):
            if not isinstance(bank := getattr(self, name), WeakLearnerBank):
                raise StageError(f"{name}: expected a WeakLearnerBank, got {type(bank).__name__}")
        check_stops(self.stops, self.bank, self.gains_bank)
        check_ladder(self.ladder, has_plans=self._has_plans)
        check_classes(self.classes, self.n_outputs)
        check_costs(self.costs, self.feature_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Columns of the rows it predicts."""
        return self.bank.feature_names

    @property
    def categories(self) -> Categories:
        """Labels of each feature whose categories are texts; see `WeakLearnerBank`."""
        return self.bank.categories

    @property
    def facts(self) -> tuple[str, ...]:
        """Its size, for its `repr`."""
        counts = format_count(len(self.stops), "stop"), format_count(len(self.bank), "learner")
        return *counts, f"link {self.stops[0].answer.link!r}", f"tradeoff {self.tradeoff:g}"

    @property
    def sure_features(self) -> tuple[str, ...]:
        """Names of the features of the first stop."""
        return tuple(self.feature_names[f] for f in self.stops[0].features)

    @cached_property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that it may read or buy."""
        return tuple(self.feature_names[f] for f in read_by(self.stops, self.bank, self.gains_bank))

    @property
    def n_outputs(self) -> int:
        """K, the number of outputs of every answer."""
        return len(self.stops[0].answer.intercept)

    @property
    def grows(self) -> bool:
        """Whether each stop has all features of the one before and more, and nothing is for fixed prices."""
        chain = all(a & ~b == 0 and a != b for a, b in pairwise(self.layout.sets))
        return chain and not self.ladder

    @cached_property
    def layout(self) -> PlanLayout:
        """The stops as arrays for the engine."""
        return PlanLayout(self.stops, self.bank, self.gains_bank)

    def with_costs(self, costs: CostModel | None) -> PlannedPredictor:
        """Return the same model with other default prices, without plans and ladder for the old prices.

        A model without prices, as during training, keeps them: they were made for the new prices.
        """
        if self.costs is None or CostModel.of(costs, self.feature_names) == self._own:
            return self._evolve(costs=costs)
        stops = tuple(evolve(stop, planned=None) for stop in self.stops)
        return self._evolve(costs=costs, stops=stops, ladder=())

    def with_classes(self, classes: ArrayLike | None) -> PlannedPredictor:
        """Return the same predictor with labels of its classes."""
        return self._evolve(classes=classes)

    def with_tradeoff(self, tradeoff: float) -> PlannedPredictor:
        """Return the same model with another default tradeoff."""
        return self._evolve(tradeoff=tradeoff)

    def with_categories(self, categories: Categories) -> PlannedPredictor:
        """Return the same model with other labels of its features."""
        return self._evolve(bank=evolve(self.bank, categories=categories))

    def predict(
        self,
        X: Any,
        *,
        costs: object = None,
        tradeoff: float | None = None,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
        n_jobs: int | None = None,
    ) -> F8:
        """Predict rows: float64 (rows,), or (rows, K) for K > 1 outputs; see `StageTree.predict`.

        Parameters
        ----------
        costs : CostModel, or anything `CostModel.of` accepts
            None uses the predictor's default, as for the tradeoff.
        """
        parts = self.walk(X, self.terms(costs, tradeoff, max_cost, unavailable), n_jobs)
        return squeeze(np.concatenate([self.linked(part) for part in parts]))

    def labels(self, X: Any, *, costs: object = None, **terms: Any) -> NDArray[Any]:
        """Return the class of each row, (rows,); see `Predictor.labels`. Other costs decide what is bought, too."""
        return self.decide(self.predict_ends(X, costs=costs, **terms), X, costs, terms.get("unavailable", ()))

    def decision_function(self, X: Any, *, n_jobs: int | None = None, **terms: Any) -> F8:
        """Score rows, with terms as for `predict`: float64 (rows,) or (rows, K); ranked answers give predictions."""
        parts = self.walk(X, self.terms(**terms), n_jobs)
        ranked = self.stops[0].answer.link == "ranked"
        return squeeze(np.concatenate([self.linked(part) if ranked else part.scores for part in parts]))

    def exits(self, X: Any, *, n_jobs: int | None = None, **terms: Any) -> I8:
        """Return the stop that answers each row, with terms as for `predict`: int64 (rows,)."""
        return np.concatenate([part.exits for part in self.walk(X, self.terms(**terms), n_jobs)])

    def begin(self, request: RowRequest, *, tradeoff: float | None = None) -> PlannedWalker:
        """Return a walker for one row; see `Predictor.begin`. It buys whole sets for any `acquisition`."""
        limits = request.max_cost, request.unavailable
        if request.costs is self._own and not request.known and (tradeoff, *limits) == (None, None, ()):
            terms = self._own_terms
        else:
            terms = self.terms(request.costs, tradeoff, *limits, request.ledger, request.values)
        return PlannedWalker.begin(self._way(terms), request.values)

    def cost(self, X: Any, y_or_costs: Any = None, *, tradeoff: float | None = None, **how: Any) -> CostReport:
        """Return the exact cost of predicting rows; see `Predictor.cost`."""
        plan = self if tradeoff is None else self.with_tradeoff(tradeoff)
        return super(PlannedPredictor, plan).cost(X, y_or_costs, **how)

    def charges(self, X: F8, costs: CostModel, weight: F8, how: ExpectedCost, n_jobs: int | None = None) -> Charges:
        """Charge rows; see `Predictor.charges`."""
        if how.routing == "soft":
            raise ParameterError("routing: a plan has no thresholds to soften; use routing='hard'")
        terms = self.terms(costs, None, how.max_cost, how.unavailable)
        return planned_charges(self.walk(X, terms, n_jobs), terms, weight, self.linked)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns, at the stops where rows end; see `Predictor.gains`."""
        exits, answers = self.exits(rows.X, costs=costs), dict(enumerate(stop.answer for stop in self.stops))
        return gains_of_answers(self.bank, answers, exits, rows, mean_outputs(self.bank, rows.X, rows.weight))

    def linked(self, walked: PlannedRows) -> F8:
        """Apply the link of each row's answer to its scores: float64 (rows, K)."""
        return walked.linked([stop.answer for stop in self.stops])

    def terms(
        self,
        costs: object = None,
        tradeoff: float | None = None,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
        ledger: Ledger | None = None,
        known_values: Collection[int] = (),
    ) -> Terms:
        """Make the terms of a prediction; `known_values` are columns with known values, paid for or not."""
        model = self._resolve_costs(costs)
        prices = model.select(self.feature_names)
        limits = Limits.of(max_cost, unavailable, prices, known_values)
        if tradeoff is not None:
            check_number("tradeoff", tradeoff)
        features, resources = ledger.paid_before if ledger else (frozenset[int](), frozenset[int]())
        known = as_set(features) | as_set(resources) << len(prices.cost)
        rung = self._rung(model, float(self.tradeoff if tradeoff is None else tradeoff))
        return Terms.of(
            stop_prices(prices, self.layout.sets, self.batch),
            rung.tradeoff,
            limits,
            known=known,
            planned=rung.planned and not (limits and limits.unavailable) and not known,
        )

    def walk(self, X: Any, terms: Terms, n_jobs: int | None = None) -> list[PlannedRows]:
        """Send rows from stop to stop on some terms; return the results of parts of the table, at least one."""
        rows = as_rows(X, self.feature_names, self.categories, self.used_features)
        return walk_table(self.layout, terms, rows, n_jobs)

    @cached_property
    def _way(self) -> Callable[[Terms], PlannedWay]:
        """Return what single rows on some terms have in common; kept for many inquiries."""
        return lru_cache(64)(partial(PlannedWay, self.layout))

    @cached_property
    def _own(self) -> CostModel:
        return CostModel.of(self.costs, self.feature_names)

    @cached_property
    def _own_terms(self) -> Terms:
        return self.terms()

    def _rung(self, model: CostModel, tradeoff: float) -> Rung:
        """Return how rows decide at some prices and a tradeoff."""
        if not self.ladder or not (model is self._own or model == self._own):  # equality compares every price
            return Rung(0.0, tradeoff)
        return self.ladder[bisect_right(self.ladder, tradeoff, key=lambda rung: rung.least) - 1]

    @cached_property
    def _has_plans(self) -> bool:
        return any(stop.planned is not None for stop in self.stops)

    def _resolve_costs(self, costs: object) -> CostModel:
        return self._own if costs is None else CostModel.of(costs, self.feature_names)

    def _evolve(self, **changes: Any) -> PlannedPredictor:
        """Return a predictor with the same answers and gains; it shares their layouts."""
        other = evolve(self, **changes)
        object.__setattr__(other, "layout", self.layout)
        return other
