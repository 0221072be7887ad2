"""Imports of libraries that sources and telemetry need, and that not everybody installs."""

from __future__ import annotations

import importlib
from typing import Any

from costframe.core.errors import ParameterError


def needed(module: str, extra: str) -> Any:
    """Import a module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ParameterError(
            f"this needs {module.partition('.')[0]}, which is not installed: pip install 'costframe[{extra}]'"
        ) from error
