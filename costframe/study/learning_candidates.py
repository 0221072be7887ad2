"""Candidates of a study of records: each algorithm as it learns from recorded, completed and tested rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from attrs import evolve

from costframe.core.prices.costs import CostModel
from costframe.records.guard import Gaps, find_gaps
from costframe.records.labels import Tellers
from costframe.study.candidates import GivenCandidate
from costframe.study.entrants import Entrant
from costframe.study.rows import StudyRows
from costframe.training.learning import COMPLETED, RECORDED, TESTED

C = TypeVar("C", Entrant, GivenCandidate)

_FEWEST = 20  # rows of each class in which all tests were made


def with_learning(candidates: Iterable[C], train: StudyRows) -> list[C]:
    """Return a candidate for each way to learn from rows that lack tests; figures of service choose among them.

    References stay one each, and fitted models, which learn no more.
    """
    if not train.lacks_tests:
        return list(candidates)
    ways = [RECORDED, COMPLETED, *([TESTED] if _has_tested(train) else [])]
    expanded = list[C]()
    for candidate in candidates:
        if candidate.is_reference or candidate.is_fitted:
            expanded.append(candidate)
        else:
            expanded += [evolve(candidate, label=f"{candidate.label}-{how}", learning=how) for how in ways]
    return expanded


def with_gaps(candidates: Iterable[C], gaps: Gaps, train: StudyRows) -> list[C]:
    """Return candidates that leave out, or bar in regions, tests of which nobody knows what they show.

    What the rows to train on say of tests holds for fits on parts of them. Fitted models stay as they are, as they
    learn no more.
    """
    return [evolve(each, gaps=gaps) if train.lacks_tests and not each.is_fitted else each for each in candidates]


def gaps_of_rows(train: StudyRows, costs: CostModel) -> Gaps:
    """Return the gaps of the records of rows of any library, told by the free columns that each row has, if any."""
    table = train.recorded
    if table is None or table.records is None:
        return Gaps()
    table, y = table.take(table.counted), np.asarray(train.y)[table.counted]  # others are never donors
    classes = tuple(np.unique(y).tolist()) if table.by_class else ()
    return find_gaps(Tellers.of_table(train.X).always(table, costs), table.records, y, classes)


def notes_on(gaps: Gaps) -> tuple[str, ...]:
    """Return what a study says of gaps."""
    return tuple(gaps.sentences())


def _has_tested(train: StudyRows) -> bool:
    """Return whether enough rows of each class, or in all, have had all tests."""
    recorded = train.recorded
    if recorded is None or recorded.records is None:
        return False
    tested = recorded.records.all_made
    kinds = recorded.y if recorded.by_class else np.zeros(len(tested), np.int64)
    return all(int(tested[kinds == kind].sum()) >= _FEWEST for kind in np.unique(kinds))
