"""A draft of prices for the columns of a table: placeholders to fill in, and resources guessed from names."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from costframe.core.errors import format_count, quote_names
from costframe.core.prices.costs import CostModel, FeaturePrice, ResourcePrice
from costframe.core.prices.costs_io import to_toml
from costframe.core.prices.entries import NOT_MADE
from costframe.core.prices.error_prices import ErrorPrices
from costframe.datasets.empty_tests import EmptyTest
from costframe.datasets.price_guesses import guess_groups

PLACEHOLDER = 1.0
_TO_FILL_IN = "fill in"
_MOST_CLASSES = 10  # of a table of errors
_Price = TypeVar("_Price", FeaturePrice, ResourcePrice)


@frozen
class PriceDraft:
    """Prices of a table's columns, some of which are placeholders."""

    costs: CostModel
    # features and resources whose price is to be filled in, each with what was guessed about it, or nothing
    open: Mapping[str, str] = field(factory=dict)
    ignored: Mapping[str, str] = field(factory=dict)  # columns that the draft ignores, each with the reason
    classes: Sequence[Any] = ()  # labels of the target
    hints: Mapping[str, str] = field(factory=dict)  # features, each with what to think of before it is bought
    # features and resources that the draft calls "not made" where they are empty, each with the reason
    tests: Mapping[str, str] = field(factory=dict)

    def with_tests(self, tests: Iterable[EmptyTest]) -> PriceDraft:
        """Return the draft in which empty cells of these mean that nobody made the test."""
        reasons = {test.panel.name: test.comment for test in tests}
        features = tuple(_mark(price, reasons) for price in self.costs.features)
        resources = tuple(_mark(price, reasons) for price in self.costs.resources)
        return evolve(self, costs=evolve(self.costs, features=features, resources=resources), tests=reasons)

    def to_toml(self, title: str) -> str:
        """Return the file to fill in, with a comment at each placeholder; `CostModel.load` reads it."""
        notes = {name: "; ".join(filter(None, (_TO_FILL_IN, why))) for name, why in self.open.items()}
        for further in (self.tests, self.hints):
            for name, why in further.items():
                notes[name] = "; ".join(filter(None, (notes.get(name), why)))
        lines = [title]
        if self.open:
            lines.append(
                f"Each price marked '{_TO_FILL_IN}' is a placeholder. A resource is paid once per row, with the "
            )
            lines[-1] += "first feature that needs it."
        if self.tests:
            lines.append(f"absent = '{NOT_MADE}' says that nobody made the test where a cell is empty.")
            lines.append("Take it away where that is what the source answers, and from what is free.")
        return to_toml(self.costs.to_dict(), lines, {**self.ignored, **notes}) + self._errors()

    def _errors(self) -> str:
        """Return a table of errors for these classes as comments: without prices, it would change what is chosen."""
        if self.costs.errors is not None or not 1 < len(self.classes) <= _MOST_CLASSES:
            return ""
        free = {truth: {answer: 0.0 for answer in self.classes if answer != truth} for truth in self.classes}
        table = to_toml({"errors": ErrorPrices.of(free).to_dict()}).strip()
        title = "What wrong answers cost: truth = { answer = price }. Fill in, and take away each '# ':"
        return "\n" + "".join(f"# {line}\n" for line in (title, *table.split("\n")))


def _mark(price: _Price, tests: Container[str]) -> _Price:
    """Return a price that calls empty cells "not made", if it is among the tests."""
    return evolve(price, absent=NOT_MADE) if price.name in tests else price


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
    guesses = guess_groups(missing, one_hot, resources)
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


def describe_open(file: Path) -> str | None:
    """Return a note about the placeholders left in a file of `PriceDraft.to_toml`; None if there are none."""
    pattern = rf"= (?:{PLACEHOLDER}|\{{ cost = {PLACEHOLDER}, .*\}}) +# {_TO_FILL_IN}\b"
    n_open = len(re.findall(pattern, file.read_text("utf-8-sig")))
    left = f"{file.name}: {format_count(n_open, 'price')} marked '{_TO_FILL_IN}'"
    return f"{left} {'is' if n_open == 1 else 'are'} still {PLACEHOLDER}" if n_open else None
