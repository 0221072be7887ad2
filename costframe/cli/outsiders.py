"""Outsiders as options of the command line: a name and the command of a program."""

from __future__ import annotations

from collections.abc import Iterable

from costframe.core.errors import ParameterError, shown
from costframe.programs import OutsiderProgram


def read_outsiders(given: Iterable[str]) -> list[OutsiderProgram]:
    """Return the programs of options NAME=COMMAND, of distinct names."""
    programs: dict[str, OutsiderProgram] = {}
    for text in given:
        name, separator, command = text.partition("=")
        if not separator or not name.strip() or not command.strip():
            raise ParameterError(f'--outsider: expected NAME="COMMAND", got {shown(text)}')
        if name.strip() in programs:
            raise ParameterError(f"--outsider: {name.strip()!r} is given twice")
        programs[name.strip()] = OutsiderProgram(name.strip(), command)
    return list(programs.values())
