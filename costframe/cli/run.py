"""Running of a command: what it does loads only then, so that its help and its refusals of options come at once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from costframe.cli.reading import ReadingOptions
from costframe.cli.start import loading


def run(work: str, options: dict[str, Any]) -> None:
    """Call `work`, a text "module:function", with the options of a command; those of reading are one value."""
    module, _, function = work.partition(":")
    with loading():
        call = getattr(import_module(module), function)
    call(**ReadingOptions.gather(options))
