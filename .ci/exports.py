"""Check that libraries in the wheels of `dist/` are for the wheel's platform, and export what the engine binds."""

import re
import sys
from pathlib import Path
from zipfile import ZipFile

import lief

bound = re.findall(r'_bind\(\s*"(\w+)\(', Path("costframe/engine.py").read_text())
KINDS = {"manylinux": "ELF", "macosx": "MACHO", "win": "PE"}
for wheel in sorted(Path("dist").glob("*.whl")):
    platform = wheel.stem.split("-")[-1]
    levels = ["avx2", "base"] if platform.endswith(("x86_64", "amd64")) else ["base"]
    machine = "X86_64" if len(levels) == 2 else "ARM64"
    with ZipFile(wheel) as files:
        names = sorted(each for each in files.namelist() if each.startswith("costframe/engine-"))
        libraries = [lief.parse(files.read(name)) for name in names]
    if [Path(name).stem for name in names] != [f"engine-{level}" for level in levels]:
        sys.exit(f"{wheel}: expected the levels {levels}, got {names}")
    for name, library in zip(names, libraries, strict=True):
        kind = library.format.name, library.abstract.header.architecture.name
        exported = {function.name.removeprefix("_" * (kind[0] == "MACHO")) for function in library.exported_functions}
        missing = {*bound, "has_avx2"} - exported
        newer = []  # versions of glibc beyond the wheel's name
        for each in library.symbols_version_requirement if kind[0] == "ELF" else ():
            versions = [one.name.removeprefix("GLIBC_").split(".") for one in each.get_auxiliary_symbols()]
            newer += [version for version in versions if list(map(int, version)) > [2, 17]]
        if kind != (KINDS[platform.partition("_")[0]], machine) or missing or newer:
            sys.exit(f"{wheel}: {name}: {kind}, without {missing}, with glibc {newer}")
        sys.stdout.write(f"{wheel.name}: {name}: {' '.join(kind)}, {len(exported)} functions\n")
