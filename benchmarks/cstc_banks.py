"""Banks that trees, cascades and single stages share, trained on the training rows, and the paths some come from."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import paper_tables

import costframe as cf
from costframe.stagewise.banks import find_bank
from costframe.training.data import Rows, TrainingData

if TYPE_CHECKING:
    from costframe.core.learners.bank import WeakLearnerBank
    from costframe.datasets import Dataset
    from costframe.trees.annealing.path import AnnealedPath

BANKS = ("priced", "plain", "CEGB")
QUICK_ROWS = 4000  # to train on, at most
QUICK_ROUNDS = 40
RICHER = 0.3  # a model that is a bank was trained at this share of the tradeoff


@functools.lru_cache(maxsize=2)
def load(table: str, split: int, *, quick: bool = False) -> Dataset:
    """Read a table; `quick` leaves out training rows, where there are many."""
    data = paper_tables.load(table, split)
    train = np.flatnonzero(data.split == "train")
    if not quick or len(train) <= QUICK_ROWS:
        return data
    kept = np.sort(np.concatenate([train[:QUICK_ROWS], np.flatnonzero(data.split != "train")]))
    return attrs.evolve(data, X=data.X[kept], y=data.y[kept], split=data.split[kept])


def given(data: Dataset, *, queries: bool = True) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """Return what `fit` is given: training rows and labels, and validation data."""
    train, valid = data.part("train"), data.part("valid")
    named = {"X_val": valid.X, "y_val": valid.y}
    if train.qid is not None and queries:
        named |= {"qid": train.qid, "qid_val": valid.qid}
    return (train.X, train.y), named


@functools.lru_cache(maxsize=4)
def path(algorithm: str, table: str, split: int, *, quick: bool = False) -> AnnealedPath:
    """Train a path with the default settings, its points scored as the table is."""
    data = load(table, split, quick=quick)
    rounds = QUICK_ROUNDS if quick else None
    model = cf.estimator(algorithm, data.task, costs=data.costs, tradeoff=0.0, n_estimators=rounds, n_jobs=1)
    rows, named = given(data)
    found: AnnealedPath = model.fit_path(*rows, scoring=paper_tables.SCORES[table], **named)
    return found


def bank(kind: str, tradeoff: float, table: str, split: int, *, quick: bool = False) -> WeakLearnerBank | cf.StageTree:
    """Return what to choose from; it may be empty.

    Parameters
    ----------
    kind : {"priced", "plain", "CEGB"}
        Trees as CSTC trains them by default, which pay for what they read at the tradeoff; as the single stage and
        Cronus do, which pay nothing; or the model that a path of CEGB has for less than the tradeoff.
    tradeoff : float
        In units of the loss of classifiers, the cross-entropy, or of half the square.
    table, split, quick
        As for `load`.
    """
    if kind == "CEGB":
        found = path("cegb", table, split, quick=quick)
        return found.predictor(found.at(RICHER * tradeoff))
    if kind == "plain":
        return _plain(table, split, quick=quick)
    return _trained("priced", tradeoff, load(table, split, quick=quick), quick=quick)


@functools.lru_cache(maxsize=2)
def _plain(table: str, split: int, *, quick: bool) -> WeakLearnerBank:
    return _trained("cart", 0.0, load(table, split, quick=quick), quick=quick)


def _trained(engine: str, tradeoff: float, data: Dataset, *, quick: bool) -> WeakLearnerBank:
    """Train as an estimator does whose `bank` is None."""
    train = data.part("train")
    rows = Rows(train.X, data.codes(train.y), np.ones(len(train)), train.qid)
    prices = data.costs.select(data.feature_names)
    whole = TrainingData(rows, None, data.costs, prices, len(data.classes))
    settings = {"engine": engine, "n_estimators": QUICK_ROUNDS if quick else None, "n_jobs": 1}
    return find_bank(None, whole, settings, tradeoff)
