"""Models that stay accurate while acquiring few features, with the exact cost of every prediction."""

from __future__ import annotations

import importlib

from costframe.lazily import homes_of

__version__ = "0.1.0"

# Each public name loads at its first use. Their modules stand in `__init__.pyi`, which type checkers read.
_HOMES = homes_of(__file__)

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the stub's


def __getattr__(name: str) -> object:
    if (home := _HOMES.get(name)) is not None:
        is_module = home == "costframe"
        value: object = (
            importlib.import_module(f"{home}.{name}") if is_module else vars(importlib.import_module(home))[name]
        )
    elif name[:1].isupper():  # a class of an algorithm, if of any; plugins load to tell
        from costframe.core.plugins.registry import registry

        return registry().estimator_class(name, __all__)
    else:
        import difflib

        near = difflib.get_close_matches(name, __all__, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'costframe' has no attribute {name!r}{hint}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
