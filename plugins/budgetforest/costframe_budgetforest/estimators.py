"""Estimators of BudgetRF and BudgetPrune."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from attrs import define, evolve, field
from numpy.typing import ArrayLike

from costframe import StageTree
from costframe.gates import read_tradeoffs
from costframe.plugin import (
    F8,
    CostAwareClassifier,
    CostModelError,
    DeferredPath,
    FitRows,
    ParameterError,
    Sampling,
    TrainingData,
    check_choice,
    check_number,
    resolve,
    restore_on_error,
    thread_count,
)
from costframe.trees import Scorer
from costframe_budgetforest.forest import (
    Forest,
    ForestRows,
    GrowSettings,
    grow_path,
    grow_priced,
    without_copies,
)
from costframe_budgetforest.program import check_prices
from costframe_budgetforest.pruning import Pruner, PruneSettings, prune_path, read_forest

_THRESHOLDS = (2.0, 8.0, 32.0, 128.0)
_MOST_ROUNDS = 10**6
_DEEPEST = 10**6


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class ForestClassifier(CostAwareClassifier):
    """Scores, and the path of forests."""

    @property
    def _scores_are_chances(self) -> bool:
        """Forests answer with means of probabilities."""
        return True

    def _find_path(
        self,
        data: TrainingData,
        tradeoffs: F8 | None,
        score: Scorer | None,
        progress: Callable[[float], None] | None,
    ) -> DeferredPath:
        raise NotImplementedError

    @restore_on_error
    def fit_path(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        tradeoffs: Sequence[float] | None = None,
        scoring: Any = None,
        progress: Callable[[float], None] | None = None,
        **others: Unpack[FitRows],
    ) -> DeferredPath:
        """Return all non-dominated forests of one fit with their exact cost on validation rows.

        The estimator becomes the forest with the least validation loss + tradeoff * cost at its own `tradeoff`.

        Parameters
        ----------
        X, y, sample_weight, **others
            As for `fit`, with validation data.
        tradeoffs : sequence of float, optional
            Of BudgetPrune: by default up to 16, at which the best pruning changes. BudgetRF has none.
        scoring : "loss", name of a score, or callable, optional
            The score of points, higher is better; minus the validation loss by default.
        progress : callable, optional
            Called with the finished share, from 0 to 1.

        Returns
        -------
        DeferredPath

        Raises
        ------
        CostframeError
            As for `fit`; also if there are no validation data.
        """
        data = self.path_data(X, y, sample_weight, **others)
        path = self._find_path(data, read_tradeoffs(tradeoffs), Scorer.of(scoring), progress)
        point = path.at(data.tradeoff)
        self.n_iter_ = point.n_rounds
        return self._keep_path(path, path.predictor(point), data)


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class BudgetRFClassifier(ForestClassifier):
    """Random forest whose trees grow by the split with the least price per drop of an impurity of class counts.

    A feature that was bought on the way to a node is free there, resources too. Forests of several thresholds and
    numbers of trees are compared on held-out rows by mean squared loss + tradeoff * exact mean cost; with tradeoff 0,
    trees grow without prices.

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one.
    tradeoff : float, optional
        lambda, loss accepted per unit of cost per row. By default 0.001; where prices have errors, it follows from
        them.
    n_estimators : int, optional
        Most trees, 100 by default.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    random_state, n_jobs : int, optional
        Seed of the draws; threads, all cores by default, which do not change the model.
    max_features : float, optional
        Share of the columns drawn for each node, in (0, 1]; 1 by default.
    max_depth, min_samples_leaf : int, optional
        Comparisons on a path, without limit by default, and weight of the rows of each leaf, 1 by default.
    impurity : {"pairs", "gini", "entropy"}, optional
        Of the class counts n_i of a node: threshold-Pairs, the default, sum over i != j of
        [[n_i - alpha]_+ [n_j - alpha]_+ - alpha^2]_+; or the Gini impurity or the entropy times the number of rows.
    criterion : {"minimax", "expected"}, optional
        The drop of a split: the node's impurity minus that of the worse side, the default, or minus the sum of both.
    impurity_threshold : float, optional
        alpha: a node is a leaf if its impurity is zero ("pairs"), or at most alpha, in numbers of rows. By default the
        held-out rows choose among 2, 8, 32 and 128.
    smoothing : float, optional
        Added to the price of each split, as a share of the mean price of a feature with its resources, 0.1 by default.
        With 0, any split by a free or bought feature comes before all others.

    Attributes
    ----------
    predictor_ : StageTree
    n_iter_ : int
        Number of trees.
    classes_ : ndarray (K,)
    """

    costs: Any = None
    tradeoff: float | None = None
    n_estimators: int | None = field(default=None, kw_only=True)
    impurity: str | None = field(default=None, kw_only=True)
    criterion: str | None = field(default=None, kw_only=True)
    impurity_threshold: float | None = field(default=None, kw_only=True)
    max_features: float | None = field(default=None, kw_only=True)
    max_depth: int | None = field(default=None, kw_only=True)
    min_samples_leaf: int | None = field(default=None, kw_only=True)
    smoothing: float | None = field(default=None, kw_only=True)
    class_weight: Any = field(default=None, kw_only=True)
    random_state: int = field(default=0, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        settings = self._settings(data)
        inside, held = Sampling(data).split_off()
        path = grow_path(evolve(inside, valid=held), settings, priced=data.tradeoff > 0)
        point = path.at(data.tradeoff)
        self.n_iter_ = point.n_rounds
        predictor: StageTree = path.predictor(point)
        return predictor

    def _find_path(
        self,
        data: TrainingData,
        tradeoffs: F8 | None,
        score: Scorer | None,
        progress: Callable[[float], None] | None,
    ) -> DeferredPath:
        if tradeoffs is not None:
            raise ParameterError("tradeoffs: have no effect, impurity thresholds make BudgetRF's path")
        return grow_path(data, self._settings(data), score, progress)

    def _settings(self, data: TrainingData) -> GrowSettings:
        data.train.check_sizes()
        impurity = check_choice("impurity", self.impurity, (None, "pairs", "gini", "entropy")) or "pairs"
        minimax = check_choice("criterion", self.criterion, (None, "minimax", "expected")) != "expected"
        threshold = self.impurity_threshold
        smoothing = resolve("smoothing", self.smoothing, 0.1)
        return GrowSettings(
            n_trees=resolve("n_estimators", self.n_estimators, 100, low=1, high=_MOST_ROUNDS, whole=True),
            impurity=impurity,
            minimax=minimax,
            thresholds=_THRESHOLDS if threshold is None else (check_number("impurity_threshold", threshold),),
            max_features=resolve("max_features", self.max_features, 1.0, strict=True, high=1.0),
            max_depth=resolve("max_depth", self.max_depth, _DEEPEST, low=1, whole=True),
            min_leaf=float(resolve("min_samples_leaf", self.min_samples_leaf, 1, low=1, whole=True)),
            smoothing=smoothing,
            seed=check_number("random_state", self.random_state, whole=True),
            n_threads=thread_count(self.n_jobs),
        )


@define(slots=False, eq=False, repr=False)  # writes __init__; the rest is scikit-learn's
class BudgetPruneClassifier(ForestClassifier):
    """A forest pruned so that the mean loss of its trees + tradeoff * mean cost per row is least.

    Trees share the purchases of a row: an item is paid once if any tree tests it.

    Parameters
    ----------
    costs : CostModel, dict, path, array or None
        Prices; None prices every feature at one. There can be no `once` price, and no feature cheaper than `reuse`.
    tradeoff : float, optional
        lambda, loss accepted per unit of cost per row. By default 0.001; where prices have errors, it follows from
        them.
    model : object, optional
        The forest: a fitted or unfitted classifier of scikit-learn that is a tree or forest, the result of `cf.adopt`,
        or a fitted estimator or predictor of costframe that is a mean of trees, such as BudgetRF. By default
        `n_estimators` trees on Poisson bags that split by the least price, plus the mean price of a feature, per drop
        of the Gini impurity; with tradeoff 0, and with recipe="paper", by the largest drop.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights.
    random_state, n_jobs : int, optional
        Seed of the draws, and of unfitted models without one; threads, all cores by default, which do not change the
        model.
    n_estimators, max_features, max_depth, min_samples_leaf : optional
        Of the default forest: 100 trees, the share of the columns drawn for each node, in (0, 1], 1 by default, any
        depth, leaves of weight 5. With recipe="paper" the square root of the number of columns, and leaves of weight 1.
    loss : {"squared", "error"}, optional
        Loss of a tree's own vote: half the squared distance of class shares and label, the default, or the error.
    tolerance, max_iter : optional
        Relative gap at which the solution ends, 1e-3 by default, and most iterations, 100 by default.
    recipe : {"paper"}, optional
        Prune exactly by the program of the paper: the error of each tree on the training rows, prices of features and
        resources; see the README.

    Attributes
    ----------
    predictor_ : StageTree
    objective_, bound_ : float
        Objective of the pruning, and lower bound on that of all prunings; after `fit`.
    n_iter_ : int
        Iterations; after `fit_path` the number of trees with tests.
    classes_ : ndarray (K,)
    """

    costs: Any = None
    tradeoff: float | None = None
    model: Any = field(default=None, kw_only=True)
    n_estimators: int | None = field(default=None, kw_only=True)
    max_features: float | None = field(default=None, kw_only=True)
    max_depth: int | None = field(default=None, kw_only=True)
    min_samples_leaf: int | None = field(default=None, kw_only=True)
    loss: str | None = field(default=None, kw_only=True)
    recipe: str | None = field(default=None, kw_only=True)
    tolerance: float | None = field(default=None, kw_only=True)
    max_iter: int | None = field(default=None, kw_only=True)
    class_weight: Any = field(default=None, kw_only=True)
    random_state: int = field(default=0, kw_only=True)
    n_jobs: int | None = field(default=None, kw_only=True)

    def _train(self, data: TrainingData) -> StageTree:
        settings = self._settings(data)
        pruner = Pruner.of(self._forest(data, settings, priced=data.tradeoff > 0), data, settings)
        solution = pruner.solve(data.tradeoff)
        self.objective_, self.bound_, self.n_iter_ = solution.objective, solution.bound, solution.n_iter
        return pruner.forest.cut(solution.kept)[0].predictor(data.feature_names)

    def _find_path(
        self,
        data: TrainingData,
        tradeoffs: F8 | None,
        score: Scorer | None,
        progress: Callable[[float], None] | None,
    ) -> DeferredPath:
        settings = self._settings(data)
        forest = self._forest(data, settings, priced=True)
        for name in ("objective_", "bound_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        return prune_path(Pruner.of(forest, data, settings), forest, data, tradeoffs, score, progress)

    def _forest(self, data: TrainingData, settings: PruneSettings, *, priced: bool) -> Forest:
        """Return the given forest, or grow one, with prices if `priced` and not by the paper."""
        check_prices(data.prices)
        seed = check_number("random_state", self.random_state, whole=True)
        if self.model is not None:
            for name in ("n_estimators", "max_features", "max_depth", "min_samples_leaf"):
                if getattr(self, name) is not None:
                    raise ParameterError(f"{name}: has no effect, the forest is given as model")
            return read_forest(self.model, data, self.classes_, seed, framed=hasattr(self, "feature_names_in_"))
        paper, d = self.recipe is not None, data.train.X.shape[1]
        grow = GrowSettings(
            n_trees=resolve("n_estimators", self.n_estimators, 100, low=1, high=_MOST_ROUNDS, whole=True),
            impurity="gini",
            minimax=False,
            thresholds=(0.0,),
            max_features=resolve("max_features", self.max_features, d**-0.5 if paper else 1.0, strict=True, high=1.0),
            max_depth=resolve("max_depth", self.max_depth, _DEEPEST, low=1, whole=True),
            min_leaf=float(resolve("min_samples_leaf", self.min_samples_leaf, 1 if paper else 5, low=1, whole=True)),
            smoothing=1.0,
            seed=seed,
            n_threads=settings.n_threads,
        )
        if priced := priced and not paper:
            data = without_copies(data)
        given = ForestRows.of(data, seed, n_threads=grow.n_threads)
        return grow_priced(given, data, grow, 0.0, priced=priced)

    def _settings(self, data: TrainingData) -> PruneSettings:
        data.train.check_sizes()
        loss = check_choice("loss", self.loss, (None, "squared", "error")) or "squared"
        if paper := check_choice("recipe", self.recipe, (None, "paper")) is not None:
            if self.loss is not None:
                raise ParameterError("loss: the paper has the error only; leave it out, or recipe='paper'")
            beyond = {"split": data.prices.split.any(), "learner": data.prices.learner, "reuse": data.prices.reuse}
            for kind, stated in beyond.items():
                if stated:
                    raise CostModelError(f"costs: the paper has no prices of the kind {kind!r}, with recipe='paper'")
        return PruneSettings(
            loss="error" if paper else loss,
            tolerance=resolve("tolerance", self.tolerance, 1e-3),
            max_iter=resolve("max_iter", self.max_iter, 100, low=1, high=_MOST_ROUNDS, whole=True),
            n_threads=thread_count(self.n_jobs),
        )
