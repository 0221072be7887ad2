"""Scikit-learn estimators of the tree of classifiers."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from costframe import StageTree
from costframe.plugin import (
    CostAwareClassifier,
    CostAwareRanker,
    CostAwareRegressor,
    DataError,
    Sampling,
    TrainingData,
    check_choice,
    check_flag,
    resolve,
)
from costframe.stagewise import Step, WithRecipe, blas_for, train_reweighted
from costframe_cstc.cstc import train_cstc
from costframe_cstc.settings import CHOICES, CSTCSettings

LOSSES = ("logistic", "squared")


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class _Tree(WithRecipe):
    """Trains a tree, or the single stage for a depth of one."""

    depth: int | None = field(default=None, kw_only=True)
    inflation: float | None = field(default=None, kw_only=True)
    steepness: float | None = field(default=None, kw_only=True)
    optimize: bool | None = field(default=None, kw_only=True)

    _default_only = (*WithRecipe._default_only, "inflation")  # noqa: SLF001
    _loss = "squared"

    def _train(self, data: TrainingData) -> StageTree:
        settings = self._settings(data)
        if self._as_printed and data.n_classes > 2:
            raise DataError(f"y: expected two classes or numbers for recipe='paper', got {data.n_classes} classes")
        steps: list[Step] = []
        self.steps_: tuple[Step, ...] = ()
        if settings.depth == 1 and settings.loss == "squared" and not self._as_printed:
            ridge, task = resolve("ridge", self.ridge, None, strict=True), self._task(data)
            with blas_for(len(data.train), int(task.bank.widths.sum())):
                return train_reweighted(task, ridge)
        data, held_out = Sampling(data).split_off()
        task, free = self._task(data), [name for name in CHOICES if getattr(self, name) is None]
        with blas_for(len(data.train), int(task.bank.widths.sum()), large=1):
            tree = train_cstc(task, held_out, settings, free, steps)
        self.steps_ = tuple(steps)
        return tree

    def _settings(self, data: TrainingData) -> CSTCSettings:
        printed = self._as_printed
        settings = CSTCSettings(
            tradeoff=data.tradeoff,
            depth=resolve("depth", self.depth, 3, low=1, high=10, whole=True),
            steepness=resolve("steepness", self.steepness, 1.0 if printed else 20.0, low=1e-300, high=1e12),
            loss=self._loss,
            l1=resolve("l1", self.l1, 0.0),
            inflation=resolve("inflation", self.inflation, 1.0, strict=True),
            ridge=resolve("ridge", self.ridge, 1.0, strict=True),
            optimize=self.optimize is None or check_flag("optimize", self.optimize),
        )
        if settings.depth == 1:
            for name in ("optimize", "inflation", "steepness"):
                self._refuse(name, "depth=1, which has no routes")
        return settings


@define(slots=False, eq=False, repr=False)
class CSTCClassifier(CostAwareClassifier, _Tree):
    """A tree of classifiers over a bank: routes send rows to nodes with the features worth their price there.

    Parameters
    ----------
    costs, tradeoff, bank, categorical_features, class_weight, random_state, n_jobs, verbose, acquisition
        As for `ReweightedClassifier`, as are settings of the bank.
    depth : int, optional
        Levels of nodes, 3 by default; validation rows prune branches. A depth of 1 is the single stage.
    loss : {"logistic", "squared"}, optional
        Cross-entropy, or squared loss of labels -1 and 1 (of one 0/1 column per class, for more), with calibrated
        answers. Depth 1 and "squared" is the algorithm `reweighted`.
    ridge : float, optional
        Of all fits, in units of the outputs' median variance; by default chosen from 1e-4 to 100.
    inflation : float, optional
        A node of level l grows at prices times inflation^(depth - l), as the nodes below it can buy more; by default
        chosen by validation from 0.3 to 30.
    optimize : bool, optional
        False keeps the start of the tree, pruned. By default routes move too, and the tree is no worse than its start
        on the held-out rows; with `recipe="paper"` cycles minimize eq. 5.
    steepness : float, optional
        gamma, the sharpness of soft routing; 20 by default, and 1 with `recipe="paper"`.
    recipe : "paper", optional
        Trains exactly the paper's algorithm: squared loss, eq. 5 over all learners, with prices per learner, for two
        classes or numbers. The default training uses exact cost.
    l1 : float, optional
        rho of eq. 5, 0 by default; with `recipe="paper"`.

    Attributes
    ----------
    predictor_ : StageTree
        Routes and answers; its bank holds only the selected learners.
    steps_ : tuple of Step
        Accepted steps of the paper's cycles.
    classes_ : ndarray (K,)
    """

    loss: str | None = field(default=None, kw_only=True)
    class_weight: Any = field(default=None, kw_only=True)

    @property
    def _loss(self) -> str:  # type: ignore[override]
        if self._as_printed:
            return check_choice("loss", self.loss, (None, "squared")) or "squared"
        return check_choice("loss", self.loss, (None, *LOSSES)) or "logistic"


class CSTCRegressor(CostAwareRegressor, _Tree):
    """A tree of classifiers over a bank, for numbers: squared loss.

    Parameters are those of `CSTCClassifier` without `loss` and `class_weight`.
    """


class CSTCRanker(CostAwareRanker, _Tree):
    """A tree of classifiers over a bank, for graded labels: squared loss, as in the paper.

    Queries (`qid`) have an effect on `score`, which is NDCG@5, and on the held-out rows if there are no validation
    data. Parameters are those of `CSTCClassifier` without `loss` and `class_weight`.
    """
