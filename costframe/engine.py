"""The compiled engine: its functions, each with the check of its arguments; nothing else calls the library.

A function's signature says what it takes: `hash_rows(X: f8[n,d], hashes: >u8[n])` is a float64 matrix of any n rows and
d columns, and a uint64 vector of n values that it writes. Arrays are C-contiguous and in native byte order. The library
gets the address of each array, followed by the sizes that no array before has told, and by the size of an item where
several dtypes are possible; it trusts them. `Nodes(root: i8[T], ...)` is a struct of such words.

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
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DIGITS", "add_exactly", "add_products", "hash_rows", "level", "score_rows"]

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_SCALARS = {
    "f8": ctypes.c_double,
    "i8": ctypes.c_int64,
    "i4": ctypes.c_int32,
    "u8": ctypes.c_uint64,
    "b1": ctypes.c_bool,
}
_PARAMETER = re.compile(r"(\w+): (>?)([\w|]+)(?:\[([\w,]+)\])?")


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
    """A part of a signature: a scalar, a struct, or an array with a name or a number for each size."""

    name: str
    written: bool
    types: tuple[str, ...]
    sizes: tuple[str, ...] | None

    @classmethod
    def read(cls, signature: str) -> list[_Parameter]:
        """Return the parameters of a signature."""
        return [
            cls(name, bool(written), tuple(types.split("|")), tuple(sizes.split(",")) if sizes else None)
            for name, written, types, sizes in _PARAMETER.findall(signature)
        ]

    def fresh_sizes(self, told: set[str]) -> list[str]:
        """Return the sizes that this array is the first to tell, and note them."""
        fresh = [size for size in dict.fromkeys(self.sizes or ()) if size not in told and not size.isdigit()]
        told.update(fresh)
        return fresh

    def refuse(self, given: object, known: dict[str, int]) -> None:
        """Raise an error that says what was expected, and what came."""
        shape = "" if self.sizes is None else f" of shape ({', '.join(str(known.get(s, s)) for s in self.sizes)})"
        got = f"{given.dtype} {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        raise TypeError(
            f"{self.name}: expected C-contiguous {' or '.join(self.types)}{shape}"
            f"{', writable' * self.written}, got {got}"
        )

    def address(self, given: Any, known: dict[str, int], passed: list[Any]) -> None:
        """Append the address of an array, the sizes it is the first to tell, and the size of an item of several."""
        sizes = self.sizes or ()
        fits = isinstance(given, np.ndarray) and given.dtype.str[1:] in self.types and given.ndim == len(sizes)
        if not fits or not given.flags.c_contiguous or (self.written and not given.flags.writeable):
            self.refuse(given, known)
        passed.append(given.ctypes.data)
        for size, count in zip(sizes, given.shape, strict=True):
            if size not in known and not size.isdigit():
                known[size] = count
                passed.append(count)
            elif count != (int(size) if size.isdigit() else known[size]):
                self.refuse(given, known)
        if len(self.types) > 1:
            passed.append(given.itemsize)


@frozen(eq=False)
class Struct:
    """Arrays that the library takes together, checked once: words with their addresses and sizes."""

    kind: _Struct
    words: Any
    arrays: tuple[Any, ...]  # kept alive


class _Struct:
    """A kind of struct, with the parts of a signature; the library's has a word for each address, size and scalar."""

    def __init__(self, signature: str) -> None:
        self.name, _, text = signature.partition("(")
        self._parts = _Parameter.read(text)

    def of(self, *sources: Any, **parts: Any) -> Struct:
        """Make a struct of parts by name, or the attributes of objects."""
        words, known, arrays = list[int](), dict[str, int](), list[Any]()
        for part in self._parts:
            value = parts.get(part.name)
            for source in sources:
                value = getattr(source, part.name, None) if value is None else value
            if part.sizes is not None:
                part.address(value, known, words)
                arrays.append(value)
            else:
                words.append(int(np.float64(value).view(np.int64)) if part.types == ("f8",) else int(value))
        return Struct(self, (ctypes.c_int64 * len(words))(*words), tuple(arrays))


def _bind(signature: str, returns: Any = None) -> Callable[..., Any]:
    """Return the library's function with a signature."""
    name, _, text = signature.partition("(")
    parameters, types, told = _Parameter.read(text), list[Any](), set[str]()
    for parameter in parameters:
        if parameter.sizes is None:
            types.append(_SCALARS.get(parameter.types[0], ctypes.c_void_p))
        else:
            types += [ctypes.c_void_p] + [ctypes.c_int64] * len(parameter.fresh_sizes(told))
            types += [ctypes.c_int64] * (len(parameter.types) > 1)
    function = getattr(_library, name)
    function.argtypes, function.restype = types, returns

    def call(*given: Any) -> Any:
        passed, known = list[Any](), dict[str, int]()
        for parameter, value in zip(parameters, given, strict=True):
            if parameter.sizes is not None:
                parameter.address(value, known, passed)
            elif isinstance(value, Struct):
                if value.kind.name != parameter.types[0]:
                    parameter.refuse(value, known)
                passed.append(ctypes.addressof(value.words))
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

# Trees and stages for tables: engine/nodes.h, engine/leaves.h, engine/scores.h
Nodes = _Struct(
    "Nodes(root: i8[T], depth: i4[T], by_category: b1[T], word: u8[N], sets: u8[S], feature: i4[N], parent: i8[N],"
    " first: i8[F], cut: f8[C], low: f8[U], scale: f8[U], first_step: i8[F], certain: i4[Z], window: i8[U],"
    " column_first: i8[F], column_missing: u2|u4[M], column_reading: i8[M], category_column: i8[F],"
    " category_first: i8[K], category: f8[A], n_words: i8[T], gate_first: i8[R], column: i8[G], rank: u2|u4[G],"
    " byte: i8[G], kept: u1[G], exit_first: i8[T], exit: u4[E])"
)
Stages = _Struct(
    "Stages(used: i8[U], stage_first: i8[S1], stage_column_first: i8[S1], stage_column: i8[C], kind: u1[L],"
    " place: i8[L], tree: i8[L], width: i4[L], fill: f8[L], target_first: i8[L1], target: i8[T], payload_first: i8[L],"
    " payload: f8[P], intercept: f8[S,K], threshold: f8[S], below: i8[S], above: i8[S], fresh: b1[L])"
)
Marks = _Struct("Marks(notes: i8, by_path: b1, node_mask: u8[N,W], node_spent: f8[M,2], use_spent: f8[L])")
code_rows = _bind("code_rows(X: f8[n,d], used: i8[U], nodes: Nodes, codes: >u2|u4[c,n])")
walk_leaves = _bind("walk_leaves(codes: u2|u4[c,n], nodes: Nodes, leaves: >i4[n,T])")
write_outputs = _bind(
    "write_outputs(codes: u1|u2|u4[n,T], dense: f8[n,D], source: i4[C], values: f8[C,V], rows: i8[m], factor: f8[m],"
    " out: >f8[m,C])"
)
score_stage = _bind(
    "score_stage(X: f8[n,d], codes: u2|u4[c,n], nodes: Nodes, stages: Stages, marks: Marks, opaque: f8[n,o],"
    " masks: >u8[k,W], spent: >f8[k,2], rows: i8[m], stage: i8, scores: >f8[m,K])"
)
note_all = _bind("note_all(masks: >u8[k,W], rows: i8[m], features: i8[f])")

# Single rows: engine/step.h, engine/ahead.h
Steps = _Struct(
    "Steps(used: i8[U], word: i8[N], reads: i8[N], threshold: f8[N], span: i8[S,2], category: f8[C], use: i8[L,9],"
    " use_value: f8[L,2], read: i8[R], target: i8[T], payload: f8[P], stage: i8[G,4], stage_value: f8[G,V],"
    " n_learners: i8, depth: i8)"
)
walk_row = _bind("walk_row(X: f8[1,d], steps: Steps, scores: >f8[1,K])", ctypes.c_int64)
step_row = _bind(
    "step_row(supplied: f8[m], numbers: >f8[a], places: >i8[b], marks: >u1[U], steps: Steps, split: f8[s],"
    " by_path: b1, spends: b1)",
    ctypes.c_int64,
)

# Prices of rows: engine/needs.h, engine/charges.h
Needs = _Struct("Needs(first: i8[F], need: i8[N], further_first: i8[G], further: i8[H])")
Tree = _Struct(
    "Tree(feature: i4[N], threshold: f8[N], missing_left: b1[N], left: i4[N], right: i4[N], category_first: i8[F],"
    " categories: f8[C], reading: u1[N])"
)
mark_needed = _bind("mark_needed(acquired: b1[n,d], needs: Needs, needed: >u1[n,R])")
price_rows = _bind(
    "price_rows(masks: u8[n,W], columns: i8[U], cost: f8[U], needs: Needs, resource_cost: f8[R], weight: f8[n],"
    " acquired: >b1[n,d], per_row: >f8[n], features: >f8[U], resources: >f8[R])"
)
pay_tree = _bind(
    "pay_tree(X: f8[n,d], tree: Tree, split: f8[d], learner: f8, reuse: f8, cost: f8[d], needs: Needs,"
    " resource_cost: f8[R], masks: >u8[n,W], computed: >f8[n], bought: >f8[n], leaves: >i8[n])",
    ctypes.c_bool,
)
weigh_sets = _bind("weigh_sets(sets: u8[M,W], mass: f8[B,256], found: >f8[M])")
unite_sets = _bind("unite_sets(first: i4[F], output: i4[E], used: b1[C], sets: u8[E,W], found: >u8[G,W])")
price_offers = _bind(
    "price_offers(first: i8[F], output: i8[E], price: f8[G], reads: u8[E,W], paid: u8[G,W], mass: f8[B,256],"
    " offers: >f8[C])"
)
note_reads = _bind(
    "note_reads(leaves: i4[n,T], root: i8[T1], parent: i8[N], feature: i4[N], tree: i8[l], first: i8[l1], group: i8[E],"
    " needs: b1[F,R], reads: >u8[E,W])"
)

# Rows under limits: engine/capped.h
Bill = _Struct(
    "Bill(cost: f8[U], split: f8[U], comparisons: f8[U], barred: b1[U], first: i8[F], need: i8[N],"
    " further_first: i8[G], further: i8[H], resource_cost: f8[R], reuse: f8, own: f8[L], evaluation: f8[L],"
    " read_first: i8[L1], read: i8[E], slot: i8[L], expected: f8[L], expected_opaque: f8[O], by_path: b1, expects: b1)"
)
walk_capped = _bind(
    "walk_capped(X: f8[n,d], codes: u2|u4[n,c], opaque: f8[n,o], limit: f8[n], nodes: Nodes, stages: Stages,"
    " bill: Bill, exits: >i8[n], cut: >b1[n], share: >f8[n], scores: >f8[n,K], route_scores: >f8[n], masks: >u8[n,W],"
    " spent: >f8[n,3])"
)

# Rows that end when they are certain: engine/certain.h
Goal = _Struct("Goal(kind: i8, margin: f8, divisor: f8, above: f8, below: f8, by_sigmoid: b1)")
Dues = _Struct(
    "Dues(cost: f8[U], first: i8[F], need: i8[N], further_first: i8[G], further: i8[H], resource_cost: f8[R],"
    " split: f8[U], spends: b1)"
)
Bounds = _Struct("Bounds(lowest: f8[P], highest: f8[P])")
CertainRow = _Struct(
    "CertainRow(x: >f8[U], marks: >u1[U], at: >i8[L], bounded: >i8[L], account: >f8[4], opaque: >f8[O], low: >f8[P],"
    " high: >f8[P], scores: >f8[K], least: >f8[K], most: >f8[K], open: >b1[K], paid: >u1[R], needed: >i8[U],"
    " pull: >f8[U], found: >i8[R])"
)
raise_bounds = _bind("raise_bounds(steps: Steps, lowest: >f8[P], highest: >f8[P])")
begin_certain_row = _bind("begin_certain_row(steps: Steps, bounds: Bounds, dues: Dues, goal: Goal, row: CertainRow)")
advance_certain_row = _bind(
    "advance_certain_row(supplied: f8[m], steps: Steps, bounds: Bounds, dues: Dues, goal: Goal, row: CertainRow)",
    ctypes.c_int64,
)
run_certain_rows = _bind(
    "run_certain_rows(X: f8[n,d], opaque: f8[n,o], steps: Steps, bounds: Bounds, dues: Dues, goal: Goal,"
    " row: CertainRow, scores: >f8[n,K], masks: >u8[n,W], account: >f8[n,4], rounds: >i8[n], early: >b1[n])"
)
