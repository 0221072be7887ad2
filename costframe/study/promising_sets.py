"""Sets of features that promise to be good, by a quick search."""

from __future__ import annotations

import math

from attrs import define, field, frozen

from costframe.core.machine import thread_count
from costframe.sets.quick_search import search_quickly
from costframe.study.rows import StudyRows
from costframe.training.influences import influence, standard_error
from costframe.training.library_scores import LibraryScore
from costframe.training.scoring import score_named, with_labels
from costframe.training.shell import CostAwareEstimator

_SETS = 12  # sets of the archive's front, with the empty set and all features


@frozen
class PromisingSet:
    """A set of features with its cost per row, and the score and standard error of a quick fit on it."""

    columns: tuple[int, ...]
    cost: float
    score: float
    error: float


@define(eq=False)
class PromisingSets:
    """Promising feature sets of a table, searched once, at the first use."""

    _found: tuple[PromisingSet, ...] | None = field(default=None, init=False)

    def of(self, model: CostAwareEstimator, rows: StudyRows, score: str | LibraryScore) -> tuple[PromisingSet, ...]:
        """Return sets by ascending cost, the empty set first, without the set of all features; () without a search."""
        if self._found is None:
            self._found = tuple(_search(model, rows, score))
        return self._found


def _search(model: CostAwareEstimator, rows: StudyRows, name: str | LibraryScore) -> list[PromisingSet]:
    data = model.training_data(rows.X, rows.y, rows.weight, qid=rows.qid, made=rows.made)
    archive = search_quickly(data, thread_count(model.get_params().get("n_jobs")))
    if archive is None:
        return []
    sets, y, of_codes = [], archive.rows.y, with_labels(name, archive.rows.labels, archive.rows.X)
    weight, qid = archive.rows.uneven_weight, archive.rows.qid
    for features in (features for features in archive.spread(_SETS) if len(features) < len(data.feature_names)):
        predictions = archive.held_out(features).predictions
        score = float(score_named(of_codes)(y, predictions, weight, qid))
        if not math.isfinite(score):  # the searched rows may lack a class
            return []
        error = standard_error(influence(of_codes, y, predictions, weight, qid))
        columns = tuple(sorted(features))
        sets.append(PromisingSet(columns, archive.prices.of_set(features), score, error))
    return sets
