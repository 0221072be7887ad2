"""Reports of fits that joblib runs elsewhere: over a socket of this machine, which nobody else may use."""

from __future__ import annotations

import contextlib
import secrets
import threading
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from queue import SimpleQueue

__all__ = ["Reporter", "listen"]

_WAITING = 64  # reports that are under way at once


@frozen
class Reporter:
    """Sends reports from another process or thread; from another machine, where there is no such socket, none."""

    address: Any
    key: bytes = field(repr=False)

    def send(self, report: object) -> None:
        """Send a report.

        Raises
        ------
        ConnectionRefusedError
            If the process that listens was killed: nobody waits for the fit.
        """
        with contextlib.suppress(FileNotFoundError), Client(self.address, authkey=self.key) as channel:
            channel.send(report)


@contextlib.contextmanager
def listen(reports: SimpleQueue[Any]) -> Iterator[Reporter]:
    """Yield a reporter whose reports arrive in a queue until the end of the block."""
    key = secrets.token_bytes(32)
    with Listener(backlog=_WAITING, authkey=key) as listener:
        reporter = Reporter(listener.address, key)

        def receive() -> None:
            while True:
                try:
                    with listener.accept() as channel:
                        report = channel.recv()
                except (AuthenticationError, EOFError, OSError):  # of a process that was ended meanwhile
                    continue
                if report is None:
                    return
                reports.put(report)

        receiver = threading.Thread(target=receive, name="costframe-reports", daemon=True)
        receiver.start()
        try:
            yield reporter
        finally:
            reporter.send(None)
            receiver.join()
