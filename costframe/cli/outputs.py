"""Output files: checked before any work, and written together."""

from __future__ import annotations

import contextlib
import tempfile
from typing import TYPE_CHECKING

from costframe.core.errors import ParameterError
from costframe.core.files import check_target, write_together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["check_directory", "check_file", "write_into"]


def check_file(path: Path) -> None:
    """Refuse a file that cannot be written, without creating it."""
    with _name_path(path):
        target = check_target(path)
        if not target.parent.exists():
            raise ParameterError(f"--output {path}: there is no directory {path.parent}")
        _try_writing(target.parent)


def check_directory(path: Path, names: Iterable[str]) -> None:
    """Refuse a directory in which the files `names` cannot be written, without creating them."""
    with _name_path(path):
        if path.is_dir():
            above = path
            for name in names:
                with _name_path(path / name):
                    check_target(path / name)
        else:
            if path.exists() or path.is_symlink():
                what = "a file" if path.is_file() else "no directory" if path.exists() else "a link to nothing"
                raise ParameterError(f"--output {path}: is {what}, expected a directory")
            above = next(folder for folder in path.absolute().parents if folder.exists())
        _try_writing(above)


def write_into(directory: Path, contents: Mapping[str, bytes]) -> str:
    """Write files into a directory, all or none; return their paths as a text."""
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    paths = {directory / name: content for name, content in contents.items()}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_together(paths)
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):  # another process has put files there
                folder.rmdir()
        raise
    return ", ".join(map(str, paths))


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
