"""Parts of one job that threads share inside kernels, through a board of numbers.

One thread posts a job. It and its helpers then draw parts until none is left, so it waits only for parts that helpers
have begun. A ticket holds the job's number, its parts and the next part in one word: a late helper never draws a part
of a job that has ended. Waiting threads yield their processors, and waking none, as Python's threads must, saves some
50 us per job.
"""

import os
import time
from threading import Lock
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from costframe.core.combine_kernels import address_of
from costframe.core.jit import kernel

__all__ = ["draw_part", "end_part", "has_stopped", "post", "rest", "wait_for_parts"]

TICKET, DONE, STOP, JOB, FIRST_PARAMETER = 0, 8, 16, 24, 25  # of the board; threads wait at the first three
COUNTS = 32  # results of at most 32 parts
_BITS = 20  # of a number of parts
_MANY = (1 << _BITS) - 1
_SPINS = 64  # looks at the board before a thread yields

_lock = Lock()


def _load(board: Any, at: Any) -> Any:
    """Return a number of the board, after which all writes before its store are seen."""
    return board[at]


def _store(board: Any, at: Any, value: Any) -> None:
    """Write a number of the board, and all that was written before it."""
    board[at] = value


def _add(board: Any, at: Any, value: Any) -> Any:
    """Add to a number of the board as one step, and return the number before."""
    with _lock:
        before = int(board[at])
        board[at] = before + value
    return before


def _yield_processor() -> None:
    """Let other threads run."""
    time.sleep(0)


def _typed_load(_: Any, board: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(address_of(context, builder, signature, arguments), "seq_cst", 8)

    return types.int64(board, at), generate


def _typed_store(_: Any, board: Any, at: Any, value: Any) -> Any:
    del value  # an int64, too

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[2], address_of(context, builder, signature, arguments), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(board, at, types.int64), generate


def _typed_add(_: Any, board: Any, at: Any, value: Any) -> Any:
    del value  # an int64, too

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", address_of(context, builder, signature, arguments), arguments[2], "seq_cst")

    return types.int64(board, at, types.int64), generate


def _typed_yield(_: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature, arguments
        if os.name == "posix":  # elsewhere it only spins
            kind = ir.FunctionType(ir.IntType(32), [])
            declare: Any = cgutils.get_or_insert_function  # numba has no types for it
            builder.call(declare(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


_atomic_load: Any = intrinsic(_typed_load)
_atomic_store: Any = intrinsic(_typed_store)
_atomic_add: Any = intrinsic(_typed_add)
_system_yield: Any = intrinsic(_typed_yield)


@overload(_load, strict=False)
def _compiled_load(board: Any, at: Any) -> Any:
    del board, at
    return lambda board, at: _atomic_load(board, at)  # noqa: PLW0108 # numba needs one


@overload(_store, strict=False)
def _compiled_store(board: Any, at: Any, value: Any) -> Any:
    del board, at, value
    return lambda board, at, value: _atomic_store(board, at, value)  # noqa: PLW0108 # numba needs one


@overload(_add, strict=False)
def _compiled_add(board: Any, at: Any, value: Any) -> Any:
    del board, at, value
    return lambda board, at, value: _atomic_add(board, at, value)  # noqa: PLW0108 # numba needs one


@overload(_yield_processor, strict=False)
def _compiled_yield() -> Any:
    return lambda: _system_yield()  # noqa: PLW0108 # numba needs one


@kernel
def post(board: NDArray[np.int64], job: int, parts: int) -> None:
    """Offer the parts of a job, numbered from 0; the one before has ended, and its parameters are on the board."""
    number = ((_load(board, TICKET) >> (2 * _BITS)) + 1) & _MANY
    board[JOB] = job
    _store(board, DONE, 0)
    _store(board, TICKET, (number << (2 * _BITS)) | (parts << _BITS))


@kernel
def draw_part(board: NDArray[np.int64]) -> int:
    """Return a part of the present job that no other thread draws, or -1 if none is left."""
    ticket = _load(board, TICKET)
    if (ticket & _MANY) >= ((ticket >> _BITS) & _MANY):
        return -1
    ticket = _add(board, TICKET, 1)
    part = ticket & _MANY
    return part if part < ((ticket >> _BITS) & _MANY) else -1


@kernel
def end_part(board: NDArray[np.int64]) -> None:
    """Note that a part is done."""
    _add(board, DONE, 1)


@kernel
def wait_for_parts(board: NDArray[np.int64], parts: int) -> bool:
    """Wait until all parts of the job are done; return False if a helper failed."""
    spins = 0
    while _load(board, DONE) < parts:
        if _load(board, STOP) != 0:
            return False
        spins = rest(spins)
    return True


@kernel
def has_stopped(board: NDArray[np.int64]) -> bool:
    """Return whether no more jobs will come."""
    return bool(_load(board, STOP) != 0)


@kernel
def rest(spins: int) -> int:
    """Yield the processor if a thread has already looked often; return how often."""
    if spins >= _SPINS:
        _yield_processor()
    return spins + 1
