"""The start of a process, before slow modules are loaded: interrupts, and libraries that are not installed.

This module imports very little, so that even an early interrupt ends the process well.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

INTERRUPTED = 130  # exit status
REFUSED = 2  # exit status
LIBRARIES = frozenset({"click", "jinja2", "matplotlib", "pyarrow", "rich"})  # that costframe[cli] brings


def stop(*_signal: object) -> NoReturn:
    """End the process; no command has begun."""
    os.write(2, b"interrupted, nothing was written\n")
    os._exit(INTERRUPTED)


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Load modules: an interrupt ends the process at once, and so does a library of costframe[cli] that is missing.

    An exception that interrupts an import may be lost or changed.
    """
    before = signal.getsignal(signal.SIGINT)
    is_ours = before is signal.default_int_handler
    if is_ours:
        with contextlib.suppress(ValueError):  # another thread than the main one hears no interrupts
            signal.signal(signal.SIGINT, stop)
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        os.write(2, f"Error: the command line needs {error.name}: pip install 'costframe[cli]'\n".encode())
        sys.exit(REFUSED)
    finally:
        if is_ours:
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGINT, before)
