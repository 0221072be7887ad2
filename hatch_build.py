"""The build hook: wheels and editable installs hold the compiled engine, and the compiled parts of plugins.

The environment variable COSTFRAME_PLATFORM names a platform to build a wheel for, a key of `engine/build.py`'s TARGETS.
Such wheels also hold the engine for browsers. Others have its sources, which ziglang compiles when a page is made.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "engine"))
import build as engine

# isort: split
import for_browsers

PLATFORM = os.environ.get("COSTFRAME_PLATFORM")


class EngineHook(BuildHookInterface[Any]):
    """Compiles the engine before files are collected."""

    def dependencies(self) -> list[str]:
        """Ask pip for a compiler where the machine has none."""
        return [] if self.target_name != "wheel" or engine.compiler(PLATFORM) else ["ziglang>=0.17"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; the wheel is for one platform and any Python."""
        del version
        if self.target_name != "wheel":
            return
        if PLATFORM and PLATFORM not in engine.TARGETS:
            raise SystemExit(f"COSTFRAME_PLATFORM: expected one of {', '.join(engine.TARGETS)}, got {PLATFORM!r}")
        folder = Path(self.root, "build", PLATFORM) if PLATFORM else None
        files = engine.build(folder, platform=PLATFORM, tell=tell)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORM or engine.PLATFORM}"
        build_data["force_include"] |= {
            str(file): f"{Path(package).name}/{file.name}" for file, package in files.items()
        } | self._for_browsers(folder)

    def _for_browsers(self, folder: Path | None) -> dict[str, str]:
        """Return files for pages, with their places in the wheel: the engine for browsers, or its sources."""
        if folder is None:
            return {str(path): f"costframe/page/sources/{path.name}" for path in for_browsers.list_sources()}
        tell("compiling the engine for browsers")
        for_browsers.build(file := folder / "engine.wasm")
        return {str(file): "costframe/page/engine.wasm"}


def tell(text: str) -> None:
    """Print a line, also on the terminal if there is one: pip keeps what builds print, and they take a while."""
    print(text, flush=True)  # noqa: T201 - for `pip -v`, and other frontends
    with suppress(OSError, AttributeError):  # no terminal, or not that of a Unix
        terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY)
        try:
            if os.tcgetpgrp(terminal) == os.getpgrp():  # else a job in the background might be stopped
                os.write(terminal, f"\n  costframe: {text}\n".encode())
        finally:
            os.close(terminal)
