"""A policy that is a program of its own, in any language: an outsider of comparisons."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import Attribute, field, frozen

from costframe.comparison import SeenTable
from costframe.core.checks import as_items, check_number
from costframe.core.errors import OutsiderError, ParameterError, shown
from costframe.core.predictors.predictor import Predictor
from costframe.core.predictors.stepped import SteppedPredictor, Steps
from costframe.core.tables.categories import Labels
from costframe.core.tables.written_values import write_value
from costframe.programs.child import Child
from costframe.programs.messages import FORMAT, describe_table, read_answer, read_asks, read_points, read_step
from costframe.programs.training_files import write_training_files

_LETTERS = 32  # of a digest


def _as_command(command: Any) -> tuple[str, ...]:
    try:
        words = shlex.split(command) if isinstance(command, str) else as_items(command)
    except ValueError:  # a quotation without an end
        words = None
    if not words or not all(isinstance(word, str) for word in words):
        raise ParameterError(f"command: expected a command as a text, or as a list of texts, got {shown(command)}")
    return tuple(words)


def _check_limit(_: Any, attribute: Attribute[Any], value: Any) -> None:
    if value is not None:
        check_number(attribute.name, value, strict=True)


def _digest_of_file(word: str) -> str | None:
    """Return what tells the content of a file from others, in hexadecimal letters; None where a word names none."""
    try:
        if not Path(word).is_file():
            return None
        with Path(word).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:_LETTERS]
    except (OSError, ValueError):
        return None


@frozen
class OutsiderProgram:
    """A policy that a program trains and steps through: an outsider of `Comparison`.

    A command starts the program, once for each table and split. It speaks lines of JSON over its stdin and stdout, in
    the words of `costframe serve`; docs/outsiders.md has the messages. It sees training and validation rows, and of
    other rows the values for which it asks. What it asks for is charged by a `SteppedPredictor`, as everybody's is.

    Parameters
    ----------
    name : str
        Of the side in figures.
    command : str, or sequence of str
        A text is split as a shell would; no shell runs it. It runs in the current folder.
    time_limit : float or None
        Seconds for an answer about a row; None waits for ever.
    fit_time_limit : float or None
        Seconds for training.
    """

    name: str
    command: tuple[str, ...] = field(converter=_as_command)
    time_limit: float | None = field(default=60.0, validator=_check_limit)
    fit_time_limit: float | None = field(default=None, validator=_check_limit)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What tells it from others of its name: its command, and the digests of the files that this names."""
        files = {word: digest for word in self.command if (digest := _digest_of_file(word)) is not None}
        return {"command": list(self.command)} | ({"files": files} if files else {})

    def fit(self, seen: SeenTable) -> list[Predictor]:
        """Start the program, let it train, and return its models, which share one process that ends with them.

        Raises
        ------
        OutsiderError
            If it cannot be started, ends, is too slow, or says what is none of the expected answers. Its models raise
            it too. The error shows what the program wrote to stderr last. A program that ended is not started again,
            since it might train another model.
        """
        child = Child(self.command)
        message = describe_table(seen) | write_training_files(seen, Path(child.folder)) | {"seed": seen.seed}
        said = child.ask({"format": FORMAT, "fit": message}, self.fit_time_limit, lambda: "fit")
        try:
            count = len(read_points(said))
        except OutsiderError as error:
            raise child.failure(f"fit: {error}") from None
        answers = seen.codes(seen.train.y)
        shares = np.bincount(answers, minlength=len(seen.classes)) / len(answers) if seen.classes else None
        fallback = answers.mean() if shares is None or len(shares) == 2 else shares
        labels = {name: texts for name, texts in seen.categorical.items() if texts is not None}
        models = (
            ProgramModel(child, point, seen.feature_names, labels, seen.classes, self.time_limit)
            for point in range(count)
        )
        stepped = (
            SteppedPredictor(seen.feature_names, model.walk, seen.costs, labels, fallback=fallback) for model in models
        )
        return [one.with_classes(seen.classes) if seen.classes else one for one in stepped]


@frozen(eq=False)
class ProgramModel:
    """One of the models that a program has trained."""

    child: Child
    point: int
    names: tuple[str, ...]
    categories: Mapping[str, Labels]
    classes: Sequence[Any]
    time_limit: float | None

    def walk(self) -> Steps:
        """Ask the program what a row needs next, and return its answer; see `SteppedPredictor`."""
        known: dict[str, Any] = {}
        state: str | None = None

        def about() -> str:
            return f"a row with the values {shown(known)}"

        while True:
            told = {"point": self.point, "values": known} | ({} if state is None else {"state": state})
            said = self.child.ask(told, self.time_limit, about)
            try:
                asks, answer, state = read_step(said)
                if asks is None:
                    return read_answer(answer, self.classes)
                asked = read_asks(asks, self.names, known)
            except OutsiderError as error:
                raise self.child.failure(f"{about()}: {error}") from None
            values = yield asked
            known |= {name: write_value(values[name], self.categories.get(name)) for name in asked}
