"""The laws that every algorithm keeps: small named functions, each checked on each kind of estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from costframe.testing.case import Case

__all__ = ["LAWS", "Law", "law", "law_of_fits"]


@frozen
class Law:
    """A law.

    Attributes
    ----------
    name : str
    protects : str
        What a user loses where it is broken.
    check : callable
        Raises where it is broken.
    compares_fits : bool
        Whether it compares two fits, which algorithms that draw at random cannot promise.
    """

    name: str
    protects: str
    check: Callable[[Case], None]
    compares_fits: bool = False


LAWS: dict[str, Law] = {}


def law(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Make a function a law; its docstring says what the law protects."""
    name, text = check.__name__, check.__doc__
    if name in LAWS or not text:
        raise ValueError(f"law {name!r}: expected a new name and a docstring")
    LAWS[name] = Law(name, text.strip().partition("\n")[0], check)
    return check


def law_of_fits(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Make a function a law that compares two fits."""
    law(check)
    LAWS[check.__name__] = evolve(LAWS[check.__name__], compares_fits=True)
    return check
