"""A predictor made of anything that can be stepped: a third party's model need be no more than a generator."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field
from attrs.converters import optional

from costframe.core.cost.replay import replay
from costframe.core.errors import CostModelError, DataError, InquiryError, ParameterError
from costframe.core.predictors.inquiry import Inquiry
from costframe.core.predictors.predictor import Known, Predictor, open_ledger
from costframe.core.prices.costs import CostModel
from costframe.core.prices.limits import Limits, names_of
from costframe.core.stages.reading import check_acquisition
from costframe.core.tables.categories import as_categories, check_features
from costframe.core.tables.frames import check_names
from costframe.core.tables.rows import as_names, as_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from costframe.core.predictors.inquiry import Ledger
    from costframe.core.tables.categories import Categories

__all__ = ["SteppedPredictor", "Steps"]

MOST_REPEATS = 10_000  # a model that asks for nothing new as often as this will not end

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


@define(eq=False, frozen=True)
class SteppedPredictor(Predictor):
    """A model given as a generator function, `steps() -> Generator[names, values, prediction]`.

    It is priced by features and resources only: what it computes inside cannot be seen, so a cost model with prices for
    learners, comparisons or reuse is refused.

    Parameters
    ----------
    feature_names : tuple of str
    steps : callable
        Called once a row. A feature may be asked for again; it is bought once.
    costs : CostModel or None
        Prices used where none are given.
    categories : mapping of str to tuple of str
        For features whose categories are texts, the labels; the generator is sent the position of a label.
    fallback : float, or float64 (K,), optional
        The answer of a row for which the model asks for something that is unavailable or exceeds the row's cap, such as
        the mean of its predictions. Without one, `max_cost` and `unavailable` are refused.
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

    def predict(self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = ()) -> NDArray[np.float64]:
        """Predict rows one by one: float64 (rows,) or (rows, K); limits as for `Predictor.predict`."""
        rows = as_rows(X, self.feature_names, self.categories)
        if max_cost is None and not names_of(unavailable):
            values = [self._one(row) for row in rows]
        else:
            costs = CostModel.of(self.costs, self.feature_names)
            values = [replay(self, row, costs, "path", max_cost, unavailable).value for row in rows]
        if len({np.shape(value) for value in values}) > 1:
            raise DataError("the model returned predictions of different lengths")
        return np.array(values) if values else np.empty(0)

    def decision_function(
        self, X: Any, *, max_cost: float | None = None, unavailable: Iterable[str] = ()
    ) -> NDArray[np.float64]:
        """Return the predictions: a stepped model has no link."""
        return self.predict(X, max_cost=max_cost, unavailable=unavailable)

    def inquire(
        self,
        costs: object = None,
        acquisition: str = "path",
        known: Known = (),
        *,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
    ) -> Inquiry:
        """Begin the prediction of one row; `acquisition` makes no difference here.

        What the model asks for at once is bought at once, or not at all: then the answer is `fallback`.

        Raises
        ------
        ParameterError
            If there are limits and no `fallback`.
        """
        check_acquisition(acquisition)
        prices, ledger, given = open_ledger(self, costs, known)
        if prices.learner or prices.reuse or prices.split.any():
            raise CostModelError("prices for learners, comparisons or reuse: a stepped predictor does not tell of them")
        limits = Limits.of(max_cost, unavailable, prices, given)
        if limits is not None and self.fallback is None:
            named = "unavailable" if max_cost is None else "max_cost"
            raise ParameterError(
                f"{named}: a stepped model cannot answer before its end; give it SteppedPredictor(fallback=...)"
            )
        walker = StepWalker(self, given, limits, ledger)
        return Inquiry(walker, self.feature_names, ledger, self.categories, limits.max_cost if limits else math.inf)

    def _one(self, row: NDArray[np.float64]) -> float | NDArray[np.float64]:
        walker = StepWalker(self, {})
        while walker.needs:
            walker.advance({f: float(row[f]) for f in walker.needs})
        return walker.answer[0]


class StepWalker:
    """The model side of an inquiry, for a generator. One that raised cannot go on: every later step says so."""

    def __init__(
        self,
        predictor: SteppedPredictor,
        given: Mapping[int, float],
        limits: Limits | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self._limits, self._ledger, self._fallback = limits, ledger, predictor.fallback
        self._reason = "complete"
        self._names = predictor.feature_names
        self._column = {name: f for f, name in enumerate(self._names)}
        self._values = dict(given)
        self._steps = predictor.steps()
        if not isinstance(self._steps, Generator):
            raise DataError(f"steps: expected a generator function, its call returned {type(self._steps).__name__}")
        self._failure: BaseException | None = None
        self._asked: tuple[int, ...] = ()
        self._answer: float | NDArray[np.float64] | None = None
        self._step(None, self._values)

    @property
    def needs(self) -> frozenset[int]:
        """Features asked for and not yet known."""
        return frozenset(f for f in self._asked if f not in self._values)

    @property
    def answer(self) -> tuple[float | NDArray[np.float64], int]:
        """Prediction and exit, always 0."""
        assert self._answer is not None  # noqa: S101 - nothing is needed once the generator returned
        return self._answer, 0

    @property
    def reason(self) -> str:
        """Why the model was left, if it was."""
        return self._reason

    @property
    def evaluated(self) -> tuple[float, float, int]:
        """Nothing is known of what the model computes."""
        return 0.0, 0.0, 0

    def advance(self, values: Mapping[int, float]) -> None:
        """Send the values, and again what is known already, until something new is asked for."""
        known = {**self._values, **values}
        self._step({self._names[f]: known[f] for f in self._asked}, known)
        self._values = known

    def _step(self, values: dict[str, float] | None, known: Mapping[int, float]) -> None:
        if self._failure is not None:
            raise InquiryError(f"the model raised {self._failure!r} and cannot go on; begin a new inquiry")
        try:
            self._asked = self._next_request(values, known)
        except StopIteration as end:
            self._asked, self._answer = (), _prediction(end.value)
        except BaseException as error:
            self._failure = error
            raise
        self._reason = self._refusal(known)
        if self._reason != "complete":
            self._asked, self._answer = (), self._fallback
            self._steps.close()

    def _refusal(self, known: Mapping[int, float]) -> str:
        """Say why what is asked for cannot be had, or "complete" if it can; a row has bought what is known by now."""
        wanted = [f for f in self._asked if f not in known]
        if self._limits is None or self._ledger is None or not wanted:
            return "complete"
        if self._limits.unavailable.intersection(wanted):
            return "unavailable"
        total = self._ledger.spent + self._ledger.quote([*known, *wanted])
        return "complete" if total <= self._limits.threshold else "max_cost"

    def _next_request(self, values: dict[str, float] | None, known: Mapping[int, float]) -> tuple[int, ...]:
        """Run the generator until it asks for something that is not known."""
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
