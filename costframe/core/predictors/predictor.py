"""The interface of all trained models: prediction of tables, inquiries for single rows, and exact costs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from attrs import define, evolve
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8
from costframe.core.cost.asked import tell_apart
from costframe.core.cost.asked_rounds import AskedRounds
from costframe.core.cost.expected import ExpectedCost
from costframe.core.cost.report import CostReport
from costframe.core.cost.totals import Charges
from costframe.core.display import html_table
from costframe.core.errors import ParameterError, brief, format_count, quote_names, shown
from costframe.core.gains import Gains
from costframe.core.learners.thresholds import Cuts
from costframe.core.predictors.digested import Digested
from costframe.core.predictors.grounds import Grounds
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.kept_terms import KeptTerms
from costframe.core.predictors.replay import ends_by_steps, ends_of_known, replay_charges, replay_rounds
from costframe.core.predictors.resumed import resume_inquiry
from costframe.core.predictors.walker import Walker
from costframe.core.prices.costs import CostModel
from costframe.core.stages.ends import Ends
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.categories import Categories
from costframe.core.tables.class_shares import class_shares
from costframe.core.tables.rows import as_rows
from costframe.core.terms.card import Card
from costframe.core.terms.decision import Decision, error_columns
from costframe.core.terms.terms import Known, Terms


class Predictor(Digested):
    """A model that predicts rows, and names the features it needs for each row.

    A kind of predictor gives its `card` and `begin`; it may also replace `with_card`, `evaluate`, `charges`, `gains`,
    `used_features`, `sure_features`, `with_fallbacks`, `of_queries`, `content` and `functions`.
    """

    @property
    @abstractmethod
    def card(self) -> Card:
        """What describes it: its features, their categories, its classes, and its own prices."""

    def with_card(self, card: Card) -> Predictor:
        """Return the same model with another card, whose features and facts have no effect."""
        return AnnotatedPredictor(self, card)

    @property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that it may read; frames need no other columns."""
        return self.card.feature_names

    @property
    def sure_features(self) -> tuple[str, ...]:
        """Names of features that it reads in every row without limits, as far as that is known."""
        return ()

    @abstractmethod
    def begin(self, terms: Terms) -> Walker:
        """Return a walker, the model side of the inquiry of one row."""

    def grounds(self, walker: Any, terms: Terms, bought: tuple[int, ...]) -> Grounds:
        """Return why a walker that it began on these terms asks, or why it ended: the one method that explains.

        `bought` are the columns that the row has paid for so far. By default it does not tell what a feature is for.
        """
        needs = walker.needs
        return Grounds.untold(needs, None if needs else walker.reason, self.unread(terms, bought))

    def unread(self, terms: Terms, bought: Iterable[int]) -> tuple[int, ...]:
        """Return the columns that it may read and a row has neither bought nor known with their values."""
        had, column = {*bought, *terms.values}, self.card.column
        return tuple(f for f in map(column.__getitem__, self.used_features) if f not in had)

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict rows, float64 (rows, d): the one method that answers tables. By default each row is an inquiry."""
        return ends_by_steps(self, X, terms)

    def ends_given(self, X: F8, columns: Sequence[int], terms: Terms) -> Ends:
        """Return the ends of rows, float64 (rows, d), that know the values of some columns, and on these terms no more.

        By default each row is an inquiry.
        """
        return ends_of_known(self, X, columns, terms)

    def read_together(self, known: frozenset[int]) -> frozenset[int]:
        """Return the columns that it would not read if a row knew only that one beside some known ones."""
        del known
        return frozenset()

    @property
    def cuts(self) -> Cuts:
        """Ascending thresholds, by column, of columns on which rows depend by comparisons with these alone."""
        return {}

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge rows: the one method by which evaluators price a predictor. By default it replays them one by one.

        Parameters
        ----------
        X : float64 (rows, d)
        weight : float64 (rows,)
        terms : Terms
            Soft routing is a `ParameterError` where there is nothing to soften.
        """
        terms.check_hard("only a stage tree has thresholds to soften; use routing='hard'")
        return replay_charges(self, X, weight, terms)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns on rows, at prices: the one method by which a predictor ranks its features.

        By default all columns that it reads explain the variance of its scores together.
        """
        del costs
        if not len(rows.X):
            return {}
        scores = self.decision_function(rows.X).reshape(len(rows.X), -1)
        gap = scores - np.average(scores, axis=0, weights=rows.weight)
        return {tuple(map(self.card.column.__getitem__, self.used_features)): float(rows.weight @ (gap * gap).sum(1))}

    def with_fallbacks(self, X: Any, sample_weight: ArrayLike | None = None, y: ArrayLike | None = None) -> Predictor:
        """Return the same model with answers for rows that limits cut, learned from rows; itself if it has its own.

        `y` are the labels of the rows, (rows,), or their shares of the classes, (rows, K).
        """
        del X, sample_weight, y
        return self

    def of_queries(self, qid: ArrayLike | None) -> Predictor:
        """Return the predictor for rows of these queries; itself, unless rows of a query depend on each other.

        Evaluators that know no queries take the predictor that this returns.
        """
        del qid
        return self

    def only_used_features(self) -> Predictor:
        """Return the predictor for rows of the features that it reads; itself, if it has prices of its own."""
        return self

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Columns of the rows it predicts."""
        return self.card.feature_names

    @property
    def costs(self) -> CostModel | None:
        """Default prices; None prices every feature at one."""
        return self.card.costs

    @property
    def categories(self) -> Categories:
        """Labels of each feature whose categories are texts, by name; the number of a label is its position."""
        return self.card.categories

    @property
    def classes(self) -> NDArray[Any] | None:
        """Labels of the classes whose probabilities it gives, (M,) in their order; None if it knows none."""
        return self.card.classes

    def with_costs(self, costs: CostModel | None) -> Self:
        """Return the same model with other prices of its own."""
        return self._with(costs=costs)

    def with_classes(self, classes: ArrayLike | None) -> Self:
        """Return the same model with labels of its classes; None for none."""
        return self if classes is None is self.classes else self._with(classes=classes)

    def with_categories(self, categories: Categories) -> Self:
        """Return the same model with other labels of its features."""
        return self if categories == self.categories else self._with(categories=categories)

    def _with(self, **changes: Any) -> Self:
        return self.with_card(evolve(self.card, **changes))  # type: ignore[return-value] # or one around it

    def __repr__(self) -> str:
        """Name its size, its features, its classes, and what rows pay; the arrays would fill pages."""
        card = self.card
        features = f"reads {len(self.used_features):,} of {format_count(len(card.feature_names), 'feature')}"
        features += f" for {self._price_range()} a row"
        labels = () if card.classes is None else (f"classes {quote_names(card.classes.tolist())}",)
        return brief(self, *card.facts, features, *labels)

    def _repr_html_(self) -> str:
        return html_table(repr(self), *self.card.prices.table(self.used_features))

    def _price_range(self) -> str:
        """Return the least and the most that a row pays for features without limits."""
        least, most, unit = float(len(self.sure_features)), float(len(self.used_features)), "unit"
        if self.costs is not None:
            least, most = (self.costs.full_cost(names) for names in (self.sure_features, self.used_features))
            unit = self.costs.unit
        return f"{most:g} {unit}" if least == most else f"{least:g} to {most:g} {unit}"

    def terms(self, costs: object = None, **asked: Any) -> Terms:
        """Make and check what is asked of rows, as `inquire` and `predict` describe it; see `Terms`."""
        if asked.get("tradeoff") is not None and not self.card.plans:
            raise ParameterError(
                f"tradeoff: expected None, as a {type(self).__name__} has no tradeoff when it predicts, only a plan "
                f"has; got {shown(asked['tradeoff'])}"
            )
        return Terms.of(self.card, costs, **asked)

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
        """Predict rows: float64 (rows,), or (rows, K) for K > 1 outputs.

        Parameters
        ----------
        X : float64 (rows, d), or data frame
            A frame may lack columns that it would not read, and those of unavailable features, which may hold anything.
        costs : CostModel, or anything `CostModel.of` accepts, optional
            Prices at which a plan chooses what rows acquire; other predictors refuse any but their own.
        tradeoff : float, optional
            A plan's loss accepted per unit of cost in place of its own.
        max_cost, unavailable
            Limits of each row; see `inquire`. Fallbacks answer the rows that they cut.
        n_jobs : int, optional
            Threads; None uses all cores. The result does not depend on it.
        """
        terms = self.table_terms(costs, tradeoff, max_cost, unavailable, n_jobs)
        return self.evaluate(self.as_rows(X, terms=terms), terms).predictions

    def decision_function(self, X: Any, **asked: Any) -> F8:
        """Score rows, before the link: float64 (rows,) or (rows, K); further arguments as for `predict`.

        Where links differ, the clipped log of the probabilities; ranked answers and predictors without a link give
        predictions.
        """
        return self.predict_ends(X, **asked).scores

    def predict_ends(self, X: Any, **asked: Any) -> Ends:
        """Return predictions and scores of rows, and the classes that they do not tell; arguments as for `predict`."""
        terms = self.table_terms(**asked)
        return self.evaluate(self.as_rows(X, terms=terms), terms)

    def labels(self, X: Any, *, costs: object = None, **asked: Any) -> NDArray[Any]:
        """Return the class of each row, (rows,), if it knows `classes`; see `decide`. Arguments are of `predict`.

        Any predictor decides by the errors of other `costs`; at these prices a plan also buys.
        """
        terms = self.table_terms(costs=costs if self.card.plans else None, **asked)
        own = terms.decision if costs is None else None
        decision = own or Decision.of(self.card, self.card.errors_or(costs), terms.unavailable_features)
        rows = self.as_rows(X, self.label_features(costs) if decision.columns else None, terms)
        return decision.labels(self.evaluate(rows, terms), rows)

    def decide(self, ends: Ends, X: Any, costs: object = None, unavailable: Iterable[str] = ()) -> NDArray[Any]:
        """Return the class of each row, (rows,), given its end.

        Where prices have errors, that of least expected error cost, of equal ones the first; else, or if a column that
        is a price of errors is unavailable, the one that its end tells. `costs` replace the predictor's own prices.
        """
        errors, terms = self.card.errors_or(costs), self.row_terms(costs, unavailable=unavailable)
        rows = self.as_rows(X, error_columns(self.card, errors), terms)
        return Decision.of(self.card, errors, terms.unavailable_features).labels(ends, rows)

    def as_rows(self, X: Any, names: Iterable[str] | None = None, terms: Terms | None = None) -> F8:
        """Return rows as float64 (rows, d), in which the named features, by default those it may read, have values.

        On terms, those that are unavailable have none, and are not read.
        """
        names, card = self.used_features if names is None else tuple(names), self.card
        unread = terms.unread_columns(X) if terms is not None and terms.unavailable else ()
        return as_rows(X, card.feature_names, card.categories, names, unread)

    def label_features(self, costs: object = None) -> tuple[str, ...]:
        """Return the features on which labels depend: `used_features`, and columns that are prices of errors."""
        return self.used_with(error_columns(self.card, self.card.errors_or(costs)))

    def used_with(self, further: Iterable[str]) -> tuple[str, ...]:
        """Return `used_features` and further ones, in the order of the columns."""
        names = {*further, *self.used_features}
        return tuple(name for name in self.feature_names if name in names)

    def table_terms(
        self,
        costs: object = None,
        tradeoff: float | None = None,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
        n_jobs: int | None = None,
    ) -> Terms:
        """Return what is asked of a table, kept where many tables ask alike; see `predict`."""
        if costs is not None and not self.card.plans:
            raise ParameterError(
                f"costs: expected None, as a {type(self).__name__} decides at its own prices and only a plan takes "
                f"others when it predicts; got {shown(costs)}"
            )
        return self._kept.terms(self.terms, costs, "path", (), max_cost, unavailable, tradeoff, n_jobs)

    def inquire(
        self,
        costs: object = None,
        acquisition: str = "path",
        known: Known = (),
        *,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
        tradeoff: float | None = None,
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
        tradeoff : float, optional
            A plan's loss accepted per unit of cost in place of its own.
        """
        terms = self.row_terms(costs, acquisition, known, max_cost, unavailable, tradeoff)
        return Inquiry.on(terms, self)

    def resume(self, text: str, costs: object = None) -> Inquiry:
        """Go on with an inquiry that `Inquiry.to_json` has put away, in this process or another one.

        At the same prices it asks, answers and bills as if it had never been put away, to the last bit. Outputs of
        opaque learners and operations are in the text: they are not called again.

        Parameters
        ----------
        text : str
        costs : CostModel, or anything `CostModel.of` accepts
            None for the predictor's own. At other prices than those it had, the row goes on from what it knows: values
            supplied stay known, and the whole row is billed at the new prices, which a cap holds for too.

        Raises
        ------
        InquiryError
            If the text is none of `to_json`, was changed so that no inquiry fits it, or is of another model; or if the
            prices differ, and `costs` does not give them.
        """
        return resume_inquiry(self, text, costs)

    def row_terms(
        self,
        costs: object = None,
        acquisition: str = "path",
        known: Known = (),
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
        tradeoff: float | None = None,
        n_jobs: int | None = None,
    ) -> Terms:
        """Return what is asked of rows, kept where many rows ask alike; see `inquire`."""
        return self._kept.terms(self.terms, costs, acquisition, known, max_cost, unavailable, tradeoff, n_jobs)

    def asked_rounds(self, X: F8, terms: Terms) -> AskedRounds:
        """Return the rounds in which rows, float64 (rows, d), ask for features. By default each row is an inquiry."""
        return replay_rounds(self, X, terms)

    @cached_property
    def _kept(self) -> KeptTerms:
        return KeptTerms()

    def cost(
        self,
        X: Any,
        y_or_costs: Any = None,
        *,
        y: ArrayLike | None = None,
        costs: object = None,
        sample_weight: ArrayLike | None = None,
        rounds: bool = False,
        latency: bool = False,
        made: Any = None,
        **asked: Any,
    ) -> CostReport:
        """Return the exact cost of predicting rows; shorthand for `ExpectedCost`.

        Parameters
        ----------
        X : float64 (rows, d), or data frame
        y_or_costs : optional
            `y`, or `costs` that name their features: a CostModel, a mapping, a file, or a Series.
        y : (rows,), optional
            Labels, for the costs of errors, and to complete rows that lack a test.
        costs : CostModel, or anything `CostModel.of` accepts, optional
            Prices in place of the model's own.
        sample_weight, rounds, latency, made, **asked
            As for `ExpectedCost.evaluate`; else, for `ExpectedCost`: `acquisition`, `routing`, limits and `tradeoff`.
        """
        y, costs = tell_apart(y_or_costs, y, costs, self.feature_names)
        evaluator = ExpectedCost(costs, **asked)
        return evaluator.evaluate(self, X, y, sample_weight=sample_weight, rounds=rounds, latency=latency, made=made)


@define(eq=False, frozen=True, repr=False)
class AnnotatedPredictor(Predictor):
    """A predictor of any kind whose card is given to it; what it does with rows is the inner predictor's."""

    inner: Predictor
    card: Card

    def __attrs_post_init__(self) -> None:
        own = self.inner.card
        facts = type(self.inner).__name__, *own.facts
        card = evolve(self.card, feature_names=own.feature_names, half=own.half, plans=own.plans, facts=facts)
        object.__setattr__(self, "card", card)

    def with_card(self, card: Card) -> AnnotatedPredictor:
        """Return the same model with another card."""
        return evolve(self, card=card)

    @property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that it may read."""
        return self.inner.used_features

    @property
    def sure_features(self) -> tuple[str, ...]:
        """Names of features that it reads in every row."""
        return self.inner.sure_features

    @property
    def content(self) -> tuple[Any, ...]:
        """What decides its rows; see `Digested.content`."""
        return self.inner.digest, self.card.categories, self.card.classes, self.card.half

    def begin(self, terms: Terms) -> Walker:
        """Return a walker for one row; see `Predictor.begin`."""
        return self.inner.begin(terms)

    def grounds(self, walker: Any, terms: Terms, bought: tuple[int, ...]) -> Grounds:
        """Return why a walker asks; see `Predictor.grounds`."""
        return self.inner.grounds(walker, terms, bought)

    def ends_given(self, X: F8, columns: Sequence[int], terms: Terms) -> Ends:
        """Return the ends of rows that know some columns; see `Predictor.ends_given`."""
        return self.inner.ends_given(X, columns, terms)

    def read_together(self, known: frozenset[int]) -> frozenset[int]:
        """Return the columns that it would not read alone; see `Predictor.read_together`."""
        return self.inner.read_together(known)

    @property
    def cuts(self) -> Cuts:
        """Thresholds of columns; see `Predictor.cuts`."""
        return self.inner.cuts

    def evaluate(self, X: F8, terms: Terms) -> Ends:
        """Predict rows; see `Predictor.evaluate`."""
        return self.inner.evaluate(X, terms)

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge rows; see `Predictor.charges`."""
        return self.inner.charges(X, weight, terms)

    def asked_rounds(self, X: F8, terms: Terms) -> AskedRounds:
        """Return the rounds in which rows ask for features; see `Predictor.asked_rounds`."""
        return self.inner.asked_rounds(X, terms)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns; see `Predictor.gains`."""
        return self.inner.gains(rows, costs)

    def with_fallbacks(self, X: Any, sample_weight: ArrayLike | None = None, y: ArrayLike | None = None) -> Predictor:
        """Return the same model with answers for rows that limits cut, if the predictor learns them."""
        rows = self.as_rows(X)
        shares = None if y is None else class_shares(y, self.classes, len(rows))
        return evolve(self, inner=self.inner.with_fallbacks(rows, sample_weight, shares))

    def of_queries(self, qid: ArrayLike | None) -> Predictor:
        """Return the predictor for rows of these queries; see `Predictor.of_queries`."""
        return evolve(self, inner=self.inner.of_queries(qid))
