"""Certain answers early: a predictor around a sum of learners, whose rows end as soon as the rest changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from attrs import define, evolve
from numpy.typing import ArrayLike

from costframe import engine
from costframe.core.arrays import F8
from costframe.core.cost.charges import charge_masks
from costframe.core.cost.totals import Charges
from costframe.core.errors import ParameterError, shown
from costframe.core.gains import Gains
from costframe.core.learners.thresholds import Cuts
from costframe.core.predictors.fitted import FittedEstimator, what_is
from costframe.core.predictors.grounds import Ground, Grounds
from costframe.core.predictors.guarded import GuardedPredictor
from costframe.core.predictors.mixed import MixedPredictor
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import CERTAIN, REASONS
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.certain import CertainRows, Goal, Until, certain_rows, certain_walk, lay_out_bounds
from costframe.core.stages.ends import Ends
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.stages.layout import COMPARISONS, USES, WEIGHT
from costframe.core.stages.links import squeeze
from costframe.core.stages.pulls import has_bounds, open_columns, pulls, widest_move
from costframe.core.stages.stage_model import RowWalk
from costframe.core.stages.step import StageStepper
from costframe.core.stages.waiting import waiting_shares
from costframe.core.terms.card import Card
from costframe.core.terms.terms import Terms

__all__ = ["CertainPredictor", "certain"]


def certain(model: Any, until: Until) -> Any:
    """Return a model whose rows end as soon as nothing further can change their class, or move their scores by much.

    No row pays more than for the whole evaluation, in often more rounds: each asks for the feature that promises most
    for its price, and what is free with it. The answer of a row that ends early has the middle of the scores left
    open, and the reason "certain".

    Parameters
    ----------
    model : Predictor, or an estimator fitted to one
        A `StageTree` of one answer, such as boosted trees, a forest, or a linear model; or a mixture of two of them, or
        one behind a preparation.
    until : "class" or float
        "class": a row ends as soon as the rest cannot change its class: p > 1/2 for one output, else the first largest.
        A number: as soon as the rest cannot move any score by more than that from the score given.

    Returns
    -------
    Predictor, or FittedEstimator for an estimator
        It refuses limits, `acquisition="learner"` and soft routing. It is not saved: save the model.

    Raises
    ------
    ParameterError
        If `model` is no sum of learners, or has no classes for "class", or `until` is something else.
    """
    if isinstance(model, Predictor):
        return _wrap(model, until)
    predictor = getattr(model, "predictor_", None)
    if not isinstance(predictor, Predictor):
        raise ParameterError(f"model: expected a Predictor or a fitted estimator, got {what_is(model)}")
    wrapped = _wrap(predictor, until)
    return FittedEstimator(wrapped, model.kind) if hasattr(model, "kind") else FittedEstimator(wrapped)


def _wrap(predictor: Predictor, until: Until) -> Predictor:
    """Wrap the sums of learners that decide within a predictor."""
    if isinstance(predictor, StageTree):
        return CertainPredictor(predictor, until)
    if isinstance(predictor, PreparedPredictor):
        return evolve(predictor, inner=_wrap(predictor.inner, until))
    if isinstance(predictor, GuardedPredictor):
        raise ParameterError(
            "model: expected one sum of learners; a guard bars features in some rows, and a certain model has no limits"
        )
    if isinstance(predictor, MixedPredictor):
        return evolve(predictor, first=_wrap(predictor.first, until), second=_wrap(predictor.second, until))
    raise ParameterError(
        "model: expected one sum of learners, a StageTree with one answer; "
        f"a {type(predictor).__name__} does not know what it can still add"
    )


@define(eq=False, frozen=True, repr=False)
class CertainPredictor(Predictor):
    """A sum of learners whose rows end as soon as they are certain; see `certain`."""

    inner: StageTree
    until: Until

    def __attrs_post_init__(self) -> None:
        self.goal  # noqa: B018 - refuses what does not fit

    @cached_property
    def card(self) -> Card:
        """What describes it: the card of the sum; of its facts, when rows end."""
        card = self.inner.card
        facts = f"until {shown(self.until)}", *card.facts
        return evolve(card, facts=facts, ends_at_class=isinstance(self.until, str))

    def with_card(self, card: Card) -> CertainPredictor:
        """Return the same model with another card; see `Predictor.with_card`."""
        return evolve(self, inner=self.inner.with_card(card))

    @property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that the sum may read."""
        return self.inner.used_features

    @cached_property
    def goal(self) -> Goal:
        """What must be certain of a row's scores."""
        own = self.inner.own_classes
        slack = 0.0 if own is None else own.slack
        return Goal.of(self.until, self.inner.stages, knows_classes=self.inner.classes is not None, slack=slack)

    @cached_property
    def _bounds(self) -> engine.Record:
        return lay_out_bounds(self.inner.layout)

    @cached_property
    def _walks(self) -> WeakKeyDictionary[PriceArrays, RowWalk]:
        return WeakKeyDictionary()

    def walk(self, prices: PriceArrays) -> RowWalk:
        """Return what rows at some prices have in common."""
        if prices not in self._walks:
            exact = self.inner.exact(prices)
            self._walks[prices] = certain_walk(self.inner.layout, self._bounds, self.goal, prices, exact)
        return self._walks[prices]

    def only_used_features(self) -> CertainPredictor:
        """Return the same model for rows, and prices, of the features that its learners read."""
        return evolve(self, inner=self.inner.only_used_features())

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict rows; see `Predictor.evaluate`. It takes no limits."""
        _check_terms(terms)
        found = certain_rows(self.walk(terms.prices), X, terms.n_jobs)
        ends = self._ends_of(found, X)
        exits = np.zeros(len(X), np.int64)
        margins = partial(self.inner.margins, found.scores, exits)
        return Ends(lambda: squeeze(ends.predictions), lambda: ends.places, margins)

    def begin(self, terms: Terms) -> StageStepper:
        """Return a walker for one row; see `Predictor.begin`. It takes no limits."""
        _check_terms(terms)
        prices, paid = terms.prices, terms.ledger.paid_before
        return StageStepper.begin(self.inner, prices, True, terms.values, paid=paid, walk=self.walk(prices))

    def grounds(self, walker: StageStepper, terms: Terms, bought: tuple[int, ...]) -> Grounds:
        """Return why a row asks: how far scores may move by what waits; see `Predictor.grounds`."""
        if not walker.needs:
            return self._end_grounds(walker, self.unread(terms, bought))
        if not has_bounds(walker):
            shares = waiting_shares(walker)
            return Grounds(tuple(Ground((f,), shares.get(f, 0.0), "weight") for f in walker.needs))
        found, quote = pulls(walker), terms.ledger.quote
        asks = {f: Ground((f,), found.get(f, 0.0) / self._unit, "score") for f in walker.needs}
        worth = {f: pull**1.5 / price for f, pull in found.items() if (price := quote([f], bought)) > 0}
        chosen, others = ([f for f in worth if (f in asks) == asked] for asked in (True, False))
        if chosen and others:
            best, second = (max(some, key=worth.__getitem__) for some in (chosen, others))
            asks[best] = evolve(asks[best], runner_up=Ground((second,), found[second] / self._unit, "score"))
        return Grounds(tuple(asks.values()))

    def ends_given(self, X: F8, columns: Sequence[int], terms: Terms) -> Ends:
        """Return the ends of rows of the whole sum that know some columns; see `Predictor.ends_given`."""
        return self.inner.ends_given(X, columns, terms)

    @property
    def cuts(self) -> Cuts:
        """Thresholds of columns; see `Predictor.cuts`."""
        return self.inner.cuts

    def _end_grounds(self, walker: StageStepper, unread: tuple[int, ...]) -> Grounds:
        """Return why a row ended, and how far the rest could move its scores."""
        if walker.reason != REASONS[CERTAIN]:
            return Grounds(cause=walker.reason, further=(Ground(unread),) if unread else ())
        left = open_columns(walker)
        return Grounds(cause=walker.reason, further=(Ground(left, widest_move(walker) / self._unit, "score"),))

    @property
    def _unit(self) -> float:
        """The number by which sums are divided to be the scores of `decision_function`."""
        return self.goal.divisor if (answer := self.inner.only_answer) is not None and answer.blends else 1.0

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge rows; see `Predictor.charges`. Learners left unfinished cost their comparisons only."""
        terms.check_hard("expected 'hard' for rows that end when they are certain, got 'soft'")
        _check_terms(terms)
        prices = terms.prices
        rows = certain_rows(self.walk(prices), X, terms.n_jobs)
        charges = charge_masks(
            self.inner,
            prices,
            rows.masks,
            weight,
            rows.account[:, WEIGHT],
            rows.account[:, COMPARISONS],
            rows.account[:, USES] - np.bitwise_count(rows.masks).sum(axis=1),
            np.array([float(weight.sum())]),
            self._ends_of(rows, X),
            np.zeros((len(X), len(prices.cost)), np.bool_),
        )
        return evolve(charges, cut=rows.early, rounds=rows.rounds)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns in the whole sum; see `Predictor.gains`."""
        return self.inner.gains(rows, costs)

    def with_fallbacks(self, X: Any, sample_weight: ArrayLike | None = None, y: ArrayLike | None = None) -> Predictor:
        """Refuse fallbacks: they are for limits, which it does not take."""
        del X, sample_weight, y
        raise ParameterError("with_fallbacks: rows that end when they are certain take no limits; use the model itself")

    def _ends_of(self, found: CertainRows, X: F8) -> Ends:
        """Return the ends of rows, with predictions (rows, K)."""
        return self.inner.ends_of(found.scores, np.zeros(len(X), np.int64), X, found.early)


def _check_terms(terms: Terms) -> None:
    terms.check_unlimited("rows end when they are certain or by limits; give one, not both")
    if not terms.by_path:
        raise ParameterError(
            "acquisition: expected 'path' for rows that end when they are certain, as a tree acquired as a whole "
            f"leaves nothing open; got {terms.acquisition!r}"
        )
