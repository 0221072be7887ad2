"""Promising feature sets of a table: their costs, and their scores by quick fits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from costframe.core.stages.stages import apply_link, squeeze
from costframe.core.threads import thread_count
from costframe.sets.archive import search_quickly
from costframe.sets.choice import choose_spread
from costframe.training.scoring import influence, score_named, standard_error, with_labels

if TYPE_CHECKING:
    from costframe.frontier.rows import Rows
    from costframe.training.estimator import CostAwareEstimator
    from costframe.training.library_scores import LibraryScore

__all__ = ["Promise", "Promises"]

_SETS = 12  # sets of the archive's front, with the empty set and all features


@frozen
class Promise:
    """A set of features with its cost per row, and the score and standard error of a quick fit on it."""

    columns: tuple[int, ...]
    cost: float
    score: float
    error: float


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
        found.append(Promise(columns, archive.prices.of_set(features), score, error))
    return found
