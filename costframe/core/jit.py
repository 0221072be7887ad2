"""The compilation policy of all kernels.

Kernels are serial functions over arrays and scalars that release the interpreter lock; `threads.py` runs several at
once. They compile on first call, are cached on disk where a directory can be written, and keep IEEE semantics: NaN
means a missing value, and sums must keep their order.
"""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

B1 = NDArray[np.bool_]  # arrays, in the annotations of kernels
F8 = NDArray[np.float64]
I4 = NDArray[np.int32]
I8 = NDArray[np.int64]
U1 = NDArray[np.uint8]
U4 = NDArray[np.uint32]
U8 = NDArray[np.uint64]

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` with numba under the project's policy."""
    import numba

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}
    try:
        compiled: F = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no directory for its cache
        compiled = numba.njit(**options)(function)
    return compiled


def kernel_using(*modules: ModuleType) -> Callable[[F], F]:
    """Return the decorator of kernels that call kernels of other modules, and compile again if these modules change.

    Numba's cache looks at the kernel's own file only, although it compiles the others into the kernel.
    """
    files = [Path(module.__file__).stat() for module in modules if module.__file__]
    stamps = tuple((file.st_mtime, file.st_size) for file in files)

    def compile_(function: F) -> F:
        compiled = kernel(function)
        cached = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
        if cached is not None:
            cached._source_stamp = (cached._source_stamp, stamps)  # noqa: SLF001 - numba has no public access
        return compiled

    return compile_
