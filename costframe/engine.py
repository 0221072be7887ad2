"""The compiled engine: its functions, each with the check of its arguments; nothing else calls the library.

A function's signature says what it takes: `hash_rows(X: f8[n,d], hashes: >u8[n])` is a float64 matrix of any n rows and
d columns, and a uint64 vector of n values that it writes; a size n+1 is one more than n, and one of n? may be 0.
Arrays are C-contiguous and in native byte order. The library gets a pointer of each array, followed by the sizes that
no array before has told; it trusts them.

Arrays that many functions take, or that a loop passes again and again, are a struct, checked once when it is made:
`Task(*fields)`. The library reads its fields in their order, eight bytes for a number, and for an array its pointer and
all its sizes. Sizes with one letter are equal in all structs of a call.

The library is there twice, for any processor and for those with AVX2; both give the same bits. The environment variable
COSTFRAME_ENGINE names one of them, "base" or "avx2".
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from attrs import frozen

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
_PARAMETER = re.compile(r"(\w+): (>?)([\w|]+)(?:\[([\w,+?]+)\])?")


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


class _Size(NamedTuple):
    """A size of an array: of a name or a number, and 1 more for n+1."""

    text: str
    name: str
    number: int  # if there is no name
    more: int
    optional: bool
    less: int | None  # what is subtracted for the library; None if it does not get this size

    @classmethod
    def read(cls, text: str, told: set[str], *, whole: bool) -> _Size:
        """Read a size; the library gets those that are `whole`, optional, or not told before."""
        name, _, more = text.removesuffix("?").partition("+")
        fixed, optional, extra = name.isdigit(), text.endswith("?"), int(more or 0)
        less = 0 if whole or optional else None if fixed or name in told else extra
        return cls(text, "" if fixed else name, int(name) if fixed else 0, extra, optional, less)


@frozen
class _Parameter:
    """A parameter of a function, or a field: a scalar, a struct, or an array with its sizes."""

    name: str
    written: bool
    types: tuple[str, ...]
    dtypes: tuple[np.dtype[Any], ...]
    sizes: tuple[_Size, ...]

    def refuse(self, given: object, known: dict[str, int]) -> None:
        shape = f" of shape ({', '.join(str(known.get(s.text, s.text)) for s in self.sizes)})" if self.sizes else ""
        got = f"{given.dtype} {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        kinds = " or ".join(map(str, self.dtypes or self.types))
        raise TypeError(f"{self.name}: expected C-contiguous {kinds}{shape}{', writable' * self.written}, got {got}")

    def pass_array(self, given: Any, known: dict[str, int], passed: list[Any]) -> None:
        """Append the pointer of an array, some of its sizes, and the width of its codes."""
        if not isinstance(given, np.ndarray) or given.dtype not in self.dtypes or given.ndim != len(self.sizes):
            self.refuse(given, known)
        flags = given.flags
        if not flags.c_contiguous or (self.written and not flags.writeable):
            self.refuse(given, known)
        passed.append(given.__array_interface__["data"][0])  # quicker than `ctypes.data`
        for (_, name, number, more, optional, less), count in zip(self.sizes, given.shape, strict=True):
            if count or not optional:
                expected = known.setdefault(name, count - more) if name else number
                if count != expected + more or expected < 0:
                    self.refuse(given, known)
            if less is not None:
                passed.append(count - less)
        if len(self.types) > 1:
            passed.append(given.itemsize)

    def pass_struct(self, given: Any, known: dict[str, int], passed: list[Any]) -> None:
        """Append the pointer of a struct, whose sizes must be those of the arguments before."""
        if not isinstance(given, Record) or given.struct not in self.types:
            self.refuse(given, known)
        if any(known.setdefault(size, count) != count for size, count in given.sizes.items()):
            self.refuse(given, known)
        passed.append(given.words)


def _parse(text: str, *, whole: bool) -> list[_Parameter]:
    """Return the parameters that a signature lists; of arrays, the library gets `whole` shapes, or new sizes only."""
    parameters, told = [], set[str]()
    for name, written, kinds, listed in _PARAMETER.findall(text):
        told |= _structs.get(kinds, set())
        types, sizes = tuple(kinds.split("|")), list[_Size]()
        for size in filter(None, listed.split(",")):
            sizes.append(_Size.read(size, told, whole=whole))
            told |= set() if sizes[-1].optional else {sizes[-1].name}
        dtypes = tuple(map(np.dtype, types)) if sizes else ()
        parameters.append(_Parameter(name, bool(written), types, dtypes, tuple(sizes)))
    return parameters


_structs: dict[str, set[str]] = {}  # the sizes that a struct tells


@frozen(eq=False)
class Record:
    """The fields of one struct, as the library reads them.

    Attributes
    ----------
    struct : str
        Its name.
    words : ctypes array
        Numbers, pointers and sizes.
    sizes : dict of str to int
        By letter.
    arrays : tuple
        What pointers point to, and so stays alive.
    """

    struct: str
    words: Any
    sizes: dict[str, int]
    arrays: tuple[Any, ...]


def _struct(signature: str) -> Callable[..., Record]:
    """Return a function that makes a struct of its fields, in order."""
    name, _, text = signature.partition("(")
    fields = _parse(text, whole=True)
    _structs[name] = {size.name for each in fields for size in each.sizes if size.name and not size.optional}

    def make(*given: Any) -> Record:
        passed, known = list[Any](), dict[str, int]()
        for each, value in zip(fields, given, strict=True):
            if not each.sizes:
                passed.append(int(np.float64(value).view(np.int64)) if each.types == ("f8",) else int(value))
            else:
                each.pass_array(value, known, passed)
        return Record(name, (ctypes.c_int64 * len(passed))(*passed), known, given)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = signature
    return make


def _require_memory(code: int, *_: object) -> int:
    if code < 0:
        raise MemoryError("the engine found too little memory")
    return code


def _bind(signature: str, returns: Any = None) -> Callable[..., Any]:
    """Return the library's function with a signature; those that allocate return a `_CODE`, below 0 without memory."""
    name, _, text = signature.partition("(")
    parameters, types = _parse(text, whole=False), list[Any]()
    for each in parameters:
        if not each.sizes:
            types.append(_SCALARS.get(each.types[0], ctypes.c_void_p))
        else:
            n_sizes = sum(size.less is not None for size in each.sizes)
            types += [ctypes.c_void_p] + [ctypes.c_int64] * (n_sizes + (len(each.types) > 1))
    function = getattr(_library, name)
    function.argtypes, function.restype = types, returns
    if returns is _CODE:
        function.errcheck = _require_memory

    def call(*given: Any) -> Any:
        passed, known = list[Any](), dict[str, int]()
        for parameter, value in zip(parameters, given, strict=True):
            if parameter.sizes:
                parameter.pass_array(value, known, passed)
            elif parameter.types[0] in _structs:
                parameter.pass_struct(value, known, passed)
            else:
                passed.append(value)
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

# Growing trees: engine/room.h; fields as in growing/room.py and growing/prices.py
Task = _struct(
    "Task(bins: u1[n,d], by_column: u1[d,n], words: >i8[n,w], columns: i8[k], n_bins: i8[k], categorical: b1[d?], "
    "signs: i1[d?], count_bits: i8, units: >f8[2], limits: f8[3], max_depth: i8, max_leaves: i8, breadth: b1, "
    "price_unit: f8, cells_worth_threads: i8, address: i8)"
)
Room = _struct(
    "Room(state: >i8[4], gain: >f8[L,d], best: >i8[L,d,B], paid: >f8[L,items], money: >f8[L,d], place: >i8[L,8], "
    "numbers: >f8[L,4], tested: >b1[L,d?], nodes: >i8[M,10], gained: >f8[M], histogram: >i8[L,groups,bins,lanes,w], "
    "rows: >i4[n], price: >f8[d], goes_left: >b1[256], board: >i8[64], parts: >i8[helpers,groups,bins,lanes,w])"
)
Prices = _struct(
    "Prices(kind: i8, tradeoff: f8, root: f8, reuse: f8, row_weight: f8[n?], split: f8[d?], once: >f8[d?], "
    "once_paid: >b1[d?], begin: i8[d+1?], needed: i8[needs], feature_price: f8[d?], feature_paid: >b1[d?], "
    "resource_price: f8[resources], resource_paid: >b1[resources], used: >b1[d?], totals: >f8[2], marks: >u8[n?,W], "
    "seen: f8[items], uncharged: f8[items], paid_by_all: >f8[items], true_once: f8[d?], n_items: i8, "
    "all_known: b1, address: i8, unit: f8)"
)
scale_for = _bind("scale_for(values: f8[n], bits: i8, address: i8)", ctypes.c_double)
leaf_scale = _bind("leaf_scale(values: f8[n], address: i8)", ctypes.c_double)
pack_rows = _bind(
    "pack_rows(gradients: f8[n], hessians: f8[n?], counts: i8[n?], scale: f8, hessian_scale: f8, count_bits: i8, "
    "words: >i8[n,w])"
)
fill_histogram = _bind(
    "fill_histogram(bins: u1[n,d], words: i8[n,w], rows: i4[m], columns: i8[k], n_bins: i8[k], "
    "histogram: >i8[groups,size,lanes,w])"
)
subtract = _bind("subtract(histogram: >i8[groups,size,lanes,w], child: i8[groups,size,lanes,w], n_bins: i8[k])")
find_splits = _bind(
    "find_splits(task: Task, histogram: i8[groups,size,lanes,w], total: i8[2], bounds: f8[2], prices: f8[2,k?], "
    "gain: >f8[d], best: >i8[d,B])",
    _CODE,
)
divide_rows = _bind(
    "divide_rows(column: u1[n], left_bins: i8[4], rows: >i4[m], scratch: >i4[m], counts: >i8[parts])", ctypes.c_int64
)
route_rows = _bind("route_rows(bins: u1[n,d], nodes: i8[M,10], leaf_of_row: >i4[n])")
label_rows = _bind("label_rows(place: i8[L,8], rows: i4[m], leaf_of_row: >i4[n])")
sum_leaves = _bind(
    "sum_leaves(leaf_of_row: i4[n], gradients: f8[n], hessians: f8[n?], scale: f8, hessian_scale: f8, sums: >i8[M,2])",
    _CODE,
)
describe_nodes = _bind(
    "describe_nodes(nodes: i8[M,10], first: i8[d+1], cut: f8[c], place: i8[L,8], numbers: f8[L,4], sums: f8[M,2], "
    "l2: f8, gradient_unit: f8, feature: >i4[M], threshold: >f8[M], missing_left: >b1[M], left: >i4[M], right: >i4[M], "
    "outputs: >f8[M])"
)
sum_marks = _bind("sum_marks(marks: u8[n,W], rows: i4[m], weight: f8[n?], sums: >f8[items])")
weigh_rows = _bind("weigh_rows(rows: i4[m], weight: f8[n?])", ctypes.c_double)
price_marks = _bind(
    "price_marks(marks: >u8[n,W], rows: i4[m], items: u8[m,W], cost: f8[items], n_features: i8, per_row: >f8[m], "
    "new_features: >f8[m])"
)
begin_prices = _bind("begin_prices(prices: Prices)")
open_account = _bind("open_account(room: Room, prices: Prices, rows: i4[m])")
settle_account = _bind("settle_account(room: Room, prices: Prices, small: i8, large: i8, counted: f8[c])")
charge = _bind("charge(prices: Prices, money: f8[d], price: >f8[d])")
pay = _bind("pay(room: Room, prices: Prices, slot: i8, feature: i8)", ctypes.c_bool)
DONE, MORE_LEAVES, PAUSE = range(3)  # of `grow`
grow = _bind("grow(task: Task, room: Room, prices: Prices, rows: >i4[m])", _CODE)
assist = _bind("assist(task: Task, room: Room, prices: Prices, rows: >i4[m])", _CODE)

# Boosting: engine/losses.h, engine/boosting.h, engine/regression.h
derive_logistic = _bind(
    "derive_logistic(target: i8[n], scores: f8[n], small: f8[n], gradient: >f4[n], hessian: >f4[n])"
)
sum_losses = _bind(
    "sum_losses(kind: i8, y: f8[n], weight: f8[n], scores: f8[n,K], rows: i4[m], count_bits: i8, address: i8, "
    "total: >f8[1])",
    _CODE,
)
add_rounds = _bind(
    "add_rounds(task: Task, room: Room, prices: Prices, kind: i8, y: f8[n], weight: f8[n], counts: i8[n], "
    "inside: i4[m], outside: i4[o], largest: f8, step: f8, scores: >f8[n,K], nodes: >i8[R,K,N,5], "
    "values: >f8[R,K,N], sizes: >i8[R,K], lost: >f8[R], kept: >f8[R,o,K], gain: >f8[d,d])",
    _CODE,
)
boost_many = _bind(
    "boost_many(task: Task, room: Room, prices: Prices, weight: f8[n], counts: i8[n], inside: i4[m], outside: i4[o], "
    "step: f8, residual: >f8[n,T], nodes: >i8[R,N,5], values: >f8[R,N,T], sizes: >i8[R])",
    _CODE,
)
