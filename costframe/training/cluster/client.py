"""The client of a dask cluster that a caller names."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from costframe.core.errors import ParameterError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["open_client"]


@contextlib.contextmanager
def open_client(cluster: Any) -> Iterator[Any]:
    """Yield the dask client of a cluster, given that or the address of a scheduler; close what it opens.

    Raises
    ------
    ParameterError
        If dask is not installed, or there is no scheduler at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError("cluster: needs dask; install costframe[dask]") from None
    if isinstance(cluster, Client):
        yield cluster
        return
    if not isinstance(cluster, str):
        raise ParameterError(
            f"cluster: expected a dask client, or an address such as tcp://host:8786, got {shown(cluster)}"
        )
    try:
        client = Client(cluster, timeout=10)
    except (OSError, ValueError) as error:
        raise ParameterError(f"cluster: no scheduler of dask at {cluster!r}: {error}") from None
    with client:
        yield client
