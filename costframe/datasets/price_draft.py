"""A draft of prices for the columns of a table: placeholders to fill in, and resources guessed from names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from costframe.core.errors import format_count, quote_names
from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice
from costframe.core.prices.costs_io import to_toml
from costframe.core.prices.error_prices import ErrorPrices
from costframe.core.tables.columns import as_numbers, is_numeric
from costframe.core.tables.date_columns import find_dates
from costframe.datasets.ids import describe_id
from costframe.datasets.text_features import why_no_feature

PLACEHOLDER = 1.0
_TO_FILL_IN = "fill in"
_MOST_CLASSES = 10  # of a table of errors
_FEW_ROWS = 20  # that say little about a column
_FEW_WITH_PREFIX = 3  # columns with one beginning that suggest a resource
_STATISTICS = frozenset({
    "avg", "change", "count", "delta", "diff", "error", "first", "lag", "last", "max", "maximum", "mean", "median",
    "min", "minimum", "range", "sd", "se", "slope", "std", "stddev", "sum", "total", "trend", "var", "variance",
    "worst", "best",
})  # fmt: skip


@frozen
class PriceDraft:
    """Prices of a table's columns, some of which are placeholders."""

    costs: CostModel
    # features and resources whose price is to be filled in, each with what was guessed about it, or nothing
    open: Mapping[str, str] = field(factory=dict)
    ignored: Mapping[str, str] = field(factory=dict)  # columns that the draft ignores, each with the reason
    classes: Sequence[Any] = ()  # labels of the target
    hints: Mapping[str, str] = field(factory=dict)  # features, each with what to think of before it is bought

    def to_toml(self, title: str) -> str:
        """Return the file to fill in, with a comment at each placeholder; `CostModel.load` reads it."""
        notes = {name: "; ".join(filter(None, (_TO_FILL_IN, why))) for name, why in self.open.items()}
        for name, hint in self.hints.items():
            notes[name] = "; ".join(filter(None, (notes.get(name), hint)))
        lines = [title]
        if self.open:
            lines.append(
                f"Each price marked '{_TO_FILL_IN}' is a placeholder. A resource is paid once per row, with the "
            )
            lines[-1] += "first feature that needs it."
        return to_toml(self.costs.to_dict(), lines, {**self.ignored, **notes}) + self._errors()

    def _errors(self) -> str:
        """Return a table of errors for these classes as comments: without prices, it would change what is chosen."""
        if self.costs.errors is not None or not 1 < len(self.classes) <= _MOST_CLASSES:
            return ""
        free = {truth: {answer: 0.0 for answer in self.classes if answer != truth} for truth in self.classes}
        table = to_toml({"errors": ErrorPrices.of(free).to_dict()}).strip()
        title = "What wrong answers cost: truth = { answer = price }. Fill in, and take away each '# ':"
        return "\n" + "".join(f"# {line}\n" for line in (title, *table.split("\n")))


def draft_prices(
    names: Sequence[str],
    one_hot: Sequence[Sequence[str]] = (),
    known: CostModel | None = None,
    unit: str | None = None,
    ignored: Mapping[str, str] | None = None,
    classes: Sequence[Any] = (),
    hints: Mapping[str, str] | None = None,
) -> PriceDraft:
    """Draft prices of the columns `names`, in their order.

    Parameters
    ----------
    names : sequence of str
    one_hot : sequence of sequences of str
        Columns of which each row has at most one; see `split_name`.
    known : CostModel, optional
        Prices to keep, those of other columns too; columns without a price are added.
    unit : str, optional
        By default that of the known prices.
    ignored : mapping of str to str, optional
        Further columns, not to be features, each with the reason.
    classes : sequence
        Labels of the target, to draft the prices of errors.
    hints : mapping of str to str, optional
        Columns, each with a comment.
    """
    reasons = dict(ignored or {})
    features = {price.name: price for price in known.features} if known else {}
    resources = {price.name: price for price in known.resources} if known else {}
    missing = [name for name in names if name not in features]
    guesses = _guess_groups(missing, one_hot, resources)
    marks: dict[str, str] = {}
    for stem, (members, why) in guesses.items():
        if stem not in resources:
            free = stem
            while free in features or free in resources or free in missing:
                free += " (shared)"
            resources[free] = ResourcePrice(free, PLACEHOLDER)
            marks[free] = f"guessed from {why} {quote_names(members)}"
            stem = free  # noqa: PLW2901 - the name that is free
        features |= {name: FeaturePrice(name, 0.0, (stem,)) for name in members}
    for name in missing:
        if name not in features:
            features[name] = FeaturePrice(name, PLACEHOLDER)
            marks[name] = ""
    every = [*names, *(name for name in features if name not in set(names))]
    ordered, shared = tuple(features[name] for name in every), tuple(resources.values())
    model = evolve(known, features=ordered, resources=shared) if known else CostModel(ordered, shared)
    model = evolve(model, ignore=tuple(dict.fromkeys((*model.ignore, *reasons))))
    return PriceDraft(model if unit is None else evolve(model, unit=unit), marks, reasons, classes, hints or {})


def find_ignored(table: Mapping[str, Any], *, is_whole: bool = True) -> dict[str, str]:
    """Return the columns of a table, pyarrow columns by name, that are no features, each with the reason.

    These are ids, dates, free texts and, where the table is whole, constants; few rows show none of them.
    """
    found: dict[str, str] = {}
    for name, column in table.items():
        if len(column) < _FEW_ROWS:
            continue
        if is_whole and len(column.unique()) == 1:
            found[name] = "the same in every row"
        elif (who := describe_id(column, name)) is not None and (who.is_sure or not who.repeats):
            found[name] = who.describe() + who.way_out(name)
        elif why := why_no_feature(column, name):
            found[name] = why
        elif not is_whole and find_dates(column, name) is not None:
            found[name] = "dates, which are read only where the table fits in memory"
    return found


def describe_open(file: Path) -> str | None:
    """Return a note about the placeholders left in a file of `PriceDraft.to_toml`; None if there are none."""
    found = len(re.findall(rf"= {PLACEHOLDER} +# {_TO_FILL_IN}\b", file.read_text("utf-8-sig")))
    left = f"{file.name}: {format_count(found, 'price')} marked '{_TO_FILL_IN}'"
    return f"{left} {'is' if found == 1 else 'are'} still {PLACEHOLDER}" if found else None


def split_name(name: str) -> str | None:
    """Return the name of a one-hot column without its value, such as color of color_red and color=red, or None."""
    found = re.fullmatch(r"(.*\w)(?:=|_)[^=_]+", name)
    return found.group(1) if found else None


def _guess_groups(
    names: Sequence[str], one_hot: Sequence[Sequence[str]], resources: Mapping[str, ResourcePrice]
) -> dict[str, tuple[list[str], str]]:
    """Return guessed resources: the columns that need each, and why."""
    left = dict.fromkeys(names)
    guesses: dict[str, tuple[list[str], str]] = {}

    def take(groups: Mapping[str, list[str]], least: int, why: str) -> None:
        for stem, members in groups.items():
            if len(members) >= (1 if stem in resources else least) and stem not in guesses:
                guesses[stem] = members, why
                for name in members:
                    del left[name]

    take({split_name(group[0]) or group[0]: [one for one in group if one in left] for group in one_hot}, 2, "one-hot")
    take(_group(left, _without_statistics), 2, "statistics of one measurement,")
    take(_group(left, _prefix), _FEW_WITH_PREFIX, "names that begin alike,")
    return guesses


def _group(names: Mapping[str, None], stem_of: Callable[[str], str | None]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        if stem := stem_of(name):
            groups.setdefault(stem, []).append(name)
    return groups


def _without_statistics(name: str) -> str | None:
    """Return the measurement in a name such as `mean radius` or `hr_max`, or None without a statistic."""
    words = re.split(r"[\s_.:-]+", name)
    rest = [word for word in words if word.lower() not in _STATISTICS]
    return " ".join(rest) if 0 < len(rest) < len(words) else None


def _prefix(name: str) -> str | None:
    words = re.split(r"[_.:=]", name, maxsplit=1)
    return words[0] if len(words) > 1 and words[0].strip() and words[0].lower() not in _STATISTICS else None


def find_one_hot(columns: Mapping[str, Any]) -> list[list[str]]:
    """Return groups of two or more columns with names such as color_red, of which each row has at most one.

    `columns` are those of a pyarrow table, by name; a one-hot column holds 0 and 1, or truth values.
    """
    groups: dict[str, list[str]] = {}
    for name in columns:
        if stem := split_name(name):
            groups.setdefault(stem, []).append(name)
    return [names for names in groups.values() if len(names) > 1 and _at_most_one([columns[name] for name in names])]


def _at_most_one(columns: list[Any]) -> bool:
    """Return whether all columns hold 0 and 1, or truth values, and each row at most one 1."""
    ones = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if not is_numeric(column.type):
            return False
        values = np.nan_to_num(as_numbers(column, ""))
        if not np.isin(values, (0.0, 1.0)).all():
            return False
        ones += values == 1
    return int(ones.max(initial=0)) <= 1
