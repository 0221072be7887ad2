"""A tree of stages over a bank of weak learners: the form of every built-in model."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any

import numpy as np
from attrs import define, evolve, field
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import B1, F8, I8
from costframe.core.caps import walk_under_limits
from costframe.core.cost.charges import charge_tree
from costframe.core.cost.expected import ExpectedCost
from costframe.core.cost.report import Charges
from costframe.core.errors import StageError, format_count, shown
from costframe.core.gains import Gains, gains_of_answers
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.learners.tree_table import COLUMN, OPAQUE, TREE
from costframe.core.predictors.classes import as_classes, check_classes
from costframe.core.predictors.predictor import Predictor, RowRequest, check_costs
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import Limits, as_cap, names_of
from costframe.core.stages.ends import Ends
from costframe.core.stages.fallbacks import FallbackRows, Fallbacks
from costframe.core.stages.links import log_odds, squeeze
from costframe.core.stages.run_stages import mean_outputs, predict_rows
from costframe.core.stages.stage_model import StageModel
from costframe.core.stages.stages import Answer, check_stages
from costframe.core.stages.step import StageStepper
from costframe.core.tables.categories import Categories
from costframe.core.tables.row_labels import check_weights
from costframe.core.tables.rows import as_rows


@define(eq=False, frozen=True, repr=False)
class StageTree(StageModel, Predictor):
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

    classes: NDArray[Any] | None = field(default=None, kw_only=True, converter=as_classes)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.bank, WeakLearnerBank):
            raise StageError(f"bank: expected a WeakLearnerBank, got {type(self.bank).__name__}")
        check_stages(self.stages, self.bank.widths)
        if not isinstance(self._fallbacks, Fallbacks | FallbackRows | None):
            raise StageError(f"fallbacks: expected those of `with_fallbacks`, got {shown(self._fallbacks)}")
        if isinstance(self._fallbacks, Fallbacks):
            self._fallbacks.check(self.bank, self.stages)
        check_classes(self.classes, self.n_predictions)
        check_costs(self.costs, self.feature_names)

    @property
    def half(self) -> float:
        """The prediction above which a row is of the second of two classes; see `Answer`."""
        return 0.5 if self.only_answer is None else self.only_answer.half

    @property
    def categories(self) -> Categories:
        """Labels of each feature whose categories are texts; see `WeakLearnerBank`."""
        return self.bank.categories

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
    def n_predictions(self) -> int:
        """Number of columns of its predictions."""
        return next(stage.n_predictions for stage in self.stages if isinstance(stage, Answer))

    def margins(self, scores: F8, exits: I8) -> F8:
        """Return what `decision_function` gives rows with these scores, float64 (rows, K), and exits."""
        if self.links == ("ranked",):
            return squeeze(self.linked(scores, exits))
        if (answer := self.only_answer) is not None:
            return squeeze(scores[:, answer.class_scores :] if answer.by_scores else answer.blended(scores))
        return squeeze(scores if len(self.links) == 1 else log_odds(self.linked(scores, exits)))

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
        from costframe.core.caps import fit_fallbacks

        known = self._fallbacks
        return known if not isinstance(known, FallbackRows) else fit_fallbacks(self, known, self._row_costs)

    def _row_costs(self, X: F8, costs: CostModel) -> F8:
        return self.cost(X, costs).per_row

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(type(self), fallbacks=self.fallbacks, classes=self.classes)
        return make, (self.bank, self.stages, self.costs)

    def predict(
        self, X: Any, *, n_jobs: int | None = None, max_cost: float | None = None, unavailable: Iterable[str] = ()
    ) -> F8:
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
        _, scores, exits, _ = self._walk(X, n_jobs, max_cost, unavailable)
        return squeeze(self.linked(scores, exits))

    def predict_ends(self, X: Any, **terms: Any) -> Ends:
        """Return predictions and classes of rows; see `Predictor.predict_ends`."""
        rows, scores, exits, cut = self._walk(X, **terms)
        if self.own_classes is None:
            return Ends(squeeze(self.linked(scores, exits)))
        ends = self.ends_of(scores, exits, rows, cut)
        return Ends(lambda: squeeze(ends.predictions), ends.places)

    def decision_function(
        self, X: Any, *, n_jobs: int | None = None, max_cost: float | None = None, unavailable: Iterable[str] = ()
    ) -> F8:
        """Score rows: float64 (rows,) or (rows, K); where links differ, the clipped log of the probabilities.

        Ranked answers give predictions, because scores of different stages have no common order.
        """
        _, scores, exits, _ = self._walk(X, n_jobs, max_cost, unavailable)
        return self.margins(scores, exits)

    def exits(self, X: Any, *, n_jobs: int | None = None) -> I8:
        """Return the stage that answers each row: int64 (rows,)."""
        return self._walk(X, n_jobs)[2]

    def begin(self, request: RowRequest) -> StageStepper:
        """Return a walker for one row; see `Predictor.begin`."""
        prices, limits = request.prices, request.limits
        if limits is not None and self.cannot_bind(limits, prices):
            limits = None
        return StageStepper.begin(self, prices, request.by_path, request.values, limits, request.ledger.paid_before)

    def charges(self, X: F8, costs: CostModel, weight: F8, how: ExpectedCost, n_jobs: int | None = None) -> Charges:
        """Charge rows with the engine; see `Predictor.charges`."""
        prices = costs.select(self.feature_names)
        limits = Limits.of(how.max_cost, how.unavailable, prices)
        return charge_tree(self, prices, X, weight, how, limits, n_jobs)

    def gains(self, rows: FallbackRows, costs: CostModel) -> Gains:
        """Return the gains of columns; see `Predictor.gains`."""
        del costs
        exits = predict_rows(self.layout, rows.X, None)[1]
        answers = {number: stage for number, stage in enumerate(self.stages) if isinstance(stage, Answer)}
        return gains_of_answers(
            self.bank, answers, exits, rows, mean_outputs(self.bank, rows.X, rows.weight, self.layout)
        )

    def _walk(
        self, X: Any, n_jobs: int | None = None, max_cost: float | None = None, unavailable: Iterable[str] = ()
    ) -> tuple[F8, F8, I8, B1 | None]:
        """Return rows, float64 (rows, d), their scores and exits, and which of them limits cut; None without limits."""
        rows = as_rows(X, self.feature_names, self.categories, self.used_features)
        if as_cap(max_cost) is None and not (unavailable := names_of(unavailable)):
            return rows, *predict_rows(self.layout, rows, n_jobs), None
        prices = CostModel.of(self.costs, self.feature_names).select(self.feature_names)
        limits = Limits.of(max_cost, unavailable, prices)
        assert limits is not None  # noqa: S101 - there is a cap, or a name
        found = walk_under_limits(self, prices, limits, rows, by_path=True, n_jobs=n_jobs)
        return rows, found.final, found.exits, found.cut
