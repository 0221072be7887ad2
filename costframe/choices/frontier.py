"""Fitted models with their scores and costs, and choices among them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from attrs import evolve, frozen
from numpy.typing import ArrayLike

import costframe
from costframe.choices.choices import Choices
from costframe.choices.export import points_csv, points_frame
from costframe.choices.optimism import correct_choice, correct_choice_of_algorithm
from costframe.choices.saving import load_fits, save_fits
from costframe.choices.summary import describe_frontier, frontier_html
from costframe.core.checks import as_path, check_flag, check_functions, check_mapping
from costframe.core.errors import CostframeError, ParameterError
from costframe.core.files import write_together
from costframe.core.machine import thread_count
from costframe.datasets import Dataset
from costframe.study.algorithms import choose_algorithms
from costframe.study.candidates import candidates_of, task_of
from costframe.study.common_prices import common_prices
from costframe.study.constant import fit_constant
from costframe.study.division import Division
from costframe.study.entrants import Entrant, references_of
from costframe.study.failures import UnfinishedError
from costframe.study.fitted import Fitted, SavedModel
from costframe.study.points import Point
from costframe.study.processes import by_cluster, by_joblib, by_processes, process_count
from costframe.study.progress import Progress
from costframe.study.rows import StudyRows, check_groups
from costframe.study.runs import describe_run, hold_alone, open_run
from costframe.study.score_choice import choose_error_cost, choose_score, choose_score_of_study
from costframe.study.settings import check_kept, check_plan, check_time_limit, read_data
from costframe.study.store import Store
from costframe.study.study import Study
from costframe.training.cluster.fitting import open_client
from costframe.training.error_costs import ERROR_COST
from costframe.training.library_scores import LibraryScore

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@frozen(eq=False, repr=False)
class Frontier(Choices):
    """Fitted models with their scores and costs; choices among them use estimates, never test rows.

    Attributes
    ----------
    points : tuple of Point
    score_name : str
        A name in `costframe.training.basic_scores.SCORES`.
    unit : str
        Unit of costs.
    full_cost : float
        Price of all features for one row.
    models : tuple
        The fitted estimator of each point; may be empty.
    influences : tuple of float64 (rows,) or None
        Influence of each row on the score of each point (`costframe.training.scoring`); may be empty.
    spent : tuple of float64 (rows,) or None
        Influence of each of the last rows on the cost of each point; may be empty.
    """

    @classmethod
    def of(cls, found: Sequence[Fitted], score: str, unit: str, full_cost: float) -> Self:
        """Make the frontier of fitted models: correct scores for choices, and name the points."""
        algorithms = dict.fromkeys(fitted.point.algorithm for fitted in found)
        bills = score == ERROR_COST
        each = [
            correct_choice([one for one in found if one.point.algorithm == name], bills=bills) for name in algorithms
        ]
        kept = _name_points(correct_choice_of_algorithm(list(itertools.chain(*each)), bills=bills))
        return cls._of_fits(kept, {"score_name": score, "unit": unit, "full_cost": full_cost})

    @classmethod
    def _of_fits(cls, found: Sequence[Fitted], header: Mapping[str, Any]) -> Self:
        parts = ((each.point, each.model, each.influence, each.spent) for each in found)
        points, models, influences, spent = zip(*parts, strict=True)
        given = {name: header[name] for name in ("score_name", "unit", "full_cost")}
        return cls(points, models=models, influences=influences, spent=spent, **given)

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
        cv: Any = None,
        parameters: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        failed: Callable[[str, CostframeError], None] | None = None,
        n_jobs: int | None = 1,
        cluster: Any = None,
        directory: str | os.PathLike[str] | None = None,
        resume: bool = False,
        time_limit: float | None = None,
        interim: Callable[[Callable[[], Any]], None] | None = None,
        references: bool | None = None,
    ) -> Self:
        """Fit algorithms at many tradeoffs, and estimate their scores on held-out rows.

        It fits models on train, and estimates scores on valid, minus the optimism of the best. If valid is small, it
        estimates scores on folds of train and valid, with further fits for each fold; docs/choosing.md explains it.

        That takes seconds for hundreds of rows, and minutes to hours for a hundred thousand: an algorithm with a path
        has one fit and five for folds, another one 12, each with five for folds if `cv` asks for them. `progress` gets
        this plan, and then the time left. `time_limit` bounds it; `cv` of 0, fewer `algorithms` and `points` shorten
        it.

        Parameters
        ----------
        data : Dataset, or the name of one
            Fits use train; early stopping and choices use valid.
        algorithms : iterable of str, optional
            By default the usual ones for the task and number of classes; "all" fits all but baselines.
        tradeoffs : sequence of float, optional
            One fit for each. By default an algorithm with `fit_path` trains all its models in one fit, and points are
            chosen from its non-dominated ones; other algorithms are fitted at 0 and on a geometric grid in units of
            (loss of the best constant) / (cost of all features), which covers the frontier at any scale of losses and
            prices. Where prices have errors, one more fit is at the tradeoff that follows from these.
        points : int, optional
            Without `tradeoffs`: the largest number of points of a path, 24 by default, chosen with little loss at any
            budget, the model trained without prices first; for other algorithms the number of tradeoffs, 12 by default.
            At most three fits within sets of features may follow; docs/choosing.md explains when.
        score : str or callable, optional
            As `scoring` of `BudgetSearch`. By default ROC AUC for two classes, accuracy for more, R^2, NDCG@5.
        budget : float, optional
            Mean cost per row on valid; adds the best point of a path within it, or fits with a cost just below it.
        cv : int or splitter of scikit-learn, optional
            Number of folds, 0 or at least 3, or a splitter that holds out each row of train, then valid, once. By
            default 5 where valid has fewer than 1,000 rows (a ranking's, 100 queries) and each class has 5 rows, else
            0.
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
            Processes of joblib that fit algorithms side by side; the results are the same. None chooses as the command
            line does: one for each core, if the table is small and the algorithms are those of costframe.
        cluster : dask.distributed.Client or str, optional
            A dask cluster, or the address of its scheduler: each algorithm is a task for one of its workers, which get
            the whole table; if they have one thread together, it fits here. Results are the same; it replaces `n_jobs`,
            and needs costframe[dask].
        directory : path, optional
            Folder for finished fits, each with its models as soon as it ends, also if the sweep is interrupted. There
            are first looks then: further fits with few rows, whose points come soon and have "quick" in their names;
            those at smaller tables go when the first fit has ended.
        resume : bool
            Whether to go on from the fits in `directory`, of the same table, prices, score, `cv` and parameters. What
            counts are values: of arrays all, of estimators the parameters and what they learned, of functions the code
            and what it closes over. An object without readable values, such as a lock, is an error.
        time_limit : float, optional
            Seconds after which the sweep ends with what is in `directory`, which it needs; if no fit has ended, with
            the first look and the constant, which reads nothing. The fits that other processes have under way end at
            once; a fit in this process, as with `n_jobs` of 1, ends when it next reports progress.
        interim : callable, optional
            Called when further fits have ended, with a function that returns the frontier so far.
        references : bool, optional
            Whether the study has, beside its algorithms, the models that everyone would try, as candidates like others:
            the constant, a linear model and boosting on the free features, and both on all features, each fitted once
            without prices, if no algorithm fits it anyway. A linear model reads numbers, so tables with categories have
            none; rankings have the constant and boosting on the free features. By default it has them, but not where
            `tradeoffs` name each fit.

        Raises
        ------
        CostframeError
            If an argument is wrong, or an algorithm refuses the data or its parameters.
        PluginError
            If an algorithm raises another exception, which is the cause; the text names the algorithm and its plugin.
        """
        data = read_data(data)
        check_plan(budget, tradeoffs, points)
        check_kept(directory, time_limit, resume=resume)
        check_functions(progress=progress, failed=failed, interim=interim)
        check_mapping("parameters", parameters)
        beside = tradeoffs is None if references is None else check_flag("references", references)
        thread_count(n_jobs)  # refuses what is no number
        chosen = choose_score_of_study(data, score)
        names, left_out = choose_algorithms(data.task, algorithms, len(data.classes))
        if failed is not None:
            for name, unfit in left_out.items():
                failed(name, unfit)
        entrants, division = [Entrant.of(name, data, parameters or {}) for name in names], Division.of_data(data, cv)
        entrants += references_of(data, names, parameters or {}) if beside else []
        store = Store(None if directory is None else as_path(directory, "directory"), data.decimal)
        study = Study(entrants, division, chosen, tradeoffs, points, budget, store, time_limit)

        @functools.cache
        def constant() -> Fitted:
            return fit_constant(data, chosen, division.folds)

        def make(found: list[Fitted]) -> Any:
            first = all(each.point.is_first_look for each in found)
            asked = beside or str(chosen) == ERROR_COST  # to buy nothing may be the least bill
            if first or (asked and all(each.point.n_features for each in found)):
                found = [*found, constant()]
            return cls.of(found, str(chosen), data.costs.unit, data.full_cost)

        def show(so_far: Callable[[], list[Fitted]]) -> None:
            if interim is not None:
                interim(lambda: make(so_far()))

        with contextlib.ExitStack() as stack:
            if store.directory is not None:
                described = describe_run(data, chosen, cv, parameters or {})
                stack.enter_context(hold_alone(store.directory))
                open_run(store.directory, described, resume=resume)
            client = None if cluster is None else stack.enter_context(open_client(cluster))
            if client is not None:
                parallel = by_cluster(client)
            else:
                count = process_count(study) if n_jobs is None else 0 if n_jobs == 1 else thread_count(n_jobs)
                parallel = by_processes(min(count, len(study.tasks()))) if count else None
            found: Self = make(study.fit(parallel, progress=progress, failed=failed, show=show, far=client is not None))
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
        tradeoffs: Sequence[float] | None = None,
        points: int | None = None,
        cv: Any = None,
        validation_fraction: float = 0.25,
        random_state: Any = 0,
        progress: Progress | None = None,
        failed: Callable[[str, CostframeError], None] | None = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
    ) -> Self:
        """Fit any estimators, and estimate their scores as `sweep` does.

        It takes as long as `sweep`: seconds for hundreds of rows, minutes to hours for a hundred thousand. `time_limit`
        bounds it; `cv` of 0, fewer `points` or `tradeoffs`, and smaller estimators (`n_estimators`) shorten it.

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
            As `cv` of `sweep`; a splitter holds out each row of X (then X_val) once.
        scoring, budget, tradeoffs, points, progress, failed
            As `score`, `budget`, ... of `sweep`; errors have the labels.
        n_jobs : int, optional
            Number of estimators to fit side by side, by joblib: `joblib.parallel_config` sets the backend, and the
            number for None. Results are the same.
        time_limit : float, optional
            Seconds after which the study ends with the fits that have ended. A fit of costframe in this process ends
            when it next reports progress; one of another library, or in another process, is waited for or left out.

        Raises
        ------
        CostframeError
            If an argument is wrong, an estimator refuses the data, or no fit has ended in time.
        """
        check_time_limit(time_limit)
        check_plan(budget, tradeoffs, points)
        check_functions(progress=progress, failed=failed)
        given = StudyRows.of(X, y, sample_weight, qid, groups=groups)
        valid = StudyRows.if_any(X_val, y_val, sample_weight_val, qid_val, "_val", groups_val)
        check_groups(given, valid)
        test = StudyRows.if_any(X_test, y_test, sample_weight_test, qid_test, "_test")
        candidates = candidates_of(estimators)
        task = task_of(candidates, has_queries=qid is not None)
        prices, classes = common_prices(costs, candidates, X), task == "classification"
        n_classes = max(given.count_classes(), 2) if classes else 0
        if scoring is None and prices.costs.errors is not None:
            score: str | LibraryScore = choose_error_cost(prices.costs, task, np.unique(given.y), prices.names)
        else:
            score = choose_score("scoring", scoring, task, n_classes)
        rows = Division.of_rows(
            given, valid, test, cv=cv, share=validation_fraction, seed=random_state, classes=classes
        )
        priced = [each.priced(prices) for each in candidates]
        study = Study(priced, rows, score, tradeoffs, points, budget, time_limit=time_limit)
        failed = _skip_late if failed is None and time_limit is not None else failed
        found = study.fit(by_joblib(n_jobs), progress=progress, failed=failed)
        if not found:
            raise UnfinishedError(
                f"time_limit: {time_limit:g} s passed before the first fit ended; give more time, fewer rows, cv=0, or "
                "smaller estimators"
            )
        return cls.of(found, str(score), prices.costs.unit, prices.full_cost)

    def save(self, directory: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write points and models to a folder; `load` reads it, and `cf.load` each `models/NAME.model` in it.

        Models of kinds that cannot be saved are left out. A label with blanks, slashes, or more than 80 letters has a
        file with a checksum in its name; `file` of the loaded frontier returns it.

        Parameters
        ----------
        directory : path
        overwrite : bool
            Whether to replace another frontier in the folder, whose models go, and other files in the places of models.

        Raises
        ------
        StorageError
            If a file cannot be written.
        ParameterError
            If the folder has another frontier and `overwrite` is False; or if it is that of a run which did not fit
            these models, another process writes to it, or two points have one name.
        """
        unknown = (None,) * len(self.points)
        others = (each or unknown for each in (self.models, self.influences, self.spent))
        found = zip(self.points, *others, strict=True)
        header = {"score_name": self.score_name, "unit": self.unit, "full_cost": self.full_cost}
        check_flag("overwrite", overwrite)
        save_fits(as_path(directory, "directory"), [Fitted(*each) for each in found], header, overwrite=overwrite)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Read the folder of `save`, or of `costframe compare`; models are loaded when `model` asks for them.

        If a model's file is another one by then, `model` raises a StorageError.

        Raises
        ------
        StorageError
            If it has no frontier, or one that is truncated or altered.
        """
        return cls._of_fits(*load_fits(as_path(directory, "directory")))

    def file(self, point: Point | str) -> Path | None:
        """Return the file of a point's model, if it is in one."""
        model = self.models[self._place(point)] if self.models else None
        return model.path if isinstance(model, SavedModel) else None

    def has_model(self, point: Point | str) -> bool:
        """Return whether `model` has one of a point; there are kinds of models that cannot be saved."""
        return bool(self.models) and self.models[self._place(point)] is not None

    def model(self, point: Point | str) -> Any:
        """Return the fitted estimator of a point, given the point or its name."""
        place = self._place(point)
        if not self.models:
            raise ParameterError("point: expected one of this frontier's, fitted by it")
        if (model := self.models[place]) is None:
            point = self.points[place]
            raise ParameterError(f"point: models of {point.algorithm} cannot be saved, so {point.name} has none here")
        return model.load() if isinstance(model, SavedModel) else model

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the points as CSV, floats to the last bit; if `path` is given, also write it, whole or not at all.

        Texts that a spreadsheet would run have an apostrophe in front.
        """
        text = points_csv(self)
        if path is not None:
            write_together({as_path(path): text.encode()})
        return text

    def to_frame(self) -> pd.DataFrame:
        """Return the columns of `to_csv` as a data frame of pandas, indexed by the names of points."""
        return points_frame(self)

    def __repr__(self) -> str:
        return describe_frontier(self)

    def _repr_html_(self) -> str:
        return frontier_html(self)

    def plot(self, ax: Axes | None = None, **options: Any) -> costframe.plot.FrontierDisplay:
        """Draw score against mean cost per row; options are the parameters of `FrontierDisplay`."""
        import costframe  # displays are above this room; the package loads them by name

        return costframe.plot.FrontierDisplay.from_frontier(self, ax=ax, **options)


def _skip_late(_algorithm: str, error: CostframeError) -> None:
    """Raise an error of a fit, but not that it was late."""
    if not isinstance(error, UnfinishedError):
        raise error


def _name_points(found: Sequence[Fitted]) -> list[Fitted]:
    """Return fitted models whose points have names, each algorithm's numbered from 1 by ascending cost."""
    names: dict[int, str] = {}
    count: Counter[str] = Counter()
    for place, each in sorted(enumerate(found), key=lambda item: (item[1].point.cost, -item[1].point.score)):
        count[each.point.algorithm] += 1
        names[place] = f"{each.point.algorithm}-{count[each.point.algorithm]}"
    return [
        each if each.point.name else evolve(each, point=evolve(each.point, name=names[place]))
        for place, each in enumerate(found)
    ]
