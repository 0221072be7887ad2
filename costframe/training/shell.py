"""The scikit-learn shell: an estimator checks its data, trains with an algorithm, and keeps the predictor."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, Unpack, cast

import numpy as np
from attrs import evolve
from numpy.typing import ArrayLike
from sklearn.base import _clone_parametrized
from sklearn.utils.validation import check_is_fitted

from costframe.core.callers import warn_caller
from costframe.core.checks import check_number
from costframe.core.errors import CostModelError, DataError, ParameterError, PluginError, UntestedWarning, shown
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.price_arrays import PriceArrays
from costframe.core.stages.fallbacks import FallbackRows
from costframe.core.tables.categories import coded_features
from costframe.core.tables.dates import Dates
from costframe.core.tables.frames import is_dask, take_rows
from costframe.core.tables.row_labels import check_weights
from costframe.core.workers import Workers
from costframe.records.guard import Gaps, find_whole_gaps
from costframe.records.made import Records, check_mask_length
from costframe.training.data import FitRows, Rows, TrainingData, Traits
from costframe.training.date_parts import DatedPath, DateParts
from costframe.training.error_costs import usual_tradeoff
from costframe.training.guarding import GuardedPath, guard_predictor, leave_out
from costframe.training.learning import COMPLETED, check_learning, learn_from
from costframe.training.predicting import LazyImportances, Predicting

F = TypeVar("F", bound=Callable[..., Any])
Path = TypeVar("Path")


_OTHERS_WORDS = {  # arguments of fit in other libraries
    **dict.fromkeys(("eval_set", "validation_data", "X_valid", "eval_X", "eval_y"), "give X_val and y_val"),
    **dict.fromkeys(("sample_weight_eval_set", "eval_sample_weight"), "give sample_weight_val"),
    **dict.fromkeys(("early_stopping_rounds", "early_stopping"), "set n_iter_no_change, and give X_val and y_val"),
    "eval_metric": "set scoring",
    **dict.fromkeys(("group", "group_id"), "give qid, the query of each row"),
    **dict.fromkeys(("eval_group", "eval_qid"), "give qid_val, the query of each row"),
}


def restore_on_error(fit: F) -> F:
    """Make a `fit` that fails, or is interrupted, leave its estimator as it was, with the model of the last fit."""

    @wraps(fit)
    def fit_or_restore(self: Any, *data: Any, **more: Any) -> Any:
        if others := _OTHERS_WORDS.keys() & more.keys():
            name = min(others)
            raise ParameterError(f"{name}: no argument of {fit.__name__}; {_OTHERS_WORDS[name]}")
        before = dict(vars(self))
        try:
            return fit(self, *data, **more)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return fit_or_restore  # type: ignore[return-value]


class CostAwareEstimator(Predicting):
    """Base of all estimators; a subclass has an `__init__` with its parameters and a `_train`.

    Every subclass has the parameters `costs` (anything `CostModel.of` accepts; None prices every feature at one) and
    `tradeoff` (loss accepted per unit of cost per row, >= 0; None follows from the prices of errors, see
    `usual_tradeoff`; `TrainingData` has the number). Its class attribute `traits` says what it does otherwise than
    most. A subclass with a `fit` or `fit_path` of its own decorates it with `restore_on_error`.

    Attributes
    ----------
    predictor_ : Predictor
        The trained model, with its prices.
    costs_ : CostModel
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    tradeoff: float | None
    kind: ClassVar[str]  # of a `FittedEstimator`
    _only: Sequence[int] | None = None  # columns that training may read
    _dates: Mapping[str, Dates] | None = None  # columns that are dates outside, days in X
    _parts: DateParts | None = None  # of dates, on which it trains beside X
    _gaps: Gaps | None = None  # of records, which bar columns
    _learning: str = COMPLETED  # what it learns from where tests were not made

    def __init_subclass__(cls, **options: Any) -> None:
        """Inherit scikit-learn's methods `set_*_request`, which it repeats in every class, where they are the same."""
        super().__init_subclass__(**options)
        if not isinstance(cls.traits, Traits):
            raise TypeError(f"{cls.__name__}.traits: expected Traits, got {shown(cls.traits)}")
        for name in [name for name in vars(cls) if name.startswith("set_") and name.endswith("_request")]:
            above = [vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)]
            if above and getattr(above[0], "keys", ()) == getattr(vars(cls)[name], "keys", None):
                delattr(cls, name)

    @abstractmethod
    def _train(self, data: TrainingData) -> Predictor:
        """Train on checked data. May set further attributes that end in an underscore."""

    @restore_on_error
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        qid_val: ArrayLike | None = None,
        made: Any = None,
        made_val: Any = None,
        client: Any = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : float64 (n, d), data frame, or dask array or data frame
            May hold NaN (missing) and infinities. Columns are matched to prices by name in a frame (of pandas, polars
            or pyarrow), else by position. A frame's columns of texts of few values, and of a category dtype, are split
            by categories, if the algorithm does so; whole numbers and decimals of a feature are rounded to doubles,
            unless they are categories. Collections of dask need not fit in memory, and hold texts as known categories:
            with a client, the workers of its cluster train together; without one, this process reads one partition
            after the other into a temporary file. The model is that of the same rows in memory.
        y : (n,)
            Labels.
        sample_weight : float64 (n,), optional
            A weight of two is a row given twice; rows of weight zero are dropped.
        X_val, y_val, sample_weight_val
            Validation data, for early stopping and other choices of the algorithm.
        qid, qid_val : (n,), optional
            Query of each row, for rankings.
        made, made_val : bool (n, d), data frame of bool, or True, optional
            Which cells were asked for, in place of what prices say by `absent`; True says that all were. Where a test
            was not made, it learns from completed copies of the row, and an empty cell that was asked for is an answer;
            a test that too few rows of a class have had is left out with an `UntestedWarning`; see docs/records.md.
        client : distributed.Client, optional
            Of the cluster that trains on dask collections; by default the current one.

        Raises
        ------
        CostframeError
            If an argument does not fit; a ValueError that names it.
        """
        if client is not None or is_dask(X):
            self._refuse_records(made, made_val)
            train = {"X": X, "y": y, "sample_weight": sample_weight, "qid": qid}
            valid = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val, "qid_val": qid_val}
            from costframe.training.cluster.fitting import fit_on_cluster

            fit_on_cluster(self, client, train, valid)
            return self
        data = self.training_data(
            X, y, sample_weight, X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val, qid=qid,
            qid_val=qid_val, made=made, made_val=made_val,
        )  # fmt: skip
        predictor, names = self._train(data), data.feature_names
        if predictor.feature_names != names:
            raise PluginError(
                f"{type(self).__name__}: expected a model with the features of its training, {shown(names)}, "
                f"got one with {shown(predictor.feature_names)}"
            )
        self._keep(predictor, data.costs, data.train)
        return self

    def fit_part(
        self,
        workers: Workers,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **others: Unpack[FitRows],
    ) -> Self:
        """Train with other workers that call this at the same time, each with its part of the rows, maybe none.

        Each gets the same model as `fit` would train on the rows of all. All rows of a query must be in one part.

        Raises
        ------
        CostframeError
            As for `fit`; also if the algorithm does not train together, or a worker is lost.
        """
        if workers.count > 1:
            self.check_trains_together()
        self._workers = workers
        try:
            return self.fit(X, y, sample_weight, **others)
        finally:
            del self._workers

    def check_trains_together(self) -> None:
        """Refuse to train on several workers, unless the algorithm does."""
        if not self.traits.trains_together:
            raise ParameterError(
                f"{type(self).__name__}: trains on one machine only; collect the rows or a sample of them"
            )

    def training_data(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **others: Unpack[FitRows]
    ) -> TrainingData:
        """Check the arguments of `fit`."""
        if odd := others.keys() - FitRows.__optional_keys__:
            raise ParameterError(f"{min(odd)}: no argument of {type(self).__name__}'s training")
        qid, qid_val = others.get("qid"), others.get("qid_val")
        if self.tradeoff is not None:
            check_number("tradeoff", self.tradeoff)
        for name, queries in (("qid", qid), ("qid_val", qid_val)):
            if queries is not None and self.kind != "ranker":
                raise DataError(f"{name}: has no effect, only rankings have queries")
        self._columns = self._find_dates(X, self._find_categorical(X))
        X = self._checked(X, "X", reset=True)
        names = getattr(self, "feature_names_in_", None)
        costs = CostModel.of(self.costs, self._names(names))
        if self._dates:
            self._columns = self._columns.with_dates(self._dates, self._names(names, costs))
        prices = self._select(costs, self._names(names, costs))
        if names is not None and len(costs.names) > len(names):
            held = set(names)
            unknown = [name for name in costs.names if name not in held and name not in costs.ignore]
            if unknown:
                raise CostModelError(f"costs: price {unknown} too, the data have no such columns but {list(names)}")
        train = self._rows(X, y, sample_weight, qid, "", first=True)
        valid = self._validation(others.get("X_val"), others.get("y_val"), others.get("sample_weight_val"), qid_val)
        records = self._records(train, costs, prices.names, others.get("made"), sample_weight, "")
        gaps = (
            self._gaps if records is None or self._gaps is not None else self._find_gaps(train, records, prices.names)
        )
        categorical = np.flatnonzero(self._columns.chosen).tolist()
        train = learn_from(train, records, self._learning, "X", categorical)
        if valid is not None:
            given = others.get("made_val"), others.get("sample_weight_val")
            records = self._records(valid, costs, prices.names, *given, "_val")
            valid = learn_from(valid, records, self._learning, "X_val", categorical)
        classes = len(self.classes_) if hasattr(self, "classes_") else 0
        self._check_errors(costs, prices.names, train, valid)
        named = self._columns
        chosen = named.chosen if named.chosen.any() else None
        tradeoff = usual_tradeoff(costs, train, prices.names) if self.tradeoff is None else float(self.tradeoff)
        data = TrainingData(train, valid, costs, prices, classes, chosen, named.categories, tradeoff)
        self._parts = DateParts.of(costs, prices.names, named.categories)
        data = data if self._parts is None else self._parts.add(data)
        if gaps is not None:
            return leave_out(data, gaps, self._only)
        return data if self._only is None else data.reading_only(self._only)

    def _select(self, costs: CostModel, names: Sequence[str]) -> PriceArrays:
        """Return the prices of columns; refuse those of further rounds, unless the algorithm counts them."""
        prices = costs.select(names)
        if prices.has_rounds and not self.traits.prices_rounds:
            raise CostModelError(
                f"round: {type(self).__name__} does not count further rounds in training; train without these prices, "
                "and give them to `cost` and `inquire` as `costs`, or train CEGB, Miser or a planner"
            )
        return prices

    def _check_errors(self, costs: CostModel, names: Sequence[str], train: Rows, valid: Rows | None) -> None:
        """Refuse prices of errors that do not fit the task, or the rows."""
        if costs.errors is None:
            return
        labels = self.classes_ if self.kind == "classifier" else None
        costs.errors.check_kind(self.kind, labels, names, coded_features(self._columns.categories))
        costs.errors.check_rows(train.X, names, "X")
        if valid is not None:
            costs.errors.check_rows(valid.X, names, "X_val")

    def _records(
        self, rows: Rows, costs: CostModel, names: Sequence[str], made: Any, weight: ArrayLike | None, suffix: str
    ) -> Records | None:
        """Return which tests were made in rows; None if all were."""
        if made is None and not costs.panels:
            return None
        if self._workers.count > 1:
            self._refuse_records(made, None)
        if made is not None and made is not True and weight is not None and np.ndim(weight):
            weight = check_weights(weight, len(np.asarray(weight)), f"sample_weight{suffix}")
            check_mask_length(made, len(weight), suffix)
            made = take_rows(made, np.flatnonzero(weight > 0))
        return Records.of(rows.X, names, costs.panels, made)

    def _find_gaps(self, rows: Rows, records: Records | None, names: Sequence[str]) -> Gaps | None:
        """Return the gaps that were given, or else tests that too few rows of a class have had, and warn of these."""
        if self._gaps is not None or records is None or self._learning != COMPLETED:
            return self._gaps
        if rows.labels is None:
            grades = () if rows.qid is None else np.unique(rows.y).tolist()  # whose rows have donors of the same one
            gaps = find_whole_gaps(names, records, rows.y, grades)
        else:
            gaps = find_whole_gaps(names, records, rows.labels[rows.y], rows.labels.tolist())
        if gaps:
            warn_caller(f"X: {'; '.join(gaps.sentences())}", UntestedWarning)
        return gaps

    def _refuse_records(self, *made: Any) -> None:
        """Refuse tests that were not made, where rows do not lie in this process' memory."""
        has_names = isinstance(self.costs, CostModel | Mapping | str | os.PathLike)  # an array says nothing of cells
        if (has_names and CostModel.of(self.costs).panels) or any(mask is not None for mask in made):
            raise ParameterError("made: tests that were not made are completed for rows in memory only")

    def learning_from(self, how: str) -> Self:
        """Return a copy that learns "recorded", "completed" or "tested" rows, where tests were not made.

        Clones of the copy do the same.
        """
        check_learning(how)
        other = copy(self)
        other._learning = how  # noqa: SLF001 - the copy's own
        return other

    def guarding(self, gaps: Gaps) -> Self:
        """Return a copy that leaves out what no row tells of, and whose models do without tests where gaps say so.

        Clones of the copy do the same.
        """
        other = copy(self)
        other._gaps = gaps  # noqa: SLF001 - the copy's own
        return other

    def path_data(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **others: Unpack[FitRows]
    ) -> TrainingData:
        """Check the arguments of a `fit_path`, which needs validation data."""
        data = self.training_data(X, y, sample_weight, **others)
        if data.valid is None:
            raise ParameterError("X_val: a path needs validation data")
        return data

    def reading_only(self, columns: Sequence[int]) -> Self:
        """Return a copy that trains as if all other columns were constant, so that its models never read them.

        Columns are numbers from 0. Clones of the copy do the same.
        """
        if isinstance(columns, str) or not hasattr(columns, "__len__"):
            raise ParameterError(f"columns: expected a list of numbers of columns, got {shown(columns)}")
        other = copy(self)
        other._only = columns  # noqa: SLF001 - the copy's own
        return other

    def reading_dates(self, dates: Mapping[str, Dates]) -> Self:
        """Return a copy whose models read the dates of some columns, by name, as days; it trains on days.

        Clones of the copy do the same.
        """
        other = copy(self)
        other._dates = dates  # noqa: SLF001 - the copy's own
        return other

    def __sklearn_clone__(self) -> Self:
        other: Self = _clone_parametrized(self)
        other = other if self._only is None else other.reading_only(self._only)
        other = other if self._learning == COMPLETED else other.learning_from(self._learning)
        other = other if self._gaps is None else other.guarding(self._gaps)
        return other if self._dates is None else other.reading_dates(self._dates)

    def _keep(self, predictor: Predictor, costs: CostModel, rows: Rows | None = None) -> None:
        """Set the fitted attributes for a predictor, with a sample of training rows for fallbacks and importances."""
        known = None if self._gains is None else self._gains.rows
        if rows is not None:
            rows = rows if self._parts is None else self._parts.columns(rows)
            shares = None if rows.labels is None else np.eye(len(rows.labels))[rows.y]
            known = FallbackRows.of(rows.X, rows.weight, rows.workers, shares)
        self.costs_ = costs if self._parts is None else self._parts.costs
        predictor = self._of_columns(predictor, costs, known)
        if known is not None:
            predictor = predictor.with_fallbacks(known.X, known.weight, known.shares)
        self._gains = None if known is None else LazyImportances(predictor, known)
        self.predictor_ = predictor

    def _keep_path(self, path: Path, predictor: Predictor, data: TrainingData) -> Path:
        """Set the fitted attributes for a predictor of a path; return the path of models that ask for X's columns."""
        self._keep(predictor, data.costs, data.train)
        if self._parts is not None:
            path = cast("Path", DatedPath(path, self._parts))
        known = None if self._gains is None else self._gains.rows
        if self._gaps is not None and known is not None:
            path = cast("Path", GuardedPath(path, self._gaps, known))
        return path

    def _of_columns(self, predictor: Predictor, costs: CostModel, known: FallbackRows | None = None) -> Predictor:
        """Return a trained predictor as one of X's columns, with labels and prices, also if it reads parts of dates."""
        if self._parts is not None and self._parts.read_by(predictor):
            predictor = self._parts.before(predictor, known)
        costs = costs if self._parts is None else self._parts.costs
        categories, classes = self._columns.categories, getattr(self, "classes_", None)
        card = evolve(predictor.card, categories=categories, costs=costs, classes=classes)
        made = predictor.with_card(card)
        return made if self._gaps is None else guard_predictor(made, self._gaps)

    def with_predictor(self, predictor: Predictor, *, tradeoff: float, **fitted: Any) -> Self:
        """Return a copy that is the fitted estimator of another predictor, trained on the same data.

        Parameters
        ----------
        predictor : Predictor
        tradeoff : float
            Tradeoff of its training.
        **fitted
            Attributes that differ, such as `n_iter_`.
        """
        check_is_fitted(self, "predictor_")
        other = copy(self)
        other.tradeoff = tradeoff
        for name, value in fitted.items():
            setattr(other, name, value)
        other._keep(predictor, self.costs_)  # noqa: SLF001 - the copy's own
        return other
