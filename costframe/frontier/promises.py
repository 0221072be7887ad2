"""Promising feature sets of a table: their costs, and their scores by quick fits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from costframe.core.cost.latency import Clock
from costframe.core.stages.stages import apply_link, squeeze
from costframe.core.threads import thread_count
from costframe.sets.archive import search_quickly
from costframe.sets.choice import choose_spread
from costframe.training.scoring import influence, score_named, standard_error, with_labels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from costframe.core.prices.costs import CostModel
    from costframe.frontier.rows import Rows
    from costframe.training.estimator import CostAwareEstimator
    from costframe.training.library_scores import LibraryScore

__all__ = ["Promise", "Promises", "time_of_round"]

_SETS = 12  # sets of the archive's front, with the empty set and all features


@frozen
class Promise:
    """A set of features with its cost and time per row, and the score and standard error of a quick fit on it."""

    columns: tuple[int, ...]
    cost: float
    score: float
    error: float
    time: float = 0.0  # if all is fetched in one round


@define(eq=False)
class Promises:
    """Promising feature sets of a table, searched once, at the first use."""

    _found: tuple[Promise, ...] | None = field(default=None, init=False)

    def of(self, model: CostAwareEstimator, rows: Rows, score: str | LibraryScore) -> tuple[Promise, ...]:
        """Return sets by ascending cost, the empty set first, without the set of all features; () without a search."""
        if self._found is None:
            self._found = tuple(_search(model, rows, score))
        return self._found


def _search(model: CostAwareEstimator, rows: Rows, name: str | LibraryScore) -> list[Promise]:
    data = model.training_data(rows.X, rows.y, rows.weight, qid=rows.qid)
    archive = search_quickly(data, thread_count(model.get_params().get("n_jobs")))
    if archive is None:
        return []
    found, y, of_codes = [], archive.rows.y, with_labels(name, archive.rows.labels)
    weight, qid = archive.rows.uneven_weight, archive.rows.qid
    for features in (each for each in choose_spread(archive, _SETS) if len(each) < len(data.feature_names)):
        predictions = squeeze(apply_link(archive.loss.link, archive.scores(features)))
        score = float(score_named(of_codes)(y, predictions, weight, qid))
        if not math.isfinite(score):  # the searched rows may lack a class
            return []
        error = standard_error(influence(of_codes, y, predictions, weight, qid))
        columns = tuple(sorted(features))
        time = time_of_round(data.costs, [data.feature_names[f] for f in columns])
        found.append(Promise(columns, archive.prices.of_set(features), score, error, time))
    return found


def time_of_round(costs: CostModel, names: Iterable[str]) -> float:
    """Return the milliseconds that a row waits for some features together."""
    clock = Clock(costs)
    clock.add_round(names)
    return clock.time
