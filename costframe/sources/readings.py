"""How the replies of trips are read, feature by feature, and what was lacking in them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from costframe.core.errors import shown
from costframe.core.tables.categories import Categories
from costframe.core.tables.unknown_values import Coverage
from costframe.sources.failures import describe_failure
from costframe.sources.fields import Field, decode_bytes
from costframe.sources.lookup import Lookup
from costframe.sources.rounds import Outcome


class Reader:
    """Reads the replies of a lookup's source, and counts what keys had of each feature."""

    def __init__(self, lookup: Lookup) -> None:
        self._fields, self._may_be_absent = lookup.features, lookup.policy.absent == "missing"
        self._read_together: dict[tuple[str, ...], int] = {}  # how often features were read, by those of a key
        # unknown labels of each, and minus the keys for which it could not be read
        self._lacked: dict[str, Coverage] = {name: Coverage() for name in lookup.features}
        self._without = set(lookup.features)  # of which no value was known so far

    def read(self, reply: Any, names: tuple[str, ...], outcome: Outcome, categories: Categories) -> str | None:
        """Read one key's reply into its outcome, value by value; return why a value failed, if one did."""
        if outcome.failed:  # at an earlier trip
            for name in names:
                outcome.failed.pop(name, None)
        if reply is None and self._may_be_absent:
            outcome.values.update(dict.fromkeys(names, math.nan))
            return None
        if type(reply) is not dict and not isinstance(reply, Mapping):
            kind = type(reply).__name__
            why = "no row for the key" if reply is None else f"expected a mapping of values, got {kind}"
            outcome.fail(names, why)
            return why
        failure, failed = None, []
        for name in names:
            field = self._fields[name]
            try:
                outcome.values[name] = value = field.read(raw := reply[field.place], categories.get(name))
                if value != value:  # noqa: PLR0124 - NaN
                    self._note_missing(name, raw, field, categories)
                elif self._without:
                    self._without.discard(name)
            except Exception as error:  # noqa: BLE001 - a mapping of a source's own may raise anything
                is_absent = isinstance(error, KeyError)
                failure = f"no value at {shown(field.place)}" if is_absent else describe_failure(error)
                outcome.failed[name] = failure
                failed.append(name)
                self._lacked[name].rows -= 1
        if failed:
            outcome.lost += (tuple(failed),)
        self._read_together[names] = self._read_together.get(names, 0) + 1
        return failure

    def _note_missing(self, name: str, raw: Any, field: Field, categories: Categories) -> None:
        """Note a value that is missing, or a label that the model does not know."""
        is_label = isinstance(categories.get(name), tuple) and not field.is_missing(raw)
        self._lacked[name].note([str(decode_bytes(raw))] if is_label else ())

    @property
    def coverage(self) -> dict[str, Coverage]:
        """What keys with a row had so far of each feature that was asked for, where it could be read."""
        rows = Counter({name: lacked.rows for name, lacked in self._lacked.items()})
        for names, times in self._read_together.items():
            rows.update(dict.fromkeys(names, times))
        return {
            name: evolve(lacked, rows=rows[name], has_known=name not in self._without)
            for name, lacked in self._lacked.items()
            if rows[name]
        }
