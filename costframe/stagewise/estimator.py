"""Estimators over a bank of weak learners."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from attrs import define, field, frozen

from costframe.core.checks import check_choice, check_number
from costframe.core.errors import DataError, ParameterError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.run_stages import check_acquisition
from costframe.stagewise.banks import find_bank
from costframe.stagewise.evaluation import Evaluation
from costframe.stagewise.relaxed import as_log_odds
from costframe.stagewise.soft_tree import SoftTree
from costframe.stagewise.stage_tree import as_stage_tree
from costframe.training.data import Rows, TrainingData, Traits
from costframe.training.estimator import CostAwareClassifier
from costframe.training.shell import CostAwareEstimator

_OF_BANK = (
    "engine",
    "n_estimators",
    "learning_rate",
    "max_depth",
    "min_samples_leaf",
    "l2_regularization",
    "max_bins",
    "max_features",
    "random_state",
)

_MOST_LEARNERS = 1_000


@frozen(eq=False)
class BankTask:
    """A model to train over a bank.

    Attributes
    ----------
    data : TrainingData
    bank : WeakLearnerBank
    tradeoff : float
    as_printed : bool
        Whether to train exactly the paper's algorithm.
    acquisition : {"path", "learner"}
    n_jobs : int or None
    verbose : int
    """

    data: TrainingData
    bank: WeakLearnerBank
    tradeoff: float
    as_printed: bool
    acquisition: str = "path"
    n_jobs: int | None = None
    verbose: int = 0

    def on(self, rows: Rows, learners: WeakLearnerBank | None = None) -> Evaluation:
        """Evaluate the bank, or another one, on rows."""
        bank = self.bank if learners is None else learners
        return Evaluation.of(self.data, rows, bank, self.tradeoff, self.acquisition, self.n_jobs)

    @property
    def link(self) -> str:
        """The link from answers to predictions."""
        return {0: "identity", 2: "sigmoid"}.get(self.data.n_classes, "softmax")

    @property
    def first_learners(self) -> WeakLearnerBank:
        """The bank's first learners, at most a thousand: enough for a choice of settings."""
        return self.bank.restrict(np.arange(min(len(self.bank), _MOST_LEARNERS)))

    def finish(self, tree: SoftTree, link: str | None = None, steepness: float = 1.0) -> StageTree:
        """Make the stage tree of a tree; with the link "ranked", rows of later nodes rank above those of earlier ones.

        By default the link is the task's.
        """
        return as_stage_tree(self.bank, tree, self.link if link is None else link, steepness)

    def finish_printed(self, tree: SoftTree, steepness: float = 1.0) -> StageTree:
        """Make the stage tree of a tree fitted to numbers, or to -1 and 1 with log odds as answers."""
        return self.finish(as_log_odds(tree) if self.data.n_classes else tree, steepness=steepness)


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class OverBank(CostAwareEstimator):
    """Trains on the outputs of a bank; the trees of a bank trained inside split by categories."""

    traits: ClassVar = Traits(takes_categories=True)

    costs: Any = None
    tradeoff: float | None = None
    bank: Any = field(default=None, kw_only=True)
    categorical_features: Any = field(default=None, kw_only=True)
    engine: str | None = field(default=None, kw_only=True)
    n_estimators: int | None = field(default=None, kw_only=True)
    learning_rate: float | None = field(default=None, kw_only=True)
    max_depth: int | None = field(default=None, kw_only=True)
    min_samples_leaf: int | None = field(default=None, kw_only=True)
    l2_regularization: float | None = field(default=None, kw_only=True)
    max_bins: int | None = field(default=None, kw_only=True)
    max_features: float | None = field(default=None, kw_only=True)
    ridge: float | None = field(default=None, kw_only=True)
    acquisition: str | None = field(default=None, kw_only=True)
    random_state: int | None = field(default=None, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)

    @property
    def _as_printed(self) -> bool:
        """Whether to train exactly the paper's algorithm."""
        return False

    def _refuse(self, name: str, reason: str) -> None:
        """Refuse a setting that would have no effect."""
        if getattr(self, name) is not None:
            raise ParameterError(f"{name}: has no effect with {reason}")

    def _task(self, data: TrainingData) -> BankTask:
        """Check the common settings, and find the bank."""
        as_printed, acquisition = self._as_printed, "path"
        if self.acquisition is not None:
            check_acquisition(self.acquisition)
            acquisition = str(self.acquisition)
        elif as_printed:  # in the paper learners pay
            acquisition = "learner"
        data.train.check_sizes()
        if data.valid is not None:
            data.valid.check_sizes("_val")
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, low=-(2**31), whole=True)
        if self.random_state is not None:
            check_number("random_state", self.random_state, whole=True)
        verbose = check_number("verbose", self.verbose, whole=True)
        tradeoff, settings = data.tradeoff, {name: getattr(self, name) for name in _OF_BANK}
        bank = find_bank(self.bank, data, settings, tradeoff)
        return BankTask(data, bank, tradeoff, as_printed, acquisition, self.n_jobs, verbose)


@define(slots=False, eq=False, repr=False)
class WithRecipe(OverBank):
    """Trains on the outputs of a bank by default, or exactly as a paper prints it."""

    l1: float | None = field(default=None, kw_only=True)
    recipe: str | None = field(default=None, kw_only=True)

    _printed_only: ClassVar[tuple[str, ...]] = ("l1",)  # settings without effect on the default recipe
    _default_only: ClassVar[tuple[str, ...]] = ("ridge", "acquisition")  # settings without effect on the printed recipe

    @property
    def _as_printed(self) -> bool:
        """Check the recipe, and refuse settings without effect on it."""
        printed = check_choice("recipe", self.recipe, (None, "paper")) is not None
        for name in self._default_only if printed else self._printed_only:
            self._refuse(name, "recipe='paper'" if printed else "the default recipe, only with recipe='paper'")
        return printed


class TwoClassesOnly(CostAwareClassifier):
    """Trains cascades: a cascade rejects rows of one class, so there are two."""

    def _train(self, data: TrainingData) -> StageTree:
        if data.n_classes != 2:
            raise DataError(
                f"y: expected two classes, got {data.n_classes}. Only binary classification is supported. "
                "A cascade rejects rows of one class"
            )
        return super()._train(data)  # type: ignore[return-value,safe-super] # of the class it is mixed with

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
