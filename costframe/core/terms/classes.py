"""Labels of classes, and their conversions from probabilities and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costframe.core.arrays import F8, I8
from costframe.core.errors import DataError, quote_names, shown
from costframe.core.stages.ends import likeliest_places

_FREE_LETTERS = 2**22


def as_texts(labels: Sequence[str]) -> NDArray[np.str_]:
    """Return labels as an array, in which each takes the room of the longest; refuse one far too long for that."""
    letters = sum(map(len, labels))
    if len(labels) * max(map(len, labels), default=0) > max(_FREE_LETTERS, 4 * letters):
        raise DataError(f"classes: the longest of {len(labels):,} labels is too long beside the others")
    return np.array(labels, np.str_)


def as_classes(labels: ArrayLike | None) -> NDArray[Any] | None:
    """Return class labels as a read-only array (M,), in their order; refuse fewer than two, and repeated ones."""
    if labels is None:
        return None
    classes = np.array(labels)
    if classes.ndim != 1 or len(classes) < 2 or len(set(classes.tolist())) < len(classes):
        raise DataError(f"classes: expected at least two distinct labels, got {shown(labels)}")
    classes.setflags(write=False)
    return classes


def check_classes(classes: NDArray[Any] | None, n_predictions: int) -> None:
    """Refuse labels that do not fit predictions: one probability for two classes, else one for each."""
    if classes is not None and n_predictions != len(classes) and (n_predictions, len(classes)) != (1, 2):
        raise DataError(f"classes: expected labels for {n_predictions} output(s), got {len(classes)}: {shown(classes)}")


def both_classes(p: F8) -> F8:
    """Return the probabilities of all classes, float64 (rows, K), given those, or (rows,) of class 1."""
    if p.ndim == 2:
        return p
    if len(p) == 1:  # in a third of the time
        chance = p.item()
        return np.array([[1.0 - chance, chance]])
    both = np.empty((len(p), 2))
    np.subtract(1.0, p, out=both[:, 0])
    both[:, 1] = p
    return both


def likeliest(p: F8, classes: NDArray[Any], half: float = 0.5) -> NDArray[Any]:
    """Return the likeliest class of each row, given what `both_classes` takes; of equal ones, the first.

    Of two classes the second one has p above `half`; with `half` zero, p may be scores.
    """
    return np.asarray(classes[likeliest_places(p, half)])


def places(y: ArrayLike, classes: NDArray[Any]) -> I8:
    """Return the position of the class of each row, int64 (rows,); refuse labels that are no class."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    labels = np.asarray(y).tolist()
    try:
        unknown = [label for label in dict.fromkeys(labels) if label not in place] if np.ndim(y) == 1 else [shown(y)]
    except TypeError:  # lists, say
        unknown = [shown(labels[0])]
    if unknown:
        raise DataError(f"y: expected one of the classes {quote_names(place)} for each row, got {quote_names(unknown)}")
    return np.array([place[label] for label in labels], np.int64)


def one_margin(scores: F8) -> F8:
    """Return one score of each row for two classes: their difference if there are two."""
    return scores[:, 1] - scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 2 else scores
