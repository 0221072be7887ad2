"""What `costframe costs` does: it writes a file of prices to fill in, for the columns of a table."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from costframe.cli.exits import print_error
from costframe.cli.given_data import is_file, is_larger_than_memory, load_named, refuse_for_named
from costframe.cli.outputs import check_apart, check_file, check_overwrite
from costframe.cli.reading import ReadingOptions
from costframe.core.errors import DataError, ParameterError, format_count, printable, quote_names
from costframe.core.files import write_atomically
from costframe.core.prices.costs import CostModel
from costframe.datasets.empty_tests import DRAFTED, EmptyTest
from costframe.datasets.hints import find_hints, find_tests
from costframe.datasets.leaks import Leak
from costframe.datasets.outline import outline
from costframe.datasets.parts import QID, SPLIT
from costframe.datasets.price_draft import draft_prices
from costframe.datasets.price_guesses import find_ignored, find_one_hot
from costframe.datasets.reading import Reading, find_indices
from costframe.datasets.table_files import TableFile


def costs(data: str, *, reading: ReadingOptions, unit: str | None, output: Path | None, force: bool) -> None:
    """Write the prices of the columns of DATA, and print hints."""
    if output is not None:
        check_apart({"--output": [output]}, {"DATA": data})
        _check_output(output, force=force)
    columns = _columns(data, reading)
    draft = draft_prices(columns.names, columns.one_hot, columns.known, unit, columns.ignored, columns.classes)
    tests = [] if reading.records is False else columns.tests(draft.costs)
    hints = columns.hints(tests)
    for hint in hints:
        print_error(hint)
    draft = draft.with_tests(tests)
    if reading.records:
        draft = evolve(draft, costs=draft.costs.as_records())
    draft = evolve(draft, hints={name: hint.what for hint in hints if DRAFTED not in hint for name in hint.features})
    content = draft.to_toml(f"Prices of {data}")
    if output is None:
        click.echo(content, nl=False)
        return
    write_atomically(output, content.encode())
    where = f", {format_count(len(draft.open), 'price')} to fill in" if draft.open else ""
    left = f", {format_count(len(draft.costs.ignore), 'column')} to ignore" if draft.costs.ignore else ""
    click.echo(f"wrote {printable(str(output))}: {format_count(len(columns.names), 'feature')}{left}{where}")


def _check_output(output: Path, *, force: bool) -> None:
    if output.suffix.lower() != ".toml":
        raise ParameterError(f"--output {output}: expected a file name that ends in .toml")
    check_file(output)
    check_overwrite([output], force=force)


@frozen
class _Columns:
    """The features of DATA, one-hot groups, known prices, why other columns are no features, and the target."""

    names: list[str]
    one_hot: list[list[str]]
    known: CostModel | None
    ignored: dict[str, str]
    classes: list[Any]
    features: Mapping[str, Any] = field(factory=dict)  # columns of pyarrow
    target: _Labels | None = None

    def tests(self, prices: CostModel) -> list[EmptyTest]:
        """Return the tests that many rows lack, by prices."""
        y, labels = (None, []) if self.target is None else (self.target.y, self.target.labels)
        return find_tests(self.features, prices, y, labels) if self.features else []

    def hints(self, tests: Sequence[EmptyTest]) -> list[Leak]:
        """Return hints on features, beside what is said of tests."""
        if self.target is None:
            return []
        known = self.known
        free = [name for name in self.features if known and name in known.names and not known.full_cost([name])]
        return find_hints(self.features, free, self.target.name, self.target.y, self.target.labels, tests)


@frozen(eq=False)
class _Labels:
    """The target: its name, values, and labels, which are empty without classes."""

    name: str
    y: NDArray[Any]
    labels: list[Any]


def _columns(data: str, reading: ReadingOptions) -> _Columns:
    known, target = None if reading.costs is None else CostModel.load(reading.costs), reading.target
    if not is_file(data):
        dataset = load_named(data)
        refuse_for_named(data, {"--target": target, "--ignore": reading.ignore, "--missing": reading.missing})
        return _Columns(list(dataset.feature_names), [], known or dataset.costs, {}, list(dataset.classes))
    opened, others = TableFile.open(data, reading.missing), {*reading.ignore, *([] if target is None else [target])}
    indices, notes = find_indices(opened.names(), others)
    for note in notes:
        print_error(note)
    is_whole = not is_larger_than_memory(data)
    table = opened.read(texts={*opened.names()} & {target or ""}) if is_whole else next(opened.blocks(opened.names()))
    if unknown := [name for name in others if name not in table]:
        raise DataError(f"{data}: no column {quote_names(unknown)}; the columns are {quote_names(table)}")
    settled = {*known.names, *known.ignore} if known else set()
    names = [name for name in table if name not in {*others, *indices, SPLIT, QID}]
    ignored = find_ignored({name: table[name] for name in names if name not in settled}, is_whole=is_whole)
    names = [name for name in names if name not in ignored and not (known and name in known.ignore)]
    if not names:
        raise DataError(f"{data}: no column is left to be a feature")
    features = {name: table[name] for name in names}
    labels = None if target is None else _labels_of(opened, table, target)
    classes = [] if labels is None or not is_whole else labels.labels
    return _Columns(names, find_one_hot(features), known, ignored, classes, features, labels)


def _labels_of(opened: TableFile, table: Mapping[str, Any], target: str) -> _Labels | None:
    """Return the target; None where `compare` would refuse it."""
    how = Reading.of(Path(target), target, None, None, (), (), 0)
    with contextlib.suppress(DataError):  # `compare` tells what is wrong
        rows = outline(opened, {name: table[name] for name in table if name in {target, QID}}, how, [])
        return _Labels(target, rows.y, sorted(set(rows.y.tolist())) if rows.task == "classification" else [])
    return None
