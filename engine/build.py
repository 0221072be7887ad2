"""Build the engine, `costframe/engine-*.so`, with the system's C++ compiler, else with that of the package ziglang.

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
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
TARGET = HERE.parent / "costframe"
WIDE = ("tables.cc", "trees.cc")  # what wide registers make faster: compiled for each level
ONCE = ("engine.cc", "forest.cc", "stages.cc")  # for any processor, in the libraries of all levels
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


def compiler(platform: str | None = None) -> list[str]:
    """Return the command of a C++ compiler: $CXX or one on the path for this machine, else ziglang's, or none."""
    for name in () if platform else (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and shutil.which(name.split()[0]):
            return name.split()
    return [sys.executable, "-m", "ziglang", "c++"] if importlib.util.find_spec("ziglang") else []


def build(
    target: Path = TARGET,
    options: tuple[str, ...] = (),
    platform: str | None = None,
    tell: Callable[[str], object] = print,
) -> list[Path]:
    """Compile the library for each level of this machine's or a platform's processors; return the files.

    Files that were made of the same sources in the same way stay: pip builds twice to install once. Else it tells so.
    """
    command = compiler(platform)
    if not command:
        raise SystemExit("the engine needs a C++ compiler: install g++ or clang, or `pip install ziglang`")
    if platform:
        options = ("-target", TARGETS[platform], *options)
    avx2 = AVX2
    if "ziglang" in command:
        options, avx2 = (*ZIG, *options), ZIG_AVX2
    name = platform or PLATFORM
    suffix = {"win": ".dll", "macosx": ".dylib"}.get(name.partition("_")[0], ".so")
    levels = {"base": (), "avx2": avx2} if name.endswith(("x86_64", "amd64")) else {"base": ()}
    files = {level: target / f"engine-{level}{suffix}" for level in levels}
    way = [*command, *EXACT, *options]
    made_of = mark([*way, *OBJECT, *avx2, *WIDE, "once", *ONCE])
    if any(not file.exists() or made_of.encode() not in file.read_bytes() for file in files.values()):
        tell(f"compiling the engine with {' '.join(command)}: {' and '.join(file.name for file in files.values())}")
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target) as folder:  # never a half-written library
            objects = compile_parts([*way, *OBJECT], levels, made_of, Path(folder))
            made = {level: Path(folder, file.name) for level, file in files.items()}
            run_together(
                [[*way, "-shared", "-o", str(made[level]), str(objects[level]), str(objects["once"])] for level in made]
            )
            for level, file in files.items():
                made[level].replace(file)
    return [*files.values()]


def compile_parts(way: list[str], levels: dict[str, tuple[str, ...]], made_of: str, folder: Path) -> dict[str, Path]:
    """Compile the sources of each level, and those of all, as one text each: headers take long; return the objects."""
    parts = {"once": (ONCE, (f"-DMADE_OF={made_of}",))}
    parts |= {level: (WIDE, ("-DLEVEL", *flags)) for level, flags in levels.items()}
    commands, objects = [], {part: folder / f"{part}.o" for part in parts}
    for part, (names, flags) in parts.items():
        (text := folder / f"{part}.cc").write_text(
            "".join(f'#include "{(HERE / name).as_posix()}"\n' for name in names)
        )
        commands.append([*way, *flags, "-o", str(objects[part]), str(text)])
    run_together(commands)
    return objects


def run_together(commands: list[list[str]]) -> None:
    """Run commands side by side, or exit if one fails."""
    running = [subprocess.Popen(command) for command in commands]
    if any([process.wait() for process in running]):  # noqa: C419 - wait for all
        raise SystemExit(f"the engine cannot be compiled with {commands[0][0]}")


def mark(way: list[str]) -> str:
    """Return a word for the sources and the way they are compiled, which the library holds."""
    texts = [" ".join(way).encode(), *(path.read_bytes() for path in sorted(HERE.glob("*.[hc]*")))]
    return "made_of_" + hashlib.sha256(b"\0".join(texts)).hexdigest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--output", type=Path, default=TARGET, help="folder; by default that of the package")
    parser.add_argument("--platform", choices=TARGETS, help="by default this machine's")
    asked = parser.parse_args()
    build(asked.output, SANITIZE if asked.sanitize else (), asked.platform)
