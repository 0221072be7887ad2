"""What is asked of rows: prices, acquisition, routing, limits, what is known, and a tradeoff; made and checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from attrs import Attribute, field, frozen

from costframe.core.checks import check_choice, check_number
from costframe.core.errors import ParameterError
from costframe.core.prices.costs import CostModel
from costframe.core.prices.exact_prices import left_of
from costframe.core.prices.ledger import Ledger
from costframe.core.prices.limits import LIMITS, Limits, as_cap, names_of
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.run_stages import check_acquisition
from costframe.core.tables.frames import column_names
from costframe.core.terms.card import Card
from costframe.core.terms.decision import Decision, error_columns
from costframe.core.terms.values import as_number

Known = Mapping[str, Any] | Iterable[str]
"""Features and resources paid for before an inquiry: names, or names with the values at hand, None for the others."""

ROUTINGS = ("hard", "soft")
ASKED = ("acquisition", "known", *LIMITS)  # of rows beside prices, whatever the predictor
OF_PLANS = ("costs", "tradeoff")  # what only a predictor that plans takes for a table


@frozen(eq=False)
class Terms:
    """What is asked of rows of a predictor; see `Predictor.terms`, which makes it.

    Parameters
    ----------
    card : Card
        Of the predictor.
    costs : CostModel
        The prices, resolved.
    prices : PriceArrays
        The same ones in the order of the predictor's d columns.
    acquisition : {"path", "learner"}
    routing : {"hard", "soft"}
    steepness : float or None
        Replaces every route's own; for soft routing only.
    max_cost : float or None
        Hard cap on the cost of each row.
    unavailable : tuple of str
        Features and resources that no row can have.
    known : tuple of str, or mapping of str to float or label
        Features and resources paid for before, perhaps with values.
    values : mapping of int to float
        The known values, by column.
    tradeoff : float or None
        Loss accepted per unit of cost, for predictors that plan; None for the predictor's own.
    n_jobs : int or None
        Threads; None uses all cores. No result depends on it.
    """

    card: Card
    costs: CostModel
    prices: PriceArrays
    acquisition: str = field(default="path", kw_only=True)
    routing: str = field(default="hard", kw_only=True)
    steepness: float | None = field(default=None, kw_only=True)
    max_cost: float | None = field(default=None, kw_only=True, converter=as_cap)
    unavailable: tuple[str, ...] = field(default=(), kw_only=True, converter=names_of)
    known: Known = field(default=(), kw_only=True)
    values: Mapping[int, float] = field(factory=dict, kw_only=True)
    tradeoff: float | None = field(default=None, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)

    @acquisition.validator
    def _known_acquisition(self, _attribute: Attribute[str], value: str) -> None:
        check_acquisition(value)

    @routing.validator
    def _known_routing(self, _attribute: Attribute[str], value: str) -> None:
        check_choice("routing", value, ROUTINGS)

    @tradeoff.validator
    def _checked_tradeoff(self, _attribute: Attribute[float | None], value: float | None) -> None:
        if value is not None:
            check_number("tradeoff", value)

    def __attrs_post_init__(self) -> None:
        self.limits, self.ledger  # noqa: B018 - refuse unknown names
        if self.prices.has_rounds:
            self.check_hard("rows of a softened routing go all ways, and prices of a further `round` need one way")
            self.check_read_first(self.error_columns)

    @classmethod
    def of(cls, card: Card, costs: object = None, *, known: Known = (), **asked: Any) -> Terms:
        """Make the terms of a predictor with a card, at its own prices if `costs` is None.

        Raises
        ------
        CostframeError
            If anything asked is none of its kind, or names what the predictor does not know.
        """
        model = card.prices_or(costs)
        values: dict[int, float] = {}
        if type(known) is tuple or not isinstance(known, Mapping):  # the latter takes long
            known = names_of(known, "known", ", or these with values")
        elif known:
            column = card.column
            values = {
                column[name]: as_number(name, value, card.categories.get(name))
                for name, value in known.items()
                if name in column and value is not None
            }
        return cls(card, model, model.select(card.feature_names), known=known, values=values, **asked)

    def within(self, card: Card, costs: CostModel, known: Known, barred: Iterable[str]) -> Terms:
        """Return what is asked of a predictor within another one, at its prices and with its names."""
        return self._with(card, costs, known=known, unavailable=barred)

    def left(self, known: Known, spent: float, without: Iterable[str]) -> Terms:
        """Return what is asked of the rest of a row that has spent something, and goes on without some features."""
        cap = None if self.max_cost is None else left_of(self.max_cost, spent)
        barred = (*self.unavailable, *without)
        return self._with(self.card, self.costs, known=known, max_cost=cap, unavailable=barred)

    def barring(self, names: Iterable[str]) -> Terms:
        """Return what is asked of a row that cannot have some further features or resources."""
        barred = tuple(dict.fromkeys((*self.unavailable, *names_of(names))))
        return self._with(self.card, self.costs, known=self.known, unavailable=barred)

    def _with(self, card: Card, costs: CostModel, **changes: Any) -> Terms:
        """Return what else is asked of a predictor with a card, under hard routing."""
        asked = {name: getattr(self, name) for name in ("acquisition", "max_cost", "tradeoff", "n_jobs")}
        return Terms.of(card, costs, **(asked | changes))

    @cached_property
    def by_path(self) -> bool:
        """Whether a tree acquires features split by split."""
        return self.acquisition == "path"

    @cached_property
    def is_soft(self) -> bool:
        """Whether rows go all ways, by probability."""
        return self.routing == "soft"

    @cached_property
    def limits(self) -> Limits | None:
        """The cap and the unavailable columns; None without either."""
        return Limits.of(self.max_cost, self.unavailable, self.prices, self.values)

    @property
    def barred(self) -> frozenset[int]:
        """The unavailable columns, without those whose values are known."""
        return frozenset() if self.limits is None else self.limits.barred

    @cached_property
    def unavailable_features(self) -> tuple[str, ...]:
        """Names of the unavailable features: those named, and those that need an unavailable resource.

        Features whose values are known are among them, too: a row has these values, and no others.
        """
        columns = self.prices.columns_of(self.unavailable, "unavailable") if self.values else self.barred
        return tuple(self.card.feature_names[f] for f in sorted(columns))

    def unread_columns(self, X: Any, *, labelled: bool = False) -> tuple[str, ...]:
        """Return the names of the features that are not read from a table of rows: the unavailable ones.

        With labels, prices of errors that the table has are read all the same: what a wrong answer costs is as true as
        the label, whatever the model can have.
        """
        names = self.unavailable_features
        if not (names and labelled and self.costs.errors is not None):
            return names
        held, priced = column_names(X), self.costs.errors.columns
        return tuple(name for name in names if name not in priced or (held is not None and name not in held))

    @cached_property
    def ledger(self) -> Ledger:
        """Prices for a row, and what it has paid for before."""
        return Ledger(self.prices, self.known)

    @cached_property
    def decision(self) -> Decision | None:
        """How rows get their classes; None if the predictor knows no classes."""
        return None if self.card.classes is None else Decision.of(self.card, self.costs.errors, self._barred_names)

    @cached_property
    def error_columns(self) -> tuple[str, ...]:
        """Names of available columns that are prices of errors, which decide a label."""
        return error_columns(self.card, self.costs.errors, self._barred_names)

    @property
    def _barred_names(self) -> tuple[str, ...]:
        """Names of the unavailable columns, without those whose values are known: these still decide a label."""
        return tuple(self.card.feature_names[f] for f in sorted(self.barred))

    def may_ask(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the features among these that a row may ask for: those neither known nor unavailable."""
        spared = {*self.known, *self.unavailable}
        return tuple(name for name in names if name not in spared)

    def check_read_first(self, names: Iterable[str]) -> None:
        """Refuse a cap where features that come before the model's own need a resource with a price of further rounds.

        The model does not know of that first round: it would take its own for it, and pass the cap.
        """
        for name in names if self.max_cost is not None and self.prices.has_rounds else ():
            reached = sorted(self.prices.direct_needs.of_features([self.card.column[name]]))
            if priced := [self.prices.resource_names[r] for r in reached if self.prices.resource_round[r]]:
                raise ParameterError(
                    f"max_cost: cannot be kept where {name!r}, which a row reads before all else, needs {priced[0]!r}, "
                    "as that has a price of a further `round`; leave out the cap, or one of these prices"
                )

    def check_hard(self, reason: str) -> None:
        """Refuse soft routing for a reason."""
        if self.is_soft:
            raise ParameterError(f"routing: {reason}")

    def check_unlimited(self, reason: str) -> None:
        """Refuse limits for a reason."""
        for name, is_given in zip(LIMITS, (self.max_cost is not None, bool(self.unavailable)), strict=True):
            if is_given:
                raise ParameterError(f"{name}: {reason}")
