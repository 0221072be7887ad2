"""Paths, patterns and addresses of Parquet files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import glob, has_magic
from itertools import takewhile
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

import pyarrow as pa
from pyarrow import fs

from costframe.core.errors import DataError, shown

ENDING = ".parquet"
_ADDRESS = re.compile(r"(s3|gs|gcs|hdfs|viewfs|abfss?|file):/")  # a `Path` keeps one slash


def is_several(path: Path) -> bool:
    """Return whether a path is of a folder of Parquet files, or a pattern."""
    return path.is_dir() or ((is_address(path) or has_magic(str(path))) and not path.exists())


def is_address(path: Path) -> bool:
    """Return whether a path was written as the address of a file system, such as ``s3://bucket/folder``."""
    return _ADDRESS.match(path.as_posix()) is not None and not path.exists()


def plain_parts(parts: Sequence[str]) -> list[str]:
    """Return the parts of a path before those that are patterns."""
    return list(takewhile(lambda part: not has_magic(part), parts))


def find_remote_files(path: Path) -> tuple[Any, PurePosixPath, tuple[PurePosixPath, ...]]:
    """Return a pyarrow file system, a folder of it, and the Parquet files that `find_files` would find there.

    A ``*`` of a pattern stands for a part of one name. A DataError says that the system cannot be reached, or has none.
    """
    scheme, *parts = path.parts
    root, plain = scheme + ("///" if scheme == "file:" else "//"), plain_parts(parts)
    address, pattern = root + "/".join(parts), parts[len(plain) :]
    if "**" in pattern:
        raise DataError(f"{address}: ** is for local folders; name a folder, which includes those below")
    try:
        system, folder = fs.FileSystem.from_uri(root + "/".join(plain))
        infos = [system.get_file_info(folder)]
        for part in pattern:
            inside = [child for above in infos if not above.is_file for child in _list(system, above.path)]
            infos = [info for info in inside if _matches(info.base_name, part)]
        if others := [info.path for info in infos if info.is_file and not info.path.lower().endswith(ENDING)]:
            raise DataError(f"{address}: expected files that end in {ENDING}, got {shown(others[0])}")
        files = [PurePosixPath(info.path) for info in infos if info.is_file]
        for above in (info.path for info in infos if not info.is_file):
            below = [PurePosixPath(info.path) for info in _list(system, above, recursive=True) if info.is_file]
            hidden = [any(part.startswith((".", "_")) for part in file.relative_to(above).parts) for file in below]
            files += [file for file, no in zip(below, hidden, strict=True) if not no and file.suffix == ENDING]
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{address}: cannot be read: {' '.join(str(error).split()):.200}") from error
    if not files:
        raise DataError(f"{address}: no file that matches and ends in {ENDING}")
    base = PurePosixPath(folder)
    return system, base.parent if files == [base] else base, tuple(sorted(files))


def _list(system: Any, folder: str, *, recursive: bool = False) -> Any:
    return system.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=recursive))


def _matches(name: str, pattern: str) -> bool:
    """Return whether a name matches, as a shell would say: names that begin with a dot only if the pattern does."""
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def as_absolute(path: PurePath) -> str:
    """Return a text that other processes can use, and that is no address."""
    return os.path.abspath(path) if isinstance(path, Path) else str(path)  # noqa: PTH100 - links stay


def find_files(path: Path) -> tuple[Path, ...]:
    """Return the Parquet files in a folder, also in folders below, or that match a pattern such as ``2024-*``.

    Files and folders whose names begin with a dot or an underscore are not parts of a table. A DataError says that
    there are none, or that a match is no such file.
    """
    if path.is_dir():
        inside = (file.relative_to(path) for file in path.rglob(f"*{ENDING}") if file.is_file())
        visible = [path / file for file in inside if not any(part.startswith((".", "_")) for part in file.parts)]
        if not visible:
            raise DataError(f"{path}: expected a folder of Parquet files, got one without files that end in {ENDING}")
        return tuple(sorted(visible))
    matches = [Path(match) for match in sorted(glob(str(path), recursive=True))]  # noqa: PTH207 - a Path cannot be absolute there
    files = [file for match in matches for file in (find_files(match) if match.is_dir() else [match])]
    if not files:
        raise DataError(f"{path}: no such file, and none that matches")
    if others := [file for file in files if file.suffix.lower() != ENDING]:
        raise DataError(f"{path}: expected files that end in {ENDING}, got {shown(str(others[0]))}")
    return tuple(dict.fromkeys(files))
