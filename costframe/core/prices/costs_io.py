"""Files of prices: reading of TOML, JSON and CSV, writing of TOML and JSON."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from costframe.core.errors import CostModelError, printable, shown
from costframe.core.files import write_atomically
from costframe.core.prices.entries import BARE, check_different

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# A name of 32 parts and more; tomllib takes time and memory quadratic in their number.
_LONG_CHAIN = re.compile(r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){31}""")


def _suffix(path: Path, *further: str) -> str:
    suffix = path.suffix.lower()
    if suffix not in {".toml", ".json", *further}:
        place = str(path)[:1000]  # a longer text is hardly a path
        endings = f".toml{''.join(f', {each}' for each in further)} or .json"
        raise CostModelError(f"{place}: expected a file name that ends in {endings}, got {shown(path.name)}")
    return suffix


def read_prices(path: Path) -> object:
    """Return the content of a TOML, JSON or CSV file, by its suffix; every error names the file."""
    suffix = _suffix(path, ".csv")
    try:
        text = path.read_bytes().decode("utf-8-sig")  # editors on Windows put a byte order mark in front
    except UnicodeDecodeError as error:
        raise CostModelError(f"{path}: expected a text in UTF-8, got other bytes ({error})") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise CostModelError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        if suffix == ".csv":
            return {"features": _parse_csv(text)}
        return _parse_toml(text) if suffix == ".toml" else json.loads(text, object_pairs_hook=_different_keys)
    except RecursionError as error:
        raise CostModelError(f"{path}: expected a table of prices, got one nested too deeply") from error
    except CostModelError as error:
        raise CostModelError(f"{path}: {error}") from error
    except ValueError as error:  # also an integer with more digits than Python reads
        raise CostModelError(
            f"{path}: expected valid {suffix[1:].upper()}, got: {error}{_line(text, error)}"
        ) from error


def _parse_toml(text: str) -> object:
    if _LONG_CHAIN.search(text):
        raise RecursionError
    return tomllib.loads(text)


def _parse_csv(text: str) -> dict[str, Any]:
    """Return prices by feature from lines of two cells; a first line without a number or a name is a header."""
    semicolons = ";" in text.split("\n", 1)[0]  # as Excel writes where commas are in numbers
    lines = [line for line in csv.reader(text.splitlines(), delimiter=";" if semicolons else ",") if any(line)]
    for number, line in enumerate(lines, 1):
        if len(line) != 2:
            raise CostModelError(f"expected a name and a price in each line, got {len(line)} cells in line {number}")
    pairs = [(name.strip(), _as_number(price.replace(",", ".") if semicolons else price)) for name, price in lines]
    is_header = bool(pairs) and (isinstance(pairs[0][1], str) or not pairs[0][0])  # `to_csv` of a Series begins with ,0
    return _different_keys(pairs[1:] if is_header else pairs)


def _as_number(text: str) -> float | str:
    try:
        return text if "_" in text else float(text)
    except ValueError:
        return text


def _line(text: str, error: ValueError) -> str:
    """Return the line that a parser's error points to: for a repeated name, TOML's parser gives the place only."""
    found = re.search(r"line (\d+)", str(error))
    lines = text.split("\n")
    number = int(found.group(1)) if found else 0
    return f": {shown(lines[number - 1].strip())}" if 0 < number <= len(lines) else ""


def _different_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    check_different(key for key, _ in pairs)
    return dict(pairs)


def write_prices(path: Path, table: Mapping[str, Any]) -> None:
    """Write a price table as TOML or JSON, by the suffix: whole or not at all."""
    if _suffix(path) == ".toml":
        text = to_toml(table)
    else:
        text = json.dumps(table, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        write_atomically(path, text.encode())
    except (OSError, ValueError) as error:
        raise CostModelError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from error


def to_toml(table: Mapping[str, Any], title: Iterable[str] = (), notes: Mapping[str, str] | None = None) -> str:
    """Return a table of scalars and, after them, tables as TOML, one line per entry.

    `title` are lines of comment before it, `notes` comments on names in the tables and lists. The order of the
    features stays.
    """
    lines = [f"# {printable(line)}" for line in title]
    comments = {name: f"  # {printable(note)}" for name, note in (notes or {}).items()}
    for key, value in table.items():
        if isinstance(value, list):
            lines += [f"{key} = [", *(f"    {_toml_value(name)},{comments.get(name, '')}" for name in value), "]"]
        elif not isinstance(value, Mapping):
            lines.append(f"{key} = {_toml_value(value)}")
    for key, entries in table.items():
        if isinstance(entries, Mapping):
            lines += ["", f"[{key}]"]
            lines += [
                f"{_toml_key(name)} = {_toml_value(one)}{comments.get(name, '')}" for name, one in entries.items()
            ]
    return "\n".join(lines) + "\n"


def _toml_key(name: str) -> str:
    return name if BARE.fullmatch(name) else _toml_value(name)


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml_key(key)} = {_toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    quoted = json.dumps(value, ensure_ascii=False)  # TOML writes scalars as JSON does
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in quoted)  # no control of a terminal
