"""Faces of packages: public names that load at their first use, each said once, in the stub beside the module.

A line `from costframe.core.prices.costs import CostModel as CostModel` of the stub, which type checkers read, gives the
face its `CostModel`. This module imports very little, for `import costframe` begins with it.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable


def homes_of(file: str) -> dict[str, str]:
    """Return the module of each name that the stub of a module `file` takes from costframe."""
    homes = {}
    with open(f"{file}i", encoding="utf-8") as stub:  # noqa: PTH123 - light
        for line in stub:
            if line.startswith(("from costframe.", "from costframe ")):
                module, _, name = line.removeprefix("from ").partition(" import ")
                homes[name.split(" as ")[0].strip()] = module
    return homes


def attach(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a face, from its name and file."""
    homes = homes_of(file)

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(importlib.import_module(package), name, value)
        return value

    names = sorted(homes)
    return get, lambda: names, names
