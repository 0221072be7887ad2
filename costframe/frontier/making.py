"""The fits that make a frontier: of algorithms by name on a data set, or of any estimators on given rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from costframe.core.checks import as_path
from costframe.core.threads import thread_count
from costframe.frontier.budgets import Budget
from costframe.frontier.candidates import candidates_of, common_prices, task_of
from costframe.frontier.checks import (
    check_score,
    check_time_limit,
    check_tradeoffs,
    choose_algorithms,
    choose_score,
)
from costframe.frontier.fitting import Plan, collect, divide_rows, fit_candidates
from costframe.frontier.rows import Rows, check_groups
from costframe.frontier.runs import open_run
from costframe.frontier.sweeping import collect_fits, process_count
from costframe.frontier.tasks import Sweep

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Self

    from numpy.typing import ArrayLike

    from costframe.core.errors import CostframeError
    from costframe.datasets import Dataset
    from costframe.frontier.trial import Fitted, Progress

__all__ = ["FrontierFits"]


class FrontierFits(ABC):
    """Base of `Frontier`: its fits."""

    @classmethod
    @abstractmethod
    def of(cls, found: Sequence[Fitted], score: str, unit: str, full_cost: float) -> Self:
        """Make the frontier of fitted models."""

    @classmethod
    def sweep(
        cls,
        data: Dataset | str,
        algorithms: Iterable[str] | None = None,
        tradeoffs: Sequence[float] | None = None,
        *,
        points: int | None = None,
        score: Any = None,
        budget: float | None = None,
        time_budget: float | None = None,
        folds: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        failed: Callable[[str, CostframeError], None] | None = None,
        n_jobs: int | None = 1,
        cluster: Any = None,
        directory: str | os.PathLike[str] | None = None,
        resume: bool = False,
        time_limit: float | None = None,
        interim: Callable[[Callable[[], Any]], None] | None = None,
    ) -> Self:
        """Fit algorithms at many tradeoffs, and estimate their scores on held-out rows.

        It fits models on train, and estimates scores on valid, minus the optimism of the best. If valid is small, it
        estimates scores on folds of train and valid, with further fits for each fold; docs/choosing.md explains it.

        Parameters
        ----------
        data : Dataset, or the name of one
            Fits use train; early stopping and choices use valid.
        algorithms : iterable of str, optional
            By default the usual ones with the data's task and number of classes; "all" fits all but baselines.
        tradeoffs : sequence of float, optional
            One fit for each. By default an algorithm with `fit_path` trains all its models in one fit, and points are
            chosen from its non-dominated ones; other algorithms are fitted at 0 and on a geometric grid in units of
            (loss of the best constant) / (cost of all features), which covers the frontier at any scale of losses and
            prices.
        points : int, optional
            Without `tradeoffs`: the largest number of points of a path, 24 by default, chosen with little loss at any
            budget, the model trained without prices first; for other algorithms the number of tradeoffs, 12 by default.
            At most three fits within sets of features may follow; docs/choosing.md explains when.
        score : str or callable, optional
            As `scoring` of `BudgetSearch`. By default ROC AUC for two classes, accuracy for more, R^2, NDCG@5.
        budget : float, optional
            Mean cost per row on valid; adds the best point of a path within it, or fits with a cost just below it.
        time_budget : float, optional
            Milliseconds in which 95 % of the rows of valid have their values, at prices with times. Like `budget`, it
            adds points just within it; if a feature alone takes longer, also those of fits without such features.
        folds : int, optional
            Number of folds, 0 or at least 3. By default 5 where valid has fewer than 1,000 rows (a ranking's, 100
            queries) and each class has 5 rows, else 0.
        parameters : mapping, optional
            Further parameters of every estimator.
        progress : callable, optional
            Called with `(done, total, text)` before and after each fit, and during a path; `done` of the same `total`
            rises with the work.
        failed : callable, optional
            Called with `(algorithm, error)` if an algorithm cannot be fitted, and the others go on; also for algorithms
            for two classes that `algorithms` does not name, if there are more classes. Without it, the first error of a
            fit is raised.
        n_jobs : int or None
            Processes that fit algorithms side by side; the results are the same. A script that asks for more than one
            needs the guard `if __name__ == "__main__":`, as these start by importing it. None chooses as the command
            line does: one for each core, if the table is small and the algorithms are those of costframe.
        cluster : dask.distributed.Client or str, optional
            A dask cluster, or the address of its scheduler: each algorithm is a task for one of its workers, which get
            the whole table. Results are the same; it replaces `n_jobs`, and needs costframe[dask].
        directory : path, optional
            Folder for finished fits, each with its models as soon as it ends, also if the sweep is interrupted. A large
            table has first looks then: further fits with few rows, whose points come soon and have "quick" in their
            names.
        resume : bool
            Whether to go on from the fits in `directory`, of the same table, prices, score, folds and parameters.
        time_limit : float, optional
            Seconds after which the sweep ends with what is in `directory`, which it needs; if no fit has ended, with
            the constant alone, which reads nothing. With one process, it ends when the fit that is on its way next
            reports progress.
        interim : callable, optional
            Called when further fits have ended, with a function that returns the frontier so far.

        Raises
        ------
        CostframeError
            If an argument is wrong, or an algorithm refuses the data or its parameters.
        PluginError
            If an algorithm raises another exception, which is the cause; the text names the algorithm and its plugin.
        """
        if isinstance(data, str):
            from costframe.datasets import load

            data = load(data)
        bounds = Budget(budget, time_budget)
        bounds.check_prices(data.costs)
        check_tradeoffs(tradeoffs)
        check_time_limit(time_limit, directory)
        chosen = check_score(data, score)
        names, left_out = choose_algorithms(data.task, algorithms, len(data.classes))
        if failed is not None:
            for name, unfit in left_out.items():
                failed(name, unfit)
        folder = None if directory is None else as_path(directory, "directory")
        sweep = Sweep(data, chosen, tradeoffs, points, bounds, folds, parameters or {}, folder, time_limit)
        open_run(sweep, resume=resume)
        processes = process_count(sweep, names) if n_jobs is None else thread_count(n_jobs) if n_jobs != 1 else 0

        def make(found: list[Fitted]) -> Any:
            return cls.of(found, str(chosen), data.costs.unit, data.full_cost)

        def show(so_far: Callable[[], list[Fitted]]) -> None:
            if interim is not None:
                interim(lambda: make(so_far()))

        found: Self = make(collect_fits(sweep, names, progress, failed, processes, cluster, show))
        return found

    @classmethod
    def fit(
        cls,
        estimators: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        sample_weight_test: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
        qid_test: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        groups_val: ArrayLike | None = None,
        costs: object = None,
        scoring: Any = None,
        budget: float | None = None,
        time_budget: float | None = None,
        tradeoffs: Sequence[float] | None = None,
        points: int | None = None,
        cv: Any = None,
        validation_fraction: float = 0.25,
        random_state: Any = 0,
        progress: Progress | None = None,
        failed: Callable[[str, CostframeError], None] | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Fit any estimators, and estimate their scores as `sweep` does.

        Parameters
        ----------
        estimators : list, mapping of labels, or one
            Estimators of costframe, fitted at many tradeoffs or along their path. Models without a tradeoff have one
            point: estimators of other libraries, which it trains on the same rows and adopts (`cf.adopt`), and fitted
            models (`Predictor`, `FittedEstimator`), whose training rows should not include the validation rows.
        X, y, sample_weight, X_val, y_val, sample_weight_val, qid, qid_val
            As for an estimator's `fit`; without X_val, it holds out a `validation_fraction` of X by `random_state`.
        X_test, y_test, sample_weight_test, qid_test
            Rows to test on, never to choose by.
        groups, groups_val : (n,), optional
            Group of each row, such as the patient: rows of a group are held out together, in parts and in folds, and
            errors of estimates are those of fresh groups.
        costs : optional
            Prices of all models that have none, and of all fitted ones; anything `CostModel.of` accepts. By default the
            estimators' own, which must agree.
        cv : int or splitter of scikit-learn, optional
            Number of folds, as `folds` of `sweep`, or a splitter that holds out each row of X (then X_val) once.
        scoring, budget, time_budget, tradeoffs, points, progress, failed
            As `score`, `budget`, ... of `sweep`; errors have the labels.
        n_jobs : int, optional
            Number of estimators to fit side by side, by joblib: `joblib.parallel_config` sets the backend, and the
            number for None. Results are the same.

        Raises
        ------
        CostframeError
            If an argument is wrong, or an estimator refuses the data.
        """
        bounds = Budget(budget, time_budget)
        check_tradeoffs(tradeoffs)
        given = Rows.of(X, y, sample_weight, qid, groups=groups)
        valid = Rows.if_any(X_val, y_val, sample_weight_val, qid_val, "_val", groups_val)
        check_groups(given, valid)
        test = Rows.if_any(X_test, y_test, sample_weight_test, qid_test, "_test")
        candidates = candidates_of(estimators)
        task = task_of(candidates, has_queries=qid is not None)
        prices, classes = common_prices(costs, candidates, X), task == "classification"
        bounds.check_prices(prices.costs)
        score = choose_score("scoring", scoring, task, max(given.count_classes(), 2) if classes else 0)
        rows = divide_rows(
            given, valid, test, cv=cv, share=validation_fraction, seed=random_state, classes=classes
        )  # fmt: skip
        fits = fit_candidates(candidates, rows, prices, Plan(score, tradeoffs, points, bounds), progress, n_jobs)
        found = collect(fits, [each.label for each in candidates], failed)
        return cls.of(found, str(score), prices.costs.unit, prices.full_cost)
