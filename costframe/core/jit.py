"""The compilation policy of all kernels.

Kernels are serial functions over arrays and scalars that release the interpreter lock; `threads.py` runs several at
once. They compile on first call, are cached on disk where a directory can be written, and keep IEEE semantics: NaN
means a missing value, and sums must keep their order. Where the cache cannot be read or written, they compile in
memory, and one warning says so.
"""

import contextlib
import functools
import glob
import re
import sys
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
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

_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*\)|.+)$", re.MULTILINE)  # imports of types are indented
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


@functools.cache
def _stamp(module: str) -> tuple[tuple[float, int], ...]:
    """Return times and sizes of the files whose code and constants are compiled into a module's kernels."""
    stats = [file.stat() for file in sorted(_files_of(module))]
    return tuple((stat.st_mtime, stat.st_size) for stat in stats)


@functools.cache
def _files_of(module: str) -> frozenset[Path]:
    """Return a module's file and those that it imports from; modules of kernels are followed further."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return frozenset()
    files, roots = {Path(file)}, {module.partition(".")[0], "costframe"}
    for name, imported in _IMPORT.findall(Path(file).read_text("utf-8")):
        if name.partition(".")[0] in roots:
            modules = [f"{name}.{each}" for each in re.findall(r"\w+", imported)]
            for used in [each for each in modules if each in sys.modules] or [name]:
                if used.endswith("_kernels"):
                    files |= _files_of(used)
                elif used in sys.modules:
                    files.add(Path(str(sys.modules[used].__file__)))
    return frozenset(files)


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
            stamp = self._cache_file._source_stamp, _stamp(function.__module__)  # noqa: SLF001 - numba's: of its own file
            self._cache_file = CacheFile(self.cache_path, self._impl.filename_base, stamp)  # type: ignore[no-untyped-call]

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
