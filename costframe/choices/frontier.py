"""Frontiers: fitted models with their scores and costs, and choices among them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from attrs import evolve, frozen
from numpy.typing import ArrayLike

import costframe
from costframe.choices.choices import Choices
from costframe.choices.export import points_csv, points_frame
from costframe.choices.naming import correct_and_name
from costframe.choices.paired_points import check_one_a_point
from costframe.choices.saving import load_result, save_result
from costframe.choices.summary import describe_frontier, frontier_html
from costframe.core.arrays import F8
from costframe.core.checks import as_path, check_flag, check_functions, check_mapping
from costframe.core.errors import CostframeError, ParameterError
from costframe.core.files import write_together
from costframe.core.machine import thread_count
from costframe.datasets import Dataset
from costframe.study.division import StudyData
from costframe.study.fit_estimators import fit_estimators
from costframe.study.fitted import Fitted, SavedModel, StudyResult
from costframe.study.objective import objective_of
from costframe.study.points import Point
from costframe.study.progress import Progress
from costframe.study.rows import StudyRows
from costframe.study.settings import StudyPlan, StudySettings, check_run_options, read_data
from costframe.study.study_run import StudyRun
from costframe.study.sweep import Sweep

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
    notes : tuple of str
        What nobody knows of tests that were not made, and which columns its models leave out; see docs/records.md.
    """

    points: tuple[Point, ...]
    score_name: str
    unit: str
    full_cost: float
    models: tuple[Any, ...] = ()
    influences: tuple[F8 | None, ...] = ()
    spent: tuple[F8 | None, ...] = ()
    notes: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        check_one_a_point("models", self.models, len(self._paired.points))

    @classmethod
    def of(cls, result: StudyResult) -> Self:
        """Make the frontier of a study: correct scores for choices, and name the points."""
        return cls._of_named(evolve(result, fits=correct_and_name(result.fits, objective_of(result.score))))

    @classmethod
    def _of_named(cls, result: StudyResult) -> Self:
        parts = ((fitted.point, fitted.model, fitted.influence, fitted.spent) for fitted in result.fits)
        points, models, influences, spent = zip(*parts, strict=True)
        return cls(points, result.score, result.unit, result.full_cost, models, influences, spent, result.notes)

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
            without prices, and where wrong classes have prices a single tree of least bill, if no algorithm fits it
            anyway. A linear model reads numbers, so tables with categories have none; rankings have the constant and
            boosting on the free features. By default it has them, but not where `tradeoffs` name each fit.

        Raises
        ------
        CostframeError
            If an argument is wrong, or an algorithm refuses the data or its parameters.
        PluginError
            If an algorithm raises another exception, which is the cause; the text names the algorithm and its plugin.
        """
        data, plan = read_data(data), StudyPlan(tradeoffs, points, budget)
        check_run_options(directory, time_limit, resume=resume)
        check_functions(progress=progress, failed=failed, interim=interim)
        check_mapping("parameters", parameters)
        thread_count(n_jobs)  # refuses what is no number
        sweep = Sweep.of(
            data,
            algorithms,
            plan,
            score=score,
            cv=cv,
            parameters=parameters or {},
            directory=None if directory is None else as_path(directory, "directory"),
            time_limit=time_limit,
            has_references=tradeoffs is None if references is None else check_flag("references", references),
        )

        def show(run: StudyRun) -> None:
            assert interim is not None  # noqa: S101 - else nobody calls this
            interim(lambda: cls.of(sweep.result(run.fits())))

        return cls.of(
            sweep.fit(
                progress=progress,
                failed=failed,
                show=None if interim is None else show,
                n_jobs=n_jobs,
                cluster=cluster,
                resume=resume,
            )
        )

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
        made: Any = None,
        made_val: Any = None,
        made_test: Any = None,
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
        made, made_val, made_test : bool (n, d), data frame of bool, or True, optional
            Which cells were asked for, in place of what prices say by `absent`, as for an estimator's `fit`. Figures
            are those of rows in which the tests that a model asks for are made; see docs/records.md.
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
        settings = StudySettings(
            plan=StudyPlan(tradeoffs, points, budget),
            scoring=scoring,
            cv=cv,
            validation_fraction=validation_fraction,
            random_state=random_state,
            n_jobs=n_jobs,
            time_limit=time_limit,
        )
        check_functions(progress=progress, failed=failed)
        rows = StudyData(
            StudyRows.of(X, y, sample_weight, qid, groups=groups, made=made),
            StudyRows.if_any(X_val, y_val, sample_weight_val, qid_val, "_val", groups_val, made_val),
            StudyRows.if_any(X_test, y_test, sample_weight_test, qid_test, "_test", made=made_test),
        )
        return cls.of(fit_estimators(estimators, rows, costs, settings, progress=progress, failed=failed))

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
        others = (known or unknown for known in (self.models, self.influences, self.spent))
        fits = [Fitted(*parts) for parts in zip(self.points, *others, strict=True)]
        check_flag("overwrite", overwrite)
        result = StudyResult(fits, self.score_name, self.unit, self.full_cost, self.notes)
        save_result(as_path(directory, "directory"), result, overwrite=overwrite)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Read the folder of `save`, or of `costframe compare`; models are loaded when `model` asks for them.

        If a model's file is another one by then, `model` raises a StorageError.

        Raises
        ------
        StorageError
            If it has no frontier, or one that is truncated or altered.
        """
        return cls._of_named(load_result(as_path(directory, "directory")))

    def file(self, point: Point | str) -> Path | None:
        """Return the file of a point's model, if it is in one."""
        model = self.models[self._paired.place(point)] if self.models else None
        return model.path if isinstance(model, SavedModel) else None

    def has_model(self, point: Point | str) -> bool:
        """Return whether `model` has one of a point; there are kinds of models that cannot be saved."""
        return bool(self.models) and self.models[self._paired.place(point)] is not None

    def model(self, point: Point | str) -> Any:
        """Return the fitted estimator of a point, given the point or its name."""
        place = self._paired.place(point)
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
