"""What tells regions of a table: the columns that each row has, and the labels of those that are categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import frozen

from costframe.core.prices.costs import CostModel
from costframe.core.tables.conditions import Label
from costframe.core.tables.frames import column_names, take_column, types_of
from costframe.records.regions import Always
from costframe.records.table import RecordedTable, is_number_type, number_cell

_MOST_LABELS = 50  # of a column that tells regions


@frozen(eq=False)
class Tellers:
    """The numbers of labels of categorical columns, by name, and columns that tell no region, such as dates."""

    labels: Mapping[str, Mapping[Label, float]]
    others: frozenset[str]

    @classmethod
    def of_dataset(cls, X: Any, names: Iterable[str], categorical: Mapping[str, Any], dates: Iterable[str]) -> Tellers:
        """Return those of a table of numbers, whose categories have labels, or None where the numbers are they."""
        place, labels = {name: column for column, name in enumerate(names)}, dict[str, Mapping[Label, float]]()
        for name, texts in categorical.items():
            if texts is None:
                values = np.unique(X[:, place[name]])
                labels[name] = {number: number for number in values[~np.isnan(values)].tolist()}
            else:
                labels[name] = {text: float(number) for number, text in enumerate(texts)}
        return cls(*_without_long_lists(labels, {*dates}))

    @classmethod
    def of_table(cls, X: Any) -> Tellers:
        """Return those of a table of any library: texts are labels, and other values that are no numbers tell none."""
        held, labels, others = column_names(X), dict[str, Mapping[Label, float]](), set[str]()
        kinds = types_of(X) if held else []
        for place, name in enumerate(held or ()):
            if is_number_type(kinds[place]):
                continue
            values = {value for value in np.asarray(take_column(X, place)).tolist() if isinstance(value, str)}
            if values:
                labels[name] = {text: number_cell(text, is_numeric=False) for text in sorted(values)}
            else:
                others.add(name)
        return cls(*_without_long_lists(labels, others))

    def always(self, table: RecordedTable, costs: CostModel) -> Always:
        """Return the columns of a table from which regions are made: of those that each row has, the free ones if any.

        A model can look at free ones in each row, so that it can do without a test in a region.
        """
        lacking = np.concatenate([*table.records.columns]) if table.records is not None else np.empty(0, np.int64)
        there = [
            f for f in range(len(table.names)) if f not in set(lacking.tolist()) and table.names[f] not in self.others
        ]
        free = [f for f in there if not costs.full_cost([table.names[f]])]
        return Always(table.X, table.names, tuple(free or there), self.labels)


def _without_long_lists(
    labels: Mapping[str, Mapping[Label, float]], others: set[str]
) -> tuple[Mapping[str, Mapping[Label, float]], frozenset[str]]:
    """Move columns of many labels to those that tell no region."""
    long = {name for name, known in labels.items() if len(known) > _MOST_LABELS}
    return {name: known for name, known in labels.items() if name not in long}, frozenset(others | long)
