"""Compiled libraries: each is built for several kinds of processors, and Python binds its functions by signatures."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from attrs import frozen

from costframe.engine.fast_calls import check_arguments, refuse_code
from costframe.engine.signatures import SCALARS, Signature, StructLayout, read_parameters
from costframe.engine.structs import Record, Struct

Step = Callable[[bytes, bytes | None], tuple[bytes, int]]
"""Takes a row's state, see engine/step.h, and the values of the features needed, float64; returns the state after them,
and the number of features needed next, 0 at the end of the row, U + 1 + use for the opaque learner of a use to call."""

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_LEVELS = ("base", "avx2")  # for any processor, and for those with AVX2; both give the same bits
_CORE = Path(__file__).parents[1] / "engine"
_NO_ENGINE = "the engine cannot be loaded, install costframe with pip"


@frozen(eq=False)
class Library:
    """A compiled library, whose functions it binds."""

    module: str  # of Python, which has all structs and functions by their names
    level: str  # "base" or "avx2", or what the environment names
    file: Path
    compiled: ctypes.CDLL

    @classmethod
    def load(cls, stem: Path, module: str) -> Library:
        """Load `stem-avx2.so` if it is there and the processor has AVX2, else `stem-base.so`.

        The environment variable COSTFRAME_ENGINE names "base" or "avx2", or the file of another build of the engine; a
        plugin's library is then taken from the same folder, if there is one.
        """
        level, file = _choose(stem)
        refusal = f"the compiled part of {module} cannot be loaded, install its package with pip"
        return cls(module, level, file, _open(file, _NO_ENGINE if stem == _CORE else refusal))

    def constants(self, *names: str) -> tuple[int, ...]:
        """Return numbers that the library knows by name; it exports `bool find_constant(const char*, int64_t*)`."""
        find, value = self._find("find_constant"), ctypes.c_int64()
        find.restype = ctypes.c_bool
        numbers = list[int]()
        for name in names:
            if not find(name.encode(), ctypes.byref(value)):
                raise ImportError(f"{self.file}: it has no constant {name!r}")
            numbers.append(value.value)
        return tuple(numbers)

    def struct(self, signature: str, *structs: Struct) -> Struct:
        """Return a kind of struct, `Rule(alpha: f8, cost: f8[d])`, with the kinds that it names."""
        name, text, _ = Signature.read(signature)
        return Struct(StructLayout(self.module, name, read_parameters(text, _layouts(structs), whole=True)))

    def bind(self, signature: str, *structs: Struct) -> Callable[..., Any]:
        """Return the function of a signature, with the structs that it names; it checks its arguments."""
        name, text, returns = Signature.read(signature)
        parameters, types = read_parameters(text, _layouts(structs), whole=False), list[Any]()
        for parameter in parameters:
            if not parameter.sizes:
                types.append(SCALARS.get(parameter.types[0], ctypes.c_void_p))
            else:
                n_sizes = sum(size.less is not None for size in parameter.sizes)
                types += [ctypes.c_void_p] + [ctypes.c_int64] * (n_sizes + (len(parameter.types) > 1))
        function = self._find(name)
        function.argtypes = types
        function.restype = ctypes.c_int64 if returns == "code" else SCALARS.get(returns)
        checking: Any = None

        def call(*given: Any) -> Any:
            nonlocal checking
            if checking is None:  # not while importing, which it would slow down
                checking = check_arguments(parameters, function, is_code=returns == "code")
                checking.__name__, checking.__doc__ = name, signature
                if getattr(face := sys.modules.get(self.module), name, None) is call:
                    setattr(face, name, checking)  # later calls need no detour
            return checking(*given)

        call.__name__ = call.__qualname__ = name
        call.__doc__ = signature
        return call

    def bind_step(self, signature: str, *structs: Struct, walks: bool = False) -> Callable[..., Any]:
        """Return a function of the size of rows' states and the signature's structs; it returns the step of such rows.

        One that `walks` to the end takes the row's values, and returns as many float64 as its size, and a number.

        The library gets one pointer to the pointers of all structs: each further argument takes a tenth of a call.
        """
        name, text, _ = Signature.read(signature)
        parameters, function = read_parameters(text, _layouts(structs), whole=False), self._find(name)
        function.argtypes, function.restype = [ctypes.c_void_p] * 3, ctypes.c_int64

        def prepare(size: int, *records: Record) -> Any:
            passed, known = list[Any](), dict[str, int]()
            for parameter, record in zip(parameters, records, strict=True):
                parameter.pass_struct(record, known, passed)
            pointers = (ctypes.c_char_p * len(passed))(*passed)
            copy, make = (ctypes.c_char * size).from_buffer_copy, ctypes.c_double * size

            def walk(row: bytes, _alive: object = records) -> tuple[Any, int]:
                scores = make()
                return scores, function(pointers, scores, row)

            def step(state: bytes, supplied: bytes | None, _alive: object = records) -> tuple[bytes, int]:
                after = copy(state)
                count = function(pointers, after, supplied)
                return after.raw, count if count >= 0 else refuse_code(count)

            return walk if walks else step

        return prepare

    def _find(self, name: str) -> Any:
        try:
            return self.compiled[name]
        except AttributeError as error:
            raise ImportError(f"{self.file}: it exports no function {name!r}") from error


def _layouts(structs: Iterable[Struct]) -> dict[str, StructLayout]:
    return {struct.layout.name: struct.layout for struct in structs}


def _choose(stem: Path) -> tuple[str, Path]:
    """Return the level of a library, and its file."""
    asked = os.environ.get("COSTFRAME_ENGINE")
    if asked is not None and asked not in _LEVELS:
        file = Path(asked) if stem == _CORE else _file(Path(asked).with_name(stem.name), "base")
        if stem == _CORE or file.exists():
            return asked, file
        asked = None
    level = asked or ("avx2" if _has_avx2() else "base")
    if not _file(stem, level).exists() and (asked is None or stem != _CORE):
        level = "base"
    return level, _file(stem, level)


@cache
def _has_avx2() -> bool:
    function = _open(_file(_CORE, "base"), _NO_ENGINE).has_avx2
    function.restype = ctypes.c_bool
    return bool(function())


def _file(stem: Path, level: str) -> Path:
    return stem.with_name(f"{stem.name}-{level}{_SUFFIX}")


def _open(file: Path, refusal: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(file))
    except OSError as error:
        raise ImportError(f"{file}: {refusal}: {error}") from error


# Stands below its class.
core = Library.load(_CORE, "costframe.engine")
bind, bind_step, struct, constants, level = core.bind, core.bind_step, core.struct, core.constants, core.level
