"""Which values of features that a row did not buy would change its class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import evolve, frozen

from costframe.core.arrays import F8
from costframe.core.errors import CostframeError, format_count
from costframe.core.predictors.reasons import list_names
from costframe.core.tables.categories import ONLY
from costframe.core.tables.conditions import Condition
from costframe.core.terms.decision import Decision
from costframe.core.terms.terms import Terms

_SHOWN = 3  # features, or conditions of one, in a text


@frozen
class Change:
    """The values of one feature that would change the class to another one.

    Attributes
    ----------
    name : str
    label : class label
        What the class would be.
    where : tuple of Condition
        The values: any of these.
    price : float
        What the feature costs the row now, given what is paid.
    """

    name: str
    label: Any
    where: tuple[Condition, ...]
    price: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        label = self.label.item() if isinstance(self.label, np.generic) else self.label
        return {"name": self.name, "label": label, "where": list(map(_as_json, self.where)), "price": self.price}


@frozen
class Changes:
    """What single further features would change.

    The class at hand is the model's for what the row knows, if it can have no other feature. A value changes it if the
    class is another one once the row knows that value too, and still no other. `inquire(known=..., unavailable=...)`,
    with all features that are not known as unavailable ones, gives both.

    Attributes
    ----------
    label : class label or None
        The class at hand; None where nothing can be told.
    changes : tuple of Change
    unchanged : tuple of str
        Features of which no value, alone, changes the class.
    untold : mapping of str to str
        Why it cannot be told, by feature.
    reason : str or None
        Why nothing at all can be told.
    """

    label: Any = None
    changes: tuple[Change, ...] = ()
    unchanged: tuple[str, ...] = ()
    untold: Mapping[str, str] = {}
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as values for JSON, without NaN."""
        label = self.label.item() if isinstance(self.label, np.generic) else self.label
        own = {"label": label, "changes": [change.to_dict() for change in self.changes]}
        own |= {"unchanged": [*self.unchanged], "untold": dict(self.untold), "reason": self.reason}
        return own | {"text": str(self)}

    def __str__(self) -> str:
        """Return sentences."""
        if self.reason is not None:
            return f"what would change the answer cannot be told: {self.reason}"
        said = [f"it would be {change.label} where {_any_of(change.where)}" for change in self.changes]
        more = [f"{format_count(len(said) - _SHOWN, 'more value')} would change it"] if len(said) > _SHOWN else []
        if not said and (self.unchanged or not self.untold):
            said = ["no value of one further feature would change it"]
        if self.untold:
            more.append(f"what {list_names([*self.untold], _SHOWN)} would change cannot be told")
        return "; ".join([f"the class is {self.label}", *said[:_SHOWN], *more])


def _any_of(conditions: Sequence[Condition]) -> str:
    """Return conditions, any of which is met, as words."""
    said, more = [*map(str, conditions[:_SHOWN])], len(conditions) - _SHOWN
    return " or ".join([*said, f"in {format_count(more, 'more case')}"] if more > 0 else said)


def _as_json(condition: Condition) -> dict[str, Any]:
    above, up_to = (value if math.isfinite(value) else None for value in (condition.above, condition.up_to))
    return {"above": above, "up_to": up_to, "label": condition.label, "missing": condition.missing}


def find_changes(predictor: Any, terms: Terms, values: Mapping[int, float], bought: Sequence[int]) -> Changes:
    """Return the values of each column without a value that would change the class of a row."""
    card = predictor.card
    names = [name for name in predictor.used_features if card.column[name] not in values]
    row = np.full(len(card.feature_names), np.nan)
    row[list(values)] = list(values.values())
    now = classes_given(predictor, terms, row[None], [*values])[0]
    cuts, found, unchanged, untold = predictor.cuts, list[Change](), list[str](), dict[str, str]()
    together = predictor.read_together(frozenset(values))
    priced = {} if terms.decision is None else terms.decision.columns
    for name in names:
        f, own = card.column[name], card.categories.get(name)
        if f in priced:
            untold[name] = "it is the price of an error"
            continue
        if f in together:
            untold[name] = "the model reads it only together with other features"
            continue
        if isinstance(own, tuple):
            where, given = _each_label(name, own)
        elif own is not None or f not in cuts:
            untold[name] = "the model does more with its values than to compare them with thresholds"
            continue
        else:
            where, given = _each_interval(name, cuts[f])
        rows = np.tile(row, (len(given), 1))
        rows[:, f] = given
        labels = classes_given(predictor, terms, rows, [*values, f])
        changed = _join(where, labels, now)
        price = terms.ledger.quote([f], bought)
        found += [Change(name, label, tuple(parts), price) for label, parts in changed]
        if not changed:
            unchanged.append(name)
    return Changes(now, tuple(found), tuple(unchanged), untold)


def classes_given(predictor: Any, terms: Terms, rows: F8, columns: Sequence[int]) -> Sequence[Any]:
    """Return the classes of rows, float64 (n, d), that know some columns and can have no others."""
    rest = tuple(name for f, name in enumerate(predictor.feature_names) if f not in set(columns))
    free = evolve(terms, max_cost=None, unavailable=rest, known=(), values={})
    ends = predictor.ends_given(rows, columns, free)
    decision = Decision.of(predictor.card, terms.costs.errors, rest)
    labels: Sequence[Any] = decision.labels(ends, rows).tolist()
    return labels


def _each_label(name: str, labels: tuple[str, ...]) -> tuple[list[Condition], list[float]]:
    """Return the values of a feature with labels, and their numbers."""
    numbers = {label: float(number) for number, label in enumerate(labels) if label != ONLY}
    conditions = [Condition(name, label=label) for label in numbers]
    missing = Condition(name, missing=True, known=False)
    return [*conditions, missing], [*numbers.values(), math.nan]


def _each_interval(name: str, cuts: F8) -> tuple[list[Condition], list[float]]:
    """Return the intervals between thresholds, and a value of each."""
    ends = [-math.inf, *cuts.tolist(), math.inf]
    last = float(np.nextafter(cuts[-1], np.inf)) if len(cuts) else 0.0
    given, where = [*cuts.tolist(), last], [Condition(name, *pair) for pair in pairwise(ends)]
    if not math.isfinite(last):
        given, where = given[:-1], where[:-1]
    return [*where, Condition(name, missing=True, known=False)], [*given, math.nan]


def _join(where: Sequence[Condition], labels: Sequence[Any], now: Any) -> list[tuple[Any, list[Condition]]]:
    """Return the conditions of each other class; intervals side by side are one."""
    found, before = dict[Any, list[Condition]](), None
    for condition, label in zip(where, labels, strict=True):
        if label != now:
            parts = found.setdefault(label, [])
            is_next = label == before and parts and condition.known and condition.label is None
            if is_next and parts[-1].up_to == condition.above:
                parts[-1] = evolve(parts[-1], up_to=condition.up_to)
            else:
                parts.append(condition)
        before = label
    return [*found.items()]


def explain_changes(
    predictor: Any, terms: Terms, values: Mapping[int, float], bought: Sequence[int], answer: Any
) -> Changes:
    """Return the changes of an inquiry, given its `answer` if it has ended; say why where they cannot be told."""
    card = predictor.card
    if card.classes is None:
        return Changes(reason="the model knows no classes")
    if answer is not None and answer.reason == "certain" and card.ends_at_class:
        left = predictor.unread(terms, bought)
        return Changes(answer.label, unchanged=tuple(predictor.feature_names[f] for f in left))
    try:
        found = find_changes(predictor, terms, values, bought)
    except CostframeError as error:
        return Changes(reason=str(error))
    if answer is not None and found.label != answer.label:
        return Changes(reason="more than missing features decided this answer")
    return found
