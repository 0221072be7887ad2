"""The interface of all trained models: prediction of tables, inquiries for single rows, and exact costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8
from costframe.core.cost.asked import tell_apart
from costframe.core.cost.expected import ExpectedCost, stack_values
from costframe.core.cost.latency import Clock
from costframe.core.cost.report import Charges, CostReport
from costframe.core.display import html_table
from costframe.core.errors import (
    CostModelError,
    ParameterError,
    brief,
    format_count,
    quote_names,
)
from costframe.core.gains import Gains
from costframe.core.predictors.classes import as_classes, both_classes, places
from costframe.core.predictors.inquiry import AskingToo, Inquiry, Ledger, Walker, as_number
from costframe.core.prices.costs import CostModel
from costframe.core.prices.error_prices import DecisionPrices, ErrorPrices
from costframe.core.prices.price_arrays import Limits, PriceArrays, as_cap, names_of
from costframe.core.stages.ends import Ends, likeliest_place, likeliest_places
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.stages.run_stages import check_acquisition
from costframe.core.tables.as_given import as_doubles
from costframe.core.tables.categories import Categories, as_categories, check_features, coded_features
from costframe.core.tables.kinds import has_kinds
from costframe.core.tables.row_labels import check_target
from costframe.core.tables.rows import as_rows

Known = Mapping[str, Any] | Iterable[str]
"""Features and resources paid for before an inquiry: names, or names with the values at hand, None for the others."""


_CAPS, _COSTS = {float, type(None)}, {CostModel, type(None)}
MOST_REQUESTS = 16  # that are kept


class Predictor(ABC):
    """A model that predicts rows, and names the features it needs for each row."""

    def __repr__(self) -> str:
        """Name its size, its features, its classes, and what rows pay; the arrays would fill pages."""
        features = f"reads {len(self.used_features):,} of {format_count(len(self.feature_names), 'feature')}"
        features += f" for {self._price_range()} a row"
        labels = () if self.classes is None else (f"classes {quote_names(self.classes.tolist())}",)
        return brief(self, *self.facts, features, *labels)

    def _repr_html_(self) -> str:
        costs = CostModel.of(self.costs, self.feature_names)
        return html_table(repr(self), *costs.table(self.used_features))

    def _price_range(self) -> str:
        """Return the least and the most that a row pays for features without limits."""
        least, most, unit = float(len(self.sure_features)), float(len(self.used_features)), "unit"
        if self.costs is not None:
            least, most = (self.costs.full_cost(names) for names in (self.sure_features, self.used_features))
            unit = self.costs.unit
        return f"{most:g} {unit}" if least == most else f"{least:g} to {most:g} {unit}"

    @property
    def facts(self) -> tuple[str, ...]:
        """What its `repr` tells of it first, such as its size."""
        return ()

    @property
    def sure_features(self) -> tuple[str, ...]:
        """Names of features that it reads in every row without limits, as far as that is known."""
        return ()

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """Columns of the rows it predicts."""

    @property
    @abstractmethod
    def costs(self) -> CostModel | None:
        """Default prices; None prices every feature at one."""

    @property
    def categories(self) -> Categories:
        """Labels of each feature whose categories are texts, by name; the number of a label is its position."""
        return {}

    @property
    def classes(self) -> NDArray[Any] | None:
        """Labels of the classes whose probabilities it gives, (M,) in their order; None if it knows none."""
        return None

    @property
    def known_classes(self) -> NDArray[Any]:
        """Its `classes`; a `ParameterError` if it knows none."""
        if self.classes is None:
            raise ParameterError("labels: the model does not know its classes; name them by `with_classes(labels)`")
        return self.classes

    @property
    def half(self) -> float:
        """The prediction above which a row is of the second of two classes; of more, the class is the likeliest."""
        return 0.5

    def labels(self, X: Any, *, costs: object = None, **terms: Any) -> NDArray[Any]:
        """Return the class of each row, (rows,), if it knows `classes`; see `decide`. Terms are of `predict`."""
        return self.decide(self.predict_ends(X, **terms), X, costs, terms.get("unavailable", ()))

    def predict_ends(self, X: Any, **terms: Any) -> Ends:
        """Return the predictions of rows, and the classes that they do not tell; terms are of `predict`."""
        return Ends(self.predict(X, **terms))

    def decide(self, ends: Ends, X: Any, costs: object = None, unavailable: Iterable[str] = ()) -> NDArray[Any]:
        """Return the class of each row, (rows,), given its end.

        Where prices have errors, that of least expected error cost, of equal ones the first; else, or if a column that
        is a price of errors is unavailable, the one that its end tells. `costs` replace the predictor's own prices.
        """
        classes, errors = self.known_classes, self._errors(costs)
        if errors is None or set(errors.columns).intersection(names_of(unavailable)):
            found: NDArray[Any] = classes[ends.classes(self.half)]
            return found
        rows = self._with_doubles(as_rows(X, self.feature_names, self.categories, errors.columns), errors)
        prices = self._by_class(errors)
        return np.asarray(classes[prices.decide(both_classes(ends.predictions), rows)])

    def _with_doubles(self, rows: F8, errors: ErrorPrices) -> F8:
        """Return rows with doubles in the columns that are prices of errors, whatever kinds of numbers came there."""
        chosen = [self.feature_names.index(name) for name in errors.columns if name in self.categories]
        if not chosen or not has_kinds(rows[:, chosen]):
            return rows
        rows = rows.copy()
        rows[:, chosen] = as_doubles(rows[:, chosen])
        return rows

    def _by_class(self, errors: ErrorPrices) -> DecisionPrices:
        """Return prices of errors by the position of its classes and features; refuse those that do not fit."""
        return errors.of_classes(self.known_classes, self.feature_names, coded_features(self.categories))

    def _errors(self, costs: object = None) -> ErrorPrices | None:
        own = self.costs if costs is None else CostModel.of(costs, self.feature_names)
        return None if own is None else own.errors

    def error_costs(self, X: F8, y: ArrayLike, ends: Ends, how: ExpectedCost) -> F8:
        """Return what the answers for rows cost where the truth is y, (rows,): float64 (rows,).

        `how` has the prices, resolved, and what is unavailable.

        Raises
        ------
        CostframeError
            If the prices have no errors, or those of another kind, or y has other labels.
        """
        costs = CostModel.of(how.costs)
        errors = costs.errors
        if errors is None:
            raise CostModelError(
                "y: expected prices with errors, to tell what wrong answers cost; got prices without any; if y holds "
                "prices by position, give them as costs"
            )
        if self.classes is None:
            errors.check_kind("regressor", None)
            return errors.of_answers(check_target(y, len(X), "y"), ends.predictions)
        prices, truth = self._by_class(errors), places(y, self.classes)
        answers = places(self.decide(ends, X, costs, how.unavailable), self.classes)
        return prices.of_answers(truth, answers, self._with_doubles(X, errors))

    @property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that it may read; frames need no other columns."""
        return self.feature_names

    def error_columns(self, costs: object = None, unavailable: Iterable[str] = ()) -> tuple[str, ...]:
        """Names of the columns that are prices of errors, which inquiries ask for to decide a label."""
        errors = None if self.classes is None else self._errors(costs)
        if errors is None:
            return ()
        barred = names_of(unavailable)
        return tuple(name for name in errors.columns if name not in barred)

    def label_features(self, costs: object = None, unavailable: Iterable[str] = ()) -> tuple[str, ...]:
        """Names of the features on which labels depend: `used_features`, and columns that are prices of errors."""
        names = {*self.error_columns(costs, unavailable), *self.used_features}
        return tuple(name for name in self.feature_names if name in names)

    @abstractmethod
    def predict(self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = ()) -> F8:
        """Predict rows: float64 (rows,), or (rows, K) for K > 1 outputs.

        `max_cost` and `unavailable` limit each row, at the predictor's own prices; see `inquire`.
        """

    @abstractmethod
    def decision_function(self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = ()) -> F8:
        """Score rows, before the link: float64 (rows,) or (rows, K); limits as for `predict`."""

    def inquire(
        self,
        costs: object = None,
        acquisition: str = "path",
        known: Known = (),
        *,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
        **terms: Any,
    ) -> Inquiry:
        """Begin the prediction of one row.

        It always ends in an answer, the best that the limits allow; its `reason` says whether they cut the row.

        Parameters
        ----------
        costs : CostModel, or anything `CostModel.of` accepts
            None uses the predictor's own.
        acquisition : {"path", "learner"}
            Whether a tree acquires features split by split, or all of them before it is evaluated.
        known : iterable of str, or mapping of str to float or label
            Features and resources already paid for. The inquiry does not ask for features given with their values; in
            a mapping, None means that the value is not at hand.
        max_cost : float, optional
            Hard cap on the cost of the row: features, resources, comparisons, learners and reuse together.
        unavailable : iterable of str
            Features and resources that the inquiry must not ask for; with a resource, all features that need it. A
            feature known with its value stays available.
        **terms
            Those of the kind of predictor, such as the `tradeoff` of a plan.
        """
        asked = costs, acquisition, known, max_cost, unavailable
        # equal caps of other types may be refused, and few rows have known values
        is_plain = type(known) is type(unavailable) is tuple and not known and not unavailable
        is_plain = is_plain and type(max_cost) in _CAPS and type(costs) in _COSTS and type(acquisition) is str
        if (request := self._requests.get(asked) if is_plain else None) is None:
            request = RowRequest.of(self, *asked)
            if is_plain:
                if len(self._requests) == MOST_REQUESTS:
                    self._requests.clear()
                self._requests[asked] = request
        walker, label = self.begin(request, **terms), None if self.classes is None else self._label
        if label is not None and request.costs.errors is not None:
            walker, label = self._deciding(walker, request)
        return Inquiry(walker, self.feature_names, request.ledger, self.categories, label)

    def _label(self, value: Any, walker: Walker) -> Any:
        """Return the class that the end of one row tells, given its prediction."""
        place = walker.place
        return self.classes.item(likeliest_place(value, self.half) if place is None else place)  # type: ignore[union-attr]

    def _deciding(self, walker: Walker, request: RowRequest) -> tuple[Walker, Any]:
        """Return a walker that also asks for columns that are prices of errors, and what decides at its end."""
        errors, names, classes = request.costs.errors, self.feature_names, self.classes
        assert errors is not None and classes is not None  # noqa: S101, PT018 - callers look
        # Before rows pay, this refuses what fits no class.
        prices = self._by_class(errors)

        def decide(value: Any, asking: Walker) -> Any:
            row = np.full((1, len(names)), np.nan)
            if isinstance(asking, AskingToo):
                row[0, list(asking.values)] = list(asking.values.values())
            row = self._with_doubles(row, errors)
            return classes.item(prices.decide(both_classes(np.array([value])), row)[0])

        if not errors.columns:
            return walker, decide
        barred = set(errors.columns).intersection(request.unavailable)
        further = [names.index(name) for name in errors.columns if name not in barred]
        reason = "unavailable" if barred else None
        return AskingToo(walker, further, request.values, names, reason), self._label if barred else decide

    @cached_property
    def _requests(self) -> dict[tuple[Any, ...], RowRequest]:
        """Requests that rows have in common, by what was asked."""
        return {}

    @abstractmethod
    def begin(self, *request: Any, **terms: Any) -> Walker:
        """Return a walker, the model side of an inquiry, given a `RowRequest` and terms of the kind of predictor."""

    def with_costs(self, costs: CostModel | None) -> Predictor:
        """Return the same model with other prices of its own."""
        return AnnotatedPredictor(self, costs, self.classes, self.categories)

    def with_classes(self, classes: ArrayLike | None) -> Predictor:
        """Return the same model with labels of its classes; None for none."""
        if classes is None and self.classes is None:
            return self
        return AnnotatedPredictor(self, self.costs, classes, self.categories)

    def with_categories(self, categories: Categories) -> Predictor:
        """Return the same model with other labels of its features."""
        if categories == self.categories:
            return self
        return AnnotatedPredictor(self, self.costs, self.classes, categories)

    def with_fallbacks(self, X: Any, sample_weight: ArrayLike | None = None) -> Predictor:
        """Return the same model with answers for rows that limits cut, learned from rows; itself if it has its own."""
        del X, sample_weight
        return self

    def only_used_features(self) -> Predictor:
        """Return the predictor for rows of the features that it reads; itself, if it has prices of its own."""
        return self

    def of_queries(self, qid: ArrayLike | None) -> Predictor:
        """Return the predictor for rows of these queries; itself, unless rows of a query depend on each other.

        Evaluators that know no queries take the predictor that this returns.
        """
        del qid
        return self

    def charges(self, X: F8, costs: CostModel, weight: F8, how: ExpectedCost, n_jobs: int | None = None) -> Charges:
        """Charge rows: the one method by which evaluators price a predictor. By default it replays them one by one.

        Parameters
        ----------
        X : float64 (rows, d)
        costs : CostModel
            Those of `how`, resolved.
        weight : float64 (rows,)
        how : ExpectedCost
            Acquisition, routing and limits.
        n_jobs : int, optional
            Threads.

        Raises
        ------
        ParameterError
            If the routing is soft and there is nothing to soften.
        """
        del n_jobs
        if how.routing == "soft":
            raise ParameterError("routing: only a stage tree has thresholds to soften; use routing='hard'")
        return _replay_charges(self, X, costs, weight, how)

    def replay(self, X: F8, costs: CostModel, how: ExpectedCost) -> list[tuple[int, float]]:
        """Predict rows, float64 (rows, d), one by one; return the trips to the sources of each, and its milliseconds.

        `costs` are those of `how`, resolved.
        """
        clocks = [Clock(costs) for _ in X]
        terms = how.row_terms
        ends = [replay(self, row, costs, clock, **terms) for row, clock in zip(X, clocks, strict=True)]
        return [(end.answer.rounds, clock.time) for end, clock in zip(ends, clocks, strict=True)]

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns on rows: the one method by which a predictor ranks its features.

        By default all columns that it reads explain the variance of its scores together. Prices decide what a plan
        acquires.
        """
        del costs
        place = {name: f for f, name in enumerate(self.feature_names)}
        if not len(rows.X):
            return {}
        scores = self.decision_function(rows.X).reshape(len(rows.X), -1)
        steps = scores - np.average(scores, axis=0, weights=rows.weight)
        return {tuple(place[name] for name in self.used_features): float(rows.weight @ (steps * steps).sum(axis=1))}

    def cost(
        self,
        X: Any,
        y_or_costs: Any = None,
        *,
        y: ArrayLike | None = None,
        costs: object = None,
        acquisition: str = "path",
        routing: str = "hard",
        sample_weight: ArrayLike | None = None,
        rounds: bool = False,
        latency: bool = False,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
    ) -> CostReport:
        """Return the exact cost of predicting rows; shorthand for `ExpectedCost`.

        Parameters
        ----------
        X : float64 (rows, d), or data frame
        y_or_costs : optional
            `y`, or `costs` that name their features: a CostModel, a mapping, a file, or a Series.
        y : (rows,), optional
            Labels, for what errors cost at prices that have some.
        costs : CostModel, or anything `CostModel.of` accepts, optional
            Prices in place of the model's own.
        acquisition, routing, max_cost, unavailable
            As for `ExpectedCost`.
        sample_weight, rounds, latency
            As for `ExpectedCost.evaluate`.
        """
        y, costs = tell_apart(y_or_costs, y, costs, self.feature_names)
        evaluator = ExpectedCost(
            costs, routing=routing, acquisition=acquisition, max_cost=max_cost, unavailable=unavailable
        )
        return evaluator.evaluate(self, X, y, sample_weight=sample_weight, rounds=rounds, latency=latency)


class Alike(Predictor):
    """A predictor with the features, prices and classes of another one."""

    @property
    @abstractmethod
    def like(self) -> Predictor:
        """The other one."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Columns of the rows it predicts."""
        return self.like.feature_names

    @property
    def costs(self) -> CostModel | None:
        """Default prices."""
        return self.like.costs

    @property
    def categories(self) -> Categories:
        """Labels of each feature whose categories are texts, by name."""
        return self.like.categories

    @property
    def classes(self) -> NDArray[Any] | None:
        """Labels of the classes."""
        return self.like.classes

    @property
    def half(self) -> float:
        """The prediction above which a row is of the second of two classes."""
        return self.like.half


@define(eq=False, frozen=True, repr=False)
class AnnotatedPredictor(Alike):
    """A predictor of any kind with prices, labels of classes and labels of features that are given to it.

    Where the predictor has other prices of its own, a cap counts the given ones: rows are then stepped one by one.
    """

    inner: Predictor
    costs: CostModel | None
    classes: NDArray[Any] | None = field(converter=as_classes)
    categories: Categories = field(converter=as_categories)

    def __attrs_post_init__(self) -> None:
        check_costs(self.costs, self.feature_names)
        check_features(self.categories, self.feature_names)

    @property
    def like(self) -> Predictor:
        """The predictor."""
        return self.inner

    @property
    def facts(self) -> tuple[str, ...]:
        """The kind of the predictor, and what that tells of itself, for its `repr`."""
        return type(self.inner).__name__, *self.inner.facts

    @property
    def sure_features(self) -> tuple[str, ...]:
        """Names of features that it reads in every row."""
        return self.inner.sure_features

    @property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that it may read."""
        return self.inner.used_features

    def with_costs(self, costs: CostModel | None) -> Predictor:
        """Return the same model with other prices of its own."""
        return evolve(self, costs=costs)

    def with_classes(self, classes: ArrayLike | None) -> Predictor:
        """Return the same model with labels of its classes; None for none."""
        return evolve(self, classes=classes)

    def with_categories(self, categories: Categories) -> Predictor:
        """Return the same model with other labels of its features."""
        return evolve(self, categories=categories)

    def with_fallbacks(self, X: Any, sample_weight: ArrayLike | None = None) -> Predictor:
        """Return the same model with answers for rows that limits cut, if the predictor learns them."""
        rows = as_rows(X, self.feature_names, self.categories, self.used_features)
        return evolve(self, inner=self.inner.with_fallbacks(rows, sample_weight))

    def of_queries(self, qid: ArrayLike | None) -> Predictor:
        """Return the predictor for rows of these queries; see `Predictor.of_queries`."""
        return evolve(self, inner=self.inner.of_queries(qid))

    @cached_property
    def _priced(self) -> Predictor | None:
        """The predictor with the given prices as its own; None if its class takes none."""
        priced = self.inner.with_costs(self.costs)
        return None if isinstance(priced, AnnotatedPredictor) else priced

    def predict(self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **terms: Any) -> F8:
        """Predict rows; see `Predictor.predict`. Further terms are those of the predictor."""
        rows, limits = self._rows(X), _limits(max_cost, unavailable)
        if limits and self._priced is None:
            return self._ends_by_steps(rows, limits, terms).predictions
        return (self._priced or self.inner).predict(rows, **limits, **terms)

    def predict_ends(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **terms: Any
    ) -> Ends:
        """Return predictions and classes of rows; see `Predictor.predict_ends`."""
        rows, limits = self._rows(X), _limits(max_cost, unavailable)
        if limits and self._priced is None:
            return self._ends_by_steps(rows, limits, terms)
        return (self._priced or self.inner).predict_ends(rows, **limits, **terms)

    def _ends_by_steps(self, rows: F8, limits: dict[str, Any], terms: dict[str, Any]) -> Ends:
        signature(self.inner.predict).bind(rows, **limits, **terms)  # refuses terms that it does not take
        return ends_by_steps(self, rows, **limits, **terms)

    def decision_function(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **terms: Any
    ) -> F8:
        """Score rows; see `Predictor.decision_function`. A predictor without prices gives no scores under limits."""
        limits = _limits(max_cost, unavailable)
        if limits and self._priced is None:
            name = type(self.inner).__name__
            raise ParameterError(f"max_cost or unavailable: no scores under limits for a {name}; use predict")
        return (self._priced or self.inner).decision_function(self._rows(X), **limits, **terms)

    def _rows(self, X: Any) -> F8:
        return as_rows(X, self.feature_names, self.categories, self.used_features)

    def begin(self, request: RowRequest, **terms: Any) -> Walker:
        """Return a walker for one row; see `Predictor.begin`."""
        return self.inner.begin(request, **terms)

    def charges(self, X: F8, costs: CostModel, weight: F8, how: ExpectedCost, n_jobs: int | None = None) -> Charges:
        """Charge rows; see `Predictor.charges`."""
        return self.inner.charges(X, costs, weight, how, n_jobs)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns; see `Predictor.gains`."""
        return self.inner.gains(rows, costs)


def check_costs(costs: CostModel | None, feature_names: tuple[str, ...]) -> None:
    """Refuse default prices of another type, or that lack a feature."""
    if costs is not None:
        if not isinstance(costs, CostModel):
            raise CostModelError(f"costs: expected a CostModel, got {type(costs).__name__}; see CostModel.of")
        costs.select(feature_names)


@frozen(eq=False)
class RowRequest:
    """What is asked of the inquiry of a row; see `Predictor.inquire`."""

    costs: CostModel
    acquisition: str
    known: Known  # names, or names with values
    max_cost: float | None
    unavailable: tuple[str, ...]
    prices: PriceArrays
    ledger: Ledger
    values: dict[int, float]  # known ones, by column

    @classmethod
    def of(
        cls,
        predictor: Predictor,
        costs: object,
        acquisition: str,
        known: Known,
        max_cost: float | None,
        unavailable: Iterable[str],
    ) -> RowRequest:
        """Check what is asked of a predictor, and open the ledger of the row."""
        check_acquisition(acquisition)
        model = CostModel.of(predictor.costs if costs is None else costs, predictor.feature_names)
        prices = model.select(predictor.feature_names)
        values: dict[int, float] = {}
        if type(known) is tuple or not isinstance(known, Mapping):  # the latter takes long
            known = names_of(known, "known", ", or these with values")
        elif known:
            column = {name: f for f, name in enumerate(predictor.feature_names)}
            values = {
                column[name]: as_number(name, value, predictor.categories.get(name))
                for name, value in known.items()
                if name in column and value is not None
            }
        barred = names_of(unavailable)
        return cls(model, acquisition, known, max_cost, barred, prices, Ledger(prices, known), values)

    @property
    def by_path(self) -> bool:
        """Whether a tree acquires features split by split."""
        return self.acquisition == "path"

    @property
    def limits(self) -> Limits | None:
        """The cap and the unavailable columns; None without either."""
        return Limits.of(self.max_cost, self.unavailable, self.prices, self.values)


def _limits(max_cost: float | None, unavailable: Iterable[str]) -> dict[str, Any]:
    """Return limits of rows as terms; empty without any."""
    names = names_of(unavailable)
    return {} if as_cap(max_cost) is None and not names else {"max_cost": max_cost, "unavailable": names}


def replay(predictor: Predictor, row: F8, costs: CostModel, clock: Clock | None = None, **terms: Any) -> Inquiry:
    """Return the inquiry of one row, float64 (d,), at its end; terms are of `inquire`, the clock counts its time."""
    column = {name: f for f, name in enumerate(predictor.feature_names)}
    inquiry = predictor.inquire(costs, **terms)
    while needs := inquiry.needs:
        inquiry.supply({name: float(row[column[name]]) for name in needs})
        if clock is not None:
            clock.add_round(needs)
    return inquiry


def ends_by_steps(predictor: Predictor, rows: F8, **terms: Any) -> Ends:
    """Return the ends of rows with an inquiry for each, at the predictor's own prices; terms are of `predict`."""
    costs = CostModel.of(predictor.costs, predictor.feature_names).without_errors()
    terms.pop("n_jobs", None)  # which changes no answer
    predictor.inquire(costs, **terms)  # refuses what no row takes, also where there are none
    inquiries = [replay(predictor, row, costs, **terms) for row in rows]
    values = stack_values([each.answer.value for each in inquiries])
    places = [each.place for each in inquiries]
    if all(place is None for place in places):
        return Ends(values)
    likeliest = likeliest_places(values, predictor.half)
    own = [other if place is None else place for place, other in zip(places, likeliest, strict=True)]
    return Ends(values, np.array(own, np.int64))


def _replay_charges(predictor: Predictor, X: F8, costs: CostModel, weight: F8, how: ExpectedCost) -> Charges:
    """Charge rows of a predictor that can only be stepped, as one stage, for acquisition only."""
    costs = costs.without_errors()
    prices = costs.select(predictor.feature_names)
    column = {name: f for f, name in enumerate(predictor.feature_names)}
    acquired, cut = np.zeros((len(X), len(column)), np.bool_), np.zeros(len(X), np.bool_)
    cost, values, terms = np.zeros(len(X)), [], how.row_terms
    for i, row in enumerate(X):
        end = replay(predictor, row, costs, **terms).answer
        cut[i] = end.reason != "complete"
        acquired[i, [column[name] for name in end.acquired]] = True
        cost[i] = end.cost
        values.append(end.value)
    resources = prices.direct_needs.of_rows(acquired)
    return Charges(
        acquired,
        cost,
        None,
        None,
        None,
        weight @ acquired,
        weight @ resources,
        np.array([float(weight.sum())]),
        stack_values(values).reshape(len(X), -1) if values else np.empty((0, 1)),
        cut if how.limited else None,
    )
