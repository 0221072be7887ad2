"""How a table is written as text: its encoding, separator and decimal sign, found by what the file holds.

Excel writes what the country is used to: semicolons and decimal commas, Windows-1252, or UTF-16 with tabs.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from costframe.core.errors import DataError, quote_names, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

_CHUNK = 1 << 16  # bytes that show the separator and the decimal sign
_LONGEST = 1 << 24  # of a line

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_WINDOWS, _UTF_16 = "cp1252", "utf-16"
_ENCODINGS = {_WINDOWS: "Windows-1252", _UTF_16: "UTF-16"}
_UNDEFINED = b"\x81\x8d\x8f\x90\x9d"  # in Windows-1252
_LETTERS_IN_UTF_8 = re.compile(rb"\xc3[\x80-\xbf]|\xe2\x80")  # accented letters and quotes of the west
_SAVE = "save it as UTF-8 (in Excel: 'CSV UTF-8')"

_SEPARATOR_LINE = re.compile(r'"?sep=([,;\t])"?\r?\n')  # a line that Excel understands
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_INDEX = re.compile(r"Unnamed: \d+(?:\.\d+)?")
_MAYBE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_MAYBE_DOTTED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_DOTTED = re.compile(r"[+-]?(?=[\d,])(?:[1-9]\d{0,2}(?:\.\d{3})+|\d*)(?:,\d+)?")  # with or without points for thousands
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+|(?:,\d{3}){2,}|(?:\.\d{3}){2,})")


@frozen
class Dialect:
    """How a table is written as text."""

    encoding: str = "utf-8"  # {"utf-8", "utf-16", "cp1252"}
    separator: str = ","  # {",", ";", tab}
    decimal: str = "."  # {".", ","}
    dotted: bool = False  # whether numbers, with decimal commas, may have points for thousands: 1.234,5
    skip: int = 0  # lines before the header
    header: int = 0  # bytes of the header, about
    # names of all columns, where the first ones have none in the header: an index that `to_csv` wrote
    names: tuple[str, ...] = ()

    def describe(self, usual: str) -> str | None:
        """Return what is unusual, given the usual separator, as a text; None if nothing is."""
        parts = [f"text in {_ENCODINGS[self.encoding]}"] if self.encoding in _ENCODINGS else []
        parts += [f"separated by {_SEPARATORS[self.separator]}"] if self.separator != usual else []
        parts += ["decimal commas"] if self.decimal == "," else []
        parts += ["points for thousands"] if self.dotted else []
        return f"read as {', '.join(parts)}" if parts else None


def find_dialect(file: Path, usual: str) -> Dialect:
    """Find how a table is written; `usual` is the separator by its ending. An `OSError` if it cannot be read.

    Raises
    ------
    DataError
        If the encoding is another one, or two separators or decimal signs are possible.
    """
    begin, ended = _read_begin(file)
    encoding = _find_encoding(file, begin)
    # The last letter may be cut.
    text = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)("replace").decode(begin)
    line = _SEPARATOR_LINE.match(text)
    text = text[line.end() :] if line else text
    separator = line.group(1) if line else _find_separator(text, usual, ended=ended)
    header = len(begin) if "\n" not in text else len(text[: text.index("\n")].encode())
    names, *rows = _records(text, separator, ended=ended) or [[]]
    decimal, dotted = _find_decimal(rows, separator)
    return Dialect(encoding, separator, decimal, dotted, 1 if line else 0, header, _name_index(names))


def _name_index(header: list[str]) -> tuple[str, ...]:
    """Return the names of a header whose first ones are empty as pandas names them; none for another header."""
    nameless = next((place for place, name in enumerate(header) if name.strip()), 0)
    for place in range(nameless):
        name = f"Unnamed: {place}"
        names = chain([name], (f"{name}.{i}" for i in count(1)))
        header[place] = next(each for each in names if each not in header)
    return tuple(header) if nameless else ()


def find_indices(names: Iterable[str], but: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Return the columns that are an index that `to_csv` wrote, except some, and a note on them if there are any."""
    indices = [name for name in names if _INDEX.fullmatch(name) and name not in but]
    return indices, [f"{quote_names(indices)}: left out, an index without a name"] if indices else []


def _read_begin(file: Path) -> tuple[bytes, bool]:
    """Return the first line and more, and whether that is the whole file."""
    with pa.input_stream(str(file)) as stream:  # it unpacks by the ending
        begin = stream.read(_CHUNK)
        while len(begin) < _LONGEST and b"\n" not in begin and (more := stream.read(_CHUNK)):
            begin += more
        more = stream.read(_CHUNK)
        return begin + more, len(more) < _CHUNK


def _chunks(file: Path) -> Iterator[bytes]:
    with pa.input_stream(str(file)) as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def _find_encoding(file: Path, begin: bytes) -> str:
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not begin.startswith(codecs.BOM_UTF32_LE):
        return _UTF_16
    if b"\0" in begin:
        raise DataError(f"expected text in UTF-8, got UTF-16 without its mark, UTF-32 or no text; {_SAVE}")
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for chunk in _chunks(file):
            decoder.decode(chunk)
    except UnicodeDecodeError:
        for chunk in _chunks(file):
            _check_windows(chunk)
        return _WINDOWS
    return "utf-8"


def _check_windows(chunk: bytes) -> None:
    """Refuse bytes that are no text in Windows-1252, or that make no sense in it."""
    if len(chunk.translate(None, _UNDEFINED)) < len(chunk):
        raise DataError(f"expected text in UTF-8, UTF-16 or Windows-1252, got another encoding; {_SAVE}")
    if _LETTERS_IN_UTF_8.search(chunk):
        raise DataError(f"expected text in one encoding, got letters in UTF-8 beside some in another; {_SAVE}")


def _records(text: str, separator: str, *, ended: bool) -> list[list[str]]:
    """Return the whole records of a text with this separator; none where a field is too long for one."""
    try:
        records = [record for record in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if record]
    except csv.Error:
        return []
    return records if ended else records[:-1]


def _find_separator(text: str, usual: str, *, ended: bool) -> str:
    fitting = []
    for separator in _SEPARATORS:
        widths = {len(record) for record in _records(text, separator, ended=ended)}
        if len(widths) == 1 and widths != {1}:
            fitting.append(separator)
    if len(fitting) == 1 or (usual == "\t" and usual in fitting):
        return usual if usual == "\t" and usual in fitting else fitting[0]
    if fitting:
        first, second = (_SEPARATORS[separator] for separator in fitting[:2])
        raise DataError(
            f"may be separated by {first} or by {second}, for both give rows of one length; "
            "write it with tabs, as a .tsv file, or put texts between quotes"
        )
    header = text.partition("\n")[0]  # one column, or rows of many lengths, which the reader refuses
    return max(_SEPARATORS, key=lambda separator: (header.count(separator), separator == usual))


def _find_decimal(records: list[list[str]], separator: str) -> tuple[str, bool]:
    """Return the decimal sign of numbers, and whether they have points for thousands beside decimal commas.

    Between commas, a number with a decimal comma is in quotes. So are amounts with commas for thousands, and lists:
    where these may be meant, such fields are texts.
    """
    fields = [field.strip() for record in records for field in record]
    commas, points = ([field for field in fields if sign.fullmatch(field)] for sign in (_COMMA, _POINT))
    out = "write numbers with one decimal sign, and none for thousands"
    odd = [field for field in fields if _THOUSANDS.fullmatch(field)]
    if separator == ",":
        surely = not (points or odd) and not all(_MAYBE_THOUSANDS.fullmatch(field) for field in commas)
        return ("," if surely else "."), False
    if (points or odd) and all(map(_DOTTED.fullmatch, [*points, *odd])) and any("," in each for each in commas + odd):
        return ",", True
    if odd:
        raise DataError(f"expected numbers such as 1234.5, got {shown(odd[0])}; {out}")
    if commas and points:
        raise DataError(f"expected one decimal sign, got {shown(commas[0])} and {shown(points[0])}; {out}")
    if separator == "\t" and commas and all(_MAYBE_THOUSANDS.fullmatch(field) for field in commas):
        raise _refuse_number(commas[0], ",")
    if separator == ";" and points and all(map(_MAYBE_DOTTED.fullmatch, points)):
        raise _refuse_number(points[0], ".")
    # Semicolons are for countries in which the comma is in numbers.
    return ("," if commas or (separator == ";" and not points) else "."), False


def _refuse_number(text: str, sign: str) -> DataError:
    whole, number = text.replace(sign, ""), text.replace(sign, ".")
    return DataError(f"{shown(text)} may be {whole} or {number}; write all such numbers as {whole} or as {number}0")


def without_points(texts: Any) -> Any:
    """Return a pyarrow column of texts without points for thousands; None if some are no numbers written so."""
    if all(_DOTTED.fullmatch(text) for text in texts.unique().drop_null().to_pylist()):
        return pc.replace_substring(texts, ".", "")
    return None


def with_points(texts: Any) -> Any:
    """Return a pyarrow column of texts with a decimal point in those that are numbers with a decimal comma."""
    each = texts.unique()
    spelled = [
        text.replace(".", "").replace(",", ".") if text and "," in text and _is_with_comma(text.strip()) else text
        for text in each.to_pylist()
    ]
    return pa.array(spelled, each.type).take(pc.index_in(texts, each))


def _is_with_comma(text: str) -> bool:
    return bool(_COMMA.fullmatch(text) or _DOTTED.fullmatch(text))
