"""The compiled engine: its functions, each with the check of its arguments; nothing else calls the library.

A function's signature says what it takes: `hash_rows(X: f8[n,d], hashes: >u8[n])` is a float64 matrix of any n rows and
d columns, and a uint64 vector of n values that it writes; a size n+1 is one more than n. Arrays are C-contiguous and in
native byte order. The library gets a pointer of each array, followed by the sizes that no array before has told; it
trusts them.

The library is there twice, for any processor and for those with AVX2; both give the same bits. The environment variable
COSTFRAME_ENGINE names one of them, "base" or "avx2".
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Callable

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_SCALARS = {
    "f8": ctypes.c_double,
    "i8": ctypes.c_int64,
    "i4": ctypes.c_int32,
    "u8": ctypes.c_uint64,
    "b1": ctypes.c_bool,
}
_CODE = ctypes.c_int64
_PARAMETER = re.compile(r"(\w+): (>?)([fiub]\d(?:\|[fiub]\d)*)(?:\[([\w,+]+)\])?")


def _open(level: str) -> ctypes.CDLL:
    file = Path(__file__).with_name(f"engine-{level}{_SUFFIX}")
    try:
        return ctypes.CDLL(str(file))
    except OSError as error:
        raise ImportError(f"{file}: the engine cannot be loaded, install costframe with pip: {error}") from error


def _choose() -> tuple[str, ctypes.CDLL]:
    """Return the library for this machine's processor, and its level."""
    wanted, base = os.environ.get("COSTFRAME_ENGINE"), _open("base")
    if wanted not in {None, "base", "avx2"}:
        raise ImportError(f"COSTFRAME_ENGINE: expected 'base' or 'avx2', got {wanted!r}")
    quick = base.has_avx2() and Path(__file__).with_name(f"engine-avx2{_SUFFIX}").exists()
    return ("avx2", _open("avx2")) if wanted == "avx2" or (wanted is None and quick) else ("base", base)


level, _library = _choose()


@frozen
class _Parameter:
    """A parameter of a function: a scalar, or an array with a name or a number for each size."""

    name: str
    written: bool
    types: tuple[np.dtype[Any], ...]
    sizes: tuple[str, ...] | None = field(default=None)

    def refuse(self, given: object, known: dict[str, int]) -> None:
        shape = "" if self.sizes is None else f" of shape ({', '.join(str(known.get(s, s)) for s in self.sizes)})"
        got = f"{given.dtype} {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        kinds = " or ".join(map(str, self.types))
        raise TypeError(f"{self.name}: expected C-contiguous {kinds}{shape}{', writable' * self.written}, got {got}")

    def pass_array(self, given: Any, known: dict[str, int], passed: list[Any]) -> None:
        """Append the pointer of an array, the sizes it is the first to tell, and the width of its codes."""
        sizes = self.sizes or ()
        fits = isinstance(given, np.ndarray) and given.dtype in self.types and given.ndim == len(sizes)
        if not fits or not given.flags.c_contiguous or (self.written and not given.flags.writeable):
            self.refuse(given, known)
        passed.append(given.ctypes.data)
        for size, length in zip(sizes, given.shape, strict=True):
            name, _, more = size.partition("+")
            count = length - int(more or 0)
            if name not in known and not name.isdigit() and count >= 0:
                known[name] = count
                passed.append(count)
            elif count != (int(name) if name.isdigit() else known.get(name)):
                self.refuse(given, known)
        if len(self.types) > 1:
            passed.append(given.itemsize)


def _require_memory(code: int, *_: object) -> int:
    if code < 0:
        raise MemoryError("the engine found too little memory")
    return code


def _bind(signature: str, returns: Any = None) -> Callable[..., Any]:
    """Return the library's function with a signature; those that allocate return a `_CODE`, below 0 without memory."""
    name, _, text = signature.partition("(")
    parameters, types, told = [], list[Any](), set[str]()
    for found in _PARAMETER.finditer(text):
        kinds, sizes = found[3].split("|"), None if found[4] is None else tuple(found[4].split(","))
        parameters.append(_Parameter(found[1], bool(found[2]), tuple(map(np.dtype, kinds)), sizes))
        names = dict.fromkeys(size.partition("+")[0] for size in sizes or ())
        fresh = [name for name in names if name not in told and not name.isdigit()]
        told.update(fresh)
        types += [_SCALARS[kinds[0]]] if sizes is None else [ctypes.c_void_p] + [ctypes.c_int64] * len(fresh)
        types += [ctypes.c_int64] * (len(kinds) > 1)
    function = getattr(_library, name)
    function.argtypes, function.restype = types, returns
    if returns is _CODE:
        function.errcheck = _require_memory

    def call(*given: Any) -> Any:
        passed, known = list[Any](), dict[str, int]()
        for parameter, value in zip(parameters, given, strict=True):
            if parameter.sizes is None:
                passed.append(value)
            else:
                parameter.pass_array(value, known, passed)
        return function(*passed)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = signature
    return call


# Rows and sums: engine/row_hashes.h, engine/sums.h
DIGITS = 68  # of an exact sum
hash_rows = _bind("hash_rows(X: f8[n,d], hashes: >u8[n])")
add_exactly = _bind("add_exactly(values: f8[n], sums: >i8[71])")
score_rows = _bind("score_rows(left: f8[n,C], weights: f8[M,C], found: >f8[n,M])")
add_products = _bind("add_products(left: f8[n,C], right: f8[n,M], high: >f8[M,C], low: >f8[M,C])")

# Paths of trees: engine/paths.h
mark_paths = _bind("mark_paths(parent: i8[n], feature: i4[n], masks: >u8[n,W])")
price_paths = _bind("price_paths(parent: i8[n], feature: i4[n], split: f8[d], spent: >f8[n])")
count_paths = _bind("count_paths(parent: i8[n], feature: i4[n], counts: >i8[n], n_features: i8)", _CODE)
look_below = _bind("look_below(counts: i8[n], word: >i8[n], reads: >i8[n])", _CODE)

# Weights by forward selection and with norms: engine/forward_selection.h, engine/proximal.h
MOST_PASSES = 30  # of `shrink`
select_forward = _bind(
    "select_forward(gram: f8[C,C], right: >f8[C,M], ridge: f8, first: i8[G+1], output: i8[e], price: f8[G], "
    "reads: u8[e,W], paid: >u8[G,W], mass: f8[b,256], offers: >f8[C], patience: i8, support: >b1[C])",
    _CODE,
)
shrink = _bind(
    "shrink(residual: >f8[M,D], metric: f8[M,D], first: i8[J+1], member: i8[e], radius: f8[J], dual: >f8[M,e], "
    "disjoint: b1, zero: >b1[D])",
    _CODE,
)
minimize_quadratic = _bind(
    "minimize_quadratic(hessian: f8[M,D,D], gradient: f8[M,D], origin: f8[M,D], lipschitz: f8[M], scale: f8[D], "
    "first: i8[J+1], member: i8[e], radius: f8[J], dual: >f8[M,e], disjoint: b1, most: i8, tolerance: f8, "
    "found: >f8[M,D])",
    _CODE,
)

# Ranking losses: engine/ranking.h
pair_gradients = _bind(
    "pair_gradients(scores: f8[n], grades: f8[n], counts: f8[n], starts: i8[Q+1], gradient: >f8[n], hessian: >f8[n])"
)
pair_losses = _bind("pair_losses(scores: f8[n], grades: f8[n], counts: f8[n], starts: i8[Q+1], losses: >f8[Q])")
discounted_gains = _bind(
    "discounted_gains(scores: f8[n], gains: f8[n], spans: f8[n], starts: i8[Q+1], discounts: f8[k], found: >f8[Q])",
    _CODE,
)
lambda_gradients = _bind(
    "lambda_gradients(scores: f8[n], gains: f8[n], counts: f8[n], spans: f8[n], starts: i8[Q+1], discounts: f8[k], "
    "gradient: >f8[n], hessian: >f8[n])",
    _CODE,
)

# Bins: engine/binning.h, engine/cuts.h
bin_rows = _bind(
    "bin_rows(X: f8[n,d], first: i8[d+1], cut: f8[c], low: f8[d], scale: f8[d], first_step: i8[d+1], certain: i4[s], "
    "window: i8[d], bins: >u1[n,d], columns: >u1[d,N], begin: i8)"
)
mark_unknown = _bind(
    "mark_unknown(X: f8[n,d], first: i8[d+1], category: f8[c], features: i8[k], bins: >u1[n,d], columns: >u1[d,N], "
    "begin: i8)"
)
collect_distinct = _bind("collect_distinct(X: f8[n,d], values: >f8[d,limit], counts: >i8[d])", _CODE)
choose_cuts = _bind("choose_cuts(ordered: f8[k,n], clippings: i8, cuts: >f8[k,max_bins], counts: >i8[k])", _CODE)
