"""Scores of the tables that cascades are tried on; those of the package, and the paper's precision at five."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from costframe.training.scoring import score_named

if TYPE_CHECKING:
    from cascade_tables import Part

PLACES = 5


def score(name: str, part: Part, predictions: np.ndarray) -> float:
    """Score predictions of a part; copies count as often as they are there."""
    if name == "precision@5":
        return precision_at_5(part.relevant, predictions, part.weight, part.qid)
    labels = part.grade if name == "ndcg@5" else part.relevant
    return score_named(name)(labels, predictions, None, part.qid)


def precision_at_5(relevant: np.ndarray, predictions: np.ndarray, copies: np.ndarray, qid: np.ndarray) -> float:
    """Mean share of relevant documents in a query's first five places; queries without any are left out.

    A document takes as many places as it has copies. Documents of one score are in random order, and the share is its
    expectation.
    """
    order = np.lexsort((-predictions, qid))
    relevant, copies, qid, predictions = relevant[order], copies[order], qid[order], predictions[order]
    fresh = np.append(True, (np.diff(qid) != 0) | (np.diff(predictions) != 0))
    tie = np.cumsum(fresh) - 1
    size, hits = np.bincount(tie, copies), np.bincount(tie, copies * relevant)
    query = qid[fresh]
    ends = np.cumsum(size)
    before = ends - size
    before -= before[np.searchsorted(query, query)]  # places taken by the same query
    inside = np.clip(PLACES - before, 0, size)
    found = np.bincount(query, inside * hits / size) / PLACES
    return float(found[np.bincount(qid, relevant) > 0].mean())
