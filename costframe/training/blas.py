"""Threads of BLAS, and smooth minimization with one of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

from costframe.core.arrays import F8

_LARGE = 3e8  # multiplications


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def blas_threads(count: int | None) -> AbstractContextManager[Any]:
    """Limit the threads of BLAS; None changes nothing."""
    if count is None:
        return nullcontext()
    context: AbstractContextManager[Any] = _pools().limit(limits=count, user_api="blas")
    return context


def blas_for(
    n_rows: int, n_outputs: int, *, small: int | None = 1, large: int | None = None
) -> AbstractContextManager[Any]:
    """Limit the threads of BLAS by the size of a Gram matrix.

    For a small one, two threads on a busy machine would wait longer than they work.
    """
    return blas_threads(small if n_rows * n_outputs**2 < _LARGE else large)


@cache
def _pools_of_scipy() -> ThreadpoolController:
    """Return the thread pools of SciPy's BLAS; wheels of SciPy and NumPy bring one each."""
    paths = [pool["filepath"] for pool in _pools().info() if "scipy.libs" in pool["filepath"]]
    return _pools().select(filepath=paths) if paths else _pools()


def minimize_smooth(
    value: Callable[[F8], tuple[float, F8]],
    begin: F8,
    options: dict[str, Any],
    callback: Callable[[F8], None] | None = None,
    **more: Any,
) -> Any:
    """Minimize by L-BFGS a function that returns its value and its derivatives; SciPy's BLAS uses one thread.

    The minimizer solves small systems at each step; several threads would wait milliseconds for each other.
    `callback` gets the vector after each step.
    """
    asked: dict[str, Any] = {"fun": value, "jac": True, "method": "L-BFGS-B", "options": options, "callback": callback}
    with _pools_of_scipy().limit(limits=1, user_api="blas"):
        return minimize(x0=begin, **asked, **more)
