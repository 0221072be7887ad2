"""Hostile copies of good files: changed bytes, changed documents, and a run of a reader over many of them.

COSTFRAME_MUTATIONS sets the number of copies of each file; the default is for a quick test, 100,000 for a campaign.
"""

import os
import re
import resource

import numpy as np
from attrs import frozen

from costframe import CostframeError

WORDS = (0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 10**7, 2**63 - 1, 2**64 - 1)
VALUES = (
    *(None, True, False, "", "0", "-1", "x", "1e400", "[5E-1]", "\x00", "é" * 9, "9" * 400, [], {}, [[]], [None], [{}]),
    *(0, -1, 1, 2, 0.5, -0.5, 1e308, 1e39, 2**31 - 1, 2**31, -(2**31), 2**53, 2**64, 10**7, 20000, 10**30),
    *(float("nan"), float("inf"), float("-inf"), "nan", "10000000", "20000", "2147483648"),
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def mutate_bytes(data, rng):
    """Return a copy of a file with one to three changes of its bytes; the file must not be empty."""
    for _ in range(rng.integers(1, 4)):
        data = _BYTES[rng.integers(len(_BYTES))](data, rng) or b"\x00"
    return data


def _at(data, rng):
    return int(rng.integers(len(data)))


def _flip(data, rng):
    at = _at(data, rng)
    return data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]


def _overwrite(data, rng):
    at, size = _at(data, rng), int(rng.choice([1, 2, 4, 8]))
    word = WORDS[rng.integers(len(WORDS))] % 256**size
    return data[:at] + word.to_bytes(size, rng.choice(["big", "little"])) + data[at + size :]


def _truncate(data, rng):
    return data[: _at(data, rng)]


def _delete(data, rng):
    at = _at(data, rng)
    return data[:at] + data[at + int(rng.integers(1, 40)) :]


def _insert(data, rng):
    at = _at(data, rng)
    return data[:at] + rng.bytes(int(rng.integers(1, 12))) + data[at:]


def _repeat(data, rng):
    at = _at(data, rng)
    return data[:at] + data[at : at + int(rng.integers(1, 200))] * int(rng.integers(2, 5)) + data[at:]


def _number(data, rng):
    """Replace a number that is written in digits near a random place."""
    at = _at(data, rng)
    found = _NUMBER.search(data, at, at + 4000)
    if found is None:
        return _flip(data, rng)
    new = str(VALUES[rng.integers(len(VALUES))]) if rng.random() < 0.5 else str(int(rng.integers(-9, 99)))
    return data[: found.start()] + new.encode() + data[found.end() :]


_BYTES = (_flip, _flip, _overwrite, _overwrite, _truncate, _delete, _insert, _repeat, _number, _number)


def mutate_json(document, rng):
    """Return a copy of a parsed JSON document with one to three changed parts; unchanged parts are shared."""
    for _ in range(rng.integers(1, 4)):
        document = _change(document, rng)
    return document


def _change(value, rng):
    """Change a part below a value, or the value itself."""
    if isinstance(value, dict) and value:
        name = list(value)[rng.integers(len(value))]
        if rng.random() < 0.08:
            return {other: part for other, part in value.items() if other != name}
        if rng.random() < 0.03:
            return {(other + "_" if other == name else other): part for other, part in value.items()}
        return value | {name: _change(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = int(rng.integers(len(value)))
        return [*value[:at], _change(value[at], rng), *value[at + 1 :]]
    return _resize(value, rng) if isinstance(value, list) and value else _replace(value, rng)


def _resize(items, rng):
    at, kind = int(rng.integers(len(items))), rng.integers(6)
    if kind == 0:
        return items[:at]
    if kind == 1:
        return items[:at] + items[at + 1 :]
    if kind == 2:
        return [*items[:at], items[at], *items[at:]]
    if kind == 3:
        other = int(rng.integers(len(items)))
        return [items[other] if i == at else items[at] if i == other else item for i, item in enumerate(items)]
    return [items] if kind == 4 else _replace(items, rng)


def _replace(value, rng):
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.4:
        return value + [-1, 1, 0.5, 1000][rng.integers(4)]
    if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 20 and rng.random() < 0.5:
        return str(int(value) + int(rng.integers(-2, 3)))
    new = VALUES[rng.integers(len(VALUES))]
    for _ in range(int(rng.choice([0, 0, 0, 3, 80]))):
        new = [new]
    return new


@frozen
class Survival:
    """Outcome of a reader's run over hostile copies of a file."""

    read: int
    refused: int
    megabytes: float  # growth of the process's largest memory


def survive(read, copies):
    """Give every copy to `read`, which must return or raise a CostframeError; anything else comes through."""
    before, counts = _peak(), [0, 0]
    for copy in copies:
        try:
            read(copy)
            counts[0] += 1
        except CostframeError:
            counts[1] += 1
    return Survival(counts[0], counts[1], _peak() - before)


def copies(mutate, original, default, seed=0):
    """Yield hostile copies of a file or document, as many as COSTFRAME_MUTATIONS says, else `default`."""
    for number in range(int(os.environ.get("COSTFRAME_MUTATIONS", default))):
        yield mutate(original, np.random.default_rng((seed, number)))


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
