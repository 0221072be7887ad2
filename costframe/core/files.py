"""Files are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step; until then, and after any interruption, the old file stands."""
    target = Path(os.path.realpath(path))  # a link stays a link
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")  # beside it: a rename is atomic within a file system
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
