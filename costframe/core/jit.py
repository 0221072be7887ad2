"""The compilation policy of all kernels.

Kernels are serial functions over arrays and scalars that release the interpreter lock; `threads.py` runs several at
once. They compile on first call, are cached on disk where a directory can be written, and keep IEEE semantics: NaN
means a missing value, and sums must keep their order. Where the cache cannot be read or written, they compile in
memory, and one warning says so. A loop over items compiles much quicker than a statement over arrays.
"""

from collections.abc import Callable
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
Codes = NDArray[np.unsignedinteger]

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile `function` with numba under the project's policy; the compiler may inline it where kernels call it.

    If its name begins with an underscore, only kernels may call it.
    """
    return _compile(function, apart=False)


def kernel_apart(function: F) -> F:
    """Compile `function` as `kernel` does, but once for all kernels that call it: the long ones, and those above them.

    It must be a global of its module.
    """
    return _compile(function, apart=True)


def _compile(function: F, *, apart: bool) -> F:
    """Return a function that compiles when it is first called."""
    from numba.core import compiler, config

    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    from costframe.core.dispatch import ApartCompiler, KernelDispatcher

    options = {"nopython": True, "nogil": True, "error_model": "numpy", "fastmath": False, "boundscheck": None}
    pipeline = ApartCompiler if apart else compiler.Compiler
    compiled: Any = KernelDispatcher(function, {}, options, pipeline)
    return compiled  # type: ignore[no-any-return]
