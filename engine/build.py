"""Build the engine, `costframe/engine-*.so`, and the plugins' compiled parts beside their packages' modules.

The compiler is the system's for C++, else that of the package ziglang.

python engine/build.py              # for this machine
python engine/build.py --platform win_amd64 --output FOLDER  # for another one, with ziglang
python engine/build.py --sanitize --output FOLDER  # with address and undefined-behaviour checks, for its tests
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
EXACT = ("-std=c++20", "-O3", "-ffp-contract=off", "-fno-math-errno")  # the same bits on every machine
HIDDEN = ("-fvisibility=hidden", "-fvisibility-inlines-hidden")  # all but the exported functions
OBJECT = ("-c", "-fPIC", *HIDDEN, "-Wall", "-Wextra", "-Wno-psabi", "-Werror")
SANITIZE = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
AVX2 = ("-mavx2", "-mbmi", "-mbmi2")
ZIG = ("-mcpu=baseline", "-s")  # else it uses all that this machine's processor can, and keeps what debuggers read
# Instead of AVX2, for which ziglang would compile its C++ library once more.
ZIG_AVX2 = tuple(word for flag in AVX2 for word in ("-Xclang", "-target-feature", "-Xclang", flag.replace("-m", "+")))
PLATFORM = sysconfig.get_platform().replace("-", "_").replace(".", "_")  # of this machine, as a wheel's name has it
TARGETS = {  # platforms that ziglang builds wheels for, and its names of them
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
}


class Library(NamedTuple):
    """Sources of one library, and the package that binds it, as folders of the project."""

    name: str
    sources: str
    package: str
    wide: tuple[str, ...]  # what wide registers make faster: compiled for each level
    once: tuple[str, ...] = ()  # compiled for any processor, and in the libraries of all levels


LIBRARIES = (
    Library("engine", "engine", "costframe", ("constants.cc", "tables.cc", "trees.cc"), ("engine.cc", "stages.cc")),
    Library("forest", "plugins/budgetforest/engine", "plugins/budgetforest/costframe_budgetforest", ("forest.cc",)),
)


def compiler(platform: str | None = None) -> list[str]:
    """Return the command of a C++ compiler: $CXX or one on the path for this machine, else ziglang's, or none."""
    for name in () if platform else (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and shutil.which(name.split()[0]):
            return name.split()
    return [sys.executable, "-m", "ziglang", "c++"] if importlib.util.find_spec("ziglang") else []


def build(
    target: Path | None = None,
    options: tuple[str, ...] = (),
    platform: str | None = None,
    tell: Callable[[str], object] = print,
) -> dict[Path, str]:
    """Compile all libraries, into their packages or another folder; return the files, and each one's package."""
    command = compiler(platform)
    if not command:
        raise SystemExit("the engine needs a C++ compiler: install g++ or clang, or `pip install ziglang`")
    if platform:
        options = ("-target", TARGETS[platform], *options)
    files = {}
    for library in LIBRARIES:
        folder = target or HERE.parent / library.package
        files |= dict.fromkeys(build_library(library, folder, command, options, platform, tell), library.package)
    return files


def build_library(
    library: Library,
    target: Path,
    command: list[str],
    options: tuple[str, ...],
    platform: str | None,
    tell: Callable[[str], object],
) -> list[Path]:
    """Compile a library for each level of this machine's or a platform's processors; return the files.

    Files that were made of the same sources in the same way stay: pip builds twice to install once. Else it tells so.
    """
    avx2 = AVX2
    if "ziglang" in command:
        options, avx2 = (*ZIG, *options), ZIG_AVX2
    name = platform or PLATFORM
    suffix = {"win": ".dll", "macosx": ".dylib"}.get(name.partition("_")[0], ".so")
    levels = {"base": (), "avx2": avx2} if name.endswith(("x86_64", "amd64")) else {"base": ()}
    files = {level: target / f"{library.name}-{level}{suffix}" for level in levels}
    way = [*command, *EXACT, *options]
    made_of = mark(library, [*way, *OBJECT, *avx2])
    if any(not file.exists() or made_of.encode() not in file.read_bytes() for file in files.values()):
        tell(f"compiling with {' '.join(command)}: {' and '.join(file.name for file in files.values())}")
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target) as folder:  # never a half-written library
            objects = compile_parts(library, [*way, *OBJECT], levels, made_of, Path(folder))
            made = {level: Path(folder, file.name) for level, file in files.items()}
            common = [str(objects["once"])] if library.once else []
            run_together([[*way, "-shared", "-o", str(made[level]), str(objects[level]), *common] for level in made])
            for level, file in files.items():
                made[level].replace(file)
    return [*files.values()]


def compile_parts(
    library: Library, way: list[str], levels: dict[str, tuple[str, ...]], made_of: str, folder: Path
) -> dict[str, Path]:
    """Compile the sources of each level, and those of all, as one text each: headers take long; return the objects."""
    parts = {"once": (library.once, ())} if library.once else {}
    parts |= {level: (library.wide, ("-DLEVEL", *flags)) for level, flags in levels.items()}
    commands, objects = [], {part: folder / f"{part}.o" for part in parts}
    for part, (names, flags) in parts.items():
        lines = [f'#include "{(HERE.parent / library.sources / name).as_posix()}"' for name in names]
        if part != "once":  # what it is made of, which the file holds
            lines.append(f'EXPORT const char* made_of() {{ return "{made_of}"; }}')
        (text := folder / f"{part}.cc").write_text("\n".join(lines) + "\n")
        commands.append([*way, *flags, "-I", str(HERE), "-o", str(objects[part]), str(text)])
    run_together(commands)
    return objects


def run_together(commands: list[list[str]]) -> None:
    """Run commands side by side, or exit if one fails."""
    running = [subprocess.Popen(command) for command in commands]
    if any([process.wait() for process in running]):  # noqa: C419 - wait for all
        raise SystemExit(f"the engine cannot be compiled with {commands[0][0]}")


def mark(library: Library, way: list[str]) -> str:
    """Return a word for the sources and the way they are compiled, which the library holds."""
    folders = dict.fromkeys((HERE, HERE.parent / library.sources))
    sources = [path.read_bytes() for folder in folders for path in sorted(folder.glob("*.[hc]*"))]
    texts = [" ".join([*way, *library.wide, "once", *library.once]).encode(), *sources]
    return "made_of_" + hashlib.sha256(b"\0".join(texts)).hexdigest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--output", type=Path, help="folder for all libraries; by default their packages")
    parser.add_argument("--platform", choices=TARGETS, help="by default this machine's")
    asked = parser.parse_args()
    build(asked.output, SANITIZE if asked.sanitize else (), asked.platform)
