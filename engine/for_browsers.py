"""Compile the engine's steps of single rows to WebAssembly, for pages that predict in a browser; it takes ziglang.

python for_browsers.py FILE.wasm  # the sources are those beside this file
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = ("stages.cc", "tables.cc")
EXPORTS = ("step_row", "step_capped_row", "walk_row", "malloc", "free", "expf")  # the latter three are of the C library
# The same bits as every other build of the engine; no more of it than what the exports call.
EXACT = ("-std=c++20", "-Oz", "-ffp-contract=off", "-fno-math-errno", "-fno-exceptions", "-fvisibility=hidden")
BROWSER = ("-target", "wasm32-wasi", "-mexec-model=reactor", "-Wl,--no-entry", "-Wl,--strip-all", "-Wno-psabi")
WAY = (*EXACT, *BROWSER, *(f"-Wl,--export={name}" for name in EXPORTS))


def list_sources() -> list[Path]:
    """Return the files that compiling takes: this one too."""
    return [Path(__file__), *sorted(HERE.glob("*.h")), *(HERE / name for name in SOURCES)]


def made_of() -> str:
    """Return a word for the sources and the way they are compiled."""
    sources = [path.read_bytes() for path in list_sources()]
    return hashlib.sha256(b"\0".join([" ".join([*SOURCES, *WAY]).encode(), *sources])).hexdigest()


def build(file: Path) -> None:
    """Compile into a file, or exit; never leave half of one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        text, made = Path(folder, "page.cc"), Path(folder, "page.wasm")
        text.write_text("".join(f'#include "{(HERE / name).as_posix()}"\n' for name in SOURCES))
        command = [sys.executable, "-m", "ziglang", "c++", *WAY, "-I", str(HERE), "-o", str(made), str(text)]
        if subprocess.run(command, check=False).returncode:
            raise SystemExit("the engine cannot be compiled to WebAssembly with ziglang")
        made.replace(file)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
