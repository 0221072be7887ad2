"""A child process that answers each line with a line of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import IO, Any

from attrs import define, field

from costframe.core.errors import OutsiderError, printable, shown
from costframe.core.strict_json import parse_strictly

_CHUNK = 1 << 16  # bytes
_LONGEST = 1 << 24  # bytes of a line
_LINES, _LETTERS = 20, 400  # of stderr, the last of which an error shows
_TICK = 0.05  # seconds between looks at the clock
_CLOSING = 2.0  # seconds in which it may end by itself once its stdin is closed


class Child:
    """A process that a command starts, and a folder of its own, which lasts as long.

    It ends when `close` is called, or nothing refers to it any more: its stdin is closed, and it is killed if it then
    goes on. Python buffers none of its output (PYTHONUNBUFFERED). Threads take turns.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._title = printable(shlex.join(command))
        self._failure = ""  # why it answers no more
        self._owner, self._turn = os.getpid(), threading.Lock()
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command
                list(command), stdin=-1, stdout=-1, stderr=-1, env=os.environ | {"PYTHONUNBUFFERED": "1"},
                process_group=0,  # with the processes that it starts itself
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OutsiderError(f"{self._title}: cannot be started: {reason}") from None
        assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - they are pipes
        self._process, self._folder = process, TemporaryDirectory(prefix="costframe-")
        self._stdin, self._stdout, self._rest = process.stdin, process.stdout.fileno(), b""
        self._said: deque[bytes] = deque(maxlen=_LINES)
        self._watch = _Watch(process)
        ways = ((_keep_last, process.stderr, self._said), (_Watch.keep, self._watch))
        self._threads = [threading.Thread(target=way, args=given, daemon=True) for way, *given in ways]
        for thread in self._threads:
            thread.start()
        self._end = weakref.finalize(self, _end, self._watch, self._threads, self._folder, self._owner)

    @property
    def folder(self) -> str:
        """Path of its folder."""
        return self._folder.name

    def ask(self, message: Mapping[str, Any], seconds: float | None, about: Callable[[], str]) -> Any:
        """Return the JSON value that it answers to a message; `about` says what it was asked about, for errors.

        Raises
        ------
        OutsiderError
            If it has ended, answers nothing in `seconds` (None waits for ever), or what is no line of JSON. It is
            stopped then, and all later calls raise the same error.
        """
        if os.getpid() != self._owner:
            raise OutsiderError(f"{self._title}: was started by another process; fit in this one")
        with self._turn:
            if self._failure or not self._end.alive:
                raise OutsiderError(self._failure or f"{self._title}: was closed")
            try:
                with self._watch.within(seconds):
                    return self._exchange(json.dumps(message, allow_nan=False).encode() + b"\n", about)
            except BaseException as error:
                told = isinstance(error, OutsiderError)
                self._failure = str(error) if told else f"{self._title}: was stopped by {type(error).__name__}"
                _kill(self._process)
                self.close()
                raise

    def failure(self, text: str) -> OutsiderError:
        """Return the error of an answer that is none of the expected ones, with what the process said on stderr."""
        lines = [line.decode(errors="replace").rstrip() for line in self._said.copy()]
        said = "\n".join(["its stderr ends:", *(f"  {line}" for line in lines)]) if lines else "its stderr is empty"
        return OutsiderError(f"{self._title}: {text}; {said}")

    def close(self) -> None:
        """End the process."""
        self._end()

    def __reduce__(self) -> Any:
        raise OutsiderError(f"{self._title}: a process cannot be copied or sent to another one; fit there")

    def _exchange(self, message: bytes, about: Callable[[], str]) -> Any:
        if os.name == "posix" and not self._rest and select.select([self._stdout], [], [], 0.0)[0]:
            self._rest = os.read(self._stdout, _CHUNK)
        self._check_silent(about)
        with contextlib.suppress(OSError):  # that it ended, its stdout tells
            self._stdin.write(message)
            self._stdin.flush()
        line = self._read_line()
        if not line.endswith(b"\n"):
            raise self._ended(line, about)
        try:
            said = parse_strictly(line)
        except ValueError as error:
            raise self.failure(f"{about()}: expected a line of JSON on stdout, got {_shown(line)}: {error}") from None
        self._check_silent(about)
        return said

    def _check_silent(self, about: Callable[[], str]) -> None:
        """Refuse what came unasked, as it would be taken for the next answer."""
        if self._rest:
            raise self.failure(f"{about()}: it wrote {_shown(self._rest)} on stdout, which answers nothing; use stderr")

    def _read_line(self) -> bytes:
        """Return its next line, with its end; without, if it writes nothing more, or too much."""
        parts, size = [b""], 0
        while size < _LONGEST and (part := os.read(self._stdout, _CHUNK)):
            line, end, self._rest = part.partition(b"\n")
            parts.append(line + end)
            size += len(line)
            if end:
                break
        return b"".join(parts)

    def _ended(self, line: bytes, about: Callable[[], str]) -> OutsiderError:
        """Return the error of a process that does not write a whole line."""
        if self._watch.is_late:
            return self.failure(f"{about()}: it did not answer in {self._watch.seconds:g} seconds")
        if len(line) >= _LONGEST:
            return self.failure(f"{about()}: expected a line of JSON on stdout, got {_LONGEST:,} bytes without an end")
        self._threads[0].join(_CLOSING)  # all that it said
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING)
        code = self._process.returncode
        return self.failure(f"{about()}: it {'closed its stdout' if code is None else f'ended with exit code {code}'}")


@define
class _Watch:
    """A watch over a process, which it kills when an answer is late: that ends any wait for its pipes."""

    process: subprocess.Popen[bytes]
    seconds: float | None = None
    until: float | None = None
    is_late: bool = False
    over: threading.Event = field(factory=threading.Event)

    @contextlib.contextmanager
    def within(self, seconds: float | None) -> Any:
        """Kill the process if this lasts longer."""
        self.seconds, self.until = seconds, None if seconds is None else time.monotonic() + seconds
        try:
            yield
        finally:
            self.until = None

    def keep(self) -> None:
        """Look at the clock until the process is over; and end what a process that ended has left behind."""
        while not self.over.wait(_TICK):
            until = self.until
            self.is_late = until is not None and time.monotonic() >= until
            if self.is_late or self.process.poll() is not None:
                _kill(self.process)
                return


def _shown(line: bytes) -> str:
    return shown(line.decode(errors="replace").rstrip("\r\n"))


def _keep_last(pipe: IO[bytes], lines: deque[bytes]) -> None:
    with pipe:
        while line := pipe.readline(_LETTERS):
            lines.append(line)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with those that it started."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _end(watch: _Watch, threads: Sequence[threading.Thread], folder: TemporaryDirectory[str], owner: int) -> None:
    """End a process, unless this is a copy of the one that started it, and remove its folder."""
    if os.getpid() != owner:
        return
    process = watch.process
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            pipe.close()  # type: ignore[union-attr] # a pipe
    try:
        process.wait(_CLOSING)
    except subprocess.TimeoutExpired:
        _kill(process)
        process.wait()
    watch.over.set()
    for thread in threads:
        thread.join(_CLOSING)
    folder.cleanup()
