"""Completion of tests that were not made: donors of the same class with a like prediction from all other columns.

Predictive mean matching (Little 1988), given the label (Moons et al. 2006), chained over panels, in several copies.
Each has its own bootstrap of donors (Rubin and Schenker 1986), so that copies differ by as much as chance had in who
the donors are, and errors by Rubin's rules know it.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8, I8
from costframe.core.checks import check_choice
from costframe.core.errors import ParameterError
from costframe.records.bootstrap import draw_rows, find_giving
from costframe.records.made import Records
from costframe.records.matching import distance_to_nearest, draw_near
from costframe.records.readings import BY_COLUMNS, BY_LABEL, READINGS, Reading
from costframe.records.splines import Splines
from costframe.records.whole_rows import draw_whole_rows

COPIES = 8  # for estimates; the error of a mean over them has 7 degrees of freedom
FEWEST_OF_CLASS = 10  # donors of a class; with fewer, those of all classes give, and the test tells nothing of it
_FAR = 0.5  # standard deviations of predictions: further away, donors of the class are not alike
_TURNS = 2  # of the chain over panels
_KEPT = 128  # copies, for fits of several models on the same rows


class _Kept:
    """The last copies, by digests of what they are of and their numbers."""

    def __init__(self) -> None:
        self._known, self._lock = OrderedDict[tuple[bytes, int], I8](), threading.Lock()

    def get(self, key: tuple[bytes, int], make: Callable[[], I8]) -> I8:
        """Return what is known by a key, or make it."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        made = make()
        with self._lock:
            self._known[key] = made
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return made


_completions = _Kept()


def find_donors(
    X: F8,
    y: NDArray[Any],
    records: Records,
    *,
    by_class: bool,
    copies: int = COPIES,
    seed: int = 0,
    reading: Reading = BY_LABEL,
    groups: I8 | None = None,
    weight: F8 | None = None,
    categorical: Sequence[int] = (),
) -> I8:
    """Return the row whose values each row gets of each panel: int64 (copies, n, T).

    A row in which a panel was made is its own donor; -1 stands where no row has the panel.

    Donors are of the row's class. If a class has next to none, they are of all classes: an empty cell, or the values of
    two or three rows, would tell the class of all others. A row that is far from all donors of its class has one of all
    classes, too: where ill rows were tested only after a high result, their values are not those of other ill rows.

    Parameters
    ----------
    X : float64 (n, d)
        NaN where a panel was not made; elsewhere NaN is a value like others.
    y : (n,)
        Class codes, or numbers.
    records : Records
    by_class : bool
        Whether donors are of the same class; else the label is a column like others.
    copies, seed : int
        Equal arguments give equal donors.
    reading : {"label", "columns"}
        What decided who was tested; see `costframe.records.readings`. With "columns" a row has one donor of all panels
        that it lacks, whose label it takes too.
    groups : int64 (n,), optional
        Of the reading "label": donors are of a row's group, so that rows of a group that is held out share no values
        with other rows. Regressions, which only say who is alike, learn from all rows.
    weight : float64 (n,), optional
        How often each row counts, >= 0: a row gives its values with a chance proportional to it, one of weight 0
        never. Equal weights give the donors of None.
    categorical : sequence of int
        Columns whose numbers only name categories: near numbers are not alike.
    """
    labels = np.asarray(y, np.float64)
    check_choice("reading", reading, READINGS)
    if groups is not None and reading != BY_LABEL:
        raise ParameterError(f"groups: are of the reading {BY_LABEL!r}, got {reading!r}")

    kinds = np.unique(labels, return_inverse=True)[1] if by_class else np.zeros(len(labels), np.int64)
    groups = np.zeros(len(labels), np.int64) if groups is None else groups

    if weight is not None and len(weight) and weight[0] > 0 and (weight == weight[0]).all():
        weight = None

    def draw(copy: int) -> I8:
        rng = np.random.default_rng([seed, copy])
        if reading == BY_COLUMNS:
            return draw_whole_rows(X, labels, records, rng, by_class=by_class, weight=weight, categorical=categorical)
        return _Chain(X, labels, kinds, groups, records, rng, weight, categorical).run()

    digest = _digest(X, labels, groups, records, weight, by_class, seed, reading, [*categorical])
    return np.stack([_completions.get((digest, copy), functools.partial(draw, copy)) for copy in range(copies)])


def _digest(X: F8, labels: F8, groups: I8, records: Records, weight: F8 | None, *others: object) -> bytes:
    digest = hashlib.blake2b(repr((X.shape, records.names, others)).encode(), digest_size=16)
    for values in (X, labels, groups, records.made, *records.columns, *([] if weight is None else [weight])):
        digest.update(np.ascontiguousarray(values).data)
    return digest.digest()


def code_labels(y: ArrayLike, *, by_class: bool) -> NDArray[Any]:
    """Return labels as `find_donors` takes them, (n,): codes of classes, or float64 numbers."""
    return np.unique(y, return_inverse=True)[1] if by_class else np.asarray(y, np.float64)


def fill(X: F8, donors: I8, records: Records) -> F8:
    """Return rows, float64 (n, d), with the panels of their donors, int (n, T)."""
    filled = X.copy()
    for panel, columns in enumerate(records.columns):
        taking = np.flatnonzero(~records.made[:, panel])
        giving = donors[taking, panel]
        filled[np.ix_(taking, columns)] = np.where(giving[:, np.newaxis] >= 0, X[np.ix_(giving, columns)], np.nan)
    return filled


class _Chain:
    """One copy: panels are drawn in turn, each given the draws of the others."""

    def __init__(
        self,
        X: F8,
        labels: F8,
        kinds: I8,
        groups: I8,
        records: Records,
        rng: np.random.Generator,
        weight: F8 | None,
        categorical: Sequence[int],
    ) -> None:
        self.X, self.kinds, self.groups, self.records, self.rng = X, kinds, groups, records, rng
        self.weight, self.gives = weight, find_giving(records.made, weight)
        self.filled = records.hide(X)
        self.splines = Splines(np.column_stack([self.filled, labels]), categorical)
        self.donors = np.where(records.made, np.arange(len(X))[:, np.newaxis], -1)

    def run(self) -> I8:
        """Return the donors of the last turn."""
        n_panels = len(self.records.columns)
        for _ in range(_TURNS if n_panels > 1 else 1):
            for panel in range(n_panels):
                self._draw(panel)
        return self.donors

    def _draw(self, panel: int) -> None:
        made, gives, columns = self.records.made[:, panel], self.gives[:, panel], self.records.columns[panel]
        others = np.setdiff1d(np.arange(self.X.shape[1] + 1), columns)  # the last one is the label
        targets = self.splines.make_targets(self.X, columns)
        predicted = self.splines.predict(targets, others, gives, self.rng, self.weight)
        for kind, group in np.unique(np.column_stack([self.kinds, self.groups])[~made], axis=0).tolist():
            of_kind, of_group = self.kinds == kind, self.groups == group
            donors, taking = np.flatnonzero(gives & of_group), np.flatnonzero(~made & of_kind & of_group)
            giving = donors[of_kind[donors]]
            giving = giving if len(giving) >= FEWEST_OF_CLASS else donors
            if len(giving):
                near = distance_to_nearest(predicted[giving], predicted[taking]) <= _FAR
                self._take(panel, predicted, giving, taking[near])
                self._take(panel, predicted, donors, taking[~near])
        for column in columns.tolist():
            self.splines.update(column, self.filled[:, column])

    def _take(self, panel: int, predicted: F8, giving: I8, taking: I8) -> None:
        """Give some rows the panel of others that are near in predictions, float64 (n, any)."""
        if len(taking):
            # the bootstrap alone is weighted: a row that it has often is often among the nearest
            columns, giving = self.records.columns[panel], draw_rows(giving, len(giving), self.weight, self.rng)
            chosen = giving[draw_near(predicted[giving], predicted[taking], self.rng)]
            self.donors[taking, panel] = chosen
            self.filled[np.ix_(taking, columns)] = self.X[np.ix_(chosen, columns)]
