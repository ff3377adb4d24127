"""Compiled arithmetic modulo an odd prime below 2^128, on whole arrays of numbers.

A number is two unsigned words of 64 bits, the low one first, so arrays have a last axis of 2.
Everything broadcasts over the axes before it, as NumPy's own functions do. One multiplication
serves every field: Montgomery's, with R = 2^128. `rule` holds what it needs to know of the field
(see `mdrr.securesum.prio3.field`): the prime, −1/p mod 2^64 and R² mod p.

The loops are plain compiled functions of one signature each. Numba's `guvectorize` would broadcast
by itself, but it keeps a function and its wrapper in two files: if two processes compile at the
same time, one's wrapper meets the other's function, and every later process crashes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit
from numba.extending import intrinsic

_Words: TypeAlias = npt.NDArray[np.uint64]
_types: Any = numba.types
_ZERO, _UNIT = np.uint64(0), np.uint64(1)
_AXES = 5
"""Every array is shown to the loops with this many axes, the last of 2."""
_READ = _types.Array(_types.uint64, _AXES, "A", readonly=True)
_WRITTEN = _types.Array(_types.uint64, _AXES, "C")
_RULE = _types.Array(_types.uint64, 1, "C", readonly=True)
PLUS, MINUS, TIMES = 0, 1, 2


@dataclass(frozen=True)
class _Loop:
    """A loop over arguments of these types alone, compiled when it is first called.

    Most commands compute nothing here, and loading compiled loops takes half a second.
    """

    function: Callable[..., None]
    types: tuple[Any, ...]

    @cached_property
    def compiled(self) -> Any:
        return njit(_types.void(*self.types), cache=True, nogil=True)(self.function)

    def __call__(self, *arguments: Any) -> None:
        self.compiled(*arguments)


def _loop(*types: Any) -> Callable[[Callable[..., None]], _Loop]:
    return lambda function: _Loop(function, types)


def _whole_product(_context: Any, _first: Any, _second: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double, word = ir.IntType(128), ir.IntType(64)
        first, second = (builder.zext(each, double) for each in arguments)
        product = builder.mul(first, second)
        low = builder.trunc(product, word)
        high = builder.trunc(builder.lshr(product, ir.Constant(double, 64)), word)
        return context.make_tuple(builder, signature.return_type, (low, high))

    pair = _types.UniTuple(_types.uint64, 2)
    return pair(_types.uint64, _types.uint64), generate


_wide: Any = intrinsic(_whole_product)
"""The product of two words, whole: (low, high). NumPy and numba have no such function."""


@njit(inline="always")
def _carried(is_less: bool) -> Any:
    return _UNIT if is_less else _ZERO


@njit(inline="always")
def _reduced(low: Any, high: Any, top: Any, rule: Any) -> Any:
    """A number below 2p, whose bit 128 is `top`, less p if it is not below p."""
    less = low - rule[0]
    borrow = _carried(low < rule[0])
    more = high - rule[1]
    below = high < rule[1] or (more < borrow)
    if top == _ZERO and below:
        return low, high
    return less, more - borrow


@njit(inline="always")
def _plus(a: Any, b: Any, rule: Any) -> Any:
    low = a[0] + b[0]
    carry = _carried(low < a[0])
    high = a[1] + b[1]
    top = _carried(high < a[1])
    high += carry
    return _reduced(low, high, top + _carried(high < carry), rule)


@njit(inline="always")
def _step(t: Any, a: Any, word: Any, rule: Any) -> Any:
    """(t + a·word + m·p) / 2^64, with the m that makes it whole: half of a multiplication."""
    low, carry = _wide(a[0], word)
    t0 = t[0] + low
    carry += _carried(t0 < low)
    low, high = _wide(a[1], word)
    t1 = t[1] + low
    high += _carried(t1 < low)
    t1 += carry
    high += _carried(t1 < carry)
    t2 = t[2] + high
    t3 = _carried(t2 < high)

    m = t0 * rule[2]
    low, carry = _wide(m, rule[0])
    carry += _carried(t0 + low < low)
    low, high = _wide(m, rule[1])
    t1 += low
    high += _carried(t1 < low)
    t1 += carry
    high += _carried(t1 < carry)
    t2 += high
    return t1, t2, t3 + _carried(t2 < high)


@njit(inline="always")
def _montgomery(a: Any, b: Any, rule: Any) -> Any:
    """a·b/R mod p."""
    t = _step((_ZERO, _ZERO, _ZERO), a, b[0], rule)
    t = _step(t, a, b[1], rule)
    return _reduced(t[0], t[1], t[2], rule)


@njit(inline="always")
def _minus(a: Any, b: Any, rule: Any) -> Any:
    low = a[0] - b[0]
    borrow = _carried(a[0] < b[0])
    high = a[1] - b[1]
    below = a[1] < b[1] or high < borrow
    high -= borrow
    if below:
        lifted = low + rule[0]
        high += rule[1] + _carried(lifted < low)
        low = lifted
    return low, high


@_loop(_types.int64, _READ, _READ, _RULE, _WRITTEN)
def _each(operation: int, a: Any, b: Any, rule: Any, out: Any) -> None:
    """out ← a + b, a − b or a·b, number by number."""
    for h in range(out.shape[0]):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                for k in range(out.shape[3]):
                    x = (a[h, i, j, k, 0], a[h, i, j, k, 1])
                    y = (b[h, i, j, k, 0], b[h, i, j, k, 1])
                    if operation == PLUS:
                        z = _plus(x, y, rule)
                    elif operation == MINUS:
                        z = _minus(x, y, rule)
                    else:
                        z = _montgomery(_montgomery(x, y, rule), (rule[3], rule[4]), rule)
                    out[h, i, j, k, 0], out[h, i, j, k, 1] = z


@_loop(_READ, _READ, _RULE, _WRITTEN)
def _dot(a: Any, b: Any, rule: Any, out: Any) -> None:
    """out ← Σ_k a_k·b_k, over the last axis of numbers."""
    for h in range(out.shape[0]):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                so_far = (_ZERO, _ZERO)
                for k in range(a.shape[3]):
                    x = (a[h, i, j, k, 0], a[h, i, j, k, 1])
                    y = (b[h, i, j, k, 0], b[h, i, j, k, 1])
                    so_far = _plus(so_far, _montgomery(x, y, rule), rule)
                so_far = _montgomery(so_far, (rule[3], rule[4]), rule)
                out[h, i, j, 0, 0], out[h, i, j, 0, 1] = so_far


@_loop(_READ, _RULE, _WRITTEN)
def _total(a: Any, rule: Any, out: Any) -> None:
    """out ← Σ_k a_k, over the last axis of numbers."""
    for h in range(out.shape[0]):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                so_far = (_ZERO, _ZERO)
                for k in range(a.shape[3]):
                    so_far = _plus(so_far, (a[h, i, j, k, 0], a[h, i, j, k, 1]), rule)
                out[h, i, j, 0, 0], out[h, i, j, 0, 1] = so_far


def _all_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (_AXES - len(shape)) + shape


def each(operation: int, a: _Words, b: _Words, rule: _Words) -> _Words:
    """a + b, a − b or a·b, for `PLUS`, `MINUS` or `TIMES`."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    out = np.empty(shape, np.uint64)
    whole = _all_axes(shape)
    first, second = np.broadcast_to(a, whole), np.broadcast_to(b, whole)
    _each(operation, first, second, rule, out.reshape(whole))
    return out


def dot(a: _Words, b: _Words, rule: _Words) -> _Words:
    """Σ_k a_k·b_k."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    out = np.empty((*shape[:-2], 1, 2), np.uint64)
    whole = _all_axes(shape)
    first, second = np.broadcast_to(a, whole), np.broadcast_to(b, whole)
    _dot(first, second, rule, out.reshape(_all_axes(out.shape)))
    return out[..., 0, :]


def total(a: _Words, rule: _Words) -> _Words:
    """Σ_k a_k."""
    out = np.empty((*a.shape[:-2], 1, 2), np.uint64)
    _total(a.reshape(_all_axes(a.shape)), rule, out.reshape(_all_axes(out.shape)))
    return out[..., 0, :]
