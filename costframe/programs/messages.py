"""What a program is told, and what it may answer, in the words of a service's conversations: lines of JSON.

The first line asks it to train: `{"format": 1, "fit": {...}}`. It answers `{"format": 1, "points": [{...}, ...]}`: its
models, each with parameters of its choice, such as a budget. Each further line has all values that a row has so far, in
the order in which they came: `{"point": 0, "values": {"age": 63.0, "sex": "f", "chol": null}}`. It answers with the
features that it needs next, `{"asks": ["ecg"]}`, or with the prediction, `{"answer": {"value": 2.5}}`; for classes
`{"answer": {"probabilities": [{"label": "ill", "probability": 0.25}, ...]}}`. A text `state` in its answer comes back
with the row's next line. `{"error": "why"}` refuses.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from costframe.comparison import SeenTable
from costframe.core.arrays import F8
from costframe.core.errors import OutsiderError, quote_names, shown, suggestion
from costframe.core.plugins.entries import TASKS
from costframe.core.strict_json import as_json
from costframe.core.tables.described_kinds import describe_kind

FORMAT = 1
_NEARLY_ONE = 1e-6  # how far the sum of probabilities may be off, which single precision leaves


def describe_table(seen: SeenTable) -> dict[str, Any]:
    """Return what a model is to predict, from which features, and at which prices, as a service describes a model."""
    prices = seen.costs
    return {
        "name": seen.name,
        "kind": TASKS[seen.task],
        "unit": prices.unit,
        "classes": [as_json(label) for label in seen.classes] if seen.task == "classification" else None,
        "resources": [*prices.resource_names],
        "features": [
            describe_kind(name, seen.categorical.get(name)) | {"price": prices.full_cost([name])}
            for name in seen.feature_names
        ],
    }


def read_points(said: Any) -> list[dict[str, Any]]:
    """Return the parameters of each model that a program has trained."""
    reply = _read_reply(said)
    if type(reply.get("format")) is not int or reply["format"] != FORMAT:
        raise OutsiderError(f"format: expected {FORMAT}, the version of the messages, got {shown(reply.get('format'))}")
    points = reply.get("points")
    if not isinstance(points, list) or not points or not all(isinstance(point, dict) for point in points):
        raise OutsiderError(f"points: expected a list of objects, at least one, got {shown(points)}")
    return points


def read_step(said: Any) -> tuple[Any, Any, str | None]:
    """Return what a program asks for, or else its answer; and its state."""
    reply = _read_reply(said)
    asks, answer, state = reply.get("asks"), reply.get("answer"), reply.get("state")
    if not (state is None or isinstance(state, str)):
        raise OutsiderError(f"state: expected a text, got {shown(state)}")
    if bool(asks) == (answer is not None):
        raise OutsiderError(
            f"expected either 'asks', names of features, or 'answer', got asks {shown(asks)}, answer {shown(answer)}"
        )
    return asks or None, answer, state


def read_asks(asks: Any, names: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the features that a program asks for, given as names, or as objects that have a `name`."""
    items = asks if isinstance(asks, list) else []
    given = [one.get("name") if isinstance(one, dict) else one for one in items]
    asked = [name for name in given if isinstance(name, str)]
    if not asked or len(asked) < len(given):
        raise OutsiderError(f"asks: expected a list of names of features, got {shown(asks)}")
    for name in asked:
        if name not in names:
            hint = suggestion(name, names)
            raise OutsiderError(f"asks for {shown(name)}{hint}, which is no feature of the table: {quote_names(names)}")
    if set(asked) <= set(known):
        raise OutsiderError(f"asks for {quote_names(asked)} alone, which it has been told")
    return asked


def read_answer(answer: Any, classes: Sequence[Any]) -> float | F8:
    """Return a prediction: of two classes the probability of the second, of more (K,), of other tasks a number."""
    if not isinstance(answer, dict):
        raise OutsiderError(f"answer: expected an object, got {shown(answer)}")
    if not classes:
        return _read_number("value", answer.get("value"))
    labels, given = [as_json(label) for label in classes], answer.get("probabilities")
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise OutsiderError(f"probabilities: expected a list of objects with label and probability, got {shown(given)}")
    told = [one.get("label") for one in given]
    if len(told) != len(labels) or any(told.count(label) != 1 for label in labels):
        raise OutsiderError(f"probabilities: expected one of each label {quote_names(labels)}, got {quote_names(told)}")
    chances = np.array([_read_number("probability", given[told.index(label)].get("probability")) for label in labels])
    if chances.min() < 0 or abs(chances.sum() - 1) > _NEARLY_ONE:
        raise OutsiderError(f"probabilities: expected numbers >= 0 whose sum is 1, got {shown(chances.tolist())}")
    return float(chances[1]) if len(labels) == 2 else chances


def _read_reply(said: Any) -> Mapping[str, Any]:
    if not isinstance(said, dict):
        raise OutsiderError(f"expected a JSON object, got {shown(said)}")
    if "error" in said:
        raise OutsiderError(f"it refuses: {said['error']}")
    return said


def _read_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise OutsiderError(f"{name}: expected a number, got {shown(value)}")
    return float(value)
