"""Errors of algorithms: each names the algorithm and its plugin, and the other algorithms go on."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from costframe.core.errors import CostframeError, PluginError
from costframe.core.plugins.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FitError", "failure_text", "naming_failures", "nothing_left"]


class FitError(PluginError):
    """An algorithm raised what is no error of costframe; that is the cause, and the text says whose algorithm it is."""


@contextlib.contextmanager
def naming_failures(algorithm: str) -> Iterator[None]:
    """Turn what a plugin raises, other than errors of costframe and want of memory, into `FitError`."""
    try:
        yield
    except (CostframeError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise FitError(f"algorithm {algorithm!r} of {_plugin_of(algorithm)} failed: {what}") from error


def failure_text(algorithm: str, error: CostframeError) -> str:
    """Return an error's text, with the name of the algorithm that could not be fitted."""
    return str(error) if isinstance(error, FitError) else f"algorithm {algorithm!r}: {error}"


def nothing_left(errors: Mapping[str, CostframeError]) -> CostframeError:
    """Return what to raise where every algorithm failed: their own error if all say the same, else all of them."""
    first = next(iter(errors.values()))
    if all(str(error) == str(first) for error in errors.values()):
        return first
    return PluginError(f"nothing could be fitted: {'; '.join(failure_text(*failure) for failure in errors.items())}")


def _plugin_of(algorithm: str) -> str:
    """Return the plugin that brings an algorithm, as `name (distribution version)`."""
    for implementation in registry().manager.hook.costframe_algorithms.get_hookimpls():
        with contextlib.suppress(Exception, SystemExit):  # a broken neighbor
            brought: Any = implementation.function()
            if algorithm in {one.name for one in brought}:
                return f"plugin {implementation.plugin_name}"
    return "an unknown plugin"
