"""Running of a command: what it does loads only then, so that its help and its refusals of options come at once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click
from attrs import fields_dict

from costframe.cli.reading import ReadingOptions
from costframe.cli.start import loading
from costframe.cli.typed_names import naming_as_typed


def run(work: str, options: dict[str, Any], **values: type) -> None:
    """Call `work`, a text "module:function", with the options of a command.

    Those of reading are one value, and so are those of each of `values`, by the name of the function's parameter: attrs
    classes whose fields have the names of options. Errors name options as users type them.
    """
    module, _, function = work.partition(":")
    with loading():
        call = getattr(import_module(module), function)
    with naming_as_typed(click.get_current_context().command):
        for name, kind in {"reading": ReadingOptions, **values}.items():
            options = _gather(options, name, kind)
        call(**options)


def _gather(options: dict[str, Any], name: str, kind: type) -> dict[str, Any]:
    """Return options with those that are fields of a class, if there are some, as one value."""
    ours = {field: options[field] for field in fields_dict(kind) if field in options}
    others = {option: value for option, value in options.items() if option not in ours}
    return others | {name: kind(**ours)} if ours else others
