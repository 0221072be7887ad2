"""The folder of a run: what it was made from, so that no other table's fits are taken for its own."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from costframe.core.errors import ParameterError
from costframe.core.files import remove_unfinished, write_folder
from costframe.frontier.digests import digest
from costframe.frontier.finished import FITS, MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from costframe.datasets import Dataset
    from costframe.frontier.tasks import Sweep

__all__ = [
    "FRONTIER",
    "RECOMMENDED",
    "clear_run",
    "digest_table",
    "find_run",
    "hold_alone",
    "holds_fits",
    "holds_run",
    "open_run",
]

RUN, FRONTIER, RECOMMENDED = "run.json", "frontier.fits", "recommended.model"
NOUNS = {
    "version": "another version of costframe",
    "table": "another table or split of rows",
    "prices": "other prices",
    "score": "another score",
    "folds": "another number of folds",
    "parameters": "other parameters of estimators",
}


def holds_run(directory: Path) -> bool:
    """Return whether a directory has an earlier run, which can be resumed."""
    return (directory / RUN).exists()


def holds_fits(directory: Path) -> bool:
    """Return whether a directory has finished fits, of a run or of a saved frontier."""
    return (directory / FRONTIER).exists() or any((directory / FITS).glob("*.fits"))


@contextlib.contextmanager
def hold_alone(directory: Path) -> Iterator[None]:
    """Make a directory, and keep others that call this out of it until the end; delete what it made and is empty then.

    Windows, and file systems without locks, keep nobody out.

    Raises
    ------
    ParameterError
        If another process, or thread, holds the directory.
    """
    missing = [each for each in (directory, *directory.parents) if not each.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    try:
        with _lock(directory):
            yield
    finally:
        for each in missing:
            with contextlib.suppress(OSError):  # it has files
                each.rmdir()


@contextlib.contextmanager
def _lock(directory: Path) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    import fcntl

    opened = os.open(directory, os.O_RDONLY)  # the lock ends with the process, also if that is killed
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        raise ParameterError(f"directory: another run writes to {directory}; wait, or give another directory") from None
    except OSError:
        pass
    try:
        yield
    finally:
        os.close(opened)


def open_run(sweep: Sweep, *, resume: bool) -> None:
    """Make the folder of a sweep that keeps its fits, or check that its run can be resumed.

    Raises
    ------
    ParameterError
        If the folder has a run, and this one is not to resume it or is of something else.
    """
    directory = sweep.directory
    if directory is None:
        return
    wanted = _describe(sweep)
    if holds_run(directory):
        if not resume:
            raise ParameterError(f"directory: {directory} holds a run; resume it, or give another directory")
        other = [noun for name, noun in NOUNS.items() if _read(directory).get(name) != wanted[name]]
        if other:
            raise ParameterError(f"directory: the run in {directory} has {' and '.join(other)}")
        for folder in (directory, directory / FITS, directory / MODELS):
            remove_unfinished(folder)
    write_folder(directory, {RUN: json.dumps(wanted, indent=1).encode()})


def find_run(model: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the folder of the run that wrote a model's file, and the run's description; None if it is in no run."""
    whole = model.absolute()
    folder = whole.parent.parent if whole.parent.name == MODELS else whole.parent
    is_of_run = whole.parent.name == MODELS or whole.name == RECOMMENDED
    return (folder, _read(folder)) if is_of_run and holds_run(folder) else None


def digest_table(data: Dataset) -> str:
    """Return a text that differs between tables, also in the split of their rows."""
    table = (data.X, data.y, data.split, data.qid, data.feature_names, data.task, data.classes, dict(data.categorical))
    return digest(table, "data")


def clear_run(directory: Path) -> None:
    """Delete a run's finished fits and models; other files stay, and the directory."""
    (directory / RUN).unlink(missing_ok=True)
    (directory / FRONTIER).unlink(missing_ok=True)
    for folder, ending in ((FITS, "*.fits"), (MODELS, "*.model")):
        for file in (directory / folder).glob(ending):
            file.unlink()
        with contextlib.suppress(OSError):  # it has files of others
            (directory / folder).rmdir()


def _read(directory: Path) -> dict[str, Any]:
    try:
        found = json.loads((directory / RUN).read_text("utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ParameterError(f"directory: {directory / RUN} is no description of a run")
    return found


def _describe(sweep: Sweep) -> dict[str, Any]:
    """Return what the fits of a sweep depend on, beside algorithm, tradeoff, and number of points.

    `reading` and `seed` make the same table and split again; see `Dataset`.
    """
    from costframe import __version__

    data = sweep.data
    return {
        "version": __version__,
        "reading": dict(data.reading),
        "seed": data.seed,
        "table": digest_table(data),
        "prices": digest(data.costs.to_dict(), "costs"),
        "score": sweep.score if isinstance(sweep.score, str) else digest(sweep.score, "score"),
        "folds": sweep.folds,
        "parameters": {name: digest(value, name) for name, value in sorted(sweep.parameters.items())},
    }
