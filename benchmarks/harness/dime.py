"""DIME as an outsider of comparisons: a program in the environment of the Python that COSTFRAME_TORCH names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from costframe.programs import OutsiderProgram

PROGRAM = Path(__file__).with_name("dime_program.py")


def dime() -> OutsiderProgram:
    """Return DIME; without COSTFRAME_TORCH, PyTorch must be in this environment."""
    return OutsiderProgram("DIME", [os.environ.get("COSTFRAME_TORCH", sys.executable), str(PROGRAM)])
