"""Running of a command: what it does loads only then, so that its help and its refusals of options come at once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from costframe.cli.reading import ReadingOptions
from costframe.cli.start import loading
from costframe.cli.typed_names import naming_as_typed


def run(work: str, options: dict[str, Any]) -> None:
    """Call `work`, a text "module:function", with the options of a command; those of reading are one value.

    Errors name options as users type them.
    """
    module, _, function = work.partition(":")
    with loading():
        call = getattr(import_module(module), function)
    with naming_as_typed(click.get_current_context().command):
        call(**ReadingOptions.gather(options))
