"""The conformance kit: checks of the laws for the tests of plugins.

One line in a test is enough::

    check_algorithm("my-algorithm")

`parametrize_algorithm` makes one pytest case of each law instead, and `checks` lists them. `strategies` draws cost
models, banks, stage trees and rows for property tests. `inquire` steps through a row; `expect_as_reported`,
`expect_one_label` and `expect_retries` hold a predictor of one's own to what laws expect. `run_together` trains on rows
dealt to several workers. The extra `costframe[testing]` brings all that the kit imports: pandas, pytest and hypothesis.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from costframe.testing.case import Law, same_bits
from costframe.testing.check import Check, ConformanceError, check_algorithm, checks, laws, parametrize_algorithm
from costframe.testing.counting import CountingSource, expect_as_reported, expect_close, inquire
from costframe.testing.laws_of_errors import expect_retries, inquiries
from costframe.testing.laws_of_labels import expect_one_label
from costframe.testing.parts import run_together

if TYPE_CHECKING:
    from costframe.testing import strategies

__all__ = [
    "Check",
    "ConformanceError",
    "CountingSource",
    "Law",
    "check_algorithm",
    "checks",
    "expect_as_reported",
    "expect_close",
    "expect_one_label",
    "expect_retries",
    "inquire",
    "inquiries",
    "laws",
    "parametrize_algorithm",
    "run_together",
    "same_bits",
    "strategies",
]


def __getattr__(name: str) -> Any:
    if name == "strategies":  # needs hypothesis, so it loads at its first use
        return importlib.import_module("costframe.testing.strategies")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
