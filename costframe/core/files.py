"""Writing of files, whole or not at all, and only over regular files."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class TargetError(OSError):
    """A path to write to that is not a regular file; `strerror` says what it is, `filename` is the path."""


def resolve_target(path: Path) -> Path:
    """Return `path` with links resolved, if it is free or a regular file.

    A `TargetError` refuses a directory, pipe, device, socket, or a link to nothing, which a rename would replace.
    """
    with _name_errors(path):
        target = Path(os.path.realpath(path))  # a link stays a link
        try:
            mode = target.stat().st_mode
        except FileNotFoundError:
            if path.is_symlink():
                raise TargetError(errno.ENOENT, "is a link to nothing, expected a file", str(path)) from None
            return target
        if not stat.S_ISREG(mode):
            kind = _KINDS.get(stat.S_IFMT(mode), "something else")
            raise TargetError(errno.EINVAL, f"is {kind}, expected a file", str(path))
        return target


def write_atomically(path: Path, content: bytes) -> None:
    """Replace the file at `path` by `content` in one step; after an interruption, the old file is still there.

    An OSError whose `filename` is `path`, or a `TargetError`, says why it cannot be written.
    """
    write_together({path: content})


@contextlib.contextmanager
def open_atomically(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write, which replaces the one at `path` in one step if all went well.

    It is for content that is too long for memory; errors are as for `write_atomically`.
    """
    target = resolve_target(path)
    temporary = _beside(target)
    try:
        with _name_errors(path):
            file = temporary.open("xb")
        with file:
            with _name_errors(path, unless_named=True):
                yield file
            with _name_errors(path):
                _finish(file, target, temporary)
        with _name_errors(path):
            temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error matters
            temporary.unlink(missing_ok=True)
        raise


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write several files, and replace the old ones once all are whole on the disk; errors as `write_atomically`."""
    staged: list[tuple[Path, Path, Path]] = []
    try:
        for path, content in contents.items():
            target = resolve_target(path)
            temporary = _beside(target)
            staged.append((path, target, temporary))
            with _name_errors(path):
                _stage(content, temporary, target)
        for path, target, temporary in staged:
            with _name_errors(path):
                temporary.replace(target)
    except BaseException:
        for _, _, temporary in staged:
            with contextlib.suppress(OSError):  # the first error matters
                temporary.unlink(missing_ok=True)
        raise


def write_folder(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, made if it is missing, all or none; return their paths."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    paths = {folder / name: content for name, content in contents.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_together(paths)
    except BaseException:
        for parent in missing:
            with contextlib.suppress(OSError):  # another process has put files there
                parent.rmdir()
        raise
    return list(paths)


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed process has begun to write into a folder, into which nobody else writes."""
    for file in folder.glob(f".{'[0-9a-f]' * 16}.tmp"):
        file.unlink(missing_ok=True)


def _beside(target: Path) -> Path:
    return target.with_name(f".{secrets.token_hex(8)}.tmp")  # a rename is atomic within a file system


def _stage(content: bytes, temporary: Path, target: Path) -> None:
    with temporary.open("xb") as file:
        file.write(content)
        _finish(file, target, temporary)


def _finish(file: IO[bytes], target: Path, temporary: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    if target.exists():
        shutil.copymode(target, temporary)


@contextlib.contextmanager
def _name_errors(path: Path, *, unless_named: bool = False) -> Iterator[None]:
    """Make errors name `path` instead of the temporary file, or only those that name no file."""
    try:
        yield
    except OSError as error:
        if not (unless_named and error.filename):
            error.filename, error.filename2 = str(path), None
        raise
