"""The model that a service has: read again when its file changes, while conversations with the one before go on."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from attrs import frozen

from costframe.core.errors import CostframeError, InquiryError, ParameterError
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.predictors.predictor import Predictor
from costframe.core.prices.costs import CostModel
from costframe.core.prices.digest import prices_digest
from costframe.report.model_facts import list_model_facts
from costframe.serve.conversation import Conversation
from costframe.serve.page import render_page
from costframe.serve.replies import describe_model

KEPT = 4  # models whose conversations go on
LOOK_AFTER = 0.5  # seconds
_LOG = logging.getLogger("costframe.serve")


@frozen(eq=False)
class ServedModel:
    """A model at its prices, what it says of itself, and its page for people."""

    fitted: FittedEstimator
    prices: CostModel
    description: dict[str, Any]
    page: str

    @classmethod
    def of(cls, fitted: FittedEstimator, prices: CostModel, name: str) -> Self:
        """Describe a model at some prices, and render its page; the name is its title."""
        description = describe_model(fitted, prices, name, list_model_facts(fitted, prices))
        return cls(fitted, prices, description, render_page(fitted, prices, description))

    @property
    def predictor(self) -> Predictor:
        """The model itself, without labels' types and the decimal sign."""
        return self.fitted.predictor_

    def goes_on_with(self, other: ServedModel) -> bool:
        """Return whether the conversations of another one can go on with this one."""
        try:
            digests = [(model.predictor.digest, prices_digest(model.prices)) for model in (self, other)]
        except InquiryError:  # a model without one, whose conversations cannot go on at all
            return False
        return digests[0] == digests[1]


class ModelFile:
    """The newest model in a file, and some that were there before.

    Parameters
    ----------
    path : path
    read : callable
        ``read(path) -> ServedModel``, of what a file holds now.
    spare : path, optional
        Of a copy of the newest model that could be read, which all processes of a service share: one that starts when
        the file cannot be read begins with the copy.

    Raises
    ------
    CostframeError
        If no file holds a model. Later, the model that was there goes on, and `problem` says why.
    """

    def __init__(self, path: Path, read: Callable[[Path], ServedModel], spare: Path | None = None) -> None:
        self._path, self._read, self._spare = path, read, spare
        self._stamp, self._looked = self._stamp_now(), time.monotonic()
        self._reading = threading.Lock()
        self.problem: str | None = None
        try:
            self._models = [self._read_file()]
        except CostframeError as error:
            if spare is None or not spare.exists():
                raise
            self._note_unreadable(error)
            self._models = [read(spare)]

    @property
    def model(self) -> ServedModel:
        """The newest model that could be read."""
        if time.monotonic() - self._looked > LOOK_AFTER:
            self._look()
        return self._models[0]

    def resume(self, state: str) -> tuple[ServedModel, Conversation]:
        """Go on with the conversation of a state, with the model that it began with."""
        first: InquiryError | None = None
        for model in (self.model, *self._models[1:]):
            try:
                return model, Conversation.resume(model.predictor, model.prices, state)
            except InquiryError as error:
                first = first or error
        assert first is not None  # noqa: S101 - there is a model
        raise first

    def _look(self) -> None:
        """Begin to read the file in a thread if it has changed."""
        self._looked = time.monotonic()
        stamp = self._stamp_now()
        if stamp is None:
            self._stamp, self.problem = None, "the model file is gone; the model that it held goes on"
        elif stamp != self._stamp and self._reading.acquire(blocking=False):
            threading.Thread(target=self._read_again, args=(stamp,), daemon=True).start()

    def _read_again(self, stamp: tuple[int, int, int]) -> None:
        try:
            model = self._read_file()
            others = [other for other in self._models if not model.goes_on_with(other)]  # a file written anew
            self._models = [model, *others[: KEPT - 1]]
            self.problem = None
        except Exception as error:  # noqa: BLE001 - whatever a file holds, the model that is there goes on
            self._note_unreadable(error)
        finally:
            self._stamp = stamp
            self._reading.release()

    def _read_file(self) -> ServedModel:
        """Read the model in the file, and copy it for processes to come."""
        if self._spare is None:
            return self._read(self._path)
        copied = self._spare.with_stem(f"{self._spare.stem}-{os.getpid()}")
        try:
            copied.write_bytes(self._path.read_bytes())
        except OSError:  # it is gone, or the disk is full
            return self._read(self._path)
        try:
            model = self._read(copied)
            copied.replace(self._spare)
        except CostframeError as error:
            raise ParameterError(str(error).replace(str(copied), str(self._path))) from None
        finally:
            copied.unlink(missing_ok=True)
        return model

    def _note_unreadable(self, error: Exception) -> None:
        _LOG.warning("the model file has changed, and cannot be read: %s", error)  # with its path, not for callers
        self.problem = "the model file has changed, and cannot be read; the log of the service tells more"

    def _stamp_now(self) -> tuple[int, int, int] | None:
        """Return what changes with the file: its number, time and size; None where it is not there."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size
