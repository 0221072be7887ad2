"""Scales by powers of two, which change no digit."""

from __future__ import annotations

from math import ldexp


def power_of_two(exponent: int) -> float:
    """Return 2**exponent, or the nearest ordinary double."""
    return ldexp(1.0, min(max(exponent, -1022), 1023))
