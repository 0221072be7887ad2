"""Errors of fits, which name the algorithm and its plugin."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from costframe.core.errors import CostframeError, PluginError
from costframe.core.plugins.entries import plugin_title
from costframe.core.plugins.registry import registry

LATE = "time was up before all its fits ended"


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
        point = registry().owners.get(algorithm)
        owner = "an unknown plugin" if point is None else f"plugin {plugin_title(point)}"
        raise FitError(f"algorithm {algorithm!r} of {owner} failed: {what}") from error


def failure_text(algorithm: str, error: CostframeError) -> str:
    """Return an error's text, with the name of the algorithm that could not be fitted."""
    if isinstance(error, FitError):
        return str(error)
    return f"algorithm {algorithm!r}: {str(error).removeprefix(f'{algorithm}: ')}"


def joint_error(errors: Mapping[str, CostframeError]) -> CostframeError:
    """Return the error to raise if every algorithm failed: their common error, or one that lists all."""
    first = next(iter(errors.values()))
    if all(str(error) == str(first) for error in errors.values()):
        return first
    return PluginError(f"nothing could be fitted: {'; '.join(failure_text(*failure) for failure in errors.items())}")


class TimeIsUp(BaseException):
    """The end of a fit in this thread."""


class UnfinishedError(CostframeError):
    """A candidate whose fits did not end in time."""
