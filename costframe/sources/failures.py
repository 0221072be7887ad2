"""Kinds of failures of sources, told by codes and classes of exceptions: their own texts may hold secrets."""

from __future__ import annotations

import sqlite3

from attrs import frozen

from costframe.core.errors import CostframeError
from costframe.sources.source import LackingError, TripError

_SHARED, _LASTING = {"is_shared": True}, {"is_shared": True, "is_lasting": True}

_SQLSTATES = {  # the longest that a state begins with
    "08": ("connection", _SHARED),
    "0A": ("not supported", {}),
    "22": ("a value of the wrong type or range", {}),
    "23": ("constraint", {}),
    "25": ("transaction", _SHARED),
    "25006": ("a write, where sources only read", {}),
    "25P03": ("timeout", _SHARED),
    "25P04": ("timeout", _SHARED),
    "28": ("permission: who asks is refused", _LASTING),
    "3D000": ("no such database", _LASTING),
    "3F000": ("no such schema", _LASTING),
    "40": ("a conflict with another transaction", _SHARED),
    "42": ("a statement that the database refuses", {}),
    "42501": ("permission denied", _LASTING),
    "42703": ("no such column", _LASTING),
    "42804": ("a value of the wrong type", {}),
    "42883": ("a value of the wrong type", {}),
    "42P01": ("no such table", _LASTING),
    "53": ("the server has no room", _SHARED),
    "53300": ("too many connections", _SHARED),
    "54": ("beyond a limit of the database", {}),
    "55": ("a table or row that another has locked", _SHARED),
    "57": ("connection: the server ends it", _SHARED),
    "57014": ("timeout", _SHARED),
    "58": ("an error of the server's system", _SHARED),
}

_SQLITE = {  # the longest that an error's name begins with
    "SQLITE_AUTH": ("permission denied", _LASTING),
    "SQLITE_BUSY": ("timeout: another has locked the database", _SHARED),
    "SQLITE_CANTOPEN": ("the file cannot be opened", _SHARED),
    "SQLITE_CONSTRAINT": ("constraint", {}),
    "SQLITE_CORRUPT": ("the file is damaged", {}),
    "SQLITE_FULL": ("the disk is full", _SHARED),
    "SQLITE_INTERRUPT": ("timeout", _SHARED),
    "SQLITE_IOERR": ("the file cannot be read", {}),
    "SQLITE_LOCKED": ("timeout: another has locked the table", _SHARED),
    "SQLITE_MISMATCH": ("a value of the wrong type", {}),
    "SQLITE_NOTADB": ("the file is no SQLite database", _SHARED),
    "SQLITE_PERM": ("permission denied", _LASTING),
    "SQLITE_READONLY": ("a write, where sources only read", {}),
    "SQLITE_TOOBIG": ("a value that is too long", {}),
}

_CLASSES = {  # of exceptions of many libraries, which need not be there; the first that fits
    "FileNotFoundError": ("no such file", {}),
    "PermissionError": ("permission denied", {}),
    "gaierror": ("connection: no such host", _SHARED),
    "TimeoutError": ("timeout", _SHARED),
    "TimeoutException": ("timeout", _SHARED),
    "Timeout": ("timeout", _SHARED),
    "TransportError": ("connection", _SHARED),
    "ConnectionError": ("connection", _SHARED),
    "ClientConnectionError": ("connection", _SHARED),
    "ConnectionFailure": ("connection", _SHARED),
    "OSError": ("", _SHARED),
}


@frozen
class Failure:
    """Why a source failed.

    Parameters
    ----------
    text : str
        In words of ours, with the code of the source.
    is_shared : bool
        Whether it is the source's, whatever it is asked for; else one key of a trip may be the cause.
    is_lasting : bool
        Whether every further trip will meet it.
    """

    text: str
    is_shared: bool = False
    is_lasting: bool = False


def explain(error: BaseException) -> Failure:
    """Return the kind of a source's exception, with its text only where it is ours."""
    if isinstance(error, CostframeError):
        lacks = isinstance(error, LackingError)
        return Failure(str(error), is_shared=lacks or isinstance(error, TripError), is_lasting=lacks)
    (kind, traits), code = _kind(error)
    named = type(error).__name__ + (f", {code}" if code else "")
    return Failure(f"{kind}{': ' if kind else ''}{named}, whose own text may hold a secret", **traits)


def describe_failure(error: BaseException) -> str:
    """Return the kind of a source's exception, with its text only where it is ours: others quote URLs and passwords."""
    return explain(error).text


def sqlstate(error: BaseException) -> str:
    """Return the five letters by which databases tell their errors; an empty text of an exception without."""
    for raised in (error, getattr(error, "orig", None)):  # wrapped, by SQLAlchemy
        for name in ("sqlstate", "pgcode"):
            code = getattr(raised, name, None)
            if isinstance(code, str) and len(code) == 5 and code.isascii() and code.isalnum():
                return code
    return ""


def _kind(error: BaseException) -> tuple[tuple[str, dict[str, bool]], str]:
    """Return what is known of an exception's kind, and its code."""
    if code := sqlstate(error):
        return _longest(_SQLSTATES, code), f"SQLSTATE {code}"
    if isinstance(error, sqlite3.Error) and (name := getattr(error, "sqlite_errorname", None)):
        for what in ("no such table", "no such column"):  # both have the name of any error
            if str(error).startswith(what):
                return (what, _LASTING), name
        return _longest(_SQLITE, name), name
    names = {base.__name__ for base in type(error).__mro__}
    return next((kind for name, kind in _CLASSES.items() if name in names), ("", {})), ""


def _longest(kinds: dict[str, tuple[str, dict[str, bool]]], code: str) -> tuple[str, dict[str, bool]]:
    fitting = [begin for begin in kinds if code.startswith(begin)]
    return kinds[max(fitting, key=len)] if fitting else ("", {})
