"""Field arithmetic, transforms and bytes, against Python's integers."""

import ast
import math
import random
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import njit
from numba.extending import intrinsic

from mdrr.errors import ProtocolError
from mdrr.securesum.prio3 import modular, xof
from mdrr.securesum.prio3.field import FIELD64, Field
from mdrr.securesum.prio3.flp import transform
from tests.securesum.prio3 import plain
from tests.securesum.prio3.circuits import FIELD128

TINY = Field(17, generator=3, order=16, size=1)
SMALL = Field(97, generator=28, order=32, size=1)
WORDS = Field(257, generator=3, order=256, size=2)
NEARLY = Field(2**127 - 1, generator=2**127 - 2, order=2, size=16)
FIELDS = pytest.mark.parametrize("field", [TINY, SMALL, WORDS, FIELD64, FIELD128, NEARLY])


def numbers(field: Field, seed: int, count: int = 60) -> list[int]:
    """Random numbers after those on which words carry and borrow."""
    p, draw = field.modulus, random.Random(seed)
    edges = [0, 1, 2, p - 1, p - 2, p // 2, p // 2 + 1, 2**32 % p, (2**64 - 1) % p, 2**64 % p]
    return edges + [draw.randrange(p) for _ in range(count)]


@FIELDS
def test_arithmetic_is_that_of_integers(field: Field) -> None:
    p, a, b = field.modulus, numbers(field, 1), numbers(field, 2)
    left, right = field.elements(a)[:, None], field.elements(b)  # every pair of them
    pairs = [(x, y) for x in a for y in b]
    assert field.ints(field.add(left, right)) == [(x + y) % p for x, y in pairs]
    assert field.ints(field.subtract(left, right)) == [(x - y) % p for x, y in pairs]
    assert field.ints(field.multiply(left, right)) == [x * y % p for x, y in pairs]
    assert field.ints(field.total(right)) == [sum(b) % p]
    assert field.ints(field.dot(field.elements(a), right)) == [
        sum(x * y for x, y in zip(a, b, strict=True)) % p
    ]


@pytest.mark.parametrize("field", [SMALL, FIELD64, FIELD128])
@pytest.mark.parametrize("size", [1, 2, 8, 16])
def test_transform_evaluates_at_roots_of_unity(field: Field, size: int) -> None:
    p, coefficients = field.modulus, numbers(field, 3)[:size]
    given = field.elements(coefficients)[None]
    roots = field.roots(2 * size)
    expected = [plain.value(coefficients, root, p) for root in roots]
    assert field.ints(transform(field, given)) == expected[::2]
    assert field.ints(transform(field, given, shifted=True)) == expected[1::2]
    assert np.array_equal(transform(field, transform(field, given), inverse=True), given)


@FIELDS
def test_bytes_are_little_endian_and_read_back(field: Field) -> None:
    given = numbers(field, 4)
    packed = field.pack(field.elements(given)[None])
    assert packed.tobytes() == b"".join(x.to_bytes(field.size, "little") for x in given)
    assert field.ints(field.unpack(packed)) == given


@FIELDS
def test_numbers_outside_the_field_are_seen(field: Field) -> None:
    p = field.modulus
    given = [0, p - 1, p, 256**field.size - 1]
    octets = np.frombuffer(b"".join(x.to_bytes(field.size, "little") for x in given), np.uint8)
    found = field.is_reduced(field.unpack(octets[None]))
    assert found.tolist() == [[True, True, False, False]]


@pytest.mark.parametrize(
    ("modulus", "generator", "order", "size"),
    [(16, 3, 2, 1), (257, 3, 256, 1), (17, 3, 32, 1), (17, 4, 16, 1), (17, 3, 12, 1),
     (16, 15, 2, 1), (65537, 3, 65536, 2), (2, 1, 2, 1),
     (17, 3, 16, 0), (17, 3, 16, 17), (17, 3, 1, 1), (17, 3, 0, 1)],
)  # fmt: skip
def test_what_is_no_such_field_is_refused(
    modulus: int, generator: int, order: int, size: int
) -> None:
    with pytest.raises(ProtocolError):
        Field(modulus, generator, order, size)


@FIELDS
def test_a_field_is_accepted_when_it_is_made(field: Field) -> None:
    assert Field(field.modulus, field.generator, field.order, field.size) == field


def test_the_smallest_field_has_three_numbers() -> None:
    three = Field(3, generator=2, order=2, size=1)
    left, right = three.elements([0, 1, 2])[:, None], three.elements([0, 1, 2])
    assert three.ints(three.multiply(left, right)) == [0, 0, 0, 0, 1, 2, 0, 2, 1]
    assert three.roots(2) == [1, 2]


def test_roots_of_unity_by_hand() -> None:
    assert TINY.roots(16) == [1, 3, 9, 10, 13, 5, 15, 11, 16, 14, 8, 7, 4, 12, 2, 6]
    assert TINY.roots(4) == [1, 13, 16, 4]
    assert TINY.roots(1) == [1]


def test_no_numbers_are_numbers_too() -> None:
    assert FIELD64.elements([]).shape == (0, 2)
    assert FIELD64.ints(FIELD64.elements([])) == []


@FIELDS
def test_bytes_do_not_depend_on_how_numbers_lie_in_memory(field: Field) -> None:
    given = field.elements(numbers(field, 5)).reshape(2, 35, 2)
    packed = field.pack(np.asfortranarray(given))
    assert packed.shape == (2, 35 * field.size)
    assert packed.tobytes() == field.pack(given).tobytes()
    assert np.array_equal(field.unpack(packed), given)


def test_a_root_of_too_high_an_order_is_refused() -> None:
    with pytest.raises(ProtocolError, match="no root of order 64"):
        SMALL.roots(64)


@pytest.mark.parametrize("field", [TINY, SMALL, WORDS, FIELD64])
def test_draws_outside_the_field_are_dropped_and_later_ones_move_up(field: Field) -> None:
    seeds = np.arange(96, dtype=np.uint8).reshape(3, 32)
    drawn = xof.expand(field, seeds, b"tag", [b"a", b"b", b"c"], 40)
    mask = 2 ** field.modulus.bit_length() - 1
    for row, seed, binder in zip(drawn, seeds, (b"a", b"b", b"c"), strict=True):
        source, expected = xof.stream(seed.tobytes(), b"tag", binder), []
        while len(expected) < 40:
            x = int.from_bytes(source.read(field.size), "little") & mask
            expected += [x] if x < field.modulus else []
        assert field.ints(row) == expected


def test_a_long_tag_is_refused() -> None:
    with pytest.raises(ProtocolError, match="a tag of 65536 bytes"):
        xof.stream(bytes(32), bytes(2**16), b"")
    assert len(xof.stream(bytes(32), bytes(2**16 - 1), b"").read(8)) == 8


def test_who_lacks_the_stream_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Crypto.Hash.TurboSHAKE128", None)
    with pytest.raises(ImportError, match=r"mdrr\[server\]"):
        xof.stream(bytes(32), b"tag", b"")


def test_compiled_loops_are_kept_on_disk_and_let_other_threads_work() -> None:
    int64 = numba.types.int64

    def nothing(x: int) -> None: ...

    compiled = modular._loop(int64)(nothing).compiled
    assert compiled.signatures == [(int64,)]
    assert compiled.targetoptions["nogil"]
    assert compiled.stats.cache_path is not None


def test_the_product_of_two_words_is_whole() -> None:
    wide = intrinsic(modular._whole_product)

    @njit
    def product(first: int, second: int) -> tuple[int, int]:
        return wide(first, second)

    for a in (0, 1, 3, 2**32 - 1, 2**32, 2**63, 2**64 - 1):
        for b in (0, 1, 2**32 + 1, 2**63 + 5, 2**64 - 1):
            low, high = product(np.uint64(a), np.uint64(b))
            assert int(low) + (int(high) << 64) == a * b


def test_compiled_functions_are_kept_in_one_file_each():
    """`guvectorize` keeps two, which processes that start together mix up, and then crash."""
    loops = [value for value in vars(modular).values() if isinstance(value, modular._Loop)]
    assert {loop.function.__name__ for loop in loops} == {"_each", "_dot", "_total"}
    for source in (Path(modular.__file__).parents[2]).rglob("*.py"):
        tree = ast.parse(source.read_text(encoding="utf-8"))
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not names & {"vectorize", "guvectorize"}, source


@pytest.mark.parametrize("shape", [(2,), (3, 2), (2, 3, 2), (2, 1, 3, 2), (2, 2, 1, 3, 2)])
def test_numbers_are_broadcast_over_every_number_of_axes(shape):
    numbers = FIELD128.elements(range(5, 5 + math.prod(shape[:-1]))).reshape(shape)
    other = FIELD128.elements([7**40])[0]
    wanted = [x * 7**40 % FIELD128.modulus for x in FIELD128.ints(numbers)]
    assert FIELD128.ints(FIELD128.multiply(numbers, other)) == wanted
    assert FIELD128.multiply(other, numbers).shape == shape


def test_sums_of_products_are_broadcast_both_ways():
    many, one = FIELD128.elements(range(12)).reshape(4, 3, 2), FIELD128.elements([1, 10, 100])
    wanted = [210, 543, 876, 1209]  # 0 + 10 + 200, and 333 more for every row
    assert FIELD128.ints(FIELD128.dot(many, one)) == wanted
    assert FIELD128.ints(FIELD128.dot(one, many)) == wanted
