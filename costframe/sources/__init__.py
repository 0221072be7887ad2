"""Live prediction: drivers of inquiries, and the sources that values of features come from."""

from __future__ import annotations

from collections.abc import Mapping

from costframe.hooks import hookimpl
from costframe.lazily import attach

__getattr__, _, __all__ = attach(__name__, __file__)


@hookimpl
def costframe_sources() -> Mapping[str, str]:
    """Return the kinds of sources that files can name."""
    return {
        "sql": "costframe.sources.sql:SQLSource",
        "redis": "costframe.sources.redis:RedisSource",
        "http": "costframe.sources.http:HTTPSource",
        "table": "costframe.sources.table:read_source",
    }


def __dir__() -> list[str]:
    return [*__all__, costframe_sources.__name__]  # pluggy looks for hooks here
