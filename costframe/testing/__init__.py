"""The conformance kit: what a plugin's own tests need to show that it keeps the laws.

One line does it, in a test::

    check_algorithm("my-algorithm")

`parametrize_algorithm` makes one pytest case of each law instead. `strategies` draws cost models, banks, stage trees
and rows for property tests; it needs hypothesis, the rest needs nothing that costframe itself does not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from costframe.testing.check import Check, ConformanceError, check_algorithm, parametrize_algorithm
from costframe.testing.counting import CountingSource
from costframe.testing.law import Law
from costframe.testing.laws import laws

if TYPE_CHECKING:
    from costframe.testing import strategies

__all__ = [
    "Check",
    "ConformanceError",
    "CountingSource",
    "Law",
    "check_algorithm",
    "laws",
    "parametrize_algorithm",
    "strategies",
]


def __getattr__(name: str) -> Any:
    if name == "strategies":  # needs hypothesis, so only when it is touched
        return importlib.import_module("costframe.testing.strategies")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
