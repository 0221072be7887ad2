"""Donors of whole rows, for records in which the recorded columns alone decided who was tested."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from costframe.core.arrays import F8, I8
from costframe.records.bootstrap import draw_rows, find_giving
from costframe.records.made import Records
from costframe.records.matching import draw_near
from costframe.records.splines import Splines


def draw_whole_rows(
    X: F8,
    labels: F8,
    records: Records,
    rng: np.random.Generator,
    *,
    by_class: bool,
    weight: F8 | None = None,
    categorical: Sequence[int] = (),
) -> I8:
    """Return one copy of donors, int64 (n, T): a row takes all panels that it lacks, and its label, from one row.

    The donor has had all these panels, and is near in predictions of their columns and of the label, from the columns
    that the row has; the row's own label is not asked. -1 stands where no row has had all of them.
    Donors are drawn by weights, (n,). Numbers of columns that are `categorical` only name categories.
    """
    donors = np.where(records.made, np.arange(len(X))[:, np.newaxis], -1)
    recorded = records.hide(X)
    splines = Splines(recorded, categorical)
    answers = (labels[:, np.newaxis] == np.unique(labels)[1:]).astype(np.float64) if by_class else labels[:, np.newaxis]
    patterns, pattern_of = np.unique(~records.made, axis=0, return_inverse=True)
    for number, lacking in enumerate(patterns):
        panels, taking = np.flatnonzero(lacking), np.flatnonzero(pattern_of.ravel() == number)
        has_all = find_giving(np.asarray(records.made[:, panels].all(axis=1)), weight)
        if not len(panels) or not has_all.any():
            continue
        columns = np.concatenate([records.columns[panel] for panel in panels])
        others = np.setdiff1d(np.arange(X.shape[1]), columns)
        targets = np.column_stack([splines.make_targets(recorded, columns), answers])
        predicted = splines.predict(targets, others, has_all, rng, weight)
        giving = draw_rows(np.flatnonzero(has_all), int(has_all.sum()), weight, rng)
        chosen = giving[draw_near(predicted[giving], predicted[taking], rng)]
        donors[np.ix_(taking, panels)] = chosen[:, np.newaxis]
    return donors


def find_givers(donors: I8) -> I8:
    """Return the row that each row has its label from, int64 (n,), by donors of whole rows, int64 (n, T).

    A row without a donor has its own.
    """
    rows = np.arange(len(donors))
    foreign = (donors >= 0) & (donors != rows[:, np.newaxis])
    return np.where(foreign.any(axis=1), donors[rows, foreign.argmax(axis=1)], rows)
