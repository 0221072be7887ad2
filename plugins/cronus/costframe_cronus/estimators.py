"""Scikit-learn estimators of the cascade and of its single stage."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import define, evolve, field

from costframe import StageTree
from costframe.plugin import CostAwareClassifier, CostAwareRegressor, Sampling, TrainingData, check_flag, resolve
from costframe.stagewise import GradedRanker, Step, TwoClassesOnly, WithRecipe, blas_for, train_reweighted
from costframe_cronus.cronus import train_cronus
from costframe_cronus.own_weights import ensemble_weights
from costframe_cronus.settings import CHOICES, PAPER_CHOICES, CascadeSettings


class _Reweighted(WithRecipe):
    """Trains the single stage."""

    def _train(self, data: TrainingData) -> StageTree:
        ridge, l1 = resolve("ridge", self.ridge, None, strict=True), resolve("l1", self.l1, 0.0)
        task = self._task(data)
        with blas_for(len(data.train), int(task.bank.widths.sum())):
            return train_reweighted(task, ridge, l1)


@define(slots=False, eq=False, repr=False)
class ReweightedClassifier(CostAwareClassifier, _Reweighted):
    """The single stage of Cronus for two classes (labels -1 and 1) or more (one column per class): squared loss.

    A slope and constants of least cross-entropy, on validation data if given, turn scores into probabilities.

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float, optional
        lambda, loss accepted per unit of cost per row; 0 is a ridge over the whole bank. By default 0.001; where prices
        have errors, it follows from them.
    bank : "boosted", "columns", WeakLearnerBank, StageTree or fitted model, optional
        Learners to choose from; by default trees boosted on the training rows. Train a given bank on other rows: on its
        own training rows a bank looks too good.
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns that the trees of the default bank split by categories, by name or position, with labels if a dict; by
        default a frame's columns of texts and of a category dtype.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    random_state, n_jobs, verbose : int, optional
        Seed of the trained bank's draws; threads, all cores by default, which do not change the model; 1 shows a
        progress bar.
    ridge : float, optional
        Of the fit on the selected learners, in units of their median variance; by default chosen on validation data, or
        0.01 without them. Not with `recipe="paper"`.
    engine, n_estimators, learning_rate, max_depth, min_samples_leaf, l2_regularization, max_bins, max_features
        Of the default bank; see `costframe.train_bank`. The engine "priced" is the default: trees
        pay for the features they read. Those of "cart" have no prices, and read a tenth of the columns, or three.
    acquisition : {"path", "learner"}, optional
        Whether trees acquire features split by split, the default, or all features before their evaluation. Not with
        `recipe="paper"`.
    recipe : "paper", optional
        Minimizes exactly eq. 7, with prices per learner, for two classes or numbers; probabilities are then sigmoid(2
        f). The default selects and removes learners by exact cost.
    l1 : float, optional
        rho of eq. 7, 0 by default; with `recipe="paper"`.

    Attributes
    ----------
    predictor_ : StageTree
        Its bank holds only the selected learners.
    classes_ : ndarray (K,)
    """

    class_weight: Any = field(default=None, kw_only=True)


class ReweightedRegressor(CostAwareRegressor, _Reweighted):
    """The single stage of Cronus for numbers: squared loss.

    Parameters are those of `ReweightedClassifier` without `class_weight`.
    """


@define(slots=False, eq=False, repr=False)
class ReweightedRanker(GradedRanker, _Reweighted):
    """The single stage of Cronus for rankings: squared loss on degrees of relevance from -1 to 1.

    Predictions are estimated degrees. Queries (`qid`) have an effect on `score` only, which is NDCG@5.

    Parameters
    ----------
    costs, tradeoff, bank, recipe, l1, ridge, acquisition, random_state, n_jobs, verbose, and settings of the bank
        As for `ReweightedClassifier`; rows of all grades have equal weight.
    relevant : float, optional
        Least relevant grade: targets are then -1 and 1; the paper takes 3 of grades 0 to 4. By default the target of
        grade y is 2 y / max - 1.

    Attributes
    ----------
    predictor_ : StageTree
        Its bank holds only the selected learners.
    """


@define(slots=False, eq=False, repr=False)
class _Cascade(WithRecipe):
    """Trains a cascade."""

    traits: ClassVar = evolve(WithRecipe.traits, searches_thresholds=True)
    n_stages: int | None = field(default=None, kw_only=True)
    rejected: float | None = field(default=None, kw_only=True)
    inflation: float | None = field(default=None, kw_only=True)
    positive_weight: float | None = field(default=None, kw_only=True)
    steepness: float | None = field(default=None, kw_only=True)
    l1_last: float | None = field(default=None, kw_only=True)
    optimize: bool | None = field(default=None, kw_only=True)

    _printed_only = ("l1", "l1_last")

    def _train(self, data: TrainingData) -> StageTree:
        settings = CascadeSettings(
            tradeoff=data.tradeoff,
            n_stages=resolve("n_stages", self.n_stages, 10, low=1, whole=True),
            rejected=resolve("rejected", self.rejected, 0.15, low=1e-6, high=1 - 1e-6),
            inflation=resolve("inflation", self.inflation, 1.3, low=1),
            steepness=resolve("steepness", self.steepness, 50.0, low=1e-300, high=1e12),
            positive_weight=resolve("positive_weight", self.positive_weight, 3.5, strict=True, high=1e300),
            l1=resolve("l1", self.l1, 0.0),
            l1_last=resolve("l1_last", self.l1_last, 0.0),
            ridge=resolve("ridge", self.ridge, 0.01, strict=True),
        )
        optimize = self.optimize is None or check_flag("optimize", self.optimize)
        data, held_out = Sampling(data).split_off()
        task = self._task(data)
        bank_weights = None if task.as_printed else ensemble_weights(self.bank, task.bank)
        free = [name for name in ("steepness", *CHOICES, *PAPER_CHOICES) if getattr(self, name) is None]
        steps: list[Step] = []
        with blas_for(len(data.train), int(task.bank.widths.sum())):
            tree = train_cronus(task, held_out, bank_weights, settings, free, steps, optimize=optimize)
        self.steps_: tuple[Step, ...] = tuple(steps)
        return tree


@define(slots=False, eq=False, repr=False)
class CronusClassifier(TwoClassesOnly, _Cascade):
    """A cascade for two classes with a rare second class: early stages reject rows that are surely of the first.

    It fits stages one after another and then improves them together, by exact cost. Held-out rows choose the cascade:
    validation data, or else a fifth of the rows. The scores of the stage that rejects a row also answer it, at no
    further cost.

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float, optional
        lambda, loss accepted per unit of cost per row. By default 0.001; where prices have errors, it follows from
        them.
    n_stages : int, optional
        K, 10 by default; it leaves out stages without effect.
    bank, class_weight, random_state, n_jobs, verbose, acquisition, and settings of the bank
        As for `ReweightedClassifier`.
    positive_weight : float, optional
        Factor of the training loss of rows of the second class; 3.5 by default.
    rejected : float, optional
        epsilon in (0, 1), the share of its rows that each stage rejects at first; by default chosen from 0.15, 0.3 and
        0.5, and with `recipe="paper"` 0.15.
    ridge : float, optional
        Of each stage's last fit, in units of its outputs' median variance; by default chosen from 0.01, 0.1, 1.
    inflation : float, optional
        delta >= 1: stage k begins with a fit at lambda delta^(K-k); 1.3 by default.
    steepness : float, optional
        gamma, the sharpness of soft routing in training; by default 50 over the deviation of one stage's scores, and 50
        with `recipe="paper"`.
    optimize : bool, optional
        False keeps the start of the cascade: the end of Algorithm 2. By default thresholds and weights then move, and
        held-out rows choose the cascade of fewest stages within half a standard error of the best.
    recipe : "paper", optional
        Trains exactly the paper's algorithm: eq. 8 by Algorithm 1 from the start of Algorithm 2, with prices per
        learner. The answer to rejected rows is -1, and probabilities are sigmoid(2 f) of the answer f.
    l1, l1_last : float, optional
        rho of all stages but the last, and of the last, with `recipe="paper"`; by default chosen from 0, 1e-4 and 1e-3.

    Attributes
    ----------
    predictor_ : StageTree
        A chain of routes, each with an answer for its rejected rows.
    steps_ : tuple of Step
        Accepted steps of Algorithm 1, with `recipe="paper"`.
    classes_ : ndarray (2,)
    """

    class_weight: Any = field(default=None, kw_only=True)


@define(slots=False, eq=False, repr=False)
class CronusRanker(GradedRanker, _Cascade):
    """A cascade for rankings: early stages reject rows that are surely irrelevant; squared loss on graded relevance.

    Rejected rows rank below all rows of later stages: at exit k, from 0, the answer is k + s / (2 (1 + |s|)) with the
    score s of its stage, also for a single stage. Queries (`qid`) have an effect on `score`, which is NDCG@5, and on
    the held-out rows if there are no validation data.

    Parameters
    ----------
    costs, tradeoff, bank, acquisition, random_state, n_jobs, verbose, and settings of the bank
        As for `ReweightedClassifier`.
    n_stages, rejected, inflation, steepness, recipe, l1, l1_last, ridge, optimize
        As for `CronusClassifier`.
    relevant : float, optional
        Least relevant grade: targets are then -1 and 1; the paper takes 3 of grades 0 to 4. By default the target of
        grade y is 2 y / max - 1.
    positive_weight : float, optional
        Factor of the training loss of rows of target 1, 3.5 by default; it is 1 for target -1, and between for others.

    Attributes
    ----------
    predictor_ : StageTree
        A chain of routes, each with an answer for its rejected rows.
    steps_ : tuple of Step
    """
