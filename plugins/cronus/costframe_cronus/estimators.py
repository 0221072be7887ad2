"""The single stage of Cronus for classes and for numbers, in scikit-learn's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, field

from costframe.core.errors import ParameterError
from costframe.core.estimator import CostAwareClassifier, CostAwareEstimator, CostAwareRegressor
from costframe.core.training import check_number, given_or
from costframe.trees.scaling import check_sizes
from costframe_cronus.banks import find_bank
from costframe_cronus.reweighted import train_reweighted
from costframe_cronus.single_stage import Reweighting

if TYPE_CHECKING:
    from costframe.core.predictor import StageTree
    from costframe.core.training import TrainingData

__all__ = ["ReweightedClassifier", "ReweightedRegressor"]

_OF_BANK = (
    "engine",
    "n_estimators",
    "learning_rate",
    "max_depth",
    "min_samples_leaf",
    "l2_regularization",
    "max_bins",
    "column_share",
    "random_state",
)
_SCALES = (None, "exact", "paper")


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class _Reweighted(CostAwareEstimator):
    """What the two have in common: settings, and training."""

    costs: Any = None
    tradeoff: float = 1e-3
    bank: Any = field(default=None, kw_only=True)
    engine: str | None = field(default=None, kw_only=True)
    n_estimators: int | None = field(default=None, kw_only=True)
    learning_rate: float | None = field(default=None, kw_only=True)
    max_depth: int | None = field(default=None, kw_only=True)
    min_samples_leaf: int | None = field(default=None, kw_only=True)
    l2_regularization: float | None = field(default=None, kw_only=True)
    max_bins: int | None = field(default=None, kw_only=True)
    column_share: float | None = field(default=None, kw_only=True)
    l1: float | None = field(default=None, kw_only=True)
    ridge: float | None = field(default=None, kw_only=True)
    scale: str | None = field(default=None, kw_only=True)
    random_state: int | None = field(default=None, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        check_sizes(data.train)
        if self.scale not in _SCALES:
            raise ParameterError(f"scale: expected 'exact' or 'paper', got {self.scale!r}")
        n_jobs = None if self.n_jobs is None else check_number("n_jobs", self.n_jobs, low=-(2**31), whole=True)
        verbose = check_number("verbose", self.verbose, whole=True)
        settings = Reweighting(
            tradeoff=float(self.tradeoff),
            l1=given_or("l1", self.l1, 0.0),
            paper_scale=self.scale == "paper",
        )
        ridge = given_or("ridge", self.ridge, None, strict=True)
        bank = find_bank(self.bank, data, {name: getattr(self, name) for name in _OF_BANK})
        return train_reweighted(data, bank, settings, ridge, n_jobs, verbose)


@define(slots=False, eq=False, repr=False)
class ReweightedClassifier(CostAwareClassifier, _Reweighted):
    """The single stage of Cronus for two classes (labels -1 and 1) or more (one column a class): squared loss.

    Probabilities come from the scores by a slope and constants that minimize cross-entropy, of validation data if
    given.

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float
        lambda, loss accepted per unit of cost per row; 0 is a ridge over the whole bank.
    bank : "boosted", "columns", WeakLearnerBank, StageTree or fitted model, optional
        What to choose from. By default trees are boosted on the training rows. One that is given should come from
        other rows than these: on its own training rows a bank looks better than it is.
    engine, n_estimators, learning_rate, max_depth, min_samples_leaf, l2_regularization, max_bins, column_share
        For a bank trained inside; see `costframe.trees.banks.train_bank`. By default the engine is "cart", and a tree
        reads a tenth of the columns, or three: trees that read everything have nothing to choose between.
    l1 : float, optional
        rho, 0 by default.
    ridge : float, optional
        Of the last fit on the learners kept, in units of their mean variance. By default chosen on validation data, or
        0.01 where there are none.
    scale : {"exact", "paper"}, optional
        "exact" (the default) scales the relaxed cost once, to be the exact cost of the fit without prices, so that
        `tradeoff` keeps its meaning; "paper" leaves it as it is.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    random_state : int, optional
        Seed of the trained bank's draws.
    n_jobs : int, optional
        Threads of the bank; all there are by default. The model does not depend on it.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    predictor_ : StageTree
        Its bank holds only the learners that are used.
    classes_ : ndarray (K,)
    """

    class_weight: Any = field(default=None, kw_only=True)


class ReweightedRegressor(CostAwareRegressor, _Reweighted):
    """The single stage of Cronus for numbers: squared loss.

    Parameters are those of `ReweightedClassifier` without `class_weight`.
    """
