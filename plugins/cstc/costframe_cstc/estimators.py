"""The tree of classifiers in scikit-learn's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, field

from costframe.core.checks import resolve
from costframe.core.errors import ParameterError
from costframe.stagewise.estimator import OverBank
from costframe.stagewise.relaxing import Reweighting
from costframe.stagewise.reweighted import train_reweighted
from costframe.stagewise.systems import blas_alone, blas_for
from costframe.training.estimator import CostAwareClassifier, CostAwareRanker, CostAwareRegressor
from costframe.training.held_out import split_off
from costframe_cstc.choose import CHOICES
from costframe_cstc.cstc import OPTIMIZATIONS, train_cstc
from costframe_cstc.settings import TreeSettings

if TYPE_CHECKING:
    from costframe.core.predictors.stage_tree import StageTree
    from costframe.training.data import TrainingData

__all__ = ["CSTCClassifier", "CSTCRanker", "CSTCRegressor"]

LOSSES = ("logistic", "squared")
_OF_CYCLES = ("routing_loss", "l1", "scale")
_OF_TREES = ("optimize", "inflation", "steepness", "routing_loss")


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class _Tree(OverBank):
    """Trains a tree, or with a depth of one the single stage."""

    depth: int | None = field(default=None, kw_only=True)
    inflation: float | None = field(default=None, kw_only=True)
    steepness: float | None = field(default=None, kw_only=True)
    routing_loss: float | None = field(default=None, kw_only=True)
    optimize: str | None = field(default=None, kw_only=True)

    _loss = "squared"

    def _train(self, data: TrainingData) -> StageTree:
        settings = self._settings()
        if settings.depth == 1 and settings.loss == "squared":
            return self._single_stage(data, settings)
        data, seen = split_off(data)
        bank = self._bank(data)
        fixed = ("inflation",) if self.optimize == "cyclic" else ()
        free = [name for name in CHOICES if getattr(self, name) is None and name not in fixed]
        with blas_alone():
            trained = train_cstc(data, seen, bank, settings, free, self.optimize or "full", self.n_jobs)
        self.steps_ = trained.steps
        return trained.tree

    def _settings(self) -> TreeSettings:
        if self.optimize not in (None, *OPTIMIZATIONS):
            raise ParameterError(f"optimize: expected one of {', '.join(OPTIMIZATIONS)}, got {self.optimize!r}")
        settings = TreeSettings(
            tradeoff=float(self.tradeoff),
            depth=resolve("depth", self.depth, 3, low=1, high=10, whole=True),
            loss=self._loss,
            inflation=resolve("inflation", self.inflation, 1.0, strict=True),
            ridge=resolve("ridge", self.ridge, 1.0, strict=True),
            steepness=resolve("steepness", self.steepness, 20.0, strict=True),
            routing_loss=resolve("routing_loss", self.routing_loss, 0.0, high=1),
            l1=resolve("l1", self.l1, 0.0),
            paper_scale=self.scale == "paper",
            acquisition=self._acquisition(),
            verbose=self.verbose,
        )
        if settings.depth == 1:
            self._refuse(_OF_TREES, "depth=1, which has no routes")
        elif self.optimize != "cyclic":
            self._refuse(_OF_CYCLES, f"optimize={self.optimize or 'full'!r}, only 'cyclic' relaxes costs")
        elif self.inflation is not None:
            self._refuse(("inflation",), "optimize='cyclic'")
        return settings

    def _refuse(self, names: tuple[str, ...], reason: str) -> None:
        """Refuse what is set and would have no effect."""
        for name in names:
            if getattr(self, name) is not None:
                raise ParameterError(f"{name}: has no effect with {reason}")

    def _single_stage(self, data: TrainingData, settings: TreeSettings) -> StageTree:
        reweighting = Reweighting(settings.tradeoff, settings.l1, paper_scale=settings.paper_scale)
        ridge = resolve("ridge", self.ridge, None, strict=True)
        bank = self._bank(data)
        self.steps_ = ()
        with blas_for(len(data.train), int(bank.widths.sum())):
            return train_reweighted(data, bank, reweighting, ridge, settings.acquisition, self.n_jobs, self.verbose)


@define(slots=False, eq=False, repr=False)
class CSTCClassifier(CostAwareClassifier, _Tree):
    """A tree of classifiers over a bank: routes send rows to where other features are worth their price.

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float
        lambda, loss accepted per unit of cost per row.
    depth : int, optional
        Levels of nodes, 3 by default; branches are pruned where validation rows do not call for them. A depth of 1 is
        the single stage.
    loss : {"logistic", "squared"}, optional
        The cross-entropy, or the square of labels -1 and 1 (of one 0/1 column a class, if there are more), whose
        answers are then calibrated. With depth 1 and "squared" it is the algorithm `reweighted`.
    inflation : float, optional
        A node of level l is grown at prices times inflation^(depth - l), as those below it can buy more; by default
        chosen by validation from 0.3 to 30.
    ridge : float, optional
        Of all fits, in units of the outputs' median variance; by default chosen from 1e-4 to 100.
    steepness : float, optional
        gamma, how sharply routes divide rows where routing is soft: in training with "cyclic", and in the evaluator's
        soft cost; 20 by default.
    optimize : {"full", "cyclic", "none"}, optional
        "none" leaves the initialization, pruned. "full", the default, moves routes by exact cost as well, and on the
        rows it chooses by is not worse than what it starts from. "cyclic" is the paper's: a relaxed objective over one
        node at a time.
    routing_loss : float, optional
        How much the loss of a node counts for rows that it does not answer, with "cyclic": 0 by default; the paper's
        objective has 1.
    l1, scale
        rho, and whether the relaxed cost is scaled ("exact", the default) or left ("paper"); with "cyclic" or depth 1.
    bank : "boosted", "columns", WeakLearnerBank, StageTree or fitted model, optional
        What to choose from. By default trees are boosted on the training rows.
    engine, n_estimators, learning_rate, max_depth, min_samples_leaf, l2_regularization, max_bins, max_features
        For a bank trained inside. The engine "priced", the default, grows trees that pay for what they read, the first
        ones most (`costframe.trees.boosting.banks`); for "cart" and "xgboost" see `costframe.train_bank`.
    acquisition : {"path", "learner"}, optional
        Whether trees are to acquire features split by split, the default, or all of them before they are evaluated.
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
        Routes and answers; its bank holds only the learners that are used.
    steps_ : tuple of Step
        Accepted steps of "cyclic": node, relaxed objective, exact expected cost.
    classes_ : ndarray (K,)
    """

    loss: str | None = field(default=None, kw_only=True)
    class_weight: Any = field(default=None, kw_only=True)

    @property
    def _loss(self) -> str:  # type: ignore[override]
        if self.loss not in (None, *LOSSES):
            raise ParameterError(f"loss: expected one of {', '.join(LOSSES)}, got {self.loss!r}")
        return self.loss or "logistic"


class CSTCRegressor(CostAwareRegressor, _Tree):
    """A tree of classifiers over a bank, for numbers: squared loss.

    Parameters are those of `CSTCClassifier` without `loss` and `class_weight`.
    """


class CSTCRanker(CostAwareRanker, _Tree):
    """A tree of classifiers over a bank, for graded labels: squared loss, as in the paper.

    Queries (`qid`) make a difference to `score`, which is NDCG@5, and to what is held out where there are no validation
    data. Parameters are those of `CSTCClassifier` without `loss` and `class_weight`.
    """
