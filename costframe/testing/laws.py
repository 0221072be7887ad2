"""The registry of laws: small named functions, each checked on each kind of estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from costframe.testing.case import Case

__all__ = ["Law", "law", "laws"]


@frozen
class Law:
    """A law: its name, its description, and a function that raises an error if it is broken."""

    name: str
    protects: str
    check: Callable[[Case], None]


_LAWS: dict[str, Law] = {}


def law(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Register a function as a law; the first line of its docstring describes the law."""
    name, text = check.__name__, check.__doc__
    if name in _LAWS or not text:
        raise ValueError(f"law {name!r}: expected a new name and a docstring")
    _LAWS[name] = Law(name, text.strip().partition("\n")[0], check)
    return check


def laws() -> dict[str, Law]:
    """Return all laws by name."""
    from costframe.testing import (  # noqa: F401 - they register themselves
        laws_of_categories,
        laws_of_cost,
        laws_of_limits,
        laws_of_plans,
        laws_of_shell,
        laws_of_training,
    )

    return dict(_LAWS)
