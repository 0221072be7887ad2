"""Build the engine, `costframe/engine-*.so`, with the system's C++ compiler, else with that of the package ziglang.

python engine/build.py              # for this machine
python engine/build.py --sanitize --output FOLDER  # with address and undefined-behaviour checks, for its tests
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE.parent / "costframe"
SOURCES = sorted(map(str, HERE.glob("*.cc")))
EXACT = ("-std=c++20", "-O3", "-ffp-contract=off", "-fno-math-errno")  # the same bits on every machine
SHARED = ("-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-psabi", "-Werror")
SANITIZE = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
AVX2 = ("-mavx2", "-mbmi", "-mbmi2")
LEVELS = {"x86_64": {"base": (), "avx2": AVX2}, "amd64": {"base": (), "avx2": AVX2}}


def compiler() -> list[str]:
    """Return the command of a C++ compiler: $CXX, one on the path, or that of ziglang; empty without any."""
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and shutil.which(name.split()[0]):
            return name.split()
    return [sys.executable, "-m", "ziglang", "c++"] if importlib.util.find_spec("ziglang") else []


def suffix() -> str:
    """Return how a shared library's name ends here."""
    return {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


def build(target: Path = TARGET, options: tuple[str, ...] = ()) -> list[Path]:
    """Compile the library for each level of this machine's kind of processor; return the files."""
    command = compiler()
    if not command:
        raise SystemExit("the engine needs a C++ compiler: install g++ or clang, or `pip install ziglang`")
    machine = sysconfig.get_platform().split("-")[-1].lower()
    files = [target / f"engine-{level}{suffix()}" for level in LEVELS.get(machine, {"base": ()})]
    running = []
    for flags, file in zip(LEVELS.get(machine, {"base": ()}).values(), files, strict=True):
        arguments = [*command, *EXACT, *SHARED, *flags, *options, "-o", str(file.with_suffix(".new")), *SOURCES]
        running.append(subprocess.Popen(arguments))
    for process, file in zip(running, files, strict=True):
        if process.wait():
            raise SystemExit(f"the engine cannot be compiled: {command[0]} ended with {process.returncode}")
        file.with_suffix(".new").replace(file)  # never a half-written library
    return files


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--output", type=Path, default=TARGET, help="folder; by default that of the package")
    asked = parser.parse_args()
    build(asked.output, SANITIZE if asked.sanitize else ())
