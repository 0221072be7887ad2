"""Files of prices: reading of TOML, JSON and CSV, writing of TOML and JSON."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from costframe.core.cells import unguard
from costframe.core.errors import CostModelError, format_count, printable, shown
from costframe.core.files import write_atomically
from costframe.core.numerals import Spelling, find_spelling, is_numeral, looks_numeric
from costframe.core.prices.entry_checks import BARE, check_different, entry_path

# A name of 32 parts and more; tomllib takes time and memory quadratic in their number.
_LONG_CHAIN = re.compile(r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){31}""")

_SEPARATORS = (";", "\t", "|", ",")
_OF_NAMES = re.compile(
    r"#?\s*(?:features?|names?|columns?|variables?|tests?|items?|fields?|attributes?|predictors?|inputs?|n|"
    r"merkmale?|spalten?|bezeichnung(?:en)?|nom|nombre|nome|colonnes?|columnas?|colunas?)(?:[ _]?names?)?",
    re.IGNORECASE,
)
_OF_PRICES = re.compile(
    r"cost|kost|co[uû]t|cust|pri[cx]|preis|prec|preç|prezz|tarif|amount|betrag|montant|charge|value|valor|wert|"
    r"^(?:fees?|units?|eur|usd|gbp|chf|[$€£¥])$",
    re.IGNORECASE,
)
_FREE = re.compile(r"(?:free|no|none|without)\b", re.IGNORECASE)


def _suffix(path: Path, *further: str) -> str:
    suffix = path.suffix.lower()
    if suffix not in {".toml", ".json", *further}:
        place = str(path)[:1000]  # a longer text is hardly a path
        endings = f".toml{''.join(f', {suffix}' for suffix in further)} or .json"
        raise CostModelError(f"{place}: expected a file name that ends in {endings}, got {shown(path.name)}")
    return suffix


def read_prices(path: Path) -> object:
    """Return the content of a TOML, JSON or CSV file, by its suffix; every error names the file."""
    suffix = _suffix(path, ".csv")
    try:
        text = path.read_bytes().decode("utf-8-sig")  # editors on Windows put a byte order mark in front
    except UnicodeDecodeError as error:
        raise CostModelError(f"{path}: expected a text in UTF-8, got other bytes ({error}); save it so") from error
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
    """Return prices by feature from lines of two cells; the first line may be a header."""
    lines, separator = _lines(text)
    prices = [price.strip() for _, price in lines]
    spelling = find_spelling([set(filter(is_numeral, prices))], separator, lists=False)
    pairs = [
        (unguard(name.strip()), _as_price(price, spelling)) for (name, _), price in zip(lines, prices, strict=True)
    ]
    pairs = pairs[1:] if pairs and _is_header(*pairs[0]) else pairs
    for number, (name, price) in enumerate(pairs):
        if isinstance(price, str):
            headed = "" if number else "; a header above the prices reads feature,price"
            why = spelling.why_not(price) or f"got {shown(price)}{headed}"
            raise CostModelError(f"{entry_path('features', name)}: expected a finite number >= 0: {why}")
    return _different_keys(pairs)


def _is_header(name: str, price: float | str) -> bool:
    """Return whether a first line names its columns, rather than a feature whose price is no number.

    `to_csv` of a Series begins with ,0.
    """
    if not name or not isinstance(price, str):
        return not name
    return price.isprintable() and bool(
        _OF_NAMES.fullmatch(name) or (_OF_PRICES.search(price) and not _FREE.match(price))
    )


def _lines(text: str) -> tuple[list[list[str]], str]:
    """Return the lines of a CSV file, each of a name and a price, and their separator, which Excel may name first."""
    named = re.match(r'"?sep=([,;\t|])"?\r?\n', text)
    text = text[named.end() :] if named else text
    separators = (named.group(1),) if named else _SEPARATORS
    read = {separator: _cells(text, separator) for separator in separators}
    fitting = [sign for sign in separators if _fits(read[sign])]
    fitting.sort(key=lambda sign: not any(looks_numeric(line[1]) for line in read[sign].values()))
    if fitting:
        return [line[:2] for line in read[fitting[0]].values()], fitting[0]
    first = "".join(next(iter(read[separators[-1]].values())))
    lines = read[next((sign for sign in separators if sign in first), separators[-1])]
    number, line = next((number, line) for number, line in lines.items() if len(line) != 2)
    raise CostModelError(
        f"expected a name and a price in each line, got {format_count(len(line), 'cell')} in line {number}; write "
        "NAME,PRICE, and names with commas between quotes"
    )


def _cells(text: str, separator: str) -> dict[int, list[str]]:
    """Return the cells of each line by its number, without empty lines and comments."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    lines = ((reader.line_num, line) for line in reader)
    return {number: line for number, line in lines if any(map(str.strip, line)) and not _is_comment(line)}


def _is_comment(line: list[str]) -> bool:
    """Return whether a line is one of comment; a feature may be named # of visits."""
    if len(line) == 2 and looks_numeric(line[1]):
        return False
    return line[0].startswith("#") and (len(line) == 1 or line[0].startswith("# "))


def _fits(lines: Mapping[int, list[str]]) -> bool:
    """Return whether each line has a name and a price, or each has a separator behind them."""
    widths = {len(line) for line in lines.values()}
    return widths <= {2} or (widths == {3} and not any(line[2].strip() for line in lines.values()))


def _as_price(text: str, spelling: Spelling) -> float | str:
    plain = spelling.plain(text)
    return text if plain is None and text.lower() != "nan" else float(plain or text)


def _line(text: str, error: ValueError) -> str:
    """Return the line that a parser's error points to, and how to write it, if that is clear.

    For a repeated name, TOML's parser gives the place only.
    """
    match = re.search(r"line (\d+)", str(error))
    lines = text.split("\n")
    number = int(match.group(1)) if match else 0
    if not 0 < number <= len(lines):
        return ""
    line = lines[number - 1].strip()
    mended = _mend(line)
    return f": {shown(line)}" + (f"; write {mended}" if mended else "")


def _mend(line: str) -> str | None:
    """Return a line of TOML with its name in quotes and its number with a decimal point; None if that is no way out."""
    entry = re.fullmatch(r"([^=\"'\[{#]+?)\s*=\s*([^#]*?)\s*(?:#.*)?", line)
    if entry is None:
        return None
    name, value = entry.groups()
    with_comma = Spelling(",", frozenset(".,")).plain(value)
    name = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _toml_value(name)
    mended = f"{name} = {value if with_comma is None else with_comma}"
    try:
        tomllib.loads(mended)
    except ValueError:
        return None
    return None if mended == line else mended


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
                f"{_toml_key(name)} = {_toml_value(entry)}{comments.get(name, '')}" for name, entry in entries.items()
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
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08x}" for sign in quoted)  # no control of a terminal
