"""The conformance kit: checks of the laws for the tests of plugins.

One line in a test is enough::

    check_algorithm("my-algorithm")

`parametrize_algorithm` makes one pytest case of each law instead. `strategies` draws cost models, banks, stage trees
and rows for property tests. `run_together` trains on rows dealt to several workers. The extra `costframe[testing]`
brings all that the kit imports: pandas, pytest and hypothesis.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from costframe.testing.case import Law
from costframe.testing.check import Check, ConformanceError, check_algorithm, laws, parametrize_algorithm
from costframe.testing.counting import CountingSource
from costframe.testing.parts import run_together

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
    "run_together",
    "strategies",
]


def __getattr__(name: str) -> Any:
    if name == "strategies":  # needs hypothesis, so it loads at its first use
        return importlib.import_module("costframe.testing.strategies")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
