"""Two readings of the same records, by what decided who was tested.

Let A be the columns that all rows have, B a test, R whether it was made, and y the label.

- "label": R may depend on A, and beyond it on the label, as the suspicion of somebody who saw the patient does:
  P(B | A, y, R = 0) = P(B | A, y, R = 1). A row without the test takes its values from a row of the same class that is
  like it in all other columns (Moons et al. 2006), and keeps its own label.
- "columns": R depends on A alone: P(B, y | A, R = 0) = P(B, y | A, R = 1). The label has nothing to say about who was
  tested, and is left out of the matching: a row without the test takes the values *and the label* of a row that is
  like it in A. To take the values alone, and to keep the label, would part the two, B and y, in half of the table.

The second is a special case of the first, so it can be wrong where the first is right, and records tell it: the labels
of rows without the test are then unlike those of rows with it that are like them in A.

Moons, Donders, Stijnen and Harrell (2006), Using the outcome for imputation of missing predictor values was preferred,
Journal of Clinical Epidemiology 59.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from costframe.core.arrays import F8, I8
from costframe.records.whole_rows import find_givers

Reading = Literal["label", "columns"]
BY_LABEL: Reading = "label"
BY_COLUMNS: Reading = "columns"
READINGS = BY_LABEL, BY_COLUMNS

_SURELY = 2.6  # standard errors, once of a hundred times by chance


def contradicts_columns(labels: F8, donors: I8, *, by_class: bool, weight: F8 | None = None) -> bool:
    """Return whether labels, (n,), say that more than the columns decided who was tested.

    `donors`, int64 (copies, n, T), are those of the reading "columns". If it holds, rows that take a label have such
    labels as their donors give them. The difference of the means is compared with its standard error, in which a donor
    counts as often as it gives. Rows that take a label count by their weights, (n,), as donors gave by these.
    """
    rows = np.arange(len(labels))
    givers = np.stack([find_givers(copy) for copy in donors])
    weight = np.ones(len(labels)) if weight is None else weight
    taking = np.flatnonzero((givers != rows).any(axis=0) & (weight > 0))
    if not len(taking):
        return False
    share = weight[taking] / weight[taking].sum()
    used = np.bincount(givers[:, taking].ravel(), np.tile(share, len(donors)), len(labels)) / len(donors)
    answers = (labels[:, np.newaxis] == np.unique(labels)).astype(np.float64) if by_class else labels[:, np.newaxis]
    taken, own = used @ answers, share @ answers[taking]
    variance = np.square(share) @ np.square(answers[taking] - own)
    variance += np.square(used) @ np.square(answers - taken)
    return bool((np.abs(taken - own) > _SURELY * np.sqrt(variance)).any())
