"""How a table is written as text: its encoding, separator and numbers, found by what the file holds.

Excel writes what the country is used to: semicolons and decimal commas, Windows-1252, or UTF-16 with tabs.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

import pyarrow as pa
from attrs import field, frozen

from costframe.core.cells import unguard
from costframe.core.errors import DataError, format_count, shown
from costframe.core.numerals import Spelling, find_spelling, is_numeral
from costframe.core.tables.columns import MISSING_TEXTS

_CHUNK = 1 << 16  # bytes that show the separator and the spelling of numbers
_LONGEST = 1 << 24  # of a line
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_RARE = "|"  # where no other separator fits
_NAMES = _SEPARATORS | {_RARE: "bars"}
_WINDOWS, _UTF_16 = "cp1252", "utf-16"
_ENCODINGS = {_WINDOWS: "Windows-1252", _UTF_16: "UTF-16"}
_UNDEFINED = b"\x81\x8d\x8f\x90\x9d"  # in Windows-1252
_LETTERS_IN_UTF_8 = re.compile(rb"\xc3[\x80-\xbf]|\xe2\x80")  # accented letters and quotes of the west
_SAVE = "save it as UTF-8 (in Excel: 'CSV UTF-8')"
_SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])"?\r?\n')  # a line that Excel understands


@frozen
class Dialect:
    """How a table is written as text."""

    encoding: str = "utf-8"  # {"utf-8", "utf-16", "cp1252"}
    separator: str = ","  # {",", ";", tab, "|"}
    spelling: Spelling = field(factory=Spelling)
    skip: int = 0  # lines before the header
    header: int = 0  # bytes of the header, about
    # names of all columns, where they are not those in the header
    names: tuple[str, ...] = ()
    closed: bool = False  # whether each row ends with a separator, behind which there is nothing
    whole: bool = True  # whether the spelling is that of all rows
    comments: int = 0  # lines before the header that begin with #
    codes: tuple[str, ...] = ()  # columns of whole numbers, of which some begin with 0 as 007 does

    def describe(self, usual: str) -> str | None:
        """Return what is unusual, given the usual separator, as a text; None if nothing is."""
        parts = [f"text in {_ENCODINGS[self.encoding]}"] if self.encoding in _ENCODINGS else []
        parts += [f"separated by {_NAMES[self.separator]}"] if self.separator != usual else []
        parts += ["rows that end with a separator"] if self.closed else []
        parts += self.spelling.notes
        without = f"without {format_count(self.comments, 'line')} of comment" if self.comments else ""
        if parts:
            return f"read as {', '.join([*parts, *([without] if without else [])])}"
        return f"read {without}" if without else None


def find_dialect(file: Path, usual: str) -> Dialect:
    """Find how a table is written; `usual` is the separator by its ending. An `OSError` if it cannot be read.

    Raises
    ------
    DataError
        If the encoding is another one, two separators are possible, or the first line is no header.
    """
    begin, ended = _read_begin(file)
    encoding, quoted = _find_encoding(file, begin)
    # The last letter may be cut.
    text = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)("replace").decode(begin)
    line = _SEPARATOR_LINE.match(text)
    text, comments = _skip_comments(text[line.end() :] if line else text)
    separator, closed = _find_separator(text, usual, ended=ended, given=line.group(1) if line else None)
    header = len(begin) if "\n" not in text else len(text[: text.index("\n")].encode())
    records = _records(text, separator, ended=ended)
    columns = _columns(records[1:])
    spelling = find_spelling(columns, separator)
    # Without quotes, no number between commas has one.
    whole = ended or not spelling.unclear or (separator == "," and not quoted)
    header_names = records[0] if records else []
    names = _names(header_names, closed=closed)
    codes = tuple(name for name, texts in zip(names or header_names, columns, strict=False) if _are_codes(texts))
    skip = bool(line) + comments
    return Dialect(encoding, separator, spelling, skip, header, names, closed, whole, comments, codes)


def _columns(records: list[list[str]]) -> list[set[str]]:
    """Return the different texts of each column that are not missing."""
    width = max(map(len, records), default=0)
    return [{row[place].strip() for row in records if place < len(row)} - set(MISSING_TEXTS) for place in range(width)]


def _are_codes(texts: set[str]) -> bool:
    return any(len(text) > 1 and text.startswith("0") for text in texts) and all(map(str.isdigit, texts))


def _names(header: list[str], *, closed: bool) -> tuple[str, ...]:
    """Return the names of all columns, that behind the last separator without one; none if the header has them so."""
    inside = header[:-1] if closed and not header[-1].strip() else header
    inside = [unguard(name) for name in inside]
    names = (*(_name_index(inside) or inside), *([""] if closed else []))
    return names if list(names) != header else ()


def _name_index(header: list[str]) -> tuple[str, ...]:
    """Return the names of a header whose first ones are empty as pandas names them; none for another header."""
    header = list(header)
    nameless = next((place for place, name in enumerate(header) if name.strip()), 0)
    for place in range(nameless):
        name = f"Unnamed: {place}"
        names = chain([name], (f"{name}.{i}" for i in count(1)))
        header[place] = next(candidate for candidate in names if candidate not in header)
    return tuple(header) if nameless else ()


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


def _find_encoding(file: Path, begin: bytes) -> tuple[str, bool]:
    """Return the encoding, and whether there may be quotes."""
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not begin.startswith(codecs.BOM_UTF32_LE):
        return _UTF_16, True
    if b"\0" in begin:
        raise DataError(f"expected text in UTF-8, got UTF-16 without its mark, UTF-32 or no text; {_SAVE}")
    decoder, quoted = codecs.getincrementaldecoder("utf-8")(), False
    try:
        for chunk in _chunks(file):
            decoder.decode(chunk)
            quoted = quoted or b'"' in chunk
    except UnicodeDecodeError:
        for chunk in _chunks(file):
            _check_windows(chunk)
        return _WINDOWS, True
    return "utf-8", quoted


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


def _skip_comments(text: str) -> tuple[str, int]:
    """Return a text without the lines of comment above its header, which begin with #, and their number.

    The last of them is the header where it fits the rows, as #id,age does.
    """
    if not text.startswith("#"):
        return text, 0
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    count = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    if not count:
        return text, 0
    below = "".join(lines[count:])
    last = max(i for i in range(count) if lines[i].startswith("#"))
    if _is_header(lines[last], below):
        count = last
    return "".join(lines[count:]), count


def _is_header(line: str, below: str) -> bool:
    """Return whether a line that begins with # is the header of what is below."""
    widest = 1
    for separator in (*_SEPARATORS, _RARE):
        first, *rest = _records(line + below, separator, ended=True)
        width = max((len(row) for row in rest), default=1)
        widest = max(widest, width)
        if 1 < width == len(first):
            named = not any(is_numeral(cell) for cell in rest[0])
            return not (named and any(is_numeral(cell) for row in rest[1:] for cell in row))
    return widest == 1 and not line.startswith("# ")  # one column may have any name


def _find_separator(text: str, usual: str, *, ended: bool, given: str | None = None) -> tuple[str, bool]:
    """Return the separator, and whether each row ends with one."""
    candidates = (given,) if given else tuple(_SEPARATORS)
    fitting = {
        separator: closed for separator in candidates if (closed := _fits(text, separator, ended=ended)) is not None
    }
    if given is not None:
        return given, fitting.get(given, False)
    if usual == "\t" and usual in fitting:
        return usual, fitting[usual]
    if len(fitting) > 1:
        first, second = (_SEPARATORS[separator] for separator in list(fitting)[:2])
        raise DataError(
            f"may be separated by {first} or by {second}, for both give rows of one length; "
            "write it with tabs, as a .tsv file, or put texts between quotes"
        )
    if not fitting and (closed := _fits(text, _RARE, ended=ended)) is not None:
        return _RARE, closed
    if fitting:
        return next(iter(fitting.items()))
    _refuse_header(text, ended=ended)
    header = text.partition("\n")[0]  # one column, or rows of many lengths, which the reader refuses
    return max(_SEPARATORS, key=lambda separator: (header.count(separator), separator == usual)), False


def _fits(text: str, separator: str, *, ended: bool) -> bool | None:
    """Return whether rows end with a separator, where each has as many cells as the header; None where some has not."""
    header, *rows = _records(text, separator, ended=ended) or [[]]
    widths = {len(row) for row in rows} or {len(header)}
    if len(widths) > 1 or (width := widths.pop()) < 2:
        return None
    closed = all(not row[-1].strip() for row in rows) and bool(rows)
    if width == len(header):
        return closed and not header[-1].strip()
    return True if closed and width == len(header) + 1 and len(header) > 1 else None


def _refuse_header(text: str, *, ended: bool) -> None:
    """Refuse a file whose first line is no header of those below, or whose columns are separated by blanks."""
    first = text.partition("\n")[0].strip()
    for separator, name in _SEPARATORS.items():
        header, *rows = _records(text, separator, ended=ended) or [[]]
        widths = {len(row) for row in rows}
        if len(rows) > 1 and len(header) == 1 and len(widths) == 1 and widths != {1}:
            raise DataError(f"the first line, {shown(first)}, has no {name}, as those below have: remove what is above "
                            "the names of columns, or begin such lines with #")  # fmt: skip
        if rows and len(header) > 1 and widths == {len(header) + 1}:
            raise DataError(f"rows have one cell more than the header, {shown(first)}: name each column (in R: "
                            "row.names = FALSE), and put numbers with commas between quotes")  # fmt: skip
    rows = [line.split() for line in text.splitlines() if line.strip()]
    rows = rows if ended else rows[:-1]
    width = len(rows[0]) if rows else 0
    if width < 2 or len(rows) < 2 or any(len(row) != width for row in rows):
        return
    numbers = [all(is_numeral(row[place]) or row[place] in MISSING_TEXTS for row in rows[1:]) for place in range(width)]
    if 2 * sum(numbers) > width:
        raise DataError("separated by blanks; write it with commas, for example by: tr -s ' \\t' , < FILE > FILE.csv")
