"""Estimators over a bank: common settings, the training task, a single stage, and settings by held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, TypeVar

import numpy as np
from attrs import define, evolve, field, frozen

from costframe.core.arrays import F8
from costframe.core.checks import check_choice, check_number, resolve
from costframe.core.errors import DataError, ParameterError
from costframe.core.learners.bank import WeakLearnerBank
from costframe.core.predictors.stage_tree import StageTree
from costframe.core.stages.run_stages import check_acquisition
from costframe.stagewise.banks import find_bank
from costframe.stagewise.calibration import calibrate_tree
from costframe.stagewise.evaluation import Evaluation
from costframe.stagewise.fitting import USUAL_RIDGE, fit_at_ridges, groups_in_loss, prices_in_loss
from costframe.stagewise.normal_equations import NormalEquations
from costframe.stagewise.relaxed import as_log_odds, drop_zeros, fit_relaxed
from costframe.stagewise.soft_tree import SoftTree, WeightedSum
from costframe.stagewise.stage_tree import as_stage_tree
from costframe.training.data import Rows, TrainingData, Traits
from costframe.training.estimator import CostAwareClassifier, CostAwareRanker
from costframe.training.progress import track
from costframe.training.shell import CostAwareEstimator
from costframe.trees.scaling import check_sizes

MOST_LEARNERS = 1_000  # settings are chosen on part of the rows and of the learners

S = TypeVar("S")


def pick(
    settings: S,
    grid: Mapping[str, Sequence[float]],
    starts: Mapping[str, Sequence[float]],
    total: Callable[[S], float],
    turns: int,
    label: str,
    verbose: int,
) -> S:
    """Minimize a total over settings: begin with the best combination of starts, then climb one setting at a time.

    Parameters
    ----------
    settings : attrs class, hashable
    grid, starts : mapping of names to ascending numbers
        Allowed values of each setting, and values to begin with.
    total : callable
        Returns the number to minimize; called once for each settings.
    turns : int
        Climbs of each setting.
    label, verbose
        Of the progress bar.
    """
    seen: dict[S, float] = {}

    def known(at: S) -> float:
        if at not in seen:
            seen[at] = total(at)
        return seen[at]

    def changed(at: S, values: Mapping[str, float]) -> S:
        changes: dict[str, Any] = dict(values)
        found: S = evolve(at, **changes)  # type: ignore[misc]
        return found

    if not grid:
        return settings
    tried = [changed(settings, dict(zip(grid, values, strict=True))) for values in product(*map(starts.get, grid))]  # type: ignore[arg-type]
    best = min(track(tried, label, verbose=verbose), key=known)
    for name in [*grid] * turns:
        at = best
        best = changed(at, {name: climb(grid[name], getattr(at, name), lambda v: known(changed(at, {name: v})))})  # noqa: B023
    return best


def climb(values: Sequence[float], start: float, total: Callable[[float], float]) -> float:
    """Step from a start up, then down, through ascending values while the total falls; return the last value."""
    best, least = start, total(start)
    for way in ([v for v in values if v > start], [v for v in values[::-1] if v < start]):
        for value in way:
            if (now := total(value)) >= least:
                break
            best, least = value, now
    return best


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

    def finish_printed(self, tree: SoftTree, steepness: float = 1.0) -> StageTree:
        """Make the stage tree of a tree fitted to numbers, or to -1 and 1 with log odds as answers."""
        return as_stage_tree(self.bank, as_log_odds(tree) if self.data.n_classes else tree, self.link, steepness)


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
        check_sizes(data.train)
        if data.valid is not None:
            check_sizes(data.valid, "_val")
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


@define(slots=False, eq=False, repr=False)
class GradedRanker(CostAwareRanker):
    """Trains on targets from -1 to 1 in the place of grades."""

    relevant: float | None = field(default=None, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        relevant = resolve("relevant", self.relevant, self._usually_relevant(data), strict=True)
        return super()._train(with_targets(data, relevant))  # type: ignore[return-value,safe-super] # as above

    def _usually_relevant(self, data: TrainingData) -> float | None:  # noqa: ARG002 - for those that divide grades
        """Return the least relevant grade by default; None keeps degrees."""
        return None


def with_targets(data: TrainingData, relevant: float | None) -> TrainingData:
    """Replace grades by targets: 2 y / max - 1 with the training maximum, or 1 for relevant rows and -1 for others.

    If no row has a grade above zero, all targets are -1.

    Parameters
    ----------
    data : TrainingData
        Labels are grades >= 0.
    relevant : float or None
        Least relevant grade; None keeps degrees.

    Raises
    ------
    ParameterError
        If `relevant` does not split the training rows.
    """
    least, most = float(data.train.y.min()), float(data.train.y.max())
    if relevant is not None and not least < relevant <= most:
        raise ParameterError(
            f"relevant: expected a grade that some rows reach and some do not, they are from {least:g} to {most:g}, "
            f"got {relevant:g}"
        )

    def turned(rows: Rows) -> Rows:
        return evolve(rows, y=_targets(rows.y, most, relevant))

    return evolve(data, train=turned(data.train), valid=None if data.valid is None else turned(data.valid))


def _targets(grades: F8, most: float, relevant: float | None) -> F8:
    if relevant is not None:
        return np.where(grades >= relevant, 1.0, -1.0)
    return 2.0 * (grades / most if most > 0 else np.zeros_like(grades)) - 1.0


RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def train_reweighted(task: BankTask, ridge: float | None, l1: float = 0.0) -> StageTree:
    """Fit new weights to the learners of a bank, and leave out learners without a weight.

    As printed, the weights minimize eq. 7. Otherwise, if `ridge` is None, it takes the ridge of `RIDGES` with the least
    validation loss + lambda * exact cost, or `USUAL_RIDGE` without validation data.
    """
    data, tradeoff, train = task.data, task.tradeoff, task.on(task.data.train)
    held_out = None if data.valid is None else task.on(data.valid)  # refuses what the bank cannot take
    if task.as_printed:
        if data.n_classes > 2:
            raise ParameterError(f"recipe: expected two classes or numbers for 'paper', got {data.n_classes} classes")
        answer = fit_relaxed(
            train.rows, np.ones(len(train.rows.target)), groups_in_loss(train.pricing.groups, tradeoff), l1
        )
        return task.finish_printed(drop_zeros(SoftTree.single(answer), train.rows))
    prices = train.pricing.at(data.train.weight)
    normal = NormalEquations.of(train.rows.outputs, train.rows.target, data.train.weight)
    ridges = RIDGES if ridge is None and held_out is not None else (USUAL_RIDGE if ridge is None else ridge,)
    best, least, exact = np.zeros(normal.right.shape), np.inf, prices_in_loss(prices, tradeoff)
    bar = track(ridges, "Re-weighting", verbose=task.verbose)
    for _, weights in zip(bar, fit_at_ridges(normal, prices, tradeoff, ridges), strict=True):
        value = exact.cost(np.asarray(weights.any(axis=1)))
        if held_out is not None:
            value += held_out.measured_loss(SoftTree.single(WeightedSum(weights, normal.intercept(weights))))
        if value < least:
            best, least = weights, value
    tree = SoftTree.single(WeightedSum(best, normal.intercept(best)))
    if data.n_classes:
        tree = calibrate_tree(tree, train if held_out is None else held_out)
    return as_stage_tree(task.bank, tree, task.link)
