"""The build hook: wheels and editable installs hold the compiled engine."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "engine"))
import build as engine


class EngineHook(BuildHookInterface[Any]):
    """Compiles the engine before files are collected."""

    def dependencies(self) -> list[str]:
        """Ask pip for a compiler where the machine has none."""
        return [] if self.target_name != "wheel" or engine.compiler() else ["ziglang>=0.12"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; the wheel is for this kind of machine and any Python."""
        del version
        if self.target_name != "wheel":
            return
        files = engine.build()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        build_data["artifacts"] += [str(file.relative_to(self.root)) for file in files]
