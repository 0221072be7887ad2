"""The compiled engine: its functions, each with the check of its arguments; nothing else calls the library.

A function's signature says what it takes: `hash_rows(X: f8[n,d], hashes: >u8[n])` is a float64 matrix of any n rows and
d columns, and a uint64 vector of n values that it writes; a size n+1 is one more than n, and one of n? may be 0.
Arrays are C-contiguous and in native byte order. The library gets a pointer of each array, followed by the sizes that
no array before has told; it trusts them.

Arrays that many functions take, or that a loop passes again and again, are a struct, checked once when it is made:
`Task(*fields)`. The library reads its fields in their order, eight bytes for a number, for an array its pointer and all
its sizes, and for a struct all of its own. Sizes with one letter are equal in all structs of a call.

The library is there twice, for any processor and for those with AVX2; both give the same bits. The environment variable
COSTFRAME_ENGINE names one of them, "base" or "avx2", or the file of another build.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from attrs import frozen

Step = Callable[[bytes, bytes | None], tuple[bytes, int]]
"""Takes a row's state, see engine/step.h, and the values of the features needed, float64; returns the state after them,
and the number of features needed next, 0 at the end of the row, U + 1 + use for the opaque learner of a use to call."""

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_SCALARS = {
    "f8": ctypes.c_double,
    "i8": ctypes.c_int64,
    "i4": ctypes.c_int32,
    "u8": ctypes.c_uint64,
    "b1": ctypes.c_bool,
}
_CODE = "code"  # what a function that allocates returns
_PARAMETER = re.compile(r"(\w+): (>?)([\w|]+)(?:\[([\w,+?]+)\])?")


def _open(file: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(file))
    except OSError as error:
        raise ImportError(f"{file}: the engine cannot be loaded, install costframe with pip: {error}") from error


def _choose() -> tuple[str, ctypes.CDLL]:
    """Return the library for this machine's processor, and its level; or the one that the environment names."""
    files = {level: Path(__file__).with_name(f"engine-{level}{_SUFFIX}") for level in ("base", "avx2")}
    wanted = os.environ.get("COSTFRAME_ENGINE")
    if wanted is not None:
        return wanted, _open(files.get(wanted, Path(wanted)))
    base = _open(files["base"])
    base.has_avx2.restype = ctypes.c_bool
    return ("avx2", _open(files["avx2"])) if base.has_avx2() and files["avx2"].exists() else ("base", base)


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
        if not flags.c_contiguous or (self.written and given.size and not flags.writeable):
            self.refuse(given, known)
        passed.append(_address_of(given))
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
        if not isinstance(given, Record) or given.struct != self.types[0]:
            self.refuse(given, known)
        if any(known.setdefault(size, count) != count for size, count in given.sizes.items()):
            self.refuse(given, known)
        passed.append(given.words)


def _address_of_written(array: Any) -> int:
    """Return the address of an array's first item; raise TypeError if it is read-only or not C-contiguous."""
    return ctypes.addressof(ctypes.c_char.from_buffer(array)) if array.size else 0


def _address_of(array: Any) -> int:
    """Return the address of an array's first item; it takes a fourth of the time if it, or its base, can be written."""
    flags = array.flags
    if flags.writeable:
        return _address_of_written(array)
    if not flags.c_contiguous:
        raise TypeError("not C-contiguous")
    base = array.base
    if type(base) is np.ndarray and base.nbytes == array.nbytes and base.flags.writeable and base.flags.c_contiguous:
        return _address_of_written(base)
    return int(array.ctypes.data) if array.size else 0


def _parse(text: str, *, whole: bool) -> list[_Parameter]:
    """Return the parameters that a signature lists; of arrays, the library gets `whole` shapes, or new sizes only."""
    parameters, told = [], set[str]()
    for name, written, kinds, listed in _PARAMETER.findall(text):
        told |= _structs[kinds].tells if kinds in _structs else set()
        types, sizes = tuple(kinds.split("|")), list[_Size]()
        for size in filter(None, listed.split(",")):
            sizes.append(_Size.read(size, told, whole=whole))
            told |= set() if sizes[-1].optional else {sizes[-1].name}
        dtypes = tuple(map(np.dtype, types)) if sizes else ()
        parameters.append(_Parameter(name, bool(written), types, dtypes, tuple(sizes)))
    return parameters


_structs: dict[str, _Struct] = {}


@frozen(eq=False)
class Record:
    """The fields of one struct, as the library reads them.

    Attributes
    ----------
    struct : str
        Its name.
    words : bytes
        Numbers, pointers and sizes.
    sizes : dict of str to int
        By letter.
    arrays : tuple
        What pointers point to, and so stays alive.
    """

    struct: str
    words: bytes
    sizes: dict[str, int]
    arrays: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:  # addresses are of one process
        return _remake, (self.struct, self.arrays)


def _remake(name: str, arrays: tuple[Any, ...]) -> Record:
    return _structs[name](*arrays)


class _Struct:
    """A kind of struct, made of its fields in order, or of the attributes of objects by the fields' names."""

    def __init__(self, signature: str) -> None:
        self.name, _, text = signature.partition("(")
        self.fields = _parse(text, whole=True)
        sizes = [size for each in self.fields for size in each.sizes if size.name]
        inner = [_structs[each.types[0]] for each in self.fields if each.types[0] in _structs]
        self.tells: set[str] = {size.name for size in sizes if not size.optional}.union(*(each.tells for each in inner))
        self.may_tell: set[str] = {size.name for size in sizes}.union(*(each.may_tell for each in inner)) - self.tells
        self.packer = Struct("".join(map(self._format, self.fields)))
        self._fast: Any = None
        self._attributes = attrgetter(*(each.name for each in self.fields))
        _structs[self.name] = self

    def __call__(self, *given: Any) -> Record:
        if self._fast is None:
            scope = {"Record": Record, "pack": self.packer.pack, "checked": self._check}
            self._fast = _FastCall(self.fields, self.name).compile(scope)
        return self._fast(*given)  # type: ignore[no-any-return]

    @staticmethod
    def _format(field: _Parameter) -> str:
        """Return the format of a field for `struct.Struct`."""
        if field.types[0] in _structs:
            return f"{_structs[field.types[0]].packer.size}s"
        letter = "d" if field.types == ("f8",) and not field.sizes else "q"
        return letter * (len(field.types) + len(field.sizes))

    def _check(self, *given: Any) -> Record:
        passed, known = list[Any](), dict[str, int]()
        for each, value in zip(self.fields, given, strict=True):
            if each.sizes:
                each.pass_array(value, known, passed)
            elif each.types[0] in _structs:
                each.pass_struct(value, known, passed)
            else:
                passed.append(float(value) if each.types == ("f8",) else int(value))
        return Record(self.name, self.packer.pack(*passed), known, given)

    def of(self, *objects: Any, **named: Any) -> Record:
        """Make a struct of fields by name, or of attributes of objects, the first that has one."""
        if len(objects) == 1 and not named:
            return self(*self._attributes(objects[0]))
        given = []
        for each in self.fields:
            value = named.get(each.name)
            for one in objects:
                value = getattr(one, each.name, None) if value is None else value
            given.append(value)
        return self(*given)


def _require_memory(code: int, *_: object) -> int:
    if code < 0:
        raise MemoryError("the engine found too little memory")
    return code


class _FastCall:
    """Writes the source of a function that passes the usual arguments on, and leaves others to `checked`.

    It knows of each array beforehand what `_Parameter.pass_array` finds out in loops, in a third of the time: on small
    tables that is as long as the work itself. With the name of a `struct` the arguments are its fields.
    """

    def __init__(self, parameters: list[_Parameter], struct: str = "") -> None:
        self.struct = struct
        self.names = ", ".join(each.name for each in parameters)
        self.passed: list[str] = []
        self.conditions: list[str] = []
        self.steps: list[str] = []  # before the conditions
        self.known: dict[str, str] = {}  # expressions of sizes
        self.optional: list[tuple[str, str, int]] = []  # counts that may be zero, their sizes, how many they are more
        for each in parameters:
            if each.sizes:
                self._add_array(each)
            elif each.types[0] in _structs:
                self._add_struct(each.name, _structs[each.types[0]])
            else:
                convert = "float" if each.types == ("f8",) else "int"
                self.passed.append(f"{convert}({each.name})" if struct else each.name)
        self.sizes = [f"{name!r}: {size}" for name, size in self.known.items()]
        self._add_optional()

    def _add_struct(self, name: str, struct: _Struct) -> None:
        self.steps.append(f"{name}_sizes = {name}.sizes")
        self.conditions.append(f"{name}.struct == {struct.name!r}")
        self.passed.append(f"{name}.words")
        for size in sorted(struct.tells):
            self._expect(f"{name}_sizes[{size!r}]", size)
        self.optional += [(f"{name}_sizes.get({size!r}, 0)", size, 0) for size in sorted(struct.may_tell)]

    def _add_array(self, array: _Parameter) -> None:
        counts = [f"{array.name}{axis}" for axis in range(len(array.sizes))]
        self.steps.append(f"{', '.join(counts)}, = {array.name}.shape")
        self.conditions.append(f"({' or '.join(f'{array.name}.dtype == dtype_{each}' for each in array.types)})")
        self.passed.append(f"{'address_of_written' if array.written else 'address_of'}({array.name})")
        for count, (_, name, number, more, optional, less) in zip(counts, array.sizes, strict=True):
            if optional:
                self.optional.append((count, name, more))
            elif name:
                self._expect(count, name, more)
            else:
                self.conditions.append(f"{count} == {number}")
            if less is not None:
                self.passed.append(f"{count} - {less}" if less else count)
        if len(array.types) > 1:
            self.passed.append(f"{array.name}.itemsize")

    def _expect(self, count: str, name: str, more: int = 0) -> None:
        """Require a count to be as known, or let it tell the size."""
        size = f"({count} - {more})" if more else count
        if self.known.setdefault(name, size) != size:
            self.conditions.append(f"{size} == {self.known[name]}")
        elif more:
            self.conditions.append(f"{count} >= {more}")

    def _add_optional(self) -> None:
        """Require optional counts to be zero or as known; the first that is not zero tells an unknown size."""
        for unknown in dict.fromkeys(name for _, name, _ in self.optional if name not in self.known):
            counts = (f"({count} and {count} - {more})" for count, name, more in self.optional if name == unknown)
            size = self.known[unknown] = f"({' or '.join(counts)})"
            self.sizes.append(f"**({{{unknown!r}: {size}}} if {size} else {{}})")
        for count, name, more in self.optional:
            self.conditions.append(f"({count} == 0 or {count} - {more} == {self.known[name]} > 0)")

    def compile(self, scope: dict[str, Any]) -> Any:
        """Return the function, which uses what is in the scope."""
        call = "function(*passed)"
        if self.struct:
            call = f"Record({self.struct!r}, pack(*passed), {{{', '.join(self.sizes)}}}, ({self.names},))"
        source = f"""
def call({self.names}):
    try:
        {"; ".join(self.steps) or "pass"}
        usual = {" and ".join(self.conditions) or True}
        passed = ({"".join(each + ", " for each in self.passed)}) if usual else ()
    except (AttributeError, KeyError, TypeError, ValueError):
        usual = False
    return {call} if usual else checked({self.names})
"""
        scope |= _DTYPES | {"address_of": _address_of, "address_of_written": _address_of_written}
        exec(source, scope)  # noqa: S102 - the source is of signatures below
        return scope["call"]


_DTYPES = {f"dtype_{text}": np.dtype(text) for text in ("f8", "f4", "i8", "i4", "i1", "u8", "u4", "u2", "u1", "b1")}


def _checking(parameters: list[_Parameter], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that checks its arguments, and calls one of the library with what they are passed as."""

    def checked(*given: Any) -> Any:
        passed, known = list[Any](), dict[str, int]()
        for parameter, value in zip(parameters, given, strict=True):
            if parameter.sizes:
                parameter.pass_array(value, known, passed)
            elif parameter.types[0] in _structs:
                parameter.pass_struct(value, known, passed)
            else:
                passed.append(value)
        return function(*passed)

    return _FastCall(parameters).compile({"function": function, "checked": checked})  # type: ignore[no-any-return]


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
    function.argtypes, function.restype = types, ctypes.c_int64 if returns is _CODE else returns
    if returns is _CODE:
        function.errcheck = _require_memory
    checking: Any = None

    def call(*given: Any) -> Any:
        nonlocal checking
        if checking is None:  # not while importing, which it would slow down
            checking = _checking(parameters, function)
        return checking(*given)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = signature
    return call


def _bind_step(signature: str, *, walks: bool = False) -> Callable[..., Any]:
    """Return a function of the size of rows' states and the signature's structs; it returns the step of such rows.

    One that `walks` to the end takes the row's values, and returns as many float64 as its size, and a number.

    The library gets one pointer to the pointers of all structs: each further argument takes a tenth of a call.
    """
    name, _, text = signature.partition("(")
    parameters, function = _parse(text, whole=False), getattr(_library, name)
    function.argtypes, function.restype = [ctypes.c_void_p] * 3, ctypes.c_int64

    def prepare(size: int, *structs: Record) -> Any:
        passed, known = list[Any](), dict[str, int]()
        for parameter, struct in zip(parameters, structs, strict=True):
            parameter.pass_struct(struct, known, passed)
        pointers = (ctypes.c_char_p * len(passed))(*passed)
        copy, make = (ctypes.c_char * size).from_buffer_copy, ctypes.c_double * size

        def walk(row: bytes, _alive: object = structs) -> tuple[Any, int]:
            own = make()
            return own, function(pointers, own, row)

        def step(state: bytes, supplied: bytes | None, _alive: object = structs) -> tuple[bytes, int]:
            own = copy(state)
            count = function(pointers, own, supplied)
            return own.raw, count if count >= 0 else _require_memory(count)

        return walk if walks else step

    return prepare


# Rows and sums: engine/row_hashes.h, engine/sums.h
DIGITS = 68  # of an exact sum
hash_rows = _bind("hash_rows(X: f8[n,d], hashes: >u8[n])")
add_exactly = _bind("add_exactly(values: f8[n], sums: >i8[71])")
sum_exactly = _bind("sum_exactly(values: f8[n])", ctypes.c_double)
round_digits = _bind("round_digits(sums: i8[71])", ctypes.c_double)
exp_float32 = _bind("exp_float32(values: f8[n], found: >f8[n])")
score_rows = _bind("score_rows(left: f8[n,C], weights: f8[M,C], found: >f8[n,M])")
add_products = _bind("add_products(left: f8[n,C], right: f8[n,M], high: >f8[M,C], low: >f8[M,C])")

# Paths of trees: engine/paths.h
mark_paths = _bind("mark_paths(parent: i8[n], feature: i4[n], masks: >u8[n,W])")
price_paths = _bind("price_paths(parent: i8[n], feature: i4[n], split: f8[d], spent: >f8[n])")
describe_paths = _bind(
    "describe_paths(parent: i8[n], feature: i4[n], n_features: i8, counts: >i8[n], word: >i8[n], reads: >i8[n])", _CODE
)

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
choose_cuts = _bind("choose_cuts(columns: >f8[k,n], clippings: i8, cuts: >f8[k,max_bins], counts: >i8[k])", _CODE)

# Growing trees: engine/room.h; fields as in trees/room.py and trees/prices.py
Task = _Struct(
    "Task(bins: u1[n,d], by_column: u1[d,n], words: >i8[n,w], columns: i8[k], n_bins: i8[k], categorical: b1[d?], "
    "signs: i1[d?], count_bits: i8, units: >f8[3], limits: f8[3], max_depth: i8, max_leaves: i8, breadth: b1, "
    "cells_worth_threads: i8, address: i8)"
)
Room = _Struct(
    "Room(state: >i8[4], gain: >f8[L,d], best: >i8[L,d,B], paid: >f8[L,items], money: >f8[L,d], place: >i8[L,8], "
    "numbers: >f8[L,4], tested: >b1[L,d?], nodes: >i8[M,10], gained: >f8[M], histogram: >i8[L,groups,bins,lanes,w], "
    "rows: >i4[n], price: >f8[d], goes_left: >b1[256], board: >i8[64], parts: >i8[helpers,groups,bins,lanes,w])"
)
Prices = _Struct(
    "Prices(kind: i8, tradeoff: f8, root: f8, reuse: f8, row_weight: f8[n?], split: f8[d?], once: >f8[d?], "
    "once_paid: >b1[d?], begin: i8[d+1?], needed: i8[needs], feature_price: f8[d?], feature_paid: >b1[d?], "
    "resource_price: f8[resources], resource_paid: >b1[resources], used: >b1[d?], totals: >f8[2], marks: >u8[n?,W], "
    "seen: f8[items], uncharged: f8[items], paid_by_all: >f8[items], true_once: f8[d?], n_items: i8, "
    "all_known: b1, address: i8, unit: f8)"
)
pack = _bind(
    "pack(gradients: f8[n], hessians: f8[n?], counts: i8[n?], count_bits: i8, address: i8, words: >i8[n,w], "
    "scales: >f8[2])"
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
finish_tree = _bind(
    "finish_tree(task: Task, room: Room, prices: Prices, gradients: f8[n], hessians: f8[n?], rows: >i4[m], "
    "first: i8[d+1], cut: f8[c], leaf_of_row: >i4[n], feature: >i4[N], threshold: >f8[N], missing_left: >b1[N], "
    "left: >i4[N], right: >i4[N], outputs: >f8[N])",
    _CODE,
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
DONE, MORE_LEAVES, PAUSE, BAD_GRADIENTS, BAD_HESSIANS, NEGATIVE = range(6)  # of `grow`
grow = _bind(
    "grow(task: Task, room: Room, prices: Prices, gradients: f8[n], hessians: f8[n?], counts: i8[n?], rows: >i4[m])",
    _CODE,
)
assist = _bind("assist(task: Task, room: Room, prices: Prices, rows: >i4[m])", _CODE)

# Boosting: engine/losses.h, engine/boosting.h, engine/regression.h
derive = _bind(
    "derive(kind: i8, y: f8[n], scores: f8[n,K], address: i8, first: i8, last: i8, gradients: >f8[K,n], "
    "hessians: >f8[K,n])"
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
    "step: f8, residual: >f8[n,T], mix: >f8[T], largest: >f8[1], nodes: >i8[R,N,5], values: >f8[R,N,T], "
    "sizes: >i8[R])",
    _CODE,
)

# Trees and stages for tables: engine/nodes.h, engine/model.h, engine/leaves.h, engine/scores.h
Nodes = _Struct(
    "Nodes(root: i8[trees], depth: i4[trees], by_category: b1[trees], word: u8[nodes], sets: u8[sets],"
    " feature: i4[nodes], parent: i8[nodes], first: i8[U+1], cut: f8[cuts], low: f8[U], scale: f8[U],"
    " first_step: i8[U+1], certain: i4[steps], window: i8[U], column_first: i8[U+1], column_missing: u2|u4[columns],"
    " column_reading: i8[columns], category_column: i8[U+1], category_first: i8[named+1], category: f8[categories],"
    " n_words: i8[trees], gate_first: i8[trees+1], column: i8[gates], rank: u2|u4[gates], byte: i8[gates],"
    " kept: u1[gates], exit_first: i8[trees], exit: u4[exits])"
)
Model = _Struct(
    "Model(nodes: Nodes, path_count: i8[nodes], word: i8[nodes], reads: i8[nodes], threshold: f8[nodes],"
    " span: i8[spans,2], category: f8[known], used: i8[U], use: i8[L,11], use_value: f8[L,2], read: i8[reads],"
    " target: i8[targets], payload: f8[payload], stage: i8[stages,6], stage_value: f8[stages,values],"
    " column: i8[read_columns], n_learners: i8, n_opaque: i8, depth: i8)"
)
SCORES, READS, SPENDING = range(3)  # what `score_stage` records, each with those before
Marks = _Struct("Marks(notes: i8, by_path: b1, node_mask: u8[nodes?,W], node_spent: f8[nodes?])")
code_rows = _bind("code_rows(X: f8[n,d], used: i8[U], nodes: Nodes, codes: >u2|u4[c,n])", _CODE)
walk_leaves = _bind("walk_leaves(codes: u2|u4[c,n], nodes: Nodes, leaves: >i4[n,trees])", _CODE)
write_outputs = _bind(
    "write_outputs(codes: u1|u2|u4[n,T], dense: f8[n,D], source: i4[C], values: f8[C,V], rows: i8[m], factor: f8[m],"
    " out: >f8[m,C])",
    _CODE,
)
score_stage = _bind(
    "score_stage(X: f8[n,d], codes: u2|u4[c,n], model: Model, marks: Marks, opaque: f8[n,o], masks: >u8[k,words],"
    " spent: >f8[k,2], rows: i8[m], stage: i8, scores: >f8[m,K])",
    _CODE,
)

# Single rows: engine/step.h, engine/ahead.h
walk_row = _bind_step("walk_row(model: Model)", walks=True)  # returns scores, and the exit
StepPrices = _Struct("StepPrices(split: f8[U?], spends: i8)")
step_row = _bind_step("step_row(model: Model, prices: StepPrices)")

# Rows on their way through a plan: engine/plan.h
ADD_SETS, CALL_OPAQUES = 1, 2  # of `carry_rows`
Plan = _Struct("Plan(sets: u8[m,W], width: i8, stop: i8[m,3], model: i8[models,s])")
PaidSets = _Struct("PaidSets(next: i8[S,m], price: f8[S,m], can_pay: b1[S,m], can_have: b1[m], planned: b1)")
step_plan_row = _bind_step("step_plan_row(plan: Plan, paid: PaidSets)")
carry_rows = _bind(
    "carry_rows(plan: Plan, paid: PaidSets, supplied: f8[v], X: >f8[n,d], places: >i8[n,p], opaque: f8[o,k],"
    " next: >i4[n?,m?], called: i8)",
    _CODE,
)

# Prices of rows: engine/needs.h, engine/charges.h
Needs = _Struct("Needs(first: i8[U+1], need: i8[needs], further_first: i8[R+1], further: i8[further])")
Tree = _Struct(
    "Tree(feature: i4[N], threshold: f8[N], missing_left: b1[N], left: i4[N], right: i4[N], category_first: i8[N+1],"
    " categories: f8[categories], reading: u1[N])"
)
mark_needed = _bind("mark_needed(acquired: b1[n,U], needs: Needs, needed: >u1[n,R])", _CODE)
price_rows = _bind(
    "price_rows(masks: u8[n,W], columns: i8[U], cost: f8[U], needs: Needs, resource_cost: f8[R], weight: f8[n],"
    " acquired: >b1[n,d], per_row: >f8[n], features: >f8[U], resources: >f8[R])",
    _CODE,
)
pay_tree = _bind(
    "pay_tree(X: f8[n,U], tree: Tree, split: f8[U], learner: f8, reuse: f8, cost: f8[U], needs: Needs,"
    " resource_cost: f8[R], masks: >u8[n,W], computed: >f8[n], bought: >f8[n], leaves: >i8[n])",
    _CODE,
)
weigh_sets = _bind("weigh_sets(sets: u8[M,W], mass: f8[B,256], found: >f8[M])")
unite_sets = _bind("unite_sets(first: i4[G+1], output: i4[E], used: b1[C], sets: u8[E,W], found: >u8[G,W])")
price_offers = _bind(
    "price_offers(first: i8[G+1], output: i8[E], price: f8[G], reads: u8[E,W], paid: u8[G,W], mass: f8[B,256],"
    " offers: >f8[C])"
)
note_reads = _bind(
    "note_reads(leaves: i4[n,T], root: i8[T+1], parent: i8[N], feature: i4[N], tree: i8[l], first: i8[l+1],"
    " group: i8[E], needs: b1[F,R], reads: >u8[E,W])",
    _CODE,
)

# Rows under limits: engine/capped.h; prices are whole numbers of W words, the lowest first
Bill = _Struct(
    "Bill(cost: u8[U,W], split: u8[U,W], comparisons: f8[U], needs: Needs, resource_cost: u8[R,W],"
    " reuse: u8[W], own: u8[L,W], most: u8[L,W])"
)
Expected = _Struct("Expected(column: f8[L], opaque: f8[O], knots: f8[J], curves: f8[C,K?], ranges: f8[M,K?])")
step_capped_row = _bind_step("step_capped_row(model: Model, expected: Expected, bill: Bill)")
walk_capped = _bind(
    "walk_capped(X: f8[n,d], rows: i8[m], opaque: f8[n,O], called: b1[n,O], limits: u8[n,W], begin: u8[s],"
    " model: Model, expected: Expected, bill: Bill, waits: >i8[n], exits: >i8[n], cut: >b1[n], share: >f8[n],"
    " scores: >f8[n,K], final: >f8[n,K], route_scores: >f8[n], masks: >u8[n,words], spent: >f8[n,3])",
    _CODE,
)

# Rows that end when they are certain: engine/certain.h
Goal = _Struct("Goal(kind: i8, margin: f8, divisor: f8, above: f8, below: f8, by_sigmoid: b1)")
Dues = _Struct("Dues(cost: f8[U], needs: Needs, resource_cost: f8[R], split: f8[U], spends: b1)")
Bounds = _Struct(
    "Bounds(test_first: i8[U+1], test: i8[tests,5], every: u8[leaf_words], word_first: i8[L+1], value_first: i8[L],"
    " lowest: f8[leaf_values], highest: f8[leaf_values], ascends: b1[L])"
)
step_certain_row = _bind_step("step_certain_row(model: Model, bounds: Bounds, dues: Dues, goal: Goal)")
run_certain_rows = _bind(
    "run_certain_rows(X: f8[n,d], opaque: f8[n,O], begin: u8[s], model: Model, bounds: Bounds, dues: Dues, goal: Goal,"
    " scores: >f8[n,K], masks: >u8[n,words], account: >f8[n,4], rounds: >i8[n], early: >b1[n])",
    _CODE,
)

# Trees of BudgetRF: engine/budget_forest.h
PAIRS, GINI, ENTROPY = range(3)  # impurities
BudgetRule = _Struct(
    "BudgetRule(impurity: i8, alpha: f8, minimax: b1, max_features: i8, max_depth: i8, min_leaf: f8, base: f8)"
)
BudgetPrices = _Struct("BudgetPrices(feature: f8[F], split: f8[F], resource: f8[R], need_first: i8[F+1], need: i8[e])")
BudgetTree = _Struct(
    "BudgetTree(feature: >i4[N], bin: >i4[N], missing_left: >b1[N], left: >i4[N], right: >i4[N], parent: >i4[N], "
    "depth: >i4[N], begin: >i8[N], end: >i8[N], counts: >f8[N,C])"
)
grow_budget_tree = _bind(
    "grow_budget_tree(columns: u1[F,n], y: i8[n], weight: f8[n], prices: BudgetPrices, rule: BudgetRule, "
    "rows: >i4[m], tree: BudgetTree, order: >i8[F], state: >i8[3])",
    _CODE,
)

# Prunings of BudgetPrune: engine/pruning.h
ForestNodes = _Struct(
    "ForestNodes(tree_first: i8[T+1], parent: i8[N], left: i8[N], right: i8[N], error: f8[N], fixed: f8[N], "
    "item_first: i8[N+1], item: i4[s], up: i8[N])"
)
Purchases = _Struct("Purchases(first: >i8[P+1], row: >i4[P], item: >i4[P], node: >i4[E])")
list_items = _bind(
    "list_items(parent: i8[N], feature: i4[N], priced: u1[K], need_first: i8[d+1], need: i8[e], first: >i8[N+1], "
    "item: >i4[s])",
    _CODE,
)
count_purchases = _bind("count_purchases(leaves: i8[n,T], nodes: ForestNodes, n_items: i8, sizes: >i8[2])", _CODE)
fill_purchases = _bind("fill_purchases(leaves: i8[n,T], nodes: ForestNodes, n_items: i8, purchases: Purchases)", _CODE)
raise_shares = _bind(
    "raise_shares(share: >f4[E], kept: u1[N], factor: f8, purchases: Purchases, weight: f8[n], price: f8[K], "
    "load: >f8[N])"
)
prune_trees = _bind("prune_trees(nodes: ForestNodes, load: f8[N], value: >f8[N], kept: >u1[N])")
price_levels = _bind("price_levels(level: u1[N], purchases: Purchases, weight: f8[n], price: f8[K], sums: >f8[levels])")
count_buyers = _bind("count_buyers(leaves: i8[n,T], nodes: ForestNodes, kept: u1[N], count: >i4[n,K])")
prune_one_by_one = _bind(
    "prune_one_by_one(leaves: i8[n,T], nodes: ForestNodes, weight: f8[n], price: f8[K], kept: >u1[N], "
    "count: >i4[n,K], load: >f8[N], value: >f8[N])"
)
count_labels = _bind("count_labels(leaves: i8[n,T], parent: i8[N], y: i8[n], weight: f8[n], counts: >f8[N,C])")
inherit_shares = _bind("inherit_shares(parent: i8[N], total: f8[N], shares: >f8[N,C])")
