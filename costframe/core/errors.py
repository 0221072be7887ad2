"""Errors of costframe: one root, a class for each kind of input; and the wording of values, counts, names and files."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import field, frozen

_SHOWN = 80  # letters of a value in an error text
_LINE = 120  # letters of a repr


class CostframeError(ValueError):
    """An input that costframe refuses; the text names it, the expected value and the given one."""

    def __str__(self) -> str:
        """Return the text, whose names may be from a file, with escapes for what controls a terminal."""
        return "\n".join(map(printable, super().__str__().split("\n")))


class CostModelError(CostframeError):
    """An invalid price table, or one that does not fit the features."""


class BankError(CostframeError):
    """Weak learners that are malformed or do not fit together."""


class StageError(CostframeError):
    """A stage tree that is not a tree, or whose parts do not fit its bank."""


class InquiryError(CostframeError):
    """A call that an inquiry does not expect."""


class SourceError(InquiryError):
    """A row that has no answer, because a source failed and its policy is to raise.

    Attributes
    ----------
    cost : float
        What the row had paid for values that came.
    failed_cost : float
        Price of what was asked for in vain.
    failures : dict of str to str
        Why each feature did not come.
    paid : float or None
        What its sources were really paid, failed calls included; None if no source says so.
    """

    cost: float = 0.0
    failed_cost: float = 0.0
    paid: float | None = None
    failures: dict[str, str] = {}  # noqa: RUF012 - each error that has some sets its own


class TotalCostError(SourceError):
    """A row that is left for a later run: a next call could pass what the run may pay, so it was not made."""


class DataError(CostframeError):
    """A table of rows that does not fit its reader."""


class TableError(DataError):
    """Several problems of one table, a line for each.

    Attributes
    ----------
    problems : tuple of str
    """

    def __init__(self, file: str, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join([f"{file}: {len(problems)} problems", *problems]))
        self.problems = problems


class DataTypeError(DataError, TypeError):
    """A cell whose type cannot be a number."""


class ParameterError(CostframeError):
    """A setting with a forbidden value, or without effect."""


class AdoptionError(CostframeError):
    """A foreign model that cannot be adopted exactly."""


class StorageError(CostframeError):
    """A saved file that is truncated, altered, newer than this version, or not a costframe model."""


class WorkersError(CostframeError, RuntimeError):
    """Workers of one training have lost each other: one has ended, failed, or does not answer in time."""


class OutsiderError(CostframeError, RuntimeError):
    """A program outside that ended, does not answer in time, or says what is none of the expected answers."""


class PluginError(CostframeError):
    """A plugin that is broken, clashes with another, or lacks the requested entry."""


class UnknownValuesWarning(UserWarning):
    """Most rows have labels that a model does not know, or no row has a value, in a column that the model reads."""


class UntestedWarning(UserWarning):
    """Too few rows of a class have had a test to tell what it shows of others: a fit leaves its columns out."""


@frozen
class Problems:
    """Problems found while a file is read, each an error that was not raised yet."""

    file: Path
    found: list[CostframeError] = field(factory=list)

    @contextlib.contextmanager
    def collect(self) -> Iterator[None]:
        """Keep an error of costframe for `end`."""
        try:
            yield
        except CostframeError as error:
            self.found.append(error)

    def end(self) -> None:
        """Raise the error that was found, or a `TableError` with all; it names the file."""
        if len(self.found) == 1:
            text = str(self.found[0])
            raise type(self.found[0])(text if text.startswith(str(self.file)) else f"{self.file}: {text}")
        if self.found:
            raise TableError(str(self.file), tuple(map(str, self.found)))


def printable(text: str) -> str:
    """Return a text for a terminal: letters that control it, turn its direction or are invisible become escapes."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def shown(value: Any) -> str:
    """Return a value as an error text quotes it: one short line, NumPy scalars as plain numbers."""
    try:
        scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0
        text = " ".join(repr(value.item() if scalar else value).split())
    except Exception:  # noqa: BLE001 - whatever its class raises; Python does not print a number of thousands of digits
        return f"{type(value).__name__} that cannot be shown"
    return printable(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def format_count(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: 1 value, 2 values."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def brief(value: object, *facts: str, more: Iterable[str] = ()) -> str:
    """Return the `repr` of an object: its class and some facts, and `more` below.

    Each line is printable and has at most 120 letters. Objects that are shown within others have one line.
    """
    text = f"{type(value).__name__}({printable(', '.join(fact for fact in facts if fact))})"
    first = text if len(text) <= _LINE else f"{text[: _LINE - 4]}...)"
    below = [f"  {printable(line)}" for line in more]
    return "\n".join([first, *(line if len(line) <= _LINE else f"{line[: _LINE - 3]}..." for line in below)])


def quote_names(names: Iterable[str], most: int = 4) -> str:
    """Return at most `most` names as an error text quotes them."""
    every = list(names)
    more = len(every) - most
    return ", ".join(map(shown, every[:most])) + (f" and {more} more" if more > 0 else "")


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return ``" (did you mean ...?)"`` with the known names closest to `name`, or an empty text if none is close."""
    close = difflib.get_close_matches(name, list(known), n=3) if isinstance(name, str) else []
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


@contextlib.contextmanager
def name_reading_errors(file: str | Path) -> Iterator[None]:
    """Turn errors of reading into one line that names the file."""
    import pyarrow as pa

    try:
        yield
    except DataError as error:
        raise error if str(error).startswith(f"{file}: ") else DataError(f"{file}: {error}") from error
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        reason = error.strerror or (f"{' '.join(str(error).split()):.200}" if is_missing else "not a whole file")
        raise DataError(f"{file}: cannot be read: {reason}") from error
    except (pa.ArrowException, ValueError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{file}: cannot be read: {reason:.200}") from error


@contextlib.contextmanager
def name_file(file: str | Path) -> Iterator[None]:
    """Add the file's name to errors."""
    try:
        yield
    except (CostModelError, DataError) as error:
        raise type(error)(f"{file}: {error}") from error
