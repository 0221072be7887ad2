"""The engine as WebAssembly: of the wheel, or compiled from its sources by ziglang and kept in the user's cache."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

from costframe.core.checks import needed
from costframe.core.errors import ParameterError

_HERE = Path(__file__).parent
_BUILT = _HERE / "engine.wasm"  # of wheels that were built with it
_SCRIPT = "for_browsers.py"  # beside the sources
_SOURCES = (_HERE / "sources", _HERE.parents[1] / "engine")  # of other wheels, and of a checkout


def read_engine() -> bytes:
    """Return the engine as WebAssembly.

    Raises
    ------
    ParameterError
        If this installation has none, and cannot compile it.
    """
    if _BUILT.exists():
        return _BUILT.read_bytes()
    script = next((folder / _SCRIPT for folder in _SOURCES if (folder / _SCRIPT).exists()), None)
    if script is None:
        raise ParameterError("page: this installation of costframe has neither the engine for browsers nor its sources")
    file = cache_folder() / f"engine-{runpy.run_path(str(script))['made_of']()[:16]}.wasm"
    if not file.exists():
        _compile(script, file)
    return file.read_bytes()


def _compile(script: Path, file: Path) -> None:
    needed("ziglang", "page")
    try:
        done = subprocess.run([sys.executable, str(script), str(file)], capture_output=True, text=True, check=False)  # noqa: S603 - our own
    except OSError as error:
        raise ParameterError(f"page: the engine for browsers cannot be compiled: {error}") from error
    if done.returncode:
        raise ParameterError(f"page: the engine for browsers cannot be compiled: {done.stderr.strip()[-500:]}")


def cache_folder() -> Path:
    """Return the folder of what costframe compiles for this user; the environment's XDG_CACHE_HOME comes first."""
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "costframe"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "costframe" / "cache"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "costframe"
