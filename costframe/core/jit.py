"""The compilation policy of all kernels.

Kernels are serial functions over arrays and scalars that release the interpreter lock; `threads.py` runs several at
once. They compile on first call, are cached on disk where a directory can be written, and keep IEEE semantics: NaN
means a missing value, and sums must keep their order. Where the cache cannot be read or written, they compile in
memory, and one warning says so.
"""

import contextlib
import functools
import glob
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from costframe.core.errors import printable

B1 = NDArray[np.bool_]  # arrays, in the annotations of kernels
F8 = NDArray[np.float64]
I4 = NDArray[np.int32]
I8 = NDArray[np.int64]
U1 = NDArray[np.uint8]
U4 = NDArray[np.uint32]
U8 = NDArray[np.uint64]
Codes = NDArray[np.unsignedinteger]

F = TypeVar("F", bound=Callable[..., object])

_used: dict[str, tuple[ModuleType, ...]] = {}  # modules that kernels of a module call, by its name
_warned: list[str] = []  # folders of the one warning


def kernel(function: F) -> F:
    """Compile `function` with numba under the project's policy."""
    import numba

    compiled: Any = numba.njit(nogil=True, error_model="numpy", fastmath=False)(function)
    if hasattr(compiled, "enable_caching"):  # not with NUMBA_DISABLE_JIT
        try:
            compiled._cache = _cache_class()(function)  # noqa: SLF001 - numba has no public access
        except RuntimeError:  # numba found no directory for its cache
            _warn_once(f"next to {function.__code__.co_filename}", "no folder can be written")
    return compiled  # type: ignore[no-any-return]


def kernel_using(*modules: ModuleType) -> Callable[[F], F]:
    """Return the decorator of kernels that call kernels of other modules, and compile again if these modules change.

    So they do if modules change that these use in the same way. Numba's cache looks at the kernel's own file only,
    although it compiles the others into the kernel.
    """
    every = {module.__name__: module for used in modules for module in (used, *_used.get(used.__name__, ()))}
    files = [Path(str(every[name].__file__)).stat() for name in sorted(every)]
    stamps = tuple((file.st_mtime, file.st_size) for file in files)

    def compile_(function: F) -> F:
        _used[function.__module__] = tuple(every.values())
        compiled = kernel(function)
        cached = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
        if cached is not None:
            cached._source_stamp = (cached._source_stamp, stamps)  # noqa: SLF001 - numba has no public access
        return compiled

    return compile_


@functools.cache
def _cache_class() -> Any:
    """Return numba's cache of a function, without its errors: what it cannot load is compiled, and it need not save.

    It loads without all that compiles, whose import takes longer than the other steps of a first prediction.
    """
    from numba.core.caching import FunctionCache, IndexDataCacheFile
    from numba.core.runtime.nrt import rtsys

    class CacheFile(IndexDataCacheFile):
        def save(self, key: Any, data: Any) -> None:
            """Write data to a file of its own before the index: numba's would name older data until they are written.

            So neither a process that is killed nor one beside it makes an index of code from elsewhere.
            """
            overloads = self._load_index()  # type: ignore[no-untyped-call]
            if not overloads:  # no data are in use
                for old in Path(self._cache_path).glob(f"{glob.escape(self._index_name.removesuffix('.nbi'))}.*.nbc"):
                    old.unlink(missing_ok=True)
            overloads[key] = self._data_name(uuid.uuid4().int >> 64)  # type: ignore[no-untyped-call]
            self._save_data(overloads[key], data)  # type: ignore[no-untyped-call]
            self._save_index(overloads)  # type: ignore[no-untyped-call]

    class KernelCache(FunctionCache):
        def __init__(self, function: Any) -> None:
            super().__init__(function)  # type: ignore[no-untyped-call]
            numbas = self._cache_file
            self._cache_file = CacheFile(self.cache_path, self._impl.filename_base, numbas._source_stamp)  # type: ignore[no-untyped-call]  # noqa: SLF001

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            with self._told(), self._guard_against_spurious_io_errors():
                rtsys.initialize(target_context)  # numba refreshes the whole context here, and before it compiles
                return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            return None  # of an error: the kernel compiles

        def save_overload(self, sig: Any, data: Any) -> None:
            with self._told():
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]

        @contextlib.contextmanager
        def _told(self) -> Any:
            try:
                yield
            except Exception as error:  # noqa: BLE001 - a damaged file makes pickle raise anything
                with contextlib.suppress(OSError):  # damaged files are not read again
                    Path(self._cache_file._index_path).unlink()  # noqa: SLF001
                _warn_once(self.cache_path, getattr(error, "strerror", None) or f"{type(error).__name__}: {error}")

    return KernelCache


def _warn_once(folder: str, reason: str) -> None:
    """Warn, once in a process, that kernels compile in memory."""
    if not _warned:
        _warned.append(folder)
        warnings.warn(
            f"kernels compile in memory, for their cache in {printable(folder)} fails: "
            f"{printable(' '.join(reason.split()))}; set NUMBA_CACHE_DIR to a folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )
