"""Errors of algorithms, which name the algorithm and its plugin."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from costframe.core.errors import CostframeError, PluginError
from costframe.core.plugins.registry import registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FitError", "failure_text", "joint_error", "name_failures"]


class FitError(PluginError):
    """A foreign exception from an algorithm, which is its cause; the text names the algorithm and its plugin."""


@contextlib.contextmanager
def name_failures(algorithm: str) -> Iterator[None]:
    """Turn exceptions of a plugin into `FitError`, except errors of costframe and of memory."""
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


def joint_error(errors: Mapping[str, CostframeError]) -> CostframeError:
    """Return the error to raise if every algorithm failed: their common error, or one that lists all."""
    first = next(iter(errors.values()))
    if all(str(error) == str(first) for error in errors.values()):
        return first
    return PluginError(f"nothing could be fitted: {'; '.join(failure_text(*failure) for failure in errors.items())}")


def _plugin_of(algorithm: str) -> str:
    """Return the plugin of an algorithm, as `name (distribution version)`."""
    for implementation in registry().manager.hook.costframe_algorithms.get_hookimpls():
        with contextlib.suppress(Exception, SystemExit):  # a broken neighbor
            brought: Any = implementation.function()
            if algorithm in {one.name for one in brought}:
                return f"plugin {implementation.plugin_name}"
    return "an unknown plugin"
