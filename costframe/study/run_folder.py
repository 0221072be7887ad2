"""Runs: folders in which a study keeps its finished fits, with a description of what they depend on."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from costframe.core.errors import ParameterError
from costframe.core.files import remove_unfinished, write_folder
from costframe.datasets import Dataset
from costframe.study.digests import digest
from costframe.study.fit_files import FITS, MODELS
from costframe.study.references import REFERENCES

RUN, FRONTIER, RECOMMENDED = "run.json", "frontier.fits", "recommended.model"
NOUNS = {
    "version": "another version of costframe",
    "table": "another table or split of rows",
    "prices": "other prices",
    "score": "another score",
    "cv": "other folds",
    "parameters": "other parameters of estimators",
}
_held: set[tuple[int, int, int]] = set()  # directories, each with its thread


def holds_run(directory: Path) -> bool:
    """Return whether a directory has an earlier run, which can be resumed."""
    return (directory / RUN).exists()


def holds_fits(directory: Path) -> bool:
    """Return whether a directory has finished fits, of a run or of a saved frontier."""
    return (directory / FRONTIER).exists() or any((directory / FITS).glob("*.fits"))


def holds_references_only(directory: Path) -> bool:
    """Return whether all finished fits of a directory are of references."""
    labels = tuple(f"{reference.label}-" for reference in REFERENCES)
    return all(file.name.startswith(labels) for file in (directory / FITS).glob("*.fits"))


@contextlib.contextmanager
def hold_alone(directory: Path) -> Iterator[None]:
    """Make a directory, and keep others that call this out of it until the end; delete what it made and is empty then.

    A thread may hold a directory again within. Windows, and file systems without locks, keep nobody out.

    Raises
    ------
    ParameterError
        If another process, or thread, holds the directory.
    """
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    try:
        with _lock(directory):
            yield
    finally:
        for folder in missing:
            with contextlib.suppress(OSError):  # it has files
                folder.rmdir()


@contextlib.contextmanager
def _lock(directory: Path) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    import fcntl

    opened = os.open(directory, os.O_RDONLY)  # the lock ends with the process, also if that is killed
    status = os.fstat(opened)
    place = status.st_dev, status.st_ino, threading.get_ident()
    if place in _held:
        os.close(opened)
        yield
        return
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        raise ParameterError(f"directory: another run writes to {directory}; wait, or give another directory") from None
    except OSError:
        pass
    _held.add(place)
    try:
        yield
    finally:
        _held.discard(place)
        os.close(opened)


def open_run(directory: Path, wanted: Mapping[str, Any], *, resume: bool) -> None:
    """Begin the run of a description in a directory, or check that its run has the same one and can be resumed.

    Raises
    ------
    ParameterError
        If the directory has a run, and this one is not to resume it or is of something else.
    """
    if not holds_run(directory):
        if (directory / FRONTIER).exists():
            raise ParameterError(f"directory: {directory} holds a saved frontier; give another directory")
    else:
        if not resume:
            raise ParameterError(f"directory: {directory} holds a run; resume it, or give another directory")
        known = _read_run(directory)
        other = [noun for name, noun in NOUNS.items() if known.get(name) != wanted[name]]
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
    return (folder, _read_run(folder)) if is_of_run and holds_run(folder) else None


def digest_table(data: Dataset) -> str:
    """Return a text that differs between tables, also in the split of their rows."""
    rows = data.X, data.y, data.split, data.qid, data.groups, data.made
    table = (*rows, data.feature_names, data.task, data.classes, dict(data.categorical))
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


def _read_run(directory: Path) -> dict[str, Any]:
    try:
        described = json.loads((directory / RUN).read_text("utf-8"))
    except ValueError:
        described = None
    if not isinstance(described, dict):
        raise ParameterError(f"directory: {directory / RUN} is no description of a run")
    return described


def describe_run(data: Dataset, score: object, cv: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the fits on a data set depend on, beside algorithm, tradeoff, and number of points.

    `reading` and `seed` make the same table and split again; see `Dataset`.
    """
    from costframe import __version__

    return {
        "version": __version__,
        "reading": dict(data.reading),
        "seed": data.seed,
        "table": digest_table(data),
        "prices": digest(data.costs.to_dict(), "costs"),
        "score": score if isinstance(score, str) else digest(score, "score"),
        "cv": cv if cv is None or type(cv) is int else digest(cv, "cv"),
        "parameters": {name: digest(value, name) for name, value in sorted(parameters.items())},
    }
