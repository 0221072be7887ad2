"""A round of trips: what rows want of a lookup, and what came for each of them."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from attrs import define, field


@define
class Outcome:
    """What trips brought for one key, or for one row of a round."""

    values: dict[str, float] = field(factory=dict)  # by feature
    failed: dict[str, str] = field(factory=dict)  # why a feature did not come
    lost: tuple[tuple[str, ...], ...] = ()  # features of each trip that failed or was given up, in vain
    broken: set[str] = field(factory=set)  # features whose source has code that fails for all keys: no policy helps
    unpaid: set[str] = field(factory=set)  # features that would cost more than the run may pay: no policy helps
    paid: Fraction | None = None  # what was really paid; None if no source says so

    def fail(self, features: tuple[str, ...], why: str, *, is_paid: bool = True) -> None:
        """Note features that did not come, and whether their price was paid in vain."""
        self.failed |= dict.fromkeys(features, why)
        if is_paid:
            self.lost += (features,)

    def pay(self, amount: Fraction | None) -> None:
        """Note what a source was really paid; None if it does not say so."""
        if amount is not None:
            self.paid = (self.paid or 0) + amount

    def join(self, other: Outcome, features: tuple[str, ...]) -> None:
        """Add some features of what trips brought for this row's key and others."""
        self.values |= {name: other.values[name] for name in features if name in other.values}
        self.failed |= {name: other.failed[name] for name in features if name in other.failed}
        self.broken |= other.broken.intersection(features)
        self.unpaid |= other.unpaid.intersection(features)
        unsupplied = [tuple(name for name in names if name in features) for names in other.lost]
        self.lost += tuple(names for names in unsupplied if names)


class Batch:
    """What the rows of a round want of one lookup; rows with one key are one want."""

    def __init__(self) -> None:
        self.wants: dict[Hashable, tuple[str, ...]] = {}
        self.outcomes: dict[Hashable, Outcome] = {}  # of the row itself, unless rows share the key
        self._sharing: dict[Hashable, list[tuple[Outcome, tuple[str, ...]]]] = {}

    def add(self, key: Hashable, features: tuple[str, ...], outcome: Outcome) -> None:
        """Add what one row wants for its key; its part of what comes is written to `outcome`."""
        if key not in self.wants:
            self.wants[key], self.outcomes[key] = features, outcome
            return
        before = self.wants[key]
        if key not in self._sharing:
            self._sharing[key] = [(self.outcomes[key], before)]
            self.outcomes[key] = Outcome()
        self._sharing[key].append((outcome, features))
        self.wants[key] = tuple(dict.fromkeys(before + features))

    def count_failed(self) -> int:
        """Return the number of keys that did not get all they wanted."""
        return sum(not self.outcomes[key].failed.keys().isdisjoint(names) for key, names in self.wants.items())

    def share(self) -> None:
        """Give the outcomes of shared keys to their rows, and what was really paid to the first of them."""
        for key, rows in self._sharing.items():
            rows[0][0].pay(self.outcomes[key].paid)
            for outcome, features in rows:
                outcome.join(self.outcomes[key], features)
