"""Categories of a data frame, which xgboost keeps since version 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from costframe.adoption.documents import DocumentPart
from costframe.core.arrays import F8, I8

_LARGEST = 2**53
_ASCII = 127


def read_categories(
    model: DocumentPart, names: tuple[str, ...]
) -> tuple[dict[str, tuple[str, ...]], dict[int, F8 | None]]:
    """Return the categories that a data frame had in training: labels by name, numbers by position, None if garbled.

    Since 3.1 xgboost keeps them and encodes frames by them, whatever their own order, as predictors do with labels.
    """
    labels: dict[str, tuple[str, ...]] = {}
    numbers: dict[int, F8 | None] = {}
    cats = model.get("cats").only("enc", "feature_segments", "sorted_idx") if model.has("cats") else None
    encoded = [] if cats is None else [part.only("type", "offsets", "values") for part in cats.get("enc").items()]
    if len(encoded) not in {0, len(names)}:
        raise model.refuse(f"expected categories of {len(names)} features, got {len(encoded)}")
    for column, part in enumerate(encoded):
        values = part.get("values").wholes(low=-_LARGEST, high=_LARGEST)
        if not part.has("offsets"):
            _check_distinct(values.tolist(), part)
            numbers[column] = values.astype(np.float64)
        elif ((values < 0) | (values > _ASCII)).any():
            numbers[column] = None
        elif len(values):
            labels[names[column]] = _decode_texts(part, values)
            _check_distinct(labels[names[column]], part)
    return labels, numbers


def _decode_texts(part: DocumentPart, values: I8) -> tuple[str, ...]:
    """Return texts that follow each other in ASCII."""
    ends = part.get("offsets").wholes(high=len(values))
    if not len(ends) or ends[0] != 0 or ends[-1] != len(values) or (np.diff(ends) < 0).any():
        raise part.refuse(f"'offsets' must rise from 0 to {len(values)}")
    text = values.astype(np.uint8).tobytes().decode("ascii")
    return tuple(text[begin:end] for begin, end in pairwise(ends.tolist()))


def _check_distinct(categories: Sequence[str | int], part: DocumentPart) -> None:
    if len(set(categories)) < len(categories):
        raise part.refuse("a category comes twice")
