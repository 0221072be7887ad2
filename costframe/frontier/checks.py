"""Checks of settings before the first fit, and errors of algorithms, which name the algorithm and its plugin."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from costframe.core.checks import as_items, check_flag, check_name_list, check_number
from costframe.core.errors import CostframeError, DataError, ParameterError, PluginError, shown
from costframe.core.plugins import TASKS, estimator, plugin_title, registry, two_classes_only
from costframe.core.prices.costs import CostModel
from costframe.datasets import Dataset
from costframe.training.data import Traits
from costframe.training.library_scores import LibraryScore, QueryScore
from costframe.training.scoring import SHORT_NAMES, check_fitting, default_score, error_cost, resolve_score

if TYPE_CHECKING:
    from costframe.datasets.large_tables import LargeDataset

EVERY = "all"  # in place of names of algorithms


def check_budget(budget: Any) -> None:
    """Refuse a budget on the mean cost per row that is no number >= 0; None is no budget."""
    if budget is not None and not (is_real_number(budget) and 0 <= budget < math.inf):
        raise ParameterError(f"budget: expected a number >= 0 that is finite, got {shown(budget)}")


def check_tradeoffs(tradeoffs: Sequence[float] | None) -> None:
    """Refuse tradeoffs that are not numbers >= 0, and an empty list."""
    if tradeoffs is None:
        return
    given = as_items(tradeoffs)
    if given is None or not hasattr(tradeoffs, "__len__"):
        raise ParameterError(f"tradeoffs: expected a list of numbers >= 0, got {shown(tradeoffs)}")
    if not given:
        raise ParameterError("tradeoffs: expected at least one, got none")
    for tradeoff in given:
        if not (is_real_number(tradeoff) and math.isfinite(tradeoff) and tradeoff >= 0):
            raise ParameterError(f"tradeoffs: expected finite numbers >= 0, got {shown(tradeoff)}")


def read_data(data: Any) -> Dataset:
    """Return a data set, given or by name; refuse anything else."""
    from costframe.datasets import Dataset, load

    if isinstance(data, str):
        return load(data)
    if not isinstance(data, Dataset):
        raise ParameterError(f"data: expected a Dataset, or the name of one, got {shown(data)}")
    return data


def check_plan(budget: Any, tradeoffs: Sequence[float] | None, points: Any) -> None:
    """Refuse a wrong budget, tradeoffs or number of points, and points where tradeoffs are given."""
    check_budget(budget)
    check_tradeoffs(tradeoffs)
    if points is not None:
        check_number("points", points, low=1, whole=True)
        if tradeoffs is not None:
            raise ParameterError("points: has no effect on given tradeoffs; leave one of them out")


def check_time_limit(seconds: Any, *, keeps_fits: bool = True) -> None:
    """Refuse a time limit that is no number of seconds, or has no directory that keeps the finished fits."""
    if seconds is None:
        return
    if not (is_real_number(seconds) and seconds > 0):
        raise ParameterError(f"time_limit: expected a number of seconds > 0, got {shown(seconds)}")
    if not keeps_fits:
        raise ParameterError("time_limit: needs a directory, which keeps the finished fits")


def check_kept(directory: object, time_limit: Any, *, resume: Any) -> None:
    """Refuse a time limit that is no number of seconds, and what needs a directory without one."""
    if check_flag("resume", resume) and directory is None:
        raise ParameterError("resume: needs a directory, which keeps the finished fits")
    check_time_limit(time_limit, keeps_fits=directory is not None)


def check_share(name: str, value: Any) -> None:
    """Refuse a share of rows that is not a number between 0 and 1."""
    if not (is_real_number(value) and 0 < value < 1):
        raise ParameterError(f"{name}: expected a number between 0 and 1, got {shown(value)}")


def choose_score(parameter: str, score: Any, task: str, n_classes: int) -> str | LibraryScore:
    """Return the score to use, by default the task's own; refuse a score that the task does not have."""
    found = default_score(task, n_classes) if score is None else resolve_score(score, parameter)
    check_fitting(parameter, found, task, n_classes)
    return SHORT_NAMES.get(found, found) if isinstance(found, str) else found


KINDS = {"classification": "classifier", "regression": "regressor", "ranking": "ranker"}


def choose_error_cost(costs: CostModel, task: str, classes: NDArray[Any] | None, names: Sequence[str]) -> LibraryScore:
    """Return the cost of errors as a score; refuse prices for another task or other classes."""
    assert costs.errors is not None  # noqa: S101 - callers look
    costs.errors.check_kind(KINDS[task], classes, names)
    return error_cost(costs.errors, names)


def check_score(data: Dataset | LargeDataset, score: Any) -> str | LibraryScore:
    """Return the score to use for a data set; refuse data that lack rows of some class that it needs."""
    name = choose_score("score", score, data.task, len(data.classes))
    needs_both = str(name) in {"average_precision", "f1"} and len(data.classes) == 2
    for part in ("valid", "test") if needs_both or str(name).startswith("roc_auc") else ():
        absent = set(data.classes) - set(np.unique(data.part(part).y).tolist())
        if absent:
            raise DataError(f"{data.name}: class {min(absent)!r} has no row in {part!r}, so there is no {name}")
    if by_query := QueryScore.named(name):
        for part in ("valid", "test"):
            by_query.check_grades(data.part(part).y, f"{data.name}, {part!r}")
    return name


def choose_score_of_study(data: Dataset, score: Any) -> str | LibraryScore:
    """Return the score to use for a study of a data set: by default the cost of errors, if prices have errors.

    It refuses rows of any part in which the value of a column cannot be a price, before anything is fitted.
    """
    if score is None and data.costs.errors is not None:
        chosen = choose_error_cost(data.costs, data.task, np.array(data.classes), data.feature_names)
        data.costs.errors.check_rows(data.X, data.feature_names, data.name)
        return chosen
    return check_score(data, score)


def check_searched(estimator: Any) -> None:
    """Refuse an object that is not an estimator with a tradeoff."""
    expected = "estimator: expected one of costframe's, with a tradeoff"
    if isinstance(estimator, type):
        raise ParameterError(f"{expected}, got the class {estimator.__name__}; call it")
    if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise ParameterError(f"{expected}, got {shown(estimator)}")
    if "tradeoff" not in estimator.get_params(deep=False):
        raise ParameterError(f"{expected}, {type(estimator).__name__} has none")


def is_real_number(value: Any) -> bool:
    """Return whether a value is a real number that a double can hold, and no truth value."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    with contextlib.suppress(OverflowError):
        return not math.isnan(float(value))
    return False


def choose_algorithms(
    task: str, wanted: Iterable[str] | None, n_classes: int = 0
) -> tuple[list[str], dict[str, ParameterError]]:
    """Return the algorithms to fit, and errors of those left out, as they are for two classes only and there are more.

    By default they are the usual ones of the task; "all" are all but baselines, which may be named beside it. It
    refuses unknown names, and names of other tasks' or other numbers of classes. `n_classes` is 0 if it is unknown, or
    the task has no classes.
    """
    given = () if wanted is None else (wanted,) if isinstance(wanted, str) else check_name_list("algorithms", wanted)
    names = list(dict.fromkeys(given))
    if wanted is not None and not names:
        raise ParameterError("algorithms: expected at least one name, got none")
    named = [name for name in names if name != EVERY]
    for name in named:
        if registry().kind(name, task) is None:
            estimator(name, task)  # its error names the algorithm's tasks
    for name, error in _unfit(named, task, n_classes).items():
        raise ParameterError(f"algorithm {name!r}: {error}")
    if names and named == names:
        return names, {}
    found, unfit = _unnamed(task, n_classes, every=bool(names))
    return list(dict.fromkeys([*found, *named])), unfit


def _unnamed(task: str, n_classes: int, *, every: bool) -> tuple[list[str], dict[str, ParameterError]]:
    found = sorted(registry().algorithms.items())
    known = {name: one for name, one in found if TASKS[task] in one.given and not one.baseline}
    if not known:
        raise PluginError(f"no installed algorithm has the task {task!r}")
    names = [name for name, one in known.items() if every or one.usual] or list(known)
    names = [name for name in names if registry().loads(name, task)]
    unfit = _unfit(names, task, n_classes)
    if len(unfit) == len(names):
        raise PluginError(f"no installed algorithm takes {n_classes} classes")
    return [name for name in names if name not in unfit], unfit


def _unfit(names: Iterable[str], task: str, n_classes: int) -> dict[str, ParameterError]:
    """Return errors of algorithms for two classes only, by name, if there are more."""
    if task != "classification" or n_classes <= 2:
        return {}
    error = ParameterError(f"is for two classes, got {n_classes}")
    return {name: error for name in names if two_classes_only(registry().kind(name, task))}


def check_saved(name: str, task: str, n_classes: int) -> None:
    """Refuse an algorithm whose models for a task cannot be saved to a file; `n_classes` is 0 without classes."""
    most = Traits.of(registry().kind(name, task)).most_classes_saved
    if most is not None and (n_classes > most or not n_classes):
        models = f"models of {n_classes} classes" if n_classes else f"models for {task}"
        raise ParameterError(f"algorithm {name!r}: its {models} cannot be saved to a file, only compared")


class FitError(PluginError):
    """A foreign exception from an algorithm, which is its cause; the text names the algorithm and its plugin."""


@contextlib.contextmanager
def name_failures(algorithm: str) -> Iterator[None]:
    """Turn exceptions of a plugin into `FitError`, except errors of costframe and of memory."""
    try:
        yield
    except (CostframeError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        point = registry().owners.get(algorithm)
        owner = "an unknown plugin" if point is None else f"plugin {plugin_title(point)}"
        raise FitError(f"algorithm {algorithm!r} of {owner} failed: {what}") from error


def failure_text(algorithm: str, error: CostframeError) -> str:
    """Return an error's text, with the name of the algorithm that could not be fitted."""
    if isinstance(error, FitError):
        return str(error)
    return f"algorithm {algorithm!r}: {str(error).removeprefix(f'{algorithm}: ')}"


def joint_error(errors: Mapping[str, CostframeError]) -> CostframeError:
    """Return the error to raise if every algorithm failed: their common error, or one that lists all."""
    first = next(iter(errors.values()))
    if all(str(error) == str(first) for error in errors.values()):
        return first
    return PluginError(f"nothing could be fitted: {'; '.join(failure_text(*failure) for failure in errors.items())}")
