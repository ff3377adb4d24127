"""Compiled arithmetic modulo an odd prime below 2^128, on whole arrays of numbers.

A number is two unsigned words of 64 bits, the low one first, so arrays have a last axis of 2.
Everything broadcasts over the axes before it, as NumPy's own functions do. One multiplication
serves every field: Montgomery's, with R = 2^128. `rule` holds what it needs to know of the field
(see `mdrr.securesum.prio3.field`): the prime, −1/p mod 2^64 and R² mod p.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit
from numba.extending import intrinsic

_WORDS, _ROWS = "uint64[:]", "uint64[:,:]"
_types: Any = numba.types
_ZERO, _UNIT = np.uint64(0), np.uint64(1)


def _vectorized(layout: str, *types: str) -> Callable[[Callable[..., None]], Any]:
    """Compile a function of single numbers so that it broadcasts over arrays of them."""
    decorate: Any = numba.guvectorize
    made: Callable[[Callable[..., None]], Any] = decorate(
        [f"void({', '.join(types)})"], layout, cache=True, nopython=True
    )
    return made


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


@_vectorized("(l),(l),(r)->(l)", _WORDS, _WORDS, _WORDS, _WORDS)
def add(a: Any, b: Any, rule: Any, out: Any) -> None:
    """a + b."""
    out[0], out[1] = _plus((a[0], a[1]), (b[0], b[1]), rule)


@_vectorized("(l),(l),(r)->(l)", _WORDS, _WORDS, _WORDS, _WORDS)
def subtract(a: Any, b: Any, rule: Any, out: Any) -> None:
    """a − b."""
    low = a[0] - b[0]
    borrow = _carried(a[0] < b[0])
    high = a[1] - b[1]
    below = a[1] < b[1] or high < borrow
    high -= borrow
    if below:
        lifted = low + rule[0]
        high += rule[1] + _carried(lifted < low)
        low = lifted
    out[0], out[1] = low, high


@_vectorized("(l),(l),(r)->(l)", _WORDS, _WORDS, _WORDS, _WORDS)
def multiply(a: Any, b: Any, rule: Any, out: Any) -> None:
    """a·b."""
    product = _montgomery((a[0], a[1]), (b[0], b[1]), rule)
    out[0], out[1] = _montgomery(product, (rule[3], rule[4]), rule)


@_vectorized("(k,l),(k,l),(r)->(l)", _ROWS, _ROWS, _WORDS, _WORDS)
def dot(a: Any, b: Any, rule: Any, out: Any) -> None:
    """Σ_k a_k·b_k."""
    total = (_ZERO, _ZERO)
    for k in range(a.shape[0]):
        product = _montgomery((a[k, 0], a[k, 1]), (b[k, 0], b[k, 1]), rule)
        total = _plus(total, product, rule)
    out[0], out[1] = _montgomery(total, (rule[3], rule[4]), rule)


@_vectorized("(k,l),(r)->(l)", _ROWS, _WORDS, _WORDS)
def total(a: Any, rule: Any, out: Any) -> None:
    """Σ_k a_k."""
    so_far = (_ZERO, _ZERO)
    for k in range(a.shape[0]):
        so_far = _plus(so_far, (a[k, 0], a[k, 1]), rule)
    out[0], out[1] = so_far
