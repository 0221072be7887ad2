"""Errors of commands, which name options and arguments as users type them, not as Python has them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import click

from costframe.core.errors import CostframeError, ParameterError

# Parameters of functions that commands call, by the name that the command's own has.
_ALIASES = {"directory": "output", "tables": "data", "scoring": "score"}


@contextlib.contextmanager
def naming_as_typed(command: click.Command) -> Iterator[None]:
    """Make errors of parameters name the options of a command, `--reference: ...` for `reference: ...`.

    The name is at the beginning, or behind the name of a table and a colon.
    """
    try:
        yield
    except CostframeError as error:
        from costframe.study.failures import UnfinishedError  # it loads the registry of plugins

        text = _name_as_typed(str(error), command)
        if text == str(error) or not isinstance(error, ParameterError | UnfinishedError):
            raise
        raise type(error)(text) from error


def _name_as_typed(text: str, command: click.Command) -> str:
    typed = {parameter.name: _typed(parameter) for parameter in command.params}
    typed |= {name: typed[own] for name, own in _ALIASES.items() if own in typed and name not in typed}
    names = "|".join(re.escape(str(name)) for name in typed)
    found = re.search(rf"(?:^|: )({names})(?=: )", text) if names else None
    return text if found is None else text[: found.start(1)] + typed[found[1]] + text[found.end(1) :]


def _typed(parameter: click.Parameter) -> str:
    """Return an option's long name, or an argument's in help."""
    if isinstance(parameter, click.Argument):
        return str(parameter.human_readable_name)
    return max(parameter.opts, key=len)
