"""Reports of fits in other processes and threads to the one that waits for them."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import threading
import time
from collections.abc import Iterator
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from queue import SimpleQueue
from typing import Any

from attrs import field, frozen

_WAITING = 64  # reports that are under way at once


@frozen
class Reporter:
    """Sends reports from another process or thread; from another machine, where there is no such socket, none."""

    address: Any
    key: bytes = field(repr=False)
    process: int = field(factory=os.getpid)  # that listens

    def send(self, report: object) -> None:
        """Send a report.

        Raises
        ------
        ConnectionRefusedError
            If the process that listens was killed: nobody waits for the fit.
        """
        with contextlib.suppress(FileNotFoundError), Client(self.address, authkey=self.key) as channel:
            channel.send(report)


@functools.cache
def end_with(process: int, child: bool = False) -> None:
    """End this process as soon as the one that began it has ended, if its number is this, as it is for a `child`.

    Else those of joblib would wait for 40 seconds where the other was killed.
    """

    def watch() -> None:
        while os.getppid() == process:
            time.sleep(0.5)
        os._exit(1)

    if child or os.getppid() == process:
        threading.Thread(target=watch, name="costframe-parent", daemon=True).start()


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
