"""Mixtures of two predictors: a hash of a row's free features draws the one that answers the row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from attrs import define, evolve, field
from numpy.typing import ArrayLike

from costframe.core.arrays import B1, F8
from costframe.core.checks import check_number
from costframe.core.cost.totals import Charges
from costframe.core.errors import CostModelError, ParameterError, quote_names, shown
from costframe.core.gains import Gains
from costframe.core.learners.thresholds import Cuts, join_cuts
from costframe.core.predictors.grounds import Ground, Grounds
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.parted import Parts
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.prepared import PreparedPredictor
from costframe.core.predictors.replay import inquiry_of
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import ZERO
from costframe.core.stages.ends import Ends
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.class_shares import class_shares
from costframe.core.tables.row_draws import draw
from costframe.core.tables.row_hashes import hash_table
from costframe.core.tables.rows import as_column_names
from costframe.core.terms.card import Card
from costframe.core.terms.terms import Terms

__all__ = ["MixedPredictor"]

_ALIKE = ("feature_names", "categories", "costs", "half", "classes", "ends_at_class")


@define(eq=False, frozen=True, repr=False)
class MixedPredictor(Predictor):
    """Two predictors of the same features; the second one answers about a share of the rows, the first one the others.

    A hash of a row's values of some free features draws its predictor: by chance, and yet the same one each time. Mean
    costs on many rows lie between those of both, by the share. Each row acquires the features of the hash, and then
    what its predictor asks for. Its exit is 0 if the first predictor answers, else 1.

    Parameters
    ----------
    first, second : Predictor
        Of the same features, categories, prices and classes; neither is a mixture.
    share : float
        Share of the rows that the second one answers, from 0 to 1.
    by : sequence of str
        Features whose values are hashed. Zeros of both signs are equal, as are all missing values.

    Raises
    ------
    ParameterError
        If both do not fit each other, or `by` does not name their features.
    CostModelError
        If a feature of `by` costs a row something.
    """

    first: Any
    second: Any
    share: float
    by: tuple[str, ...] = field(converter=as_column_names)

    def __attrs_post_init__(self) -> None:
        check_number("share", self.share, high=1.0)
        for name in ("first", "second"):
            _check_part(name, getattr(self, name))
        cards = self.first.card, self.second.card
        for what in _ALIKE:
            expected, given = (getattr(card, what) for card in cards)
            if not np.array_equal(expected, given) if what == "classes" else expected != given:
                raise ParameterError(f"second: expected the {what} of the first, {shown(expected)}, got {shown(given)}")
        if not self.by or len(set(self.by)) < len(self.by) or not self.card.column.keys() >= set(self.by):
            raise ParameterError(
                f"by: expected distinct features of the predictors ({quote_names(self.feature_names, 6)}), "
                f"got {quote_names(self.by)}"
            )
        self._check_free(self.card.prices)

    @cached_property
    def card(self) -> Card:
        """What describes it: the card of both predictors; of its facts, the share and both."""
        first: Card = self.first.card
        plans = first.plans and self.second.card.plans
        kinds = " and ".join(type(model).__name__ for model in (self.first, self.second))
        return evolve(first, plans=plans, facts=(f"{self.share:.1%} by the second of {kinds}",))

    def with_card(self, card: Card) -> MixedPredictor:
        """Return the same model with another card; see `Predictor.with_card`."""
        return evolve(self, first=self.first.with_card(card), second=self.second.with_card(card))

    @property
    def sure_features(self) -> tuple[str, ...]:
        """Names of features that both predictors read in every row."""
        return tuple(name for name in self.first.sure_features if name in self.second.sure_features)

    @cached_property
    def used_features(self) -> tuple[str, ...]:
        """Features that one of both may read, and those of `by`."""
        used = {*self.first.used_features, *self.second.used_features, *self.by}
        return tuple(name for name in self.feature_names if name in used)

    def with_fallbacks(
        self, X: Any, sample_weight: ArrayLike | None = None, y: ArrayLike | None = None
    ) -> MixedPredictor:
        """Return the same model, both of whose predictors answer rows that limits cut; see `Predictor`."""
        rows = self.as_rows(X)
        shares = None if y is None else class_shares(y, self.classes, len(rows))
        first, second = (part.with_fallbacks(rows, sample_weight, shares) for part in (self.first, self.second))
        return evolve(self, first=first, second=second)

    def of_queries(self, qid: ArrayLike | None) -> Predictor:
        """Return itself; it refuses predictors whose rows of a query depend on each other, as it parts them."""
        if any(part.of_queries(qid) is not part for part in (self.first, self.second)):
            raise ParameterError("qid: rows of a query depend on each other, and a mixture parts them")
        return self

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict rows; see `Predictor.evaluate`."""
        self._check_terms(terms)
        parts = _parts(self.second_answers(X, terms.barred))
        models = zip((self.first, self.second), parts.rows, strict=True)
        return parts.join_ends([model.evaluate(X[rows], terms) for model, rows in models], self.card.half)

    def begin(self, terms: Terms) -> MixedWalker:
        """Return a walker for one row; see `Predictor.begin`."""
        self._check_terms(terms)
        begun = tuple(inquiry_of(model, terms) for model in (self.first, self.second))
        return MixedWalker(self, begun, terms.barred, terms.values)

    def grounds(self, walker: MixedWalker, terms: Terms, bought: tuple[int, ...]) -> Grounds:
        """Return why a walker asks: what the predictor says that was drawn; see `Predictor.grounds`."""
        del terms, bought
        if walker.drawn is None:
            return Grounds((Ground(walker.needs, purpose="these draw which of two models answers"),))
        return walker.drawn[1].grounds().among(walker.needs)

    def read_together(self, known: frozenset[int]) -> frozenset[int]:
        """Return the columns that one of both would not read alone; see `Predictor.read_together`."""
        found: frozenset[int] = self.first.read_together(known) | self.second.read_together(known)
        return found

    @cached_property
    def cuts(self) -> Cuts:
        """Thresholds of columns that are not hashed; see `Predictor.cuts`."""
        hashed = {self.card.column[name] for name in self.by}
        return {f: cuts for f, cuts in join_cuts(self.first.cuts, self.second.cuts).items() if f not in hashed}

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge rows; see `Predictor.charges`. The two stages are the predictors."""
        self._check_terms(terms)
        gone, total = terms.barred, weight.sum()
        parts = _parts(self.second_answers(X, gone))
        models = zip((self.first, self.second), parts.rows, strict=True)
        charges = [model.charges(X[rows], weight[rows], terms) for model, rows in models]
        stages = np.array([weight[rows].sum() for rows in parts.rows])
        joined, hashed = parts.join_charges(charges, self.card.half, stage_weight=stages), self.available_columns(gone)
        joined.acquired[:, hashed], joined.feature_weight[hashed] = True, total
        joined.resource_weight[list(terms.prices.direct_needs.of_features(hashed))] = total
        return joined

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns on the rows that each predictor answers; see `Predictor.gains`."""
        second, gains = self.second_answers(rows.X), dict[tuple[int, ...], float]()
        for model, mine in ((self.first, ~second), (self.second, second)):
            some = evolve(rows, X=rows.X[mine], weight=rows.weight[mine])
            for columns, gain in model.gains(some, costs).items() if mine.any() else ():
                gains[columns] = gains.get(columns, 0.0) + gain
        return gains

    def second_answers(self, X: F8, gone: frozenset[int] = frozenset()) -> B1:
        """Return which rows, float64 (n, d), the second predictor answers: bool (n,); columns in `gone` are missing."""
        columns = [self.card.column[name] for name in self.by]
        values = X[:, columns]  # a copy; `hash_table` takes zeros of both signs, and all NaN, as equal
        values[:, [f in gone for f in columns]] = np.nan
        return draw(hash_table(values), self.share, 0)

    def available_columns(self, gone: frozenset[int]) -> list[int]:
        """Return the columns of `by` that are not in `gone`."""
        return [f for f in (self.card.column[name] for name in self.by) if f not in gone]

    def _check_free(self, costs: CostModel) -> None:
        if paid := [name for name in self.by if costs.full_cost([name]) > 0]:
            raise CostModelError(
                f"{quote_names(paid)}: expected a price of 0, as a mixture hashes these features of each row, "
                f"got {costs.full_cost(paid):g}"
            )

    def _check_terms(self, terms: Terms) -> None:
        """Refuse terms that would not have their meaning for both predictors."""
        if terms.tradeoff is not None:
            raise ParameterError(
                f"tradeoff: expected None, as each predictor of a mixture has its own, got {shown(terms.tradeoff)}"
            )
        self._check_free(terms.costs)
        terms.check_read_first(self.by)


def _check_part(name: str, model: Any) -> None:
    inner = model.inner if isinstance(model, PreparedPredictor) else model
    if isinstance(inner, MixedPredictor):
        raise ParameterError(f"{name}: expected a predictor that is no mixture itself, got a {type(inner).__name__}")
    if not isinstance(model, Predictor):
        raise ParameterError(f"{name}: expected a predictor, got {type(model).__name__}")


def _parts(second: B1) -> Parts:
    return Parts((np.flatnonzero(~second), np.flatnonzero(second)))


class MixedWalker:
    """The model side of an inquiry: the features of the hash, then the inquiry of the predictor that it draws."""

    def __init__(
        self,
        model: MixedPredictor,
        begun: tuple[Inquiry, ...],
        gone: frozenset[int],
        values: Mapping[int, float],
        drawn: tuple[int, Inquiry] | None = None,
    ) -> None:
        self._model, self._begun, self._gone, self._values, self.drawn = model, begun, gone, values, drawn
        self.evaluated: Fraction = ZERO
        wanted = {*model.available_columns(gone)} - values.keys()
        if wanted:  # both predictors certainly need what both ask for
            first, second = (self._columns(inquiry) for inquiry in begun)
            # a predictor whose first round came in two parts would go twice to what has a price of further rounds
            if first == second or not begun[0].terms.prices.has_rounds:
                wanted |= (first & second) - values.keys()
        else:
            number, inquiry = self._draw() if drawn is None else drawn
            inquiry = copy(inquiry)
            while inquiry.needs and not (wanted := {*self._columns(inquiry)} - values.keys()):
                inquiry.supply({name: values[model.card.column[name]] for name in inquiry.needs})
            self.drawn, self.evaluated = (number, inquiry), inquiry.evaluated
            wanted = wanted if inquiry.needs else set()
        self.needs = tuple(sorted(wanted))

    def after(self, values: Sequence[float]) -> MixedWalker:
        """Return the walker with values too; it draws the predictor, and goes on with it, once theirs are there."""
        known = {**self._values, **dict(zip(self.needs, values, strict=True))}
        return MixedWalker(self._model, self._begun, self._gone, known, self.drawn)

    @property
    def answer(self) -> tuple[float | F8, int]:
        """Prediction, and 0 for the first predictor or 1 for the second."""
        assert self.drawn is not None  # noqa: S101 - needs is empty
        return self.drawn[1].answer.value, self.drawn[0]

    @property
    def place(self) -> int | None:
        """Number of the class, where the prediction does not tell it."""
        assert self.drawn is not None  # noqa: S101 - needs is empty
        return self.drawn[1].place

    @property
    def reason(self) -> str:
        """Why the walk ended; see `Prediction`."""
        assert self.drawn is not None  # noqa: S101 - needs is empty
        return self.drawn[1].answer.reason

    def _draw(self) -> tuple[int, Inquiry]:
        row = np.full((1, len(self._model.card.column)), np.nan)
        row[0, list(self._values)] = list(self._values.values())
        number = int(self._model.second_answers(row, self._gone)[0])
        return number, self._begun[number]

    def _columns(self, inquiry: Inquiry) -> frozenset[int]:
        return frozenset(self._model.card.column[name] for name in inquiry.needs)
