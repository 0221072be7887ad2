"""Files of finished fits: their names on all file systems, and their content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from costframe.core.errors import CostframeError, StorageError, shown
from costframe.core.storage.container import pack, unpack
from costframe.study.fitted import Fitted, SavedModel
from costframe.study.points import Point

_ARRAYS = "influence", "spent"  # of a `Fitted`
MODELS, FITS = "models", "fits"  # folders of a run
_DEVICES = r"(con|prn|aux|nul|com\d|lpt\d)([.]|$)"  # of Windows
_PLAIN = re.compile(rf"(?!{_DEVICES})[a-z0-9_][a-z0-9_.-]{{0,79}}")


def is_plain(text: str) -> bool:
    """Return whether a text without capitals is a name of a file on all file systems."""
    return _PLAIN.fullmatch(text) is not None


def file_name(text: str) -> str:
    """Return a text as part of a file's name: itself if all file systems have it as a name, else with a checksum.

    Different texts have different names, also where a file system does not distinguish capitals.
    """
    if is_plain(text):
        return text
    checksum = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{re.sub(r'^-|[^a-zA-Z0-9_-]', '_', text)[:60]}={checksum[:16]}"


def pack_fits(fits: Sequence[Fitted], header: Mapping[str, Any]) -> bytes:
    """Return the content of a file with points and influences of fits; `header` has further JSON values."""
    arrays = {
        f"{name}.{n}": getattr(fitted, name)
        for n, fitted in enumerate(fits)
        for name in _ARRAYS
        if getattr(fitted, name) is not None
    }
    points = []
    for fitted in fits:
        saved = fitted.model if isinstance(fitted.model, SavedModel) else None
        model = saved and [saved.path.name, saved.checksum]
        points.append(attrs.asdict(fitted.point) | {"model": model, "repeated": fitted.repeated})
    return pack({**header, "points": points}, arrays)


def unpack_fits(file: Path, models: Path) -> tuple[list[Fitted], dict[str, Any]]:
    """Read the file of `pack_fits`; models are in the folder `models`.

    Raises
    ------
    StorageError
        If it is not such a file.
    """
    try:
        header, arrays = unpack(file.read_bytes())
        fits = []
        for number, described in enumerate(header["points"]):
            saved, repeated = described.pop("model"), bool(described.pop("repeated"))
            point = Point(**described)
            model = None if saved is None else _model_in(models, *saved)
            moved = {name: arrays.get(f"{name}.{number}") for name in _ARRAYS}
            fits.append(Fitted(point, model, **moved, repeated=repeated))
    except CostframeError as error:
        raise StorageError(f"{file}: {error}") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise StorageError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise StorageError(f"{file}: expected finished fits of a run, got something else") from error
    if not fits:
        raise StorageError(f"{file}: expected finished fits of a run, got none")
    return fits, header


def _model_in(folder: Path, name: str, checksum: str) -> SavedModel:
    if (folder / name).name != name:
        raise StorageError(f"expected names of files, got {shown(name)}")
    return SavedModel((folder / name).absolute(), checksum)
