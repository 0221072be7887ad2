"""DIME and GDFS as outsiders of comparisons: programs in the environment of the Python that COSTFRAME_TORCH names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from costframe.programs import OutsiderProgram


def dime(*, budgets: Iterable[float] = (), **effort: int) -> OutsiderProgram:
    """Return DIME; without COSTFRAME_TORCH, PyTorch must be in this environment.

    With budgets, in the unit of prices, it has a model for each that keeps it on each row, and no other models.
    `effort` are fields of torch_policies.Effort, such as epochs.
    """
    return _program("DIME", budgets, effort)


def gdfs(*, budgets: Iterable[float] = (), **effort: int) -> OutsiderProgram:
    """Return GDFS, with the same settings; where all prices are one, a budget is a number of features."""
    return _program("GDFS", budgets, effort)


def _program(name: str, budgets: Iterable[float], effort: Mapping[str, int]) -> OutsiderProgram:
    file = Path(__file__).with_name(f"{name.lower()}_program.py")
    given = {"--budgets": [*map(str, budgets)]} | {f"--{name}": [str(number)] for name, number in effort.items()}
    options = [word for option, values in given.items() if values for word in (option, *values)]
    return OutsiderProgram(name, [os.environ.get("COSTFRAME_TORCH", sys.executable), str(file), *options])
