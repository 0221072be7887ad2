"""Rows on their way through sources that fail, and what each has paid."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from attrs import evolve

from costframe.core.errors import InquiryError, SourceError, TotalCostError, printable, quote_names
from costframe.core.predictors.inquiry import Inquiry, supply_inquiries
from costframe.core.predictors.prediction import Prediction
from costframe.core.prices.exact_prices import rounded_up
from costframe.sources.rounds import Outcome
from costframe.sources.terms import RowTerms


class LiveRow:
    """One row: it names the features it needs, takes what came and what did not, and ends in an answer.

    Where the policy is to go without a feature, the inquiry begins again with all values that are there, so a plan can
    plan around it. What really came is charged, once; what was asked for in vain is added up apart. Under a cap, values
    taken as missing count as paid, as the inquiry itself counts them. `trail` keeps the outcomes of its rounds, for
    logs.
    """

    __slots__ = (
        "_failed_cost", "_failures", "_inquiry", "_late", "_missing", "_paid", "_rounds", "_unpaid", "_values",
        "_without", "late_after", "number", "terms", "trail",
    )  # fmt: skip

    def __init__(self, terms: RowTerms, number: int = 0) -> None:
        self.terms = terms
        self._inquiry = terms.begin()
        self._values: dict[str, float] = {}  # that came, and NaN for those taken as missing
        self._missing: frozenset[str] = frozenset()
        self._without: frozenset[str] = frozenset()
        self._rounds, self._failed_cost, self._late = 0, 0.0, False
        self._failures: dict[str, str] = {}
        self._paid: Fraction | None = None
        self._unpaid = False  # whether its next call would cost more than the run may pay
        self.number = number  # in the order of the keys of a call
        self.trail: list[Outcome] = []
        self.late_after: int | None = None  # rounds after which its time was over

    @property
    def needs(self) -> tuple[str, ...]:
        """Features that it certainly needs, and that may still come; none when it has ended."""
        return self._inquiry.needs

    @property
    def cost(self) -> float:
        """Cost of what came so far, and of what was evaluated."""
        return self.terms.ledger.total(self._bought(()), self._inquiry.evaluated + self._paid_for_rounds())

    @property
    def failed_cost(self) -> float:
        """Price of what was asked for in vain so far."""
        return self._failed_cost

    @property
    def paid(self) -> float | None:
        """What its sources were really paid so far, rounded up, failed calls included; None if none says so."""
        return None if self._paid is None else rounded_up(*self._paid.as_integer_ratio())

    @property
    def failures(self) -> tuple[str, ...]:
        """Features that did not come so far."""
        return tuple(self._failures)

    def take(self, outcome: Outcome) -> Inquiry:
        """Note a round in which everything came; return the inquiry, which is to be supplied with the values."""
        self._note(outcome)
        self._values |= outcome.values
        return self._inquiry

    def _note(self, outcome: Outcome) -> None:
        self._rounds += 1
        self.trail.append(outcome)
        if outcome.paid is not None:
            self._paid = (self._paid or 0) + outcome.paid

    def supply(self, outcome: Outcome, *, late: bool = False) -> None:
        """Take the outcome of one round: values and failures of the features in `needs`; `late` also ends the row.

        Raises
        ------
        SourceError
            If a feature did not come, and the policy is to raise. A late row always gets an answer.
        """
        self._note(outcome)
        came = {name: outcome.values[name] for name in self.needs if name in outcome.values}
        if outcome.lost:
            columns, quote, bought = self.terms.columns, self.terms.ledger.quote, self._bought(())
            prices = [quote([columns[name] for name in names], bought) for names in outcome.lost]
            self._failed_cost += math.fsum(prices)
        self._values |= came
        failed = [name for name in self.needs if name not in came]
        self._failures |= {name: outcome.failed.get(name, "it did not come") for name in failed}
        if late:
            self.late_after, self._late = self._rounds, bool(failed)
        policies = self._policies(failed, late=late)
        beyond_policies = (outcome.broken | outcome.unpaid).intersection(failed)
        self._unpaid = bool(outcome.unpaid)
        self._advance(policies if late else policies | dict.fromkeys(beyond_policies, "raise"))
        if late:
            self.end()

    def end(self) -> None:
        """End the row now, since its time is over: what has not come is missing, or the row goes without it."""
        if self.late_after is None:
            self.late_after = self._rounds
        self._late |= bool(self.needs)
        while self.needs:
            self._failures |= dict.fromkeys(set(self.needs) - self._failures.keys(), "the deadline passed")
            self._advance(self._policies(self.needs, late=True))

    def _policies(self, failed: Iterable[str], *, late: bool) -> dict[str, str]:
        policies, priced = {name: self.terms.policies.get(name, "without") for name in failed}, self.terms.priced
        return {
            name: "without" if (late and policy == "raise") or (policy == "missing" and name in priced) else policy
            for name, policy in policies.items()
        }

    @property
    def answer(self) -> Prediction:
        """The prediction; an `InquiryError` if features are still needed."""
        end = self._inquiry.answer
        if not (self._failures or self._failed_cost or self._late):
            return end if self._paid is None else evolve(end, paid=self.paid)
        names = self.terms.predictor.feature_names
        return evolve(
            end,
            cost=self.cost,
            acquired=tuple(names[f] for f in self._bought(())),
            rounds=self._rounds,
            reason="deadline" if self._late else end.reason,
            failed_cost=self._failed_cost,
            failures=self.failures,
            paid=self.paid,
        )

    def error(self, what: str) -> SourceError:
        """Return the error of a row that has failed, with what it paid."""
        error = (TotalCostError if self._unpaid else SourceError)(what)
        error.cost, error.failed_cost, error.failures = self.cost, self._failed_cost, dict(self._failures)
        error.paid = self.paid
        return error

    def _advance(self, failed: Mapping[str, str]) -> None:
        """Supply the values that came, and treat those that failed by their policies."""
        if raising := [name for name, policy in failed.items() if policy == "raise"]:
            reasons = dict.fromkeys(self._failures[name] for name in raising)
            raise self.error(f"no value of {quote_names(raising)}: {printable('; '.join(reasons))}")
        missing = {name: math.nan for name, policy in failed.items() if policy == "missing"}
        self._missing = self._missing.union(missing)
        self._values |= missing
        without = {name for name, policy in failed.items() if policy == "without"}
        if not without:
            self._inquiry.supply({name: self._values[name] for name in self.needs})
            return
        self._without = self._without.union(without)
        bought = self._bought(self._missing)
        spent = self.terms.ledger.total(bought, self._paid_for_rounds())
        self._inquiry = self.terms.begin_again(self._all_known(bought), spent, sorted(self._without))

    def _bought(self, missing: Collection[str]) -> list[int]:
        """Return what came and was not paid for before, and these values taken as missing, as columns."""
        came = [name for name in self._values if name not in self._missing or name in missing]
        return [f for f in map(self.terms.columns.__getitem__, came) if f not in self.terms.ledger.features]

    def _paid_for_rounds(self) -> Fraction:
        """Return the price of going again to resources, in rounds of which something came."""
        columns = self.terms.columns
        return self.terms.ledger.rounds([columns[name] for name in outcome.values] for outcome in self.trail)

    def _all_known(self, bought: list[int]) -> dict[str, Any]:
        """Return what needs no money any more: values at hand, and names paid for without them."""
        known = self.terms.known
        before: dict[str, Any] = dict(known) if isinstance(known, Mapping) else dict.fromkeys(known)
        paid = self.terms.ledger.resources_paid(bought)
        resources = [self.terms.resource_names[r] for r in sorted(paid)]
        return before | dict.fromkeys(resources) | self._values


def supply_rows(rows: Sequence[LiveRow], outcomes: Sequence[Outcome], *, late: bool) -> list[Exception | None]:
    """Supply rows of a round; return the errors that end rows. Rows without failures go on together."""
    whole = [i for i, outcome in enumerate(outcomes) if not (late or outcome.failed or outcome.lost)]
    errors = dict[int, Exception | None]()
    if whole:
        inquiries = [rows[i].take(outcomes[i]) for i in whole]
        errors |= zip(whole, supply_inquiries(inquiries, [outcomes[i].values for i in whole]), strict=True)
    for i, outcome in enumerate(outcomes):
        if i not in errors:
            try:
                rows[i].supply(outcome, late=late)
            except Exception as error:  # noqa: BLE001 - a row that fails, also in a learner, never ends the others
                errors[i] = error
    for i, end in errors.items():
        if isinstance(end, InquiryError) and not isinstance(end, SourceError):  # a value that the model refuses
            errors[i] = rows[i].error(str(end))
    return [errors.get(i) for i in range(len(rows))]


def warm_up(terms: RowTerms) -> None:
    """Walk made-up rows, of which nothing is kept, so that the model is laid out when the first row comes.

    Rows take missing values, zeros, and no values, as at a deadline. Where the model refuses such a row, its walk ends.
    """
    for value in (math.nan, 0.0, None):
        with suppress(Exception):
            row = LiveRow(terms)
            while needs := row.needs:
                outcome = Outcome({} if value is None else dict.fromkeys(needs, value))
                if any(supply_rows([row], [outcome], late=value is None)):
                    break
