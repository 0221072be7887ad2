"""A predictor over any model that can be stepped, given as a generator function."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field
from attrs.converters import optional

from costframe.core.cost.expected import ExpectedCost, replay, stack_values, until_terms
from costframe.core.errors import CostModelError, DataError, InquiryError, ParameterError
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.predictor import Known, Predictor, open_ledger
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import Limits, names_of
from costframe.core.stages.run_stages import check_acquisition
from costframe.core.tables.categories import as_categories, check_features
from costframe.core.tables.frames import check_names
from costframe.core.tables.rows import as_names, as_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.core.predictors.inquiry import Ledger
    from costframe.core.stages.certain_layout import Until
    from costframe.core.tables.categories import Categories

MOST_REPEATS = 10_000  # requests without a new feature, after which a model counts as endless

Steps = Generator[Iterable[str], Mapping[str, float], "ArrayLike"]
"""Yields the names of the features it needs next, is sent their values, and returns the prediction."""


def _prediction(value: object) -> float | NDArray[np.float64]:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = None
    if array is None or array.ndim > 1 or value is None:
        raise DataError(f"the model returned {value!r}, expected a number or a vector of numbers")
    return float(array) if array.ndim == 0 else array


@define(eq=False, frozen=True, repr=False)
class SteppedPredictor(Predictor):
    """A model given as a generator function, `steps() -> Generator[names, values, prediction]`.

    Only features and resources have prices: it refuses a cost model with prices for learners, comparisons or reuse,
    because it cannot see the model's computations.

    Parameters
    ----------
    feature_names : tuple of str
    steps : callable
        Called once a row. The generator may ask for a feature again; the row buys it once.
    costs : CostModel or None
        Default prices.
    categories : mapping of str to tuple of str
        Labels of the features whose categories are texts; the generator receives the position of a label.
    fallback : float, or float64 (K,), optional
        Answer of a row that cannot have or pay for the features that the model asks for; for example the mean of its
        predictions. Without one, `max_cost` and `unavailable` are refused.
    """

    feature_names: tuple[str, ...] = field(converter=as_names)
    steps: Callable[[], Steps]
    costs: CostModel | None = None
    categories: Categories = field(factory=dict, converter=as_categories)
    fallback: float | NDArray[np.float64] | None = field(default=None, converter=optional(_prediction), kw_only=True)

    def with_costs(self, costs: CostModel | None) -> SteppedPredictor:
        """Return the same model with other prices of its own."""
        return evolve(self, costs=costs)

    def with_categories(self, categories: Categories) -> SteppedPredictor:
        """Return the same model with other labels of its features."""
        return evolve(self, categories=categories)

    def __attrs_post_init__(self) -> None:
        check_names(self.feature_names, "features")
        check_features(self.categories, self.feature_names)

    def predict(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), until: Until = None
    ) -> NDArray[np.float64]:
        """Predict rows one by one: float64 (rows,) or (rows, K); limits as for `Predictor.predict`.

        `until` is refused: the model does not know what it can still add.
        """
        until_terms(self, until)
        rows = as_rows(X, self.feature_names, self.categories)
        if max_cost is None and not names_of(unavailable):
            values = [self._predict_row(row) for row in rows]
        else:
            costs = CostModel.of(self.costs, self.feature_names)
            how = ExpectedCost(costs, max_cost=max_cost, unavailable=unavailable)
            values = [replay(self, row, costs, how).value for row in rows]
        return stack_values(values)

    def decision_function(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = (), until: Until = None
    ) -> NDArray[np.float64]:
        """Return the predictions: a stepped model has no link."""
        return self.predict(X, max_cost=max_cost, unavailable=unavailable, until=until)

    def inquire(
        self,
        costs: object = None,
        acquisition: str = "path",
        known: Known = (),
        *,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
        until: Until = None,
    ) -> Inquiry:
        """Begin the prediction of one row; `acquisition` has no effect here.

        The row buys all features of one request, or it buys none of them and the answer is `fallback`.

        Raises
        ------
        ParameterError
            If there are limits and no `fallback`.
        """
        check_acquisition(acquisition)
        until_terms(self, until)
        prices, ledger, known_values = open_ledger(self, costs, known)
        if prices.learner or prices.reuse or prices.split.any():
            raise CostModelError("prices for learners, comparisons or reuse: a stepped predictor does not tell of them")
        limits = Limits.of(max_cost, unavailable, prices, known_values)
        if limits is not None and self.fallback is None:
            named = "unavailable" if max_cost is None else "max_cost"
            raise ParameterError(
                f"{named}: a stepped model cannot answer before its end; give it SteppedPredictor(fallback=...)"
            )
        walker = StepWalker(self, known_values, limits, ledger)
        return Inquiry(walker, self.feature_names, ledger, self.categories, limits.max_cost if limits else math.inf)

    def _predict_row(self, row: NDArray[np.float64]) -> float | NDArray[np.float64]:
        walker = StepWalker(self, {})
        while walker.needs:
            walker.advance({f: float(row[f]) for f in walker.needs})
        return walker.answer[0]


class StepWalker:
    """The model side of an inquiry, for a generator. After the generator raised, every later step is an error."""

    def __init__(
        self,
        predictor: SteppedPredictor,
        known_values: Mapping[int, float],
        limits: Limits | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self._limits, self._ledger, self._fallback = limits, ledger, predictor.fallback
        self._reason = "complete"
        self._names = predictor.feature_names
        self._column = {name: f for f, name in enumerate(self._names)}
        self._values = dict(known_values)
        self._steps = predictor.steps()
        if not isinstance(self._steps, Generator):
            raise DataError(f"steps: expected a generator function, its call returned {type(self._steps).__name__}")
        self._failure: BaseException | None = None
        self._requested: tuple[int, ...] = ()
        self._answer: float | NDArray[np.float64] | None = None
        self._step(None, self._values)

    @property
    def needs(self) -> frozenset[int]:
        """Features of the last request that are not known."""
        return frozenset(f for f in self._requested if f not in self._values)

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and exit, always 0."""
        assert self._answer is not None  # noqa: S101 - needs is empty when the generator returned
        return self._answer, 0

    @property
    def reason(self) -> str:
        """Why the row was cut; "complete" if it was not."""
        return self._reason

    @property
    def evaluated(self) -> tuple[float, float, int]:
        """Always zero: the model's computations have no price."""
        return 0.0, 0.0, 0

    def advance(self, values: Mapping[int, float]) -> None:
        """Send values to the generator, known ones again if it asks, until it requests a new feature."""
        known = {**self._values, **values}
        self._step({self._names[f]: known[f] for f in self._requested}, known)
        self._values = known

    def _step(self, values: dict[str, float] | None, known: Mapping[int, float]) -> None:
        if self._failure is not None:
            raise InquiryError(f"the model raised {self._failure!r} and cannot go on; begin a new inquiry")
        try:
            self._requested = self._next_request(values, known)
        except StopIteration as end:
            self._requested, self._answer = (), _prediction(end.value)
        except BaseException as error:
            self._failure = error
            raise
        self._reason = self._refusal(known)
        if self._reason != "complete":
            self._requested, self._answer = (), self._fallback
            self._steps.close()

    def _refusal(self, known: Mapping[int, float]) -> str:
        """Return why the row cannot have the requested features, or "complete" if it can."""
        wanted = [f for f in self._requested if f not in known]
        if self._limits is None or self._ledger is None or not wanted:
            return "complete"
        if self._limits.unavailable.intersection(wanted):
            return "unavailable"
        total = self._ledger.spent + self._ledger.quote([*known, *wanted])
        return "complete" if total <= self._limits.threshold else "max_cost"

    def _next_request(self, values: dict[str, float] | None, known: Mapping[int, float]) -> tuple[int, ...]:
        """Run the generator until it requests a feature that is not known."""
        for _ in range(MOST_REPEATS):
            asked = self._columns(next(self._steps) if values is None else self._steps.send(values))
            values = {self._names[f]: known[f] for f in asked if f in known}
            if len(values) < len(asked):
                return asked
        raise InquiryError(f"the model asked {MOST_REPEATS} times in a row for nothing but what it has")

    def _columns(self, asked: object) -> tuple[int, ...]:
        if not isinstance(asked, Iterable):
            raise InquiryError(f"the model asks for {asked!r}, expected names of features")
        names = [asked] if isinstance(asked, str) else list(asked)
        for name in names:
            if name not in self._column:
                raise InquiryError(f"the model asks for {name!r}, which is none of its features {self._names}")
        return tuple(dict.fromkeys(self._column[name] for name in names))
