"""Files are written whole or not at all, and only over files."""

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

__all__ = ["TargetError", "check_target", "write_atomically", "write_together"]

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class TargetError(OSError):
    """What is at the place to write to is no file; `strerror` says what it is, `filename` is the place."""


def check_target(path: Path) -> Path:
    """Return where `path` leads, links followed; nothing or a regular file is there.

    Raises
    ------
    TargetError
        If a directory, pipe, device, socket, or a link to nothing is there: a rename would take its place.
    OSError
        If that cannot be found out.
    """
    with _naming(path):
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
    """Put `content` at `path` in one step; until then, and after any interruption, the old file stands.

    Raises
    ------
    OSError
        If it cannot be written; `filename` is `path`. It is a `TargetError` if no file is there but something else.
    """
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write several files; none of them takes its place before all are whole on the disk. Errors as above."""
    staged: list[tuple[Path, Path, Path]] = []
    try:
        for path, content in contents.items():
            target = check_target(path)
            temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")  # a rename is atomic within a file system
            staged.append((path, target, temporary))
            with _naming(path):
                _stage(content, temporary, target)
        for path, target, temporary in staged:
            with _naming(path):
                temporary.replace(target)
    except BaseException:
        for _, _, temporary in staged:
            with contextlib.suppress(OSError):  # the first error is the one to tell
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
def _naming(path: Path) -> Iterator[None]:
    """Let errors name `path`, not the file beside it."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
