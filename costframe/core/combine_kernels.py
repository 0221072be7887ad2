"""Combination of the workers' values inside kernels, by the C function of `Workers.address`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from costframe.core.jit import kernel
from costframe.core.workers import MAX, SUM, SUM_OF_DOUBLES, combiner_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "address_of",
    "largest_over_workers",
    "sum_both_over_workers",
    "sum_doubles_over_workers",
    "sum_over_workers",
]


def address_of(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the address of an array's item, both among the arguments."""
    proxy: Any = cgutils.create_struct_proxy  # numba has no types for it
    return builder.gep(proxy(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])


def _combine(address: Any, operation: Any, values: Any) -> None:
    """Combine contiguous values, (n,), in place."""
    combiner_at(int(address))(operation, values)


def _typed_combine(_: Any, address: Any, operation: Any, values: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, place = ir.IntType(64), ir.IntType(8).as_pointer()
        array, zero = types.void(signature.args[2], types.int64), ir.Constant(word, 0)
        first = builder.bitcast(address_of(context, builder, array, (arguments[2], zero)), place)
        kind = ir.FunctionType(word, [word, place, word])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        builder.call(function, [arguments[1], first, arguments[3]])
        return context.get_dummy_value()

    del address, operation, count  # int64
    return types.void(types.int64, types.int64, values, types.int64), generate


_call: Any = intrinsic(_typed_combine)


@overload(_combine, strict=False)
def _compiled_combine(address: Any, operation: Any, values: Any) -> Any:
    del address, operation, values
    return lambda address, operation, values: _call(address, operation, values, values.size)


@kernel
def sum_over_workers(address: int, values: NDArray[np.int64]) -> None:
    """Add up whole numbers, int64 (n,), of all workers in place; nothing at address 0, for a worker alone."""
    if address != 0 and values.size > 0:
        _combine(address, SUM, values)


@kernel
def sum_doubles_over_workers(address: int, values: NDArray[np.float64]) -> None:
    """Add up doubles on a grid, float64 (n,), of all workers in place; nothing at address 0."""
    if address != 0 and values.size > 0:
        _combine(address, SUM_OF_DOUBLES, values)


@kernel
def sum_both_over_workers(address: int, values: NDArray[np.int64], multiples: NDArray[np.float64], unit: float) -> None:
    """Add up whole numbers, int64 (n,), and multiples of a unit, float64 (m,), of all workers in place, at once."""
    n_values, n_multiples = values.shape[0], multiples.shape[0]
    if n_multiples == 0:
        sum_over_workers(address, values)
        return
    both = np.empty(n_values + n_multiples, np.int64)
    both[:n_values] = values
    for k in range(n_multiples):
        both[n_values + k] = np.int64(multiples[k] / unit)
    sum_over_workers(address, both)
    values[:] = both[:n_values]
    for k in range(n_multiples):
        multiples[k] = both[n_values + k] * unit


@kernel
def largest_over_workers(address: int, value: float) -> float:
    """Return the largest of all workers' values >= 0, or NaN if one has NaN."""
    if address == 0:
        return value
    values = np.full(1, abs(value))
    _combine(address, MAX, values)
    return float(values[0])
