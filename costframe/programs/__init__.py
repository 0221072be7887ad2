"""Policies that are programs of their own, in any language or environment, which speak lines of JSON."""

from costframe.programs.program import OutsiderProgram

__all__ = ["OutsiderProgram"]
