"""Adapt in scikit-learn's manner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from attrs import define, evolve, field

from costframe import StageTree
from costframe.gates import GatedClassifier
from costframe.plugin import F8, DeferredPath, TrainingData
from costframe.trees import Scorer
from costframe_adapt.adapt import sweep_grid, train_adapt, train_without_gate
from costframe_adapt.judge import Judge
from costframe_adapt.settings import AdaptSettings, read_grid, read_settings


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class AdaptClassifier(GatedClassifier):
    """A cheap model and a gate in front of an expensive model: rows go on to it only if it is worth its price.

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float, optional
        lambda, loss accepted per unit of cost per row. By default 0.001; where prices have errors, it follows from
        them.
    expensive : object, or (object, list of str), optional
        The expensive model, and its features (by default those that it names, else all): an unfitted scikit-learn
        classifier, a fitted classifier, a function of (n, features) that returns probabilities, or the result of
        `cf.adopt`; see the README. The default is trees boosted without prices.
    categorical_features : list of str or int, bool (d,), or dict, optional
        Columns that trees split by categories, by name or position, with labels if a dict; by default those of a
        category dtype. The variant "lin" refuses them.
    variant : {"gbrt", "lin"}, optional
        Boosted trees, the default, or linear models.
    full_share : float, optional
        P_full in [0, 1]: the largest mean of q, the share of rows that the expensive model gets. By default the price
        decides: each row counts its further cost beyond the cheap model and the gate. With 0 there is no gate.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    n_estimators : int, optional
        Largest number of trees of the cheap model and of the gate, by default 200 each, or 300 with full_share=0. By
        the paper's recipe their exact number, 100 by default.
    random_state, n_jobs, verbose : int, optional
        Seed of expensive models without one; threads, all cores by default, which do not change the model; 1 shows
        progress bars.
    n_stages : int, optional
        Number of gates, 1 by default: each further one stands in front of all before it.
    recipe : {"paper"}, optional
        Train exactly the paper's algorithm; see the README.

    Attributes
    ----------
    predictor_ : StageTree
    expensive_ : object
        The fitted expensive model; None with full_share=0.
    expensive_predictor_ : StageTree
        The expensive model within the predictor, whose cost can be measured.
    n_iter_ : int
        Rounds of the alternation.
    objective_ : float64 (n_iter_,)
        The objective of each round: loss + tradeoff * cost on held-out rows; for linear models and the paper's recipe
        the bound on training rows, with the penalty.
    classes_ : ndarray (M,)
    """

    traits: ClassVar = evolve(GatedClassifier.traits, takes_categories=True)

    categorical_features: Any = field(default=None, kw_only=True)
    variant: str | None = field(default=None, kw_only=True)
    full_share: float | None = field(default=None, kw_only=True)
    recipe: str | None = field(default=None, kw_only=True)
    n_stages: int | None = field(default=None, kw_only=True)
    n_estimators: int | None = field(default=None, kw_only=True)

    def _sweep(
        self, data: TrainingData, proba: F8 | None, tradeoffs: Any, full_shares: Any, scoring: Any,
        progress: Callable[[float], None] | None,
    ) -> DeferredPath:  # fmt: skip
        settings = self._settings(data, grid=True)
        levels, shares = read_grid(self, settings, tradeoffs, full_shares)
        score = Scorer.of(scoring)
        judge = self._judge(data, settings, proba)
        if levels is None:
            levels = judge.expensive.held.default_tradeoffs(judge.held, data.prices)
        path = sweep_grid(judge, levels, shares, score, progress)
        self.n_iter_, self.objective_ = 0, np.zeros(0)
        return path

    def _train(self, data: TrainingData, proba: F8 | None = None) -> StageTree:
        settings = self._settings(data)
        if settings.full_share == 0:
            self.expensive_, self.n_iter_, self.objective_ = None, 0, np.zeros(0)
            self.__dict__.pop("expensive_predictor_", None)  # of an earlier fit
            return train_without_gate(data, settings)
        tree, objective = train_adapt(self._judge(data, settings, proba))
        self.n_iter_, self.objective_ = len(objective), np.array(objective)
        return tree

    def _judge(self, data: TrainingData, settings: AdaptSettings, proba: F8 | None) -> Judge:
        return Judge.of(self._hold_out(data, settings.n_threads, proba, paper=settings.paper), settings)

    def _settings(self, data: TrainingData, *, grid: bool = False) -> AdaptSettings:
        self._check_expensive(data)
        return read_settings(self, data, grid=grid)
