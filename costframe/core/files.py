"""Writing of files, whole or not at all, and only over regular files."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class TargetError(OSError):
    """A path to write to that is not a regular file; `strerror` says what it is, `filename` is the path."""


def check_target(path: Path) -> Path:
    """Return `path` with links resolved, if it is free or a regular file.

    Raises
    ------
    TargetError
        If it is a directory, pipe, device, socket, or a link to nothing, which a rename would replace.
    OSError
        If the system refuses the query.
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

    Raises
    ------
    OSError
        If it cannot be written; `filename` is `path`. A `TargetError` if `path` is not a regular file.
    """
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write several files, and replace the old ones once all are whole on the disk; errors as `write_atomically`."""
    staged: list[tuple[Path, Path, Path]] = []
    try:
        for path, content in contents.items():
            target = check_target(path)
            temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")  # a rename is atomic within a file system
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


def _stage(content: bytes, temporary: Path, target: Path) -> None:
    with temporary.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if target.exists():
        shutil.copymode(target, temporary)


@contextlib.contextmanager
def _name_errors(path: Path) -> Iterator[None]:
    """Make errors name `path` instead of the temporary file."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
