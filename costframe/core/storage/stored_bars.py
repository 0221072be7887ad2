"""The bars of a guard in a file: features, and conditions on those that tell whether a row does without them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from costframe.core.errors import StorageError
from costframe.core.predictors.guarded import Bar
from costframe.core.storage.stored_arrays import as_list, fields_of
from costframe.core.tables.conditions import Condition

_FIELDS = ("feature", "above", "up_to", "label", "others", "missing", "known")


def store_bars(bars: Sequence[Bar]) -> list[Any]:
    """Return bars as JSON values; an end of a range that is infinite is None."""
    return [
        {"features": list(bar.features), "conditions": [_store_condition(each) for each in bar.conditions]}
        for bar in bars
    ]


def _store_condition(condition: Condition) -> dict[str, Any]:
    stored = {name: getattr(condition, name) for name in _FIELDS} | {"others": list(condition.others)}
    return {name: None if value in (-math.inf, math.inf) else value for name, value in stored.items()}


def build_bars(stored: Any) -> list[Bar]:
    """Make bars from JSON values; refuse others."""
    bars = []
    for one in as_list(stored):
        features, conditions = fields_of(one, "bar", "features", "conditions")
        if not all(isinstance(name, str) for name in as_list(features)):
            raise StorageError(f"malformed bar: expected names of features, got {features!r:.80}")
        bars.append(Bar(features, [_build_condition(each) for each in as_list(conditions)]))
    return bars


def _build_condition(stored: Any) -> Condition:
    feature, above, up_to, label, others, missing, known = fields_of(stored, "condition", *_FIELDS)
    labels = [*as_list(others), *([] if label is None else [label])]
    numbers = [end for end in (above, up_to) if end is not None] + [one for one in labels if not isinstance(one, str)]
    whole = isinstance(feature, str) and isinstance(missing, bool) and isinstance(known, bool)
    if not whole or not all(type(number) in {int, float} and math.isfinite(number) for number in numbers):
        raise StorageError(f"malformed condition: expected a name, numbers and labels, got {stored!r:.80}")
    above, up_to = -math.inf if above is None else above, math.inf if up_to is None else up_to
    return Condition(feature, above, up_to, label, tuple(others), missing, known)
