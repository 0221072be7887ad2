"""A predictor whose columns are made from raw columns: it asks for raw columns, and charges raw prices."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from attrs import define, evolve
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8
from costframe.core.cost.expected import ExpectedCost
from costframe.core.cost.report import Charges
from costframe.core.errors import DataError, ParameterError
from costframe.core.gains import Gains
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.planned import PlannedPredictor
from costframe.core.predictors.predictor import Known, Predictor, RowRequest, check_costs
from costframe.core.prices.costs import CostModel, ThroughPrices
from costframe.core.prices.price_arrays import Limits, as_cap, names_of
from costframe.core.stages.ends import Ends
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.categories import Categories
from costframe.core.tables.preparation import Preparation
from costframe.core.tables.rows import as_rows


@lru_cache(maxsize=64)  # every inquiry asks for it
def _through(costs: CostModel, preparation: Preparation) -> ThroughPrices:
    return costs.trace(preparation.made_from, paid_apart=True)


@define(eq=False, frozen=True, repr=False)
class PreparedPredictor(Predictor):
    """A predictor over columns that a preparation makes from raw columns.

    Its features are the raw columns. An inquiry asks for the raw columns behind each made column that the inner
    predictor needs, as far as they are not there yet; a row pays for each of them once. The inner predictor decides at
    the prices of `CostModel.through`.

    Parameters
    ----------
    inner : Predictor
        Its features are the made columns. It decides at prices that come from `costs`; its own have no effect.
    preparation : Preparation
    costs : CostModel or None
        Default prices of the raw columns.

    Raises
    ------
    DataError
        If the inner predictor reads other columns than the preparation makes.
    CostModelError
        If the prices do not fit the raw columns, or cannot be shared among made columns.
    """

    inner: Any
    preparation: Preparation
    costs: CostModel | None = None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.inner, Predictor):
            raise ParameterError(f"inner: expected a predictor, got {type(self.inner).__name__}")
        if self.inner.feature_names != self.preparation.names:
            raise DataError(
                f"inner: expected a predictor of the made columns {self.preparation.names}, "
                f"got one of {self.inner.feature_names}"
            )
        check_costs(self.costs, self.feature_names)
        _through(CostModel.of(self.costs, self.feature_names), self.preparation)

    @property
    def facts(self) -> tuple[str, ...]:
        """The predictor within, for its `repr`."""
        return (type(self.inner).__name__, *self.inner.facts)

    @property
    def sure_features(self) -> tuple[str, ...]:
        """Raw columns behind the made columns that the inner predictor reads in every row."""
        return self.preparation.read_by(map(self.inner.feature_names.index, self.inner.sure_features))

    @cached_property
    def priced(self) -> Any:
        """The inner predictor at the own prices."""
        costs = CostModel.of(self.costs, self.feature_names)
        return self.inner.with_costs(_through(costs, self.preparation).costs)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The raw columns."""
        return self.preparation.feature_names

    @property
    def categories(self) -> Categories:
        """Labels of each raw column whose categories are texts, by name."""
        return self.preparation.categories

    @property
    def used_features(self) -> tuple[str, ...]:
        """Raw columns behind the made columns that the inner predictor reads, in column order."""
        return self.preparation.read_by(self._used)

    @property
    def classes(self) -> NDArray[Any] | None:
        """Labels of the classes, those of the inner predictor."""
        found: NDArray[Any] | None = self.inner.classes
        return found

    @property
    def half(self) -> float:
        """The prediction above which a row is of the second of two classes: the inner predictor's."""
        found: float = self.inner.half
        return found

    def with_costs(self, costs: CostModel | None) -> PreparedPredictor:
        """Return the same model with other prices of its own."""
        return evolve(self, costs=costs)

    def with_classes(self, classes: ArrayLike | None) -> PreparedPredictor:
        """Return the same predictor with labels of its classes."""
        return evolve(self, inner=self.inner.with_classes(classes))

    def with_fallbacks(self, X: Any, sample_weight: ArrayLike | None = None) -> PreparedPredictor:
        """Return the same model whose inner predictor answers rows that limits cut, learned from raw rows."""
        rows = as_rows(X, self.feature_names, self.categories, self.used_features)
        return evolve(self, inner=self.priced.with_fallbacks(self.preparation.fill(rows, self._used), sample_weight))

    def of_queries(self, qid: ArrayLike | None) -> Predictor:
        """Return the predictor for rows of these queries; see `Predictor.of_queries`."""
        inner = self.inner.of_queries(qid)
        return self if inner is self.inner else evolve(self, inner=inner)

    def predict(self, X: Any, **terms: Any) -> F8:
        """Predict raw rows; see `Predictor.predict`. Further terms are the inner predictor's."""
        return np.asarray(self._ask("predict", X, **terms))

    def labels(self, X: Any, *, costs: object = None, **terms: Any) -> NDArray[Any]:
        """Return the class of each raw row; see `Predictor.labels`. Prices of errors may be raw columns."""
        errors, prices = self._errors(costs), dict[str, Any]()
        if costs is not None:
            prices["costs"] = _through(CostModel.of(costs, self.feature_names), self.preparation).costs
        if errors is None or not errors.columns:
            return np.asarray(self._ask("labels", X, **prices, **terms))
        bought = prices if isinstance(self.inner, PlannedPredictor) else {}
        return self.decide(self._ask("predict_ends", X, **bought, **terms), X, costs, terms.get("unavailable", ()))

    def predict_ends(self, X: Any, **terms: Any) -> Ends:
        """Return predictions and classes of raw rows; see `Predictor.predict_ends`."""
        found: Ends = self._ask("predict_ends", X, **terms)
        return found

    def decision_function(self, X: Any, **terms: Any) -> F8:
        """Score raw rows; see `Predictor.decision_function`. Further terms are the inner predictor's."""
        return np.asarray(self._ask("decision_function", X, **terms))

    def begin(self, request: RowRequest, **terms: Any) -> PreparedWalker:
        """Return a walker for one raw row; see `Predictor.begin`. Further terms are the inner predictor's."""
        through, limits = _through(request.costs, self.preparation), request.limits
        columns = {f: np.array([value]) for f, value in request.values.items()}
        inner = self.priced.inquire(
            through.costs,
            request.acquisition,
            self._inner_known(through, request, columns),
            max_cost=request.max_cost,
            unavailable=self._inner_names(through, limits.unavailable if limits else ()),
            **terms,
        )
        return PreparedWalker(inner, self.preparation, columns)

    def charges(self, X: F8, costs: CostModel, weight: F8, how: ExpectedCost, n_jobs: int | None = None) -> Charges:
        """Charge raw rows; see `Predictor.charges`."""
        if how.routing == "soft":
            raise ParameterError(
                "routing: which raw columns a softened routing buys cannot be told; use routing='hard', or price the "
                "inner predictor over preparation.transform(X) at costs.through(preparation)"
            )
        through, prices = _through(costs, self.preparation), costs.select(self.feature_names)
        limits = Limits.of(how.max_cost, how.unavailable, prices)
        inner_how = evolve(
            how, costs=through.costs, unavailable=self._inner_names(through, limits.unavailable if limits else ())
        )
        made = self.preparation.fill(X, self._used)
        found: Charges = self.priced.charges(made, through.costs, weight, inner_how, n_jobs)
        acquired = np.zeros(X.shape, np.bool_)
        for place in self._used:
            acquired[:, list(self.preparation.reads[place])] |= found.acquired[:, [place]].astype(np.bool_)
        return evolve(
            found,
            acquired=acquired,
            feature_weight=weight @ acquired,
            resource_weight=weight @ prices.direct_needs.of_rows(acquired),
            rounds=None,
        )

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of raw columns; see `Predictor.gains`. Those behind a made column explain it together."""
        made = evolve(rows, X=self.preparation.fill(rows.X, self._used))
        found: dict[tuple[int, ...], float] = {}
        for columns, gain in self.priced.gains(made, _through(costs, self.preparation).costs).items():
            behind = tuple(sorted({f for place in columns for f in self.preparation.reads[place]}))
            found[behind] = found.get(behind, 0.0) + gain
        return found

    @cached_property
    def _used(self) -> list[int]:
        """Places of the made columns that the inner predictor reads."""
        used = set(self.inner.used_features)
        return [place for place, name in enumerate(self.preparation.names) if name in used]

    def _ask(
        self, method: str, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), **terms: Any
    ) -> Any:
        """Call a method of the inner predictor for raw rows; made columns that it does not read are NaN."""
        limits = self._inner_limits(max_cost, unavailable)
        rows = as_rows(X, self.feature_names, self.categories, self.used_features)
        return getattr(self.priced, method)(self.preparation.fill(rows, self._used), **limits, **terms)

    def _inner_known(self, through: ThroughPrices, request: RowRequest, columns: dict[int, F8]) -> Known:
        """Return what is paid for before an inquiry, with the made columns that follow from raw columns with values."""
        features, resources = request.ledger.paid_before
        raw = [self.feature_names[f] for f in features] + [request.prices.resource_names[r] for r in resources]
        names = [through.names[name] for name in raw if name in through.names]
        if not isinstance(request.known, Mapping):
            return names
        ready = [place for place in self._used if columns.keys() >= set(self.preparation.reads[place])]
        made = self.preparation.make(columns, ready)
        return dict.fromkeys(names, math.nan) | {self.preparation.names[p]: value for p, value in made.items()}

    def _inner_limits(self, max_cost: float | None, unavailable: Iterable[str]) -> dict[str, Any]:
        """Return limits of the inner predictor at the own prices."""
        if as_cap(max_cost) is None and not (unavailable := names_of(unavailable)):
            return {}
        model = CostModel.of(self.costs, self.feature_names)
        limits = Limits.of(max_cost, unavailable, model.select(self.feature_names))
        assert limits is not None  # noqa: S101 - there is a cap, or a name
        names = self._inner_names(_through(model, self.preparation), limits.unavailable)
        return {"max_cost": max_cost, "unavailable": names}

    def _inner_names(self, through: ThroughPrices, columns: Collection[int]) -> tuple[str, ...]:
        """Return the names of raw columns among the inner predictor's features and resources; unread ones have none.

        What makes raw columns unavailable is told of raw columns only: a resource may be, and a column that needs it
        known all the same.
        """
        names = (self.feature_names[f] for f in sorted(columns))
        return tuple(through.names[name] for name in names if name in through.names)


def behind_preparation(predictor: Predictor) -> Predictor:
    """Return the predictor within a prepared one, another as it is."""
    inner: Predictor = predictor.inner if isinstance(predictor, PreparedPredictor) else predictor
    return inner


class PreparedWalker:
    """The model side of an inquiry for raw columns, around the inquiry for made columns."""

    def __init__(self, inner: Inquiry, preparation: Preparation, columns: dict[int, F8]) -> None:
        inner, place = copy(inner), {name: place for place, name in enumerate(preparation.names)}
        while wanted := [place[name] for name in inner.needs]:
            missing = {f for made in wanted for f in preparation.reads[made]} - columns.keys()
            if missing:
                break
            found = preparation.make(columns, wanted)
            inner.supply({preparation.names[made]: value for made, value in found.items()})
        self._inner, self._preparation, self._columns, self.evaluated = inner, preparation, columns, inner.evaluated
        self.needs = tuple(sorted(missing)) if wanted else ()

    @property
    def answer(self) -> tuple[float | F8, int]:
        """Prediction and exit."""
        end = self._inner.answer
        return end.value, end.exit

    @property
    def place(self) -> int | None:
        """Number of the class, where the prediction does not tell it."""
        return self._inner.place

    @property
    def reason(self) -> str:
        """Why the walk ended; see `Prediction`."""
        return self._inner.answer.reason

    def after(self, values: Sequence[float]) -> PreparedWalker:
        """Return the walker with raw values too, and with made columns as long as their raw columns are there."""
        raw = {f: np.array([value]) for f, value in zip(self.needs, values, strict=True)}
        return PreparedWalker(self._inner, self._preparation, self._columns | raw)
