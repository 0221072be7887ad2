"""What a feature's values are, as a service and a program outside are told it."""

from __future__ import annotations

from typing import Any

from costframe.core.tables.as_given import AsGiven
from costframe.core.tables.categories import ONLY, OTHER, Labels
from costframe.core.tables.dates import Dates
from costframe.core.tables.hashed_labels import HashedLabels


def describe_kind(name: str, labels: Labels | None) -> dict[str, Any]:
    """Return a feature's name, its kind, and the labels of its categories, as values of JSON."""
    if isinstance(labels, tuple):
        listed = [label for label in labels if label not in {OTHER, ONLY}]
        return {"name": name, "kind": "category", "labels": listed, "other": OTHER in labels}
    kinds = {HashedLabels: "text", Dates: "date", AsGiven: "any"}
    return {"name": name, "kind": "number" if labels is None else kinds[type(labels)]}
