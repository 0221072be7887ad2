"""Exact cost of predicting rows: the charges under hard routing, or their expectation under soft routing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from attrs import Attribute, evolve, field, fields, frozen
from numpy.typing import ArrayLike

from costframe.core.arrays import F8
from costframe.core.checks import check_choice, check_flag, check_number
from costframe.core.cost.asked_rounds import AskedRounds
from costframe.core.cost.latency import latencies
from costframe.core.cost.report import CostReport
from costframe.core.cost.round_charges import charge_rounds
from costframe.core.cost.totals import Charges
from costframe.core.cost.untested import complete_copies
from costframe.core.errors import CostModelError, DataError, ParameterError, brief, shown
from costframe.core.prices.limits import as_cap, names_of
from costframe.core.stages.run_stages import check_acquisition
from costframe.core.tables.row_labels import check_weights
from costframe.core.tables.rows import as_rows
from costframe.core.terms.card import Card
from costframe.core.terms.decision import error_columns, error_costs
from costframe.core.terms.terms import ROUTINGS, Terms

__all__ = ["CostReport", "ExpectedCost"]


class Priced(Protocol):
    """What an evaluator reads of a predictor; see `Predictor`."""

    @property
    def card(self) -> Card:
        """What describes it."""

    @property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that it may read."""

    def label_features(self, costs: object = None) -> tuple[str, ...]:
        """Return the features on which labels depend."""

    def terms(self, costs: object = None, **asked: Any) -> Terms:
        """Make and check what is asked of rows."""

    @property
    def row_terms(self) -> Callable[..., Terms]:
        """Returns what is asked of rows under hard routing, kept; see `Predictor.row_terms`."""

    def charges(self, X: F8, weight: F8, terms: Terms) -> Charges:
        """Charge rows."""

    def asked_rounds(self, X: F8, terms: Terms) -> AskedRounds:
        """Return the rounds in which rows ask for features."""


@frozen(repr=False)
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
    tradeoff : float, optional
        A plan's loss accepted per unit of cost in place of its own.
    """

    costs: object = None
    routing: str = field(default="hard", kw_only=True)
    acquisition: str = field(default="path", kw_only=True)
    steepness: float | None = field(default=None, kw_only=True)
    max_cost: float | None = field(default=None, kw_only=True, converter=as_cap)
    unavailable: tuple[str, ...] = field(default=(), kw_only=True, converter=names_of)
    tradeoff: float | None = field(default=None, kw_only=True)

    @routing.validator
    def _known_routing(self, _attribute: Attribute[str], value: str) -> None:
        check_choice("routing", value, ROUTINGS)

    def __attrs_post_init__(self) -> None:
        check_acquisition(self.acquisition)
        if self.steepness is not None and self.routing == "hard":
            raise ParameterError("steepness: has no effect on hard routing")
        for name, is_given in (("max_cost", self.max_cost is not None), ("unavailable", bool(self.unavailable))):
            if is_given and self.routing == "soft":
                raise ParameterError(f"{name}: has no meaning for soft routing, whose rows go all ways; use 'hard'")
        if self.steepness is not None:
            check_number("steepness", self.steepness, strict=True)

    def __repr__(self) -> str:
        """Name the settings that are not the usual ones."""
        given = {each.name: shown(getattr(self, each.name)) for each in fields(type(self))}
        usual = {each.name: shown(each.default) for each in fields(type(self))}
        return brief(self, *(f"{name}={value}" for name, value in given.items() if value != usual[name]))

    def evaluate(
        self,
        predictor: Priced,
        X: Any,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        rounds: bool = False,
        latency: bool = False,
        made: Any = None,
        n_jobs: int | None = None,
    ) -> CostReport:
        """Evaluate a predictor on rows.

        Parameters
        ----------
        predictor : Predictor
        X : float64 (rows, d), or data frame
        y : (rows,), optional
            Labels; with them the report has the costs of errors, and the bill (hard routing only). By them rows are
            completed that lack a test.
        sample_weight : float64 (rows,), optional
            Means are weighted by it; a weight of two is a row given twice.
        rounds : bool
            Whether to count each row's rounds of trips to the sources (hard routing only).
        latency : bool
            Whether to tell how long each row waits for its sources (hard routing only). What the engine cannot
            follow in tables, such as rows under limits, opaque learners and pipelines, is replayed row by row, slowly.
        made : bool (rows, d), data frame of bool, or True, optional
            Which cells were asked for, in place of what prices say by `absent`; True says that all were. Of rows that
            lack a test the report is that of completed copies, in which it is made (`CostReport.copies`).
        n_jobs : int, optional
            Threads; None uses all cores. The result does not depend on it.

        Raises
        ------
        ParameterError
            If `latency` is asked of prices without times.
        CostModelError
            If there are labels, and neither prices of errors nor tests that may not have been made.
        DataError
            If a row lacks a test, and there are no labels.
        """
        check_flag("rounds", rounds)
        check_flag("latency", latency)
        if not callable(getattr(predictor, "charges", None)):
            raise ParameterError(
                f"predictor: expected a Predictor, such as an estimator's predictor_, got {shown(predictor)}"
            )
        terms, card, used = self._terms(predictor, X, n_jobs), predictor.card, predictor.used_features
        model = terms.costs
        if y is not None or rounds or latency:
            used = predictor.label_features(model)
        unread = terms.unread_columns(X, labelled=y is not None) if terms.unavailable else ()
        rows = as_rows(X, card.feature_names, card.categories, used, unread)
        weight = _weights(sample_weight, len(rows))
        if y is not None and (shape := _shape(y)) != (len(rows),):
            raise DataError(f"y: expected one label a row, shape ({len(rows)},), got {shape}; prices are `costs`")
        for name, wanted in (("rounds", rounds), ("latency", latency), ("y", y is not None)):
            if wanted and terms.is_soft:
                raise ParameterError(f"{name}: rows of a softened routing go all ways; use routing='hard'")
        if latency and not model.has_times:
            raise ParameterError("latency: the prices have no times; give features or resources a `time`")
        copies: Sequence[F8] = [rows]
        if made is not True and (made is not None or model.panels):
            read = set(predictor.used_features).difference(unread)
            copies = complete_copies(rows, X, y, made, card=card, costs=model, read=read, weight=weight)
        if model.errors is None and (model.panels or made is not None):
            y = None  # only completion needs labels
        asked = _Asked(weight, terms, y, rounds, latency)
        reports = [asked.report(predictor, copy) for copy in copies]
        return reports[0] if len(reports) == 1 else CostReport.pool(reports)

    def _terms(self, predictor: Priced, X: Any, n_jobs: int | None) -> Terms:
        """Return what is asked of the rows of a predictor, at these prices or its own."""
        limits = self.max_cost, self.unavailable
        try:
            if self.routing == "hard":
                return predictor.row_terms(self.costs, self.acquisition, (), *limits, self.tradeoff, n_jobs)
            asked = {"routing": self.routing, "steepness": self.steepness, "acquisition": self.acquisition}
            return predictor.terms(self.costs, n_jobs=n_jobs, tradeoff=self.tradeoff, **asked)
        except CostModelError as error:
            if _shape(self.costs) != _shape(X)[:1]:
                raise
            raise CostModelError(f"{error}; if these are the labels of rows, give them as `y`") from None


@frozen(eq=False)
class _Asked:
    """What is asked of checked rows."""

    weight: F8
    terms: Terms
    y: ArrayLike | None
    rounds: bool
    latency: bool

    def report(self, predictor: Priced, rows: F8) -> CostReport:
        """Charge rows, float64 (n, d)."""
        terms, weight, card, errors = self.terms, self.weight, predictor.card, self.terms.costs.errors
        charges = predictor.charges(rows, weight, terms)
        if too := terms.error_columns:  # inquiries ask for them, too
            acquired = charges.acquired.copy()
            acquired[:, [name in too for name in card.feature_names]] = 1
            charges = evolve(charges, acquired=acquired, rounds=None)
        if errors is not None and len(too) < len(error_columns(card, errors)):  # inquiries say so, too
            charges = evolve(charges, cut=np.ones(len(rows), np.bool_))
        counted, times = charges.rounds if self.rounds else None, None
        if self.latency or terms.prices.has_rounds or (self.rounds and counted is None):
            asked = predictor.asked_rounds(rows, terms)
            if too:
                asked = asked.with_first([card.column[name] for name in too])
            if terms.prices.has_rounds:
                charges = charge_rounds(charges, asked, terms.prices, weight)
            counted = asked.count() if self.rounds else None
            times = latencies(asked, terms.costs, card.feature_names) if self.latency else None
        report = CostReport.of(terms.prices, charges, weight, counted, times)
        if self.y is None:
            return report
        paid = error_costs(card, errors, terms.unavailable_features, rows, self.y, report.ends)
        return report.with_errors(paid, weight)


def _shape(given: Any) -> tuple[int, ...] | str:
    """Return the shape of what should be an array, or a word for lists that are none."""
    try:
        return tuple(np.shape(given))
    except ValueError:
        return "lists of several lengths"


def _weights(sample_weight: ArrayLike | None, count: int) -> F8:
    if sample_weight is None or count == 0:
        return np.ones(count)
    weight = check_weights(sample_weight, count, "sample_weight")
    largest = float(weight.max())
    # Only ratios matter to means; extreme ones are scaled so that sums stay finite.
    return weight if 1e-100 < largest < 1e100 else weight / largest


def stack_values(values: Sequence[float | F8]) -> F8:
    """Return predictions of rows, numbers or vectors of one length, as float64 (rows,) or (rows, K)."""
    if len({np.shape(value) for value in values}) > 1:
        raise DataError("the model returned predictions of different lengths")
    return np.array(values, np.float64)
