"""How numba compiles, links and caches kernels.

A call with a constant uses the signature of a variable. Numba copies the code of a kernel into all that call it and
optimizes it there again, which inlines small kernels; kernels that are compiled apart are called by the name of their
symbol instead. What calls them is loaded from the cache after them.
"""
# mypy: disable-error-code="no-untyped-call"

import contextlib
import functools
import glob
import re
import sys
import uuid
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys

from costframe.core.errors import printable

__all__ = ["ApartCompiler", "KernelDispatcher"]

_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*\)|.+)$", re.MULTILINE)  # imports of types are indented
_warned: list[str] = []  # where: the one warning
_apart: dict[tuple[str, str], "KernelDispatcher"] = {}  # by module and name
_symbols: dict[str, tuple[tuple[str, str], Any]] = {}  # of kernels compiled apart: their keys and types of arguments


class KernelDispatcher(CPUDispatcher):
    """A compiled kernel: one signature for constants and variables of a type, and what its name and compiler say.

    With `ApartCompiler`, other kernels do not link it in. With an underscore as its name's first letter, only kernels
    call it, so it has no code for Python's objects.
    """

    def __init__(
        self,
        py_func: Callable[..., object],
        locals: dict[str, Any] | None = None,  # noqa: A002 - numba's name
        targetoptions: dict[str, Any] | None = None,
        pipeline_class: type[Compiler] = Compiler,
    ) -> None:
        self._private = py_func.__name__.startswith("_")
        options = (targetoptions or {}) | {"no_cpython_wrapper": self._private, "no_cfunc_wrapper": True}
        super().__init__(py_func, locals, options, pipeline_class)
        self._key = py_func.__module__, py_func.__qualname__
        self._is_apart = pipeline_class is ApartCompiler
        if self._is_apart:
            _apart[self._key] = self
        try:
            self._cache = _KernelCache(py_func)
        except RuntimeError:  # numba found no directory for its cache
            _warn_once(f"next to {py_func.__code__.co_filename}", "no folder can be written")

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return numba's template of a call from a kernel, with the types of constants as those of variables."""
        plain = [types.unliteral(each) for each in args]
        return super().get_call_template(plain, {name: types.unliteral(each) for name, each in kws.items()})

    def add_overload(self, cres: Any) -> None:
        """Make compiled code known to callers."""
        if self._is_apart:
            self.targetctx.remove_user_function(cres.entry_point)
            self.targetctx.insert_user_function(cres.entry_point, cres.fndesc, [])  # no code to link in
            _symbols[cres.fndesc.mangled_name] = self._key, tuple(cres.signature.args)
        if self._private:  # Python must not find what it cannot call
            self.overloads[tuple(cres.signature.args)] = cres
        else:
            super().add_overload(cres)

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Compile for a call from Python."""
        if self._private:
            raise TypeError(f"{self.py_func.__qualname__}: only kernels call it")
        return super()._compile_for_args(*args, **kws)  # type: ignore[misc] # of the class in C


class ApartCompiler(Compiler):
    """Compiles to a symbol that has the same name in every process; numba numbers them by process."""

    def _compile_bytecode(self) -> Any:
        identity = self.state.func_id
        identity.unique_id = zlib.crc32(repr(_stamp(identity.modname)).encode())
        return super()._compile_bytecode()


@functools.cache
def _stamp(module: str) -> tuple[tuple[float, int], ...]:
    """Return times and sizes of the files whose code and constants are compiled into a module's kernels."""
    stats = [file.stat() for file in sorted(_files_of(module) | {Path(__file__)})]
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


class _CacheFile(IndexDataCacheFile):
    def save(self, key: Any, data: Any) -> None:
        """Write data to a file of its own before the index: numba's would name older data until they are written.

        So neither a process that is killed nor one beside it makes an index of code from elsewhere.
        """
        overloads = self._load_index()
        if not overloads:  # no data are in use
            for old in Path(self._cache_path).glob(f"{glob.escape(self._index_name.removesuffix('.nbi'))}.*.nbc"):
                old.unlink(missing_ok=True)
        overloads[key] = self._data_name(uuid.uuid4().int >> 64)
        self._save_data(overloads[key], data)
        self._save_index(overloads)


class _CacheFormat(CompileResultCacheImpl):
    """Code with the symbols of kernels apart that it calls; it cannot be linked before these are loaded."""

    def reduce(self, cres: Any) -> Any:
        called = (each.name for each in cres.library._final_module.functions if each.is_declaration)  # noqa: SLF001
        return [(symbol, *_symbols[symbol]) for symbol in called if symbol in _symbols], super().reduce(cres)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        called, data = payload
        for symbol, key, arguments in called:
            kernel: Any = _apart.get(key)
            if kernel is None:
                return None
            kernel.compile(arguments)
            if kernel.overloads[arguments].fndesc.mangled_name != symbol:  # of other sources
                return None
        return super().rebuild(target_context, data)


class _KernelCache(FunctionCache):
    """Numba's cache of a function, without its errors: what it cannot load is compiled, and it need not save.

    It loads without all that compiles, whose import takes longer than the other steps of a first prediction.
    """

    _impl_class = _CacheFormat

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        stamp = self._cache_file._source_stamp, _stamp(function.__module__)  # noqa: SLF001 - numba's: of its own file
        self._cache_file = _CacheFile(self.cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with self._told(), self._guard_against_spurious_io_errors():
            rtsys.initialize(target_context)  # numba refreshes the whole context here, and before it compiles
            return self._load_overload(sig, target_context)
        return None  # of an error: the kernel compiles

    def save_overload(self, sig: Any, data: Any) -> None:
        with self._told():
            super().save_overload(sig, data)

    @contextlib.contextmanager
    def _told(self) -> Any:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a damaged file makes pickle raise anything
            with contextlib.suppress(OSError):  # damaged files are not read again
                Path(self._cache_file._index_path).unlink()  # noqa: SLF001
            _warn_once(f"in {self.cache_path}", getattr(error, "strerror", None) or f"{type(error).__name__}: {error}")


def _warn_once(place: str, reason: str) -> None:
    """Warn, once in a process, that kernels compile in memory."""
    if not _warned:
        _warned.append(place)
        warnings.warn(
            f"kernels compile in memory, for their cache {printable(place)} fails: "
            f"{printable(' '.join(reason.split()))}; set NUMBA_CACHE_DIR to a folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )
