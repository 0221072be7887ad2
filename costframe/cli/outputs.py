"""What commands write: checks before any work that it can be written, and is neither read nor overwritten."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import click

from costframe.core.errors import ParameterError, printable
from costframe.core.files import resolve_target, write_folder
from costframe.core.piped import STANDARD_STREAM


def check_file(path: Path) -> None:
    """Refuse a file that cannot be written, without creating it."""
    with _name_path(path):
        target = resolve_target(path)
        if not target.parent.exists():
            raise ParameterError(f"--output {path}: there is no directory {path.parent}")
        _try_writing(target.parent)


def check_table_file(path: Path, endings: Sequence[str], *, force: bool, further: str = "") -> str:
    """Return the ending of a table's file, one of some; refuse another, and a file that cannot be written."""
    ending = path.suffix.lower()
    if ending not in endings:
        raise ParameterError(f"--output {path}: expected a file name that ends in {', '.join(endings)}{further}")
    check_file(path)
    check_overwrite([path], force=force)
    return ending


def check_apart(outputs: Mapping[str, Iterable[Path | None]], inputs: Mapping[str, str | Path | None]) -> None:
    """Refuse to write over what a command reads, by whichever path or link, before it reads anything.

    Both are by the name of their argument. A folder of DATA is all files in it, of which no new one is to be, and - a
    standard stream.
    """
    written = [(option, path) for option, paths in outputs.items() for path in paths if path is not None]
    for option, path in written:
        for name, given in inputs.items():
            if _is_part(path, given):
                raise ParameterError(f"{option} {path}: expected a file outside {name}, of which it would be a part")
    present = [(option, path, status) for option, path in written if (status := _status(path, sys.stdout)) is not None]
    for name, given in inputs.items() if present else ():
        for status in (_status(file, sys.stdin) for file in ([] if given is None else _files_of(str(given)))):
            for option, path, of_output in present:
                if status is not None and os.path.samestat(of_output, status):
                    raise ParameterError(f"{option} {path}: expected another file than that of {name}")


def _is_part(path: Path, given: str | Path | None) -> bool:
    """Return whether a file would be one of the table in a folder, or of those that a pattern of Parquet matches."""
    if given is None or path.suffix.lower() != ".parquet":
        return False
    place, given = path.resolve(), str(given)
    if Path(given).is_dir():
        return Path(given).resolve() in place.parents
    pattern = str(Path(given).absolute())
    return has_magic(given) and any(place.match(way) for way in (pattern, pattern.replace("**/", "")))


def _files_of(given: str) -> list[Path]:
    """Return the files that an argument names: those of a folder or of a pattern, else one."""
    if Path(given).is_dir():
        return [file for file in Path(given).rglob("*") if file.is_file()]
    return [Path(given), *map(Path, glob(given, recursive=True) if has_magic(given) else ())]  # noqa: PTH207 - any root


def _status(path: Path, stream: Any) -> os.stat_result | None:
    """Return what the system says of a regular file, or of the one behind a standard stream; None of others."""
    try:
        status = os.fstat(stream.fileno()) if str(path) == STANDARD_STREAM else path.resolve().stat()
    except (OSError, ValueError, AttributeError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def check_directory(path: Path, names: Iterable[str]) -> None:
    """Refuse a directory in which the files `names` cannot be written, without creating them."""
    with _name_path(path):
        if path.is_dir():
            above = path
            for name in names:
                with _name_path(path / name):
                    resolve_target(path / name)
        else:
            if path.exists() or path.is_symlink():
                what = "a file" if path.is_file() else "no directory" if path.exists() else "a link to nothing"
                raise ParameterError(f"--output {path}: is {what}, expected a directory")
            above = next(folder for folder in path.absolute().parents if folder.exists())
        _try_writing(above)


def write_into(directory: Path, contents: Mapping[str, bytes]) -> str:
    """Write files into a directory, all or none; return their paths as a text."""
    return ", ".join(map(str, write_folder(directory, contents)))


def _try_writing(directory: Path) -> None:
    """Create a temporary file, because permissions alone are not a reliable test."""
    with tempfile.TemporaryFile(dir=directory):
        pass


@contextlib.contextmanager
def _name_path(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ParameterError(f"--output {path}: cannot be written: {error.strerror or error}") from error


def on_terminal() -> bool:
    """Return whether somebody is there to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def check_overwrite(paths: Iterable[Path], *, force: bool, instead: str = "choose another place") -> None:
    """Ask before overwriting files or filled directories; refuse it if nobody is there to answer, naming --force."""
    taken = [path for path in paths if path.is_file() or (path.is_dir() and any(path.iterdir()))]
    if force or not taken:
        return
    listed = ", ".join(printable(str(path)) for path in taken)
    if not on_terminal():
        raise ParameterError(f"--output: {listed} would be overwritten; {instead}, or add --force")
    if not click.confirm(f"overwrite {listed}?", err=True):
        raise ParameterError(f"--output: {listed} was not overwritten")
