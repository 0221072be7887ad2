"""What estimators over a bank have in common: where the bank comes from, and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs import define, field

from costframe.core.checks import check_number
from costframe.core.errors import ParameterError
from costframe.core.stages.run_stages import check_acquisition
from costframe.stagewise.banks import find_bank
from costframe.training.estimator import CostAwareEstimator
from costframe.trees.binning.scaling import check_sizes

if TYPE_CHECKING:
    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.training.data import TrainingData

__all__ = ["OverBank"]

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
_RECIPES = (None, "paper")


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class OverBank(CostAwareEstimator):
    """Trains on the outputs of a bank."""

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
    max_features: float | None = field(default=None, kw_only=True)
    l1: float | None = field(default=None, kw_only=True)
    ridge: float | None = field(default=None, kw_only=True)
    recipe: str | None = field(default=None, kw_only=True)
    acquisition: str | None = field(default=None, kw_only=True)
    random_state: int | None = field(default=None, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)
    verbose: int = field(default=0, kw_only=True)

    _printed_only: ClassVar[tuple[str, ...]] = ("l1",)  # settings without effect on the default recipe
    _default_only: ClassVar[tuple[str, ...]] = ("ridge", "acquisition")  # without effect on what the paper prints

    @property
    def _as_printed(self) -> bool:
        """Check the recipe, and that every setting has an effect on it."""
        if self.recipe not in _RECIPES:
            raise ParameterError(f"recipe: expected None or 'paper', got {self.recipe!r}")
        printed = self.recipe == "paper"
        for name in self._default_only if printed else self._printed_only:
            self._refuse(name, "recipe='paper'" if printed else "the default recipe, only with recipe='paper'")
        return printed

    def _refuse(self, name: str, reason: str) -> None:
        """Refuse a setting that would have no effect."""
        if getattr(self, name) is not None:
            raise ParameterError(f"{name}: has no effect with {reason}")

    def _acquisition(self) -> str:
        """Check how prices are paid; the paper's are paid by the learner."""
        if self.acquisition is None:
            return "learner" if self.recipe == "paper" else "path"
        check_acquisition(self.acquisition)
        return str(self.acquisition)

    def _bank(self, data: TrainingData) -> WeakLearnerBank:
        """Check settings that all have, and find the bank."""
        check_sizes(data.train)
        if data.valid is not None:
            check_sizes(data.valid, "_val")
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, low=-(2**31), whole=True)
        check_number("verbose", self.verbose, whole=True)
        settings = {name: getattr(self, name) for name in _OF_BANK}
        return find_bank(self.bank, data, settings, float(self.tradeoff))
