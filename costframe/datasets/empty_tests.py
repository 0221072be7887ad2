"""Priced columns that are empty in many rows: prices say whether such a cell is an answer, or nobody made a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen

from costframe.core.arrays import B1
from costframe.core.errors import quote_names, shown
from costframe.core.prices.costs import CostModel
from costframe.core.prices.panels import Panel
from costframe.datasets.target import MISSING, Mark, Target

_MANY = 0.02  # share of rows, above which empty cells are worth a word
_MOST_LISTED = 8
_LEAKS = 0.99  # AUC of a mark from which a column is rather known too late than a test
DRAFTED = 'absent = "not made" of the draft says so'
RECORDS = '--records says so (absent = "not made" in prices)'


@frozen
class EmptyTest:
    """A panel whose empty cells the prices take for answers, the share of rows without it, and what that tells."""

    panel: Panel
    share: float
    mark: Mark | None  # None if it tells little
    judged: bool = True  # whether there is a target

    @property
    def comment(self) -> str:
        """What a comment in a file of prices says of it."""
        if not self.judged:
            return f"empty in {self.share:.0%} of rows"
        words = "tells little of the target" if self.mark is None else self.mark.words
        return f"empty in {self.share:.0%} of rows, which {words}"


def find_empty_tests(costs: CostModel, empty: Mapping[str, B1], target: Target | None = None) -> list[EmptyTest]:
    """Return the panels that more than 2 % of rows lack, of those that prices do not call "not made" yet.

    Those whose empty cells nearly tell the target are left to remarks on leaks.

    Parameters
    ----------
    costs : CostModel
        Only what costs something is a test.
    empty : mapping of str to bool (n,)
        Which cells of each column are empty.
    target : Target, optional
        That of the same rows.
    """
    said, tests = set(costs.panels), list[EmptyTest]()
    for panel in costs.as_records().panels:
        columns = [empty[name] for name in panel.features if name in empty]
        if panel in said or not columns:
            continue
        lacking = np.logical_and.reduce(columns)
        if _MANY < (share := float(lacking.mean())) < 1:
            mark = None if target is None else target.judge_mark(lacking, MISSING)
            if mark is None or mark.auc < _LEAKS:
                tests.append(EmptyTest(panel, share, mark, target is not None))
    return tests


def describe_silent_tests(tests: Sequence[EmptyTest]) -> str | None:
    """Return a remark on tests of which no other one says that they may not have been made; None without any."""
    if not tests:
        return None
    listed = ", ".join(f"{_name(test)} in {test.share:.0%}{_auc(test)}" for test in tests[:_MOST_LISTED])
    more = f" and {len(tests) - _MOST_LISTED} more" if len(tests) > _MOST_LISTED else ""
    them = "this test" if len(tests) == 1 else "these tests"
    return (
        f"empty in many rows: {listed}{more}; if nobody made {them} there, {RECORDS}; if that is what the source "
        "answers, --no-records"
    )


def _auc(test: EmptyTest) -> str:
    return "" if test.mark is None else f" (which tells the target with AUC {test.mark.auc:.2f})"


def _name(test: EmptyTest) -> str:
    few = len(test.panel.features) <= _MOST_LISTED
    return quote_names(list(test.panel.features)) if few else shown(test.panel.name)
