"""A tree of stages over a bank of weak learners: the form of every built-in model."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field

from costframe.core.caps.capped import capped_scores, lay_out_capped
from costframe.core.caps.fallbacks import FallbackRows, Fallbacks
from costframe.core.caps.mean_outputs import LeftOutputs, mean_outputs
from costframe.core.cost.charges import charge_tree
from costframe.core.errors import StageError, format_count
from costframe.core.gains import gains_of_answers
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.predictors.classes import as_classes, check_classes, likeliest
from costframe.core.predictors.predictor import OverBank, check_costs
from costframe.core.prices.costs import CostModel
from costframe.core.prices.exact_prices import as_multiples
from costframe.core.prices.price_arrays import Limits, as_cap, names_of
from costframe.core.stages.layout import lay_out
from costframe.core.stages.plan import cannot_bind, plan_stages, sum_evaluations
from costframe.core.stages.run_stages import check_acquisition, marks_for, predict_rows
from costframe.core.stages.stages import Answer, Route, Stage, apply_link, check_stages, log_odds, squeeze
from costframe.core.stages.step import StageStepper
from costframe.core.stages.step_layout import lay_out_steps
from costframe.core.stages.walk import StageWalker
from costframe.core.tables.rows import as_rows, check_weights

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from costframe.core.caps.capped_kernels import Model
    from costframe.core.cost.expected import ExpectedCost
    from costframe.core.cost.report import Charges
    from costframe.core.gains import Gains
    from costframe.core.predictors.predictor import RowRequest
    from costframe.core.prices.exact_prices import ExactPrices
    from costframe.core.prices.price_arrays import PriceArrays
    from costframe.core.stages.layout import StageLayout
    from costframe.core.stages.plan import StagePlan
    from costframe.core.stages.run_stages import ReadingMarks
    from costframe.core.stages.step import StepState
    from costframe.core.stages.step_layout import StepLayout
    from costframe.core.tables.categories import Categories


def _as_stages(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    if isinstance(stages, Answer | Route):
        raise StageError("stages: expected a list of stages, got one; put it in brackets")
    return tuple(stages)


@define(eq=False, frozen=True, repr=False)
class StageTree(OverBank):
    """A tree of stages over a bank of weak learners; the form of every built-in model.

    Parameters
    ----------
    bank : WeakLearnerBank
    stages : tuple of Answer or Route
        The first is the root; children come after their parents.
    costs : CostModel or None
        Default prices.
    fallbacks : Fallbacks, FallbackRows or None
        Expected outputs of learners and stages that a row cannot finish within its limits, or rows from which to learn
        them at their first use; see `with_fallbacks`. Without them a learner given up adds nothing, and a row goes on
        by partial sums. A saved or pickled model holds no rows.
    classes : (M,), optional
        Labels of the classes whose probabilities the answers give.

    Raises
    ------
    StageError
        If the stages are not a tree or do not fit the bank, or the fallbacks do not fit both.
    """

    stages: tuple[Stage, ...] = field(converter=_as_stages)
    costs: CostModel | None = None
    _fallbacks: Fallbacks | FallbackRows | None = field(default=None, kw_only=True, alias="fallbacks")
    classes: NDArray[Any] | None = field(default=None, kw_only=True, converter=as_classes)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.bank, WeakLearnerBank):
            raise StageError(f"bank: expected a WeakLearnerBank, got {type(self.bank).__name__}")
        check_stages(self.stages, self.bank.widths)
        if isinstance(self._fallbacks, Fallbacks):
            self._fallbacks.check(self.bank, self.stages)
        check_classes(self.classes, self.n_predictions)
        check_costs(self.costs, self.feature_names)

    @property
    def half(self) -> float:
        """The prediction above which a row is of the second of two classes; see `Answer`."""
        return 0.5 if self.only_answer is None else self.only_answer.half

    def labels(self, X: Any, **terms: Any) -> NDArray[Any]:
        """Return the class of each row, (rows,); see `Predictor.labels`."""
        return self.labels_of(*self._scores(X, **terms))

    @cached_property
    def capped_model(self) -> Model:
        """The tree as arrays for the kernel under limits."""
        return lay_out_capped(self)

    @cached_property
    def expected_outputs(self) -> LeftOutputs | None:
        """Expected outputs of learners given up, from `fallbacks`."""
        return None if self.fallbacks is None else LeftOutputs(self.bank, self.fallbacks)

    @property
    def facts(self) -> tuple[str, ...]:
        """Its size and links, for its `repr`."""
        links = ", ".join(map(repr, self.links))
        return format_count(len(self.stages), "stage"), format_count(len(self.bank), "learner"), f"link {links}"

    @cached_property
    def sure_features(self) -> tuple[str, ...]:
        """Names of features that the first stage reads in every row: of its trees the first tests."""
        root, bank = self.stages[0], self.bank
        if not len(root.learners):
            return ()
        widths = bank.widths[root.learners]
        weighed = root.learners[np.logical_or.reduceat(root.weights.any(axis=1), np.cumsum(widths) - widths)]
        trees, columns, opaques = (bank.index[weighed[bank.kind[weighed] == kind]] for kind in (TREE, COLUMN, OPAQUE))
        tests = bank.trees.feature[bank.trees.first[trees]]
        read = {*tests[tests >= 0].tolist(), *bank.column_feature[columns].tolist()}
        read.update(*(bank.opaques[number].features for number in opaques))
        return tuple(self.feature_names[f] for f in sorted(read))

    @property
    def n_outputs(self) -> int:
        """K, the number of outputs of every answer."""
        return self.layout.n_outputs

    @property
    def n_predictions(self) -> int:
        """Number of columns of its predictions."""
        return next(stage.n_predictions for stage in self.stages if isinstance(stage, Answer))

    @cached_property
    def used_features(self) -> tuple[str, ...]:
        """Names of the features that learners with weights other than zero may read."""
        return tuple(self.feature_names[f] for f in self.layout.used)

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Distinct links of the answers."""
        return tuple(sorted({stage.link for stage in self.stages if isinstance(stage, Answer)}))

    @cached_property
    def layout(self) -> StageLayout:
        """The tree as arrays for the kernels."""
        return lay_out(self.bank, self.stages)

    @cached_property
    def step_layout(self) -> StepLayout:
        """The tree as arrays for steps of a row."""
        return lay_out_steps(self.bank, self.layout, self.weights[1])

    @cached_property
    def weights(self) -> tuple[Fraction, NDArray[np.float64]]:
        """A unit of e_t, and the e_t of each learner as its multiple."""
        return as_multiples(self.bank.evaluation)

    def exact(self, prices: PriceArrays) -> ExactPrices:
        """Return prices as whole numbers, with that of the unit of e_t."""
        return prices.exact(self.weights[0])

    def price_evaluated(self, prices: PriceArrays, weight: float, comparisons: float, again: float) -> Fraction:
        """Price learners and comparisons, counted in their units, and uses of features beyond the first."""
        own = self.exact(prices)
        return Fraction(own.evaluated(weight, comparisons, again), own.per_unit)

    @cached_property
    def begun(self) -> dict[bool, tuple[StepState, list[int]]]:
        """First states of rows without known values, and their needs, by whether trees acquire split by split."""
        return {}

    @cached_property
    def _free_marks(self) -> dict[str, ReadingMarks]:
        """Reading marks where comparisons and reuse cost nothing, by acquisition."""
        return {}

    def marks(self, prices: PriceArrays, acquisition: str) -> ReadingMarks:
        """Return what rows read at these prices, kept where that does not depend on them; see `marks_for`."""
        if prices.spends:
            return marks_for(self.bank, self.layout, prices, acquisition)
        check_acquisition(acquisition)
        if acquisition not in self._free_marks:
            self._free_marks[acquisition] = marks_for(self.bank, self.layout, prices, acquisition)
        return self._free_marks[acquisition]

    @cached_property
    def plan(self) -> StagePlan:
        """The tree as lists for walkers under limits."""
        return plan_stages(self.bank, self.stages)

    @cached_property
    def most_evaluated(self) -> tuple[int, int, int]:
        """Sums over all learners, the most that a row can evaluate; see `sum_evaluations`."""
        return sum_evaluations(self)

    def linked(self, scores: NDArray[np.float64], exits: NDArray[np.int64]) -> NDArray[np.float64]:
        """Apply the link of each row's answer to its scores, float64 (rows, K).

        If links or levels differ, a row that ended at a route has a final score; see `Fallbacks`.
        """
        if (answer := self.only_answer) is not None:
            return answer.predictions(scores)
        values = np.empty_like(scores)
        for number in np.unique(exits):
            stage, rows = self.stages[number], exits == number
            if isinstance(stage, Answer):
                values[rows] = stage.predictions(scores[rows])
            elif self.links == ("ranked",):
                values[rows] = scores[rows]
            else:
                values[rows] = apply_link("sigmoid" if self.n_outputs == 1 else "softmax", scores[rows])
        return values

    def margins(self, scores: NDArray[np.float64], exits: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what `decision_function` gives rows with these scores, float64 (rows, K), and exits."""
        if self.links == ("ranked",):
            return squeeze(self.linked(scores, exits))
        if (answer := self.only_answer) is not None:
            return squeeze(scores[:, answer.class_scores :] if answer.by_scores else answer.blended(scores))
        return squeeze(scores if len(self.links) == 1 else log_odds(self.linked(scores, exits)))

    def labels_of(self, scores: NDArray[np.float64], exits: NDArray[np.int64]) -> NDArray[Any]:
        """Return the class, of those known, of rows with these scores, float64 (rows, K), and exits."""
        assert self.classes is not None  # noqa: S101 - callers look
        if (answer := self.only_answer) is not None and answer.class_scores:
            return likeliest(squeeze(scores[:, : answer.class_scores]), self.classes, 0.0)
        return likeliest(squeeze(self.linked(scores, exits)), self.classes, self.half)

    @cached_property
    def only_answer(self) -> Answer | None:
        """An answer with the link, level and temperature of all answers; None if these differ."""
        answers = [stage for stage in self.stages if isinstance(stage, Answer)]
        return answers[0] if len({(each.link, each.level, each.temperature) for each in answers}) == 1 else None

    def with_costs(self, costs: CostModel | None) -> StageTree:
        """Return the same model with other prices of its own."""
        return evolve(self, costs=costs)

    def only_used_features(self) -> StageTree:
        """Return the same model for rows, and prices, of the features that its learners read."""
        names = tuple(self.feature_names[f] for f in self.bank.read)
        if names == self.feature_names or self.costs is not None:
            return self
        return evolve(self, bank=self.bank.with_features(names), fallbacks=self.fallbacks)

    def with_classes(self, classes: ArrayLike | None) -> StageTree:
        """Return the same model with labels of its classes."""
        return evolve(self, classes=classes)

    def with_categories(self, categories: Categories) -> StageTree:
        """Return the same model with other labels of its features."""
        return evolve(self, bank=evolve(self.bank, categories=categories))

    def with_fallbacks(self, X: Any, sample_weight: ArrayLike | None = None) -> StageTree:
        """Return the same model with fallbacks, learned from rows without labels, for rows that limits cut.

        It keeps at most a thousand rows, and learns from them when a row first has limits, or when the model is saved.
        """
        rows = as_rows(X, self.feature_names, self.categories, self.used_features)
        weight = None if sample_weight is None else check_weights(sample_weight, len(rows), "sample_weight")
        return evolve(self, fallbacks=FallbackRows.of(rows, weight))

    @cached_property
    def fallbacks(self) -> Fallbacks | None:
        """Fallbacks for rows that limits cut, or None."""
        from costframe.core.caps.fit_fallbacks import fit_fallbacks

        known = self._fallbacks
        return fit_fallbacks(self, known) if isinstance(known, FallbackRows) else known

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(type(self), fallbacks=self.fallbacks, classes=self.classes)
        return make, (self.bank, self.stages, self.costs)

    def predict(
        self,
        X: Any,
        *,
        n_jobs: int | None = None,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
    ) -> NDArray[np.float64]:
        """Predict rows: apply the link to the score of each row's answer.

        Parameters
        ----------
        X : float64 (rows, d), or data frame
        n_jobs : int, optional
            Threads; None uses all cores. The result does not depend on it.
        max_cost : float, optional
            Hard cap on the cost of each row, at the model's own prices, with path acquisition.
        unavailable : iterable of str
            Unavailable features and resources. `fallbacks` answer the rows that limits cut.

        Returns
        -------
        float64 (rows,), or (rows, K) for K > 1 outputs
        """
        return squeeze(self.linked(*self._scores(X, n_jobs, max_cost, unavailable)))

    def decision_function(
        self,
        X: Any,
        *,
        n_jobs: int | None = None,
        max_cost: float | None = None,
        unavailable: Iterable[str] = (),
    ) -> NDArray[np.float64]:
        """Score rows: float64 (rows,) or (rows, K); where links differ, the clipped log of the probabilities.

        Ranked answers give predictions, because scores of different stages have no common order.
        """
        return self.margins(*self._scores(X, n_jobs, max_cost, unavailable))

    def exits(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Return the stage that answers each row: int64 (rows,)."""
        return self._scores(X, n_jobs)[1]

    def begin(self, request: RowRequest) -> StageStepper | StageWalker:
        """Return a walker for one row; see `Predictor.begin`."""
        prices, limits, by_path = request.prices, request.limits, request.by_path
        if limits is None or cannot_bind(limits, self, prices):
            return StageStepper(self, prices, by_path=by_path, known_values=request.values)
        paid = request.ledger.paid_before
        return StageWalker(self, prices, limits, by_path=by_path, known_values=request.values, paid=paid)

    def charges(
        self,
        X: NDArray[np.float64],
        costs: CostModel,
        weight: NDArray[np.float64],
        how: ExpectedCost,
        n_jobs: int | None = None,
    ) -> Charges:
        """Charge rows with the kernels; see `Predictor.charges`."""
        prices = costs.select(self.feature_names)
        limits = Limits.of(how.max_cost, how.unavailable, prices)
        return charge_tree(self, prices, X, weight, how, limits, n_jobs)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns; see `Predictor.gains`."""
        del costs
        exits = predict_rows(self.bank, self.layout, rows.X, None)[1]
        answers = {number: stage for number, stage in enumerate(self.stages) if isinstance(stage, Answer)}
        return gains_of_answers(
            self.bank, answers, exits, rows, mean_outputs(self.bank, rows.X, rows.weight, self.layout)
        )

    def _scores(
        self, X: Any, n_jobs: int | None = None, max_cost: float | None = None, unavailable: Iterable[str] = ()
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        rows = as_rows(X, self.feature_names, self.categories, self.used_features)
        if as_cap(max_cost) is None and not (unavailable := names_of(unavailable)):
            return predict_rows(self.bank, self.layout, rows, n_jobs)
        prices = CostModel.of(self.costs, self.feature_names).select(self.feature_names)
        limits = Limits.of(max_cost, unavailable, prices)
        assert limits is not None  # noqa: S101 - there is a cap, or a name
        return capped_scores(self, prices, limits, rows, n_jobs)
