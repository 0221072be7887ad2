"""Numbers in texts: how a file spells them, decided by all that it holds, and what a text that looks like one is not.

A text has one reading or two: 1,5 and 1.234,5 are clear by themselves, but 1.500 is 1500 to a writer with decimal
commas, and 1,250 is 1250 to one with decimal points. Tables and price lists read numbers here alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable

from attrs import define, evolve, field, frozen

from costframe.core.errors import shown

DECIMALS = (".", ",")
_OTHER = {".": ",", ",": "."}
_SIGNS = {".": "a decimal point", ",": "a decimal comma"}
_BLANKS = " \u00a0\u2007\u2009\u202f"
_APOSTROPHES = "'\u2019"
_MINUS = "\u2212"
_SIGN = rf"[+\-{_MINUS}]?"
_WORDS = r"[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
_EITHER = re.compile(rf"{_SIGN}[1-9]\d{{0,2}}([.,])\d{{3}}", re.ASCII)  # a number with decimals, or with thousands
_LIST = re.compile(r"([1-9]\d?),([1-9]\d?)", re.ASCII)  # a number, or a list of two
_GROUPED = re.compile(rf"\d([{_BLANKS}{_APOSTROPHES}])\d", re.ASCII)
_BEHIND, _ACCOUNTING = re.compile(r"(.*\S)\s*[-\u2212]"), re.compile(r"[-\u2212]?\((.+)\)")
_CURRENCY = r"(?:[$€£¥]|EUR|USD|GBP|CHF|CAD|AUD|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|BRL)"
_UNIT = re.compile(rf"({_SIGN})\s*{_CURRENCY}?\s*({_SIGN}\d[\d.,{_BLANKS}{_APOSTROPHES}]*)\s*(?:%|{_CURRENCY})?")
_INDIAN = re.compile(rf"({_SIGN})[1-9]\d?(?:,\d\d)+,\d{{3}}(?:\.\d*)?", re.ASCII)
_FORTRAN = re.compile(rf"{_SIGN}(?:\d+\.\d*|\.\d+)[dD][+-]\d+", re.ASCII)
# Signs of other scripts and dashes, which are no minus.
_FOREIGN = str.maketrans(
    {"\u066b": ".", "\u066c": None, "\uff0e": "."} | dict.fromkeys("\u2010\u2011\u2013\u2014\ufe63\uff0d", "-")
)
_NAMES = {" ": "blanks", "'": "apostrophes", ".": "points", ",": "commas"}


def _number(decimal: str) -> re.Pattern[str]:
    """Return a pattern of the numbers with this decimal sign; of thousands, all groups have the same sign."""
    d = re.escape(decimal)
    group = (
        rf"[1-9]\d{{0,2}}(?P<sign>[{_OTHER[decimal]}{_BLANKS}{_APOSTROPHES}])\d{{3}}(?:(?P=sign)\d{{3}})*(?:{d}\d*)?"
    )
    return re.compile(rf"{_SIGN}(?:{group}|(?:\d+(?:{d}\d*)?|{d}\d+)(?:[eE][+-]?\d+)?|{_WORDS})", re.ASCII)


# Stands below the function that makes it.
_NUMBER = {decimal: _number(decimal) for decimal in _OTHER}


@frozen
class Spelling:
    """How the numbers of a file are spelled.

    Parameters
    ----------
    decimal : {".", ","}
    unclear : frozenset of str
        Signs that are of decimals or of thousands, which the file does not tell: 1.500 and 1,250 are then no numbers.
    thousands : tuple of str
        Signs between thousands that were seen, "." or ",", " " for any blank and "'" for any apostrophe.
    """

    decimal: str = "."
    unclear: frozenset[str] = frozenset(",")
    thousands: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What is unusual, in short."""
        between = [f"{_NAMES[sign]} for thousands" for sign in self.thousands]
        return [*(["decimal commas"] if self.decimal == "," else []), *between]

    @property
    def sure_decimal(self) -> str | None:
        """The decimal sign, if numbers of the file tell it, rather than its separator."""
        return None if self.unclear else self.decimal

    def cleared_by(self, decimal: str | None) -> Spelling:
        """Return the spelling in which signs that the file does not tell are as in training, which had a decimal sign.

        They stay unclear where a separator or a number of the file is for the other sign; tabs and bars are for none.
        """
        is_for_none = self.decimal == "." and self.decimal in self.unclear
        if decimal is None or not (is_for_none or decimal == self.decimal):
            return self
        return evolve(self, decimal=decimal, unclear=frozenset())

    def plain(self, text: str) -> str | None:
        """Return a number as Python spells it; None of a text that is none, or that may be two."""
        text = text.strip()
        if (match := _NUMBER[self.decimal].fullmatch(text)) is None:
            return None
        if self.unclear and (either := _EITHER.fullmatch(text)) and either.group(1) in self.unclear:
            return None
        sign = match.group("sign")
        text = text.replace(sign, "") if sign else text
        return text.replace(self.decimal, ".").replace(_MINUS, "-")

    def why_not(self, text: str) -> str | None:
        """Return why a text that looks like a number is not read as one, and a way out; None for others."""
        text = text.strip()
        if self.plain(text) is not None:
            return None
        if (either := _EITHER.fullmatch(text)) and (sign := either.group(1)) in self.unclear:
            whole, number = text.replace(sign, ""), text.replace(sign, ".")
            clear = f"{text}0" if "." in self.unclear else number
            return f"{shown(text)} may be {whole} or {number}; write all such numbers as {whole} or as {clear}"
        if self.decimal == "." and "," in self.unclear and _LIST.fullmatch(text):
            return f"{shown(text)} may be {text.replace(',', '.')} or a list; write {text.replace(',', '.')}"
        if _NUMBER[_OTHER[self.decimal]].fullmatch(text):
            own_sign, other = _SIGNS[self.decimal], _SIGNS[_OTHER[self.decimal]]
            return f"{shown(text)} has {other}, where others have {own_sign}; write numbers with one decimal sign"
        return _why_odd(text)


def read_typed(text: str) -> float:
    """Return the number that somebody typed alone, with a decimal point or a decimal comma.

    Raises
    ------
    ValueError
        If it is none, or may be two: 1,234 is 1.234 to one, and 1234 to another. The message says what to write.
    """
    text = text.strip()
    if (either := _EITHER.fullmatch(text)) and either.group(1) == ",":
        small, large = text.replace(",", "."), text.replace(",", "")
        raise ValueError(f"{text} can be {small} or {large}; write {small} or {large}")
    for decimal in _fitting(text):
        plain = Spelling(decimal, frozenset()).plain(text)
        if plain is not None and math.isfinite(number := float(plain)):
            return number
    raise ValueError(_why_odd(text) or "expected a number, as 1234.5 or 1234,5")


def patterns_typed() -> dict[str, str]:
    """Return the patterns of `read_typed` as scripts of pages have them: numbers by decimal sign, and "either"."""
    patterns = _NUMBER | {"either": _EITHER}
    return {
        name: pattern.pattern.replace("(?P<", "(?<").replace("(?P=sign)", r"\k<sign>")
        for name, pattern in patterns.items()
    }


def _why_odd(text: str) -> str | None:
    """Return why a number with something around it is not read, and what to write; None for other texts."""
    if (match := _BEHIND.fullmatch(text)) and is_numeral(match.group(1)):
        return f"{shown(text)} has its minus behind, as SAP writes it; write -{match.group(1)}"
    if (match := _ACCOUNTING.fullmatch(text)) and is_numeral(match.group(1)):
        return f"{shown(text)} is a negative amount in accounting; write -{match.group(1)}"
    if (match := _UNIT.fullmatch(text)) and is_numeral(match.group(2)):
        return f"amounts such as {shown(text)} are no numbers; write numbers without signs"
    return None if (plain := _plainly(text)) is None else f"{shown(text)} is no plain number; write {plain}"


def _plainly(text: str) -> str | None:
    """Return a number as programs read it, where people or other programs write it otherwise; None for other texts."""
    if _INDIAN.fullmatch(text):
        return text.replace(",", "")
    if _FORTRAN.fullmatch(text):
        return text.upper().replace("D", "E")
    ascii_digits = "".join(str(int(letter)) if letter.isdecimal() else letter for letter in text).translate(_FOREIGN)
    plain = ascii_digits if "_" not in text else text.replace("_", "")
    return plain if plain != text and is_numeral(plain) else None


def _fitting(text: str) -> list[str]:
    """Return the decimal signs with which a text is a number."""
    return [sign for sign, pattern in _NUMBER.items() if pattern.fullmatch(text)]


def is_numeral(text: str) -> bool:
    """Return whether a text is a number in any spelling."""
    return bool(_fitting(text.strip()))


def looks_numeric(text: str) -> bool:
    """Return whether a text is a number in any spelling, or an amount with signs around it."""
    return is_numeral(text) or _why_odd(text.strip()) is not None


@define
class Evidence:
    """What the columns of a file tell of its spelling: an example of each decimal sign that can be nothing else."""

    lists: bool = True  # whether 1,3 may be a list of two, as answers to a multiple choice are
    sure: dict[str, str] = field(factory=dict)
    weak: str | None = None  # a decimal comma that may be a list
    _between: set[str] = field(factory=set)
    _either: set[str] = field(factory=set)  # signs of numbers that have two readings

    def add(self, texts: Collection[str]) -> None:
        """Take the different texts of a column, which tell something if at least half of them are numbers."""
        signed = [text for text in map(str.strip, texts) if not (text.isascii() and text.isdigit())]
        readable = [(text, fitting) for text in signed if (fitting := _fitting(text))]
        if 2 * (len(texts) - len(signed) + len(readable)) >= len(texts):
            for text, fitting in readable:
                self._take(text, fitting)

    def _take(self, text: str, fitting: list[str]) -> None:
        """Take a number, and the decimal signs that it may have."""
        if grouped := _GROUPED.search(text):
            self._between.add(" " if grouped.group(1) in _BLANKS else "'")
        if either := _EITHER.fullmatch(text):
            self._either.add(either.group(1))
        if len(fitting) > 1:
            return
        pair = _LIST.fullmatch(text) if self.lists else None
        if pair and int(pair.group(1)) < int(pair.group(2)):
            self.weak = self.weak or text
        else:
            self.sure.setdefault(fitting[0], text)
        if _OTHER[fitting[0]] in text:
            self._between.add(_OTHER[fitting[0]])

    def spelling(self, separator: str) -> Spelling:
        """Return the spelling of a file with this separator.

        Semicolons are for countries with decimal commas; a decimal comma between commas or tabs must be sure.
        """
        if len(self.sure) == 1:
            decimal, unclear = next(iter(self.sure)), ""
        elif separator == ",":
            decimal, unclear = ".", ","
        elif separator == ";":
            decimal, unclear = ",", "," if self.weak and not self.sure else ".,"
        else:
            decimal, unclear = ("," if self.weak else "."), ".,"
        between = self._between | (self._either - {decimal, *unclear})
        return Spelling(decimal, frozenset(unclear), tuple(sorted(between)))


def find_spelling(columns: Iterable[Collection[str]], separator: str, *, lists: bool = True) -> Spelling:
    """Return how the numbers in columns of texts are spelled; see `Evidence`."""
    evidence = Evidence(lists)
    for texts in columns:
        evidence.add(texts)
    return evidence.spelling(separator)
