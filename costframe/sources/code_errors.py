"""Errors of a source's own code, which every trip would meet, told from failures that pass."""

from __future__ import annotations

import traceback
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from costframe.core.errors import ParameterError, printable

_ALWAYS = (TypeError, NameError, AttributeError, ImportError, NotImplementedError, SyntaxError, ParameterError)
_AFTER_SOME = (KeyError, IndexError)  # an unknown key may raise them, so that one key alone says nothing
_SOME = 3
_OURS = Path(__file__).parent


class CodeTrial:
    """Whether the code of a source has failed for every key so far."""

    def __init__(self) -> None:
        self._has_worked = False  # for some key, for good
        self._keys: set[Hashable] = set()  # that failed so, before any came

    def judge(self, replies: dict[Hashable, Any]) -> str | None:
        """Take the replies of a trip, or the errors of its keys; return what is wrong if the code fails for all keys.

        As soon as one key has a reply, the code is right for good.
        """
        if self._has_worked:
            return None
        errors = [_cause(reply) for reply in replies.values()]
        if not all(isinstance(error, _ALWAYS + _AFTER_SOME) for error in errors):
            self._has_worked = any(not isinstance(reply, BaseException) for reply in replies.values())
            return None
        self._keys.update(replies)
        if not any(isinstance(error, _ALWAYS) for error in errors) and len(self._keys) < _SOME:
            return None
        return f"{describe_code_error(errors[0])}, as for every key so far"


def is_code_error(error: BaseException) -> bool:
    """Return whether an error is one of code, raised by other code than an installed library's."""
    frames = [frame for frame in _frames(error) if Path(frame.filename).parent != _OURS]  # which may be installed, too
    return isinstance(error, _ALWAYS) and not (frames and "site-packages" in Path(frames[-1].filename).parts)


def describe_code_error(error: BaseException) -> str:
    """Return an error's kind and place; its own text may hold a secret."""
    if isinstance(error, ParameterError):
        return str(error)
    frames = [frame for frame in _frames(error) if Path(frame.filename).parent != _OURS]
    frames = [frame for frame in frames if "asyncio" not in Path(frame.filename).parts] or frames
    if not frames:
        return f"its code cannot be called: {type(error).__name__}"
    file, name = printable(Path(frames[-1].filename).name), frames[-1].name
    return f"its code fails by {type(error).__name__} at {file}, line {frames[-1].lineno}, in {name}"


def _cause(reply: Any) -> Any:
    """Return the exception that a reply is, or that it was made of."""
    return reply.__cause__ if isinstance(reply, BaseException) and reply.__cause__ is not None else reply


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    return list(traceback.extract_tb(error.__traceback__))
