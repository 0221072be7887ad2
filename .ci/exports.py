"""Check that libraries in the wheels of `dist/` are for the wheel's platform, and export what Python binds."""

import re
import runpy
import sys
from pathlib import Path
from zipfile import ZipFile

import lief

KINDS = {"manylinux": "ELF", "macosx": "MACHO", "win": "PE"}


def bound_by(package: Path) -> set[str]:
    """Return the functions that the module or modules `engine` of a package bind."""
    files = [*package.glob("engine.py"), *package.glob("engine/*.py")]
    return {name for file in files for name in re.findall(r'bind(?:_step)?\(\s*"(\w+)\(', file.read_text())}


for wheel in sorted(Path("dist").glob("*.whl")):
    platform = wheel.stem.split("-")[-1]
    levels = ["avx2", "base"] if platform.endswith(("x86_64", "amd64")) else ["base"]
    machine = "X86_64" if len(levels) == 2 else "ARM64"
    for source in runpy.run_path("engine/build.py")["LIBRARIES"]:
        package, start = Path(source.package), f"{Path(source.package).name}/{source.name}-"
        with ZipFile(wheel) as files:
            names = sorted(name for name in files.namelist() if name.startswith(start))
            libraries = [lief.parse(files.read(name)) for name in names]
        if [Path(name).stem for name in names] != [f"{source.name}-{level}" for level in levels]:
            sys.exit(f"{wheel}: expected the levels {levels} of {source.name}, got {names}")
        needed = bound_by(package) | {"find_constant"} | ({"has_avx2"} if source.name == "engine" else set())
        for name, library in zip(names, libraries, strict=True):
            kind = library.format.name, library.abstract.header.architecture.name
            prefix = "_" * (kind[0] == "MACHO")
            exported = {function.name.removeprefix(prefix) for function in library.exported_functions}
            newer = []  # versions of glibc beyond the wheel's name
            for required in library.symbols_version_requirement if kind[0] == "ELF" else ():
                versions = [
                    symbol.name.removeprefix("GLIBC_").split(".") for symbol in required.get_auxiliary_symbols()
                ]
                newer += [version for version in versions if list(map(int, version)) > [2, 17]]
            missing = needed - exported
            if kind != (KINDS[platform.partition("_")[0]], machine) or missing or newer:
                sys.exit(f"{wheel}: {name}: {kind}, without {missing}, with glibc {newer}")
            sys.stdout.write(f"{wheel.name}: {name}: {' '.join(kind)}, {len(exported)} functions\n")
