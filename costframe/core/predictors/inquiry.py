"""One prediction under way: a state machine without I/O that asks for features until it can answer.

A *walker* steps through a model: it names the features needed next, and takes their values. The *ledger* keeps the
charges. The inquiry joins the two; every driver, and every replay of a cost, is a loop over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from fractions import Fraction
from typing import Any

import numpy as np

from costframe.core.errors import InquiryError, brief, format_count, quote_names
from costframe.core.predictors.changes import Changes, explain_changes
from costframe.core.predictors.grounds import Grounds
from costframe.core.predictors.inquiry_state import (
    InquiryState,
    Round,
    read_asked,
    read_outputs,
    read_round,
    write_asked,
    write_outputs,
    write_values,
)
from costframe.core.predictors.prediction import Prediction
from costframe.core.predictors.reasons import Why
from costframe.core.predictors.rounds_before import bought_in, bought_rounds, rest_of
from costframe.core.predictors.walker import DecidingWalker, Walked, Walker
from costframe.core.prices.costs import CostModel
from costframe.core.prices.digest import prices_digest
from costframe.core.prices.limits import REASONS, UNAVAILABLE
from costframe.core.tables.kept_outputs import KeptOutputs, Outputs
from costframe.core.terms.decision import Decision
from costframe.core.terms.terms import Terms
from costframe.core.terms.values import as_floats

_DOUBLES = {float, np.float64}


class Inquiry:
    """One prediction under way: it asks for features until it can answer.

    `walker` is the model's side of it, which `predictor` began on `terms`. While `needs` is not empty, supply exactly
    the features it names; then read `answer`. A value may be NaN: the feature is acquired, but missing. A refused call
    raises `InquiryError` and changes nothing. `why` tells what an ask is for.
    """

    __slots__ = (
        "_acquired", "_asked", "_before", "_categories", "_columns", "_decision", "_given", "_names", "_needs",
        "_outputs", "ledger", "predictor", "terms", "walker",
    )  # fmt: skip

    def __init__(self, predictor: Walked, terms: Terms, walker: Walker, decision: Decision | None = None) -> None:
        card = predictor.card
        self.predictor, self.terms, self.ledger, self._decision = predictor, terms, terms.ledger, decision
        self._names, self._categories = card.feature_names, card.categories
        self._asked = terms  # of the whole row, where it has begun again
        self._outputs: KeptOutputs | None = None  # of foreign functions, where the model has some
        self._given: tuple[Round, ...] = ()
        self._before = 0  # of these, rounds before it began again
        self._acquired: tuple[int, ...] = ()
        self._show(walker)

    @classmethod
    def on(
        cls, terms: Terms, predictor: Walked, *, before: Sequence[Round] = (), outputs: Outputs | None = None
    ) -> Inquiry:
        """Begin the inquiry of a row on some terms; it asks for prices of errors too, and its answer has a label.

        The row has paid for the values of rounds `before`, from which it begins again, at other prices or without what
        cannot be had; the outputs are of foreign functions.
        """
        if (places := predictor.function_places) or before:
            return cls._on(terms, predictor, before, KeptOutputs(places, outputs or {}) if places else None)
        return cls(predictor, terms, _walker_of(predictor, terms), terms.decision)

    @classmethod
    def _on(cls, asked: Terms, predictor: Walked, before: Sequence[Round], outputs: KeptOutputs | None) -> Inquiry:
        terms = rest_of(asked, before) if before else asked
        with nullcontext() if outputs is None else outputs.keeping():
            walker = _walker_of(predictor, terms)
        inquiry = cls(predictor, terms, walker, asked.decision)
        inquiry._asked, inquiry.ledger, inquiry._outputs = asked, asked.ledger, outputs
        inquiry._given, inquiry._before, inquiry._acquired = tuple(before), len(before), bought_in(asked, before)
        return inquiry

    @classmethod
    def go_on_from(cls, state: InquiryState, predictor: Walked, terms: Terms, *, is_same_price: bool = True) -> Inquiry:
        """Go on from a state: at other prices, from all that the row knows; else round by round, as it came."""
        labels, column = terms.card.categories, terms.card.column
        rounds = [read_round(number, values, labels) for number, values in enumerate(state.rounds, 1)]
        before = rounds[: state.restart] if is_same_price else rounds
        names = [name for values in before for name in values]
        if len(set(names)) < len(names) or not column.keys() >= set(names):
            raise InquiryError(f"resume: expected features, each in one round, got {quote_names(names)}")
        past = [(tuple(values), tuple(values.values())) for values in before]
        outputs = read_outputs(state.outputs, predictor.functions)
        inquiry = cls.on(terms, predictor, before=past, outputs=outputs)
        for number, values in enumerate(rounds[len(before) :], len(before) + 1):
            if values.keys() != set(inquiry.needs):
                asked, got = quote_names(inquiry.needs) or "none", quote_names(values)
                raise InquiryError(f"resume: round {number}: expected values of {asked}, got {got}")
            inquiry.take([values[name] for name in inquiry.needs])
        if is_same_price and inquiry.needs != tuple(state.needs):
            asked, had = (quote_names(names) or "nothing" for names in (inquiry.needs, state.needs))
            raise InquiryError(f"resume: it needs {asked}, and needed {had} when it was put away")
        return inquiry

    def take(self, numbers: Sequence[float]) -> None:
        """Go on with the values of the features in `needs`, in their order, as `read` returns them."""
        if self._outputs is None:
            self.go_on(self.walker.after(numbers), numbers)
            return
        outputs = self._outputs.copy()
        with outputs.keeping():
            walker = self.walker.after(numbers)
        self.go_on(walker, numbers)
        self._outputs = outputs

    def without(self, names: Iterable[str], values: Mapping[str, Any] | None = None) -> Inquiry:
        """Return the inquiry of the same row that goes on without features or resources that cannot be had.

        What was bought stays on the bill, and the cap holds for the whole row. A plan plans again with what is there.

        Parameters
        ----------
        names : iterable of str
        values : mapping of str to value, optional
            Values of some of the features in `needs`, which came all the same.

        Raises
        ------
        InquiryError
            If the inquiry has ended, a name is unknown, or a value is of a feature that was not asked for.
        """
        given = {} if values is None else values
        if not self._needs:
            raise InquiryError("without: the inquiry has ended, it needs nothing more")
        if surplus := [name for name in given if name not in self._needs]:
            raise InquiryError(f"without: expected values of some of {self._needs}, not asked for: {surplus}")
        came = tuple(name for name in self._needs if name in given)
        last = ((came, as_floats(given, came, self._categories)),) if came else ()
        asked = self._asked.barring(names)
        outputs = None if self._outputs is None else self._outputs.copy()
        return self._on(asked, self.predictor, (*self._given, *last), outputs)

    def values(self) -> dict[str, float]:
        """Return the values that it knows and that were supplied, by feature; labels as their numbers."""
        known = {self._names[f]: value for f, value in self._asked.values.items()}
        return known | {name: v for names, numbers in self._given for name, v in zip(names, numbers, strict=True)}

    def go_on(self, walker: Walker, numbers: Sequence[float]) -> None:
        """Charge what was needed, and go on with the walker that took its values."""
        bought, paid, given = self._columns, self.ledger.features, (*self._given, (self._needs, numbers))
        if paid:
            bought = tuple([f for f in bought if f not in paid])
        acquired = self._acquired + bought
        self._show(walker)  # an error before changes nothing
        self._acquired, self._given = acquired, given

    def _show(self, walker: Walker) -> None:
        columns = walker.needs
        needs = tuple(map(self._names.__getitem__, columns))
        self.walker, self._columns, self._needs = walker, columns, needs

    def __copy__(self) -> Inquiry:
        """Return the same inquiry, which goes on apart: what it holds does not change."""
        other = object.__new__(type(self))
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Inquiry:
        return copy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the model, the prices and the state without their digests."""
        return _unpickle, (self.predictor, self._asked.costs, self._state("", "").to_json())

    def to_json(self) -> str:
        """Put the inquiry away as a text, from which `Predictor.resume` goes on, also in another process.

        The text is one JSON object: digests of the model and of the prices, what was asked, the values of each round,
        outputs of opaque learners and operations, and the features in `needs`. It holds the row's values as they are.

        Raises
        ------
        InquiryError
            If the model has no digest, as a third party's whose class does not give its `content`; or if a value is of
            a type that JSON cannot hold.
        """
        return self._state(self.predictor.digest, prices_digest(self._asked.costs)).to_json()

    def _state(self, model: str, prices: str) -> InquiryState:
        rounds = [write_values(names, values, self._categories) for names, values in self._given]
        outputs = [] if self._outputs is None else write_outputs(self._outputs.outputs)
        return InquiryState(model, prices, write_asked(self._asked), rounds, self._before, outputs, self._needs)

    def __repr__(self) -> str:
        """Name what it needs next, and what the row paid so far."""
        needs = f"needs {quote_names(self.needs)}" if self.needs else "answered"
        return brief(self, needs, f"cost {self.cost:g}", f"{format_count(len(self._given), 'round')} so far")

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the features that are certainly needed, in column order; empty when there is an answer."""
        return self._needs

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return len(self._given)

    @property
    def acquired(self) -> tuple[str, ...]:
        """Names of the features paid for so far, in order."""
        return tuple(map(self._names.__getitem__, self._acquired))

    @property
    def cost(self) -> float:
        """Cost of the row so far."""
        return self.cost_with(())

    def cost_with(self, came: Sequence[str]) -> float:
        """Return the cost of the row so far, also of those features in `needs` that came already."""
        evaluated, acquired = self.walker.evaluated, self._acquired
        if came:
            acquired += bought_in(self._asked, [(tuple(came), ())])
        if self._asked.prices.has_rounds:
            rounds = (*self._given, (tuple(came), ())) if came else self._given
            evaluated += bought_rounds(self._asked, rounds)
        return self.ledger.total(acquired, evaluated)

    @property
    def evaluated(self) -> Fraction:
        """Price of what the model has evaluated so far; see `Walker`."""
        return self.walker.evaluated

    @property
    def place(self) -> int | None:
        """Number of the class of the row, where its prediction does not tell it; see `Walker`."""
        return self.walker.place

    def why(self, came: Sequence[str] = ()) -> Why:
        """Return why it asks for what it needs, or why it stopped: data, and sentences as its text.

        Of features in `needs` that `came` already it says nothing, and prices are of the others in that round.
        """
        paid, there = self._acquired, [self.predictor.card.column[name] for name in came]
        with nullcontext() if self._outputs is None else self._outputs.copy().keeping():
            grounds = self.grounds()
        if there:
            grounds = grounds.among({*range(len(self._names))}.difference(there))
        return Why.of(
            grounds, self._names, lambda columns: self.ledger.quote(columns, paid, there), self.terms.costs.unit
        )

    def changes(self) -> Changes:
        """Return which values of features without a value would, alone, change the class; see `Changes`."""
        column = self.predictor.card.column
        values = {column[name]: value for name, value in self.values().items()}
        return explain_changes(self.predictor, self.terms, values, self._acquired, None if self._needs else self.answer)

    def grounds(self) -> Grounds:
        """Return why it asks, or why it stopped, before names and prices."""
        walker = self.walker
        if isinstance(walker, DecidingWalker):
            return walker.grounds(self.predictor, self.terms, self._acquired)
        return self.predictor.grounds(walker, self.terms, self._acquired)

    def supply(self, values: Mapping[str, Any]) -> None:
        """Supply the values of exactly the features in `needs`: numbers, or labels where categories are texts.

        An unknown label goes the missing way.

        Raises
        ------
        InquiryError
            If the inquiry has ended, a name is missing or not in `needs`, or a value is not a number.
        """
        self.take(self.read(values))

    def read(self, values: Mapping[str, Any]) -> list[float]:
        """Return the values of exactly the features in `needs`, in their order."""
        needs = self._needs
        if not needs:
            raise InquiryError("supply: the inquiry has ended, it needs nothing more")
        if type(values) is not dict:
            if not isinstance(values, Mapping):
                raise InquiryError(f"supply: expected a mapping of names to values, got {type(values).__name__}")
            values = dict(values)
        if len(values) == len(needs):
            try:
                given = list(map(values.__getitem__, needs))
            except KeyError:
                pass
            else:
                is_plain = not self._categories and _DOUBLES.issuperset(map(type, given))
                return given if is_plain else as_floats(values, needs, self._categories)
        missing = [name for name in needs if name not in values]
        surplus = [name for name in values if name not in needs]
        raise InquiryError(f"supply: expected exactly {needs}; missing {missing}, not asked for {surplus}")

    @property
    def answer(self) -> Prediction:
        """The prediction.

        Raises
        ------
        InquiryError
            If features are still needed.
        """
        if self._needs:
            raise InquiryError(f"answer: the inquiry still needs {self._needs}")
        if self._outputs is None:
            return self._end()
        with self._outputs.keeping():
            return self._end()

    def _end(self) -> Prediction:
        value, leaf = self.walker.answer
        walker, label = self.walker, None
        if self._decision is not None:
            label = self._decision.label(value, walker.place, getattr(walker, "values", {}))
        return Prediction(value, self.cost, self.acquired, len(self._given), leaf, walker.reason, label=label)


def _walker_of(predictor: Walked, terms: Terms) -> Walker:
    """Begin a row with the prices of errors that it asks for."""
    decision, walker = terms.decision, predictor.begin(terms)
    if decision is None or not decision.columns:
        return walker
    reason, further = REASONS[UNAVAILABLE] if decision.barred else None, set(decision.columns) - decision.barred
    return DecidingWalker(walker, further, terms.values, terms.card.feature_names, reason)


def _unpickle(predictor: Walked, costs: CostModel, text: str) -> Inquiry:
    state, card = InquiryState.from_json(text), predictor.card
    terms = Terms.of(card, costs, **read_asked(state.asked, card.categories))
    return Inquiry.go_on_from(state, predictor, terms)


def supply_inquiries(inquiries: Sequence[Inquiry], values: Sequence[Mapping[str, Any]]) -> list[Exception | None]:
    """Supply inquiries of one model as `Inquiry.supply` does, together where the model can; return their errors."""
    together = getattr(inquiries[0].walker, "after_together", None)
    if together is not None and len(inquiries) > 16:  # fewer are quicker one by one
        try:
            numbers = [inquiry.read(given) for inquiry, given in zip(inquiries, values, strict=True)]
            walkers = together([inquiry.walker for inquiry in inquiries], numbers)
        except Exception:  # noqa: BLE001, S110 - nothing has changed; one by one tells which rows fail
            pass
        else:
            for inquiry, walker, given in zip(inquiries, walkers, numbers, strict=True):
                inquiry.go_on(walker, given)
            return [None] * len(inquiries)
    return [_supply(inquiry, given) for inquiry, given in zip(inquiries, values, strict=True)]


def _supply(inquiry: Inquiry, values: Mapping[str, Any]) -> Exception | None:
    try:
        inquiry.supply(values)
    except Exception as error:  # noqa: BLE001 - the caller's to tell
        return error
    return None
