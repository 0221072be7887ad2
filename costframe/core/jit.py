"""The policy of every compiled kernel, in one place.

Kernels are serial functions over arrays and scalars that release the interpreter lock; `threads.py` runs several at
once. They compile on first call, are cached on disk where a directory can be written, and keep IEEE semantics (NaN
means something here, and sums must not be reordered).
"""

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` with numba under the project's policy."""
    import numba

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}
    try:
        compiled: F = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no directory that it could cache in
        compiled = numba.njit(**options)(function)
    return compiled
