"""`costframe costs`: a file of prices to fill in, for the columns of a table."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from costframe.cli.arguments import (
    check_apart,
    check_file,
    check_overwrite,
    costs_option,
    force_option,
    ignore_option,
    missing_option,
    target_path,
    text,
)
from costframe.cli.given_data import is_file, is_larger_than_memory, load_named, refuse_for_named
from costframe.cli.group import print_error
from costframe.core.errors import DataError, ParameterError, format_count, printable, quote_names

if TYPE_CHECKING:
    from costframe.core.prices.costs import CostModel
    from costframe.datasets.leaks import Leak
    from costframe.datasets.table_files import TableFile

EXAMPLES = """\b
Examples:
  costframe costs patients.csv --target ill > prices.toml
  costframe costs patients.csv --target ill --unit CAD --output prices.toml
  costframe costs patients.csv --target ill --costs some.toml --output all.toml
"""


@click.command(epilog=EXAMPLES, short_help="Write a file of prices to fill in.")
@click.argument("data", type=text)
@click.option("--target", metavar="COL", type=text, help="Column to predict, which has no price.")
@click.option("--output", metavar="FILE", type=target_path, help="File to write, TOML. [default: standard output]")
@click.option("--unit", metavar="TEXT", type=text, help="Unit of the prices, such as CAD. [default: that of --costs]")
@costs_option
@ignore_option
@missing_option
@force_option
def costs(
    data: str,
    costs: str | None,
    target: str | None,
    ignore: tuple[str, ...],
    missing: tuple[str, ...],
    unit: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Write the prices of the columns of DATA, as TOML with placeholders to fill in.

    The command keeps the prices in --costs and adds the missing ones. It guesses resources, which a row pays once, from
    one-hot columns (color_red, color_blue), from statistics of one measurement (mean radius, worst radius), and from
    three or more columns that begin alike; comments in the file say what it guessed. Ids, constants and free texts go
    into a list `ignore` with the reasons: they are no features. With classes to predict, a table of the prices of
    errors follows, as comments. The command names columns that look like a second outcome, and those whose missing
    values tell the target. DATA is the name of a data set, or
    a table file; these end in .csv, .tsv or .txt (also with .gz or .zst), .parquet, .feather or .arrow; or a folder of
    Parquet files, or a pattern of such.
    """
    from costframe.core.files import write_atomically
    from costframe.datasets.price_draft import draft_prices

    if output is not None:
        check_apart({"--output": [output]}, {"DATA": data})
        _check_output(output, force=force)
    found = _columns(data, costs, target, ignore, missing)
    for hint in found.hints:
        print_error(hint)
    hints = {name: hint.what for hint in found.hints for name in hint.features}
    names = found.names
    draft = draft_prices(names, found.one_hot, found.known, unit, found.ignored, found.classes, hints)
    content = draft.to_toml(f"Prices of {data}")
    if output is None:
        click.echo(content, nl=False)
        return
    write_atomically(output, content.encode())
    where = f", {format_count(len(draft.open), 'price')} to fill in" if draft.open else ""
    left = f", {format_count(len(draft.costs.ignore), 'column')} to ignore" if draft.costs.ignore else ""
    click.echo(f"wrote {printable(str(output))}: {format_count(len(names), 'feature')}{left}{where}")


def _check_output(output: Path, *, force: bool) -> None:
    if output.suffix.lower() != ".toml":
        raise ParameterError(f"--output {output}: expected a file name that ends in .toml")
    check_file(output)
    check_overwrite([output], force=force)


@frozen
class _Columns:
    """The features of DATA, one-hot groups, known prices, why other columns are no features, classes and hints."""

    names: list[str]
    one_hot: list[list[str]]
    known: CostModel | None
    ignored: dict[str, str]
    classes: list[Any]
    hints: list[Leak]


def _columns(
    data: str, costs: str | None, target: str | None, ignore: tuple[str, ...], missing: tuple[str, ...]
) -> _Columns:
    from costframe.core.prices.costs import CostModel

    known = None if costs is None else CostModel.load(costs)
    if not is_file(data):
        dataset = load_named(data)
        refuse_for_named(data, {"--target": target, "--ignore": ignore, "--missing": missing})
        return _Columns(list(dataset.feature_names), [], known or dataset.costs, {}, list(dataset.classes), [])
    from costframe.datasets.parts import QID, SPLIT
    from costframe.datasets.price_guesses import find_ignored, find_one_hot
    from costframe.datasets.reading import find_indices
    from costframe.datasets.table_files import TableFile

    opened = TableFile.open(data, missing)
    indices, notes = find_indices(opened.names(), others := {*ignore, *([] if target is None else [target])})
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
    classes, hints = ([], []) if target is None else _look(opened, table, target, features, known)
    return _Columns(names, find_one_hot(features), known, ignored, classes if is_whole else [], hints)


def _look(
    opened: TableFile, table: Mapping[str, Any], target: str, features: Mapping[str, Any], known: CostModel | None
) -> tuple[list[Any], list[Leak]]:
    """Return the labels of a target, none if it is no target of a classification, and hints on features."""
    from costframe.datasets.hints import find_hints
    from costframe.datasets.outline import outline
    from costframe.datasets.parts import QID
    from costframe.datasets.reading import Reading

    how = Reading.of(Path(target), target, None, None, (), (), 0)
    with contextlib.suppress(DataError):  # `compare` tells what is wrong
        found = outline(opened, {name: table[name] for name in table if name in {target, QID}}, how, [])
        classes = sorted(set(found.y.tolist())) if found.task == "classification" else []
        free = [name for name in features if known and name in known.names and not known.full_cost([name])]
        return classes, find_hints(features, free, target, found.y, classes)
    return [], []
