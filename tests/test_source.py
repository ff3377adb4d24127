import numpy as np
import pytest

from mdrr.errors import MdrrError
from mdrr.source import BytesSource, SeededSource, SystemSource
from tests.chance import ALPHA, surprise


@pytest.mark.parametrize("count", [0, 1, 4096, 4097, 100_000])
def test_the_system_gives_as_many_fresh_bytes_as_asked(count):
    source = SystemSource()
    first, second = source.read(count), source.read(count)
    assert len(first) == len(second) == count
    assert count < 4096 or first != second  # equal with probability 2^-32768


@pytest.mark.parametrize("cut", [(10_000,), (1, 9_999), (4_096, 5_904), (17, 4_100, 5_883)])
def test_a_seeded_stream_does_not_depend_on_how_it_is_cut(cut):
    source = SeededSource(11)
    assert b"".join(source.read(n) for n in cut) == SeededSource(11).read(10_000)


def test_seeds_differ():
    assert len({SeededSource(seed).read(32) for seed in (0, 1, "1 ", "a", -1)}) == 5
    assert SeededSource(1).read(32) == SeededSource("1").read(32)


def test_a_seeded_source_says_what_it_is_for():
    assert "simulation only" in repr(SeededSource(3))


@pytest.mark.parametrize("source", [SystemSource(), SeededSource(5)])
def test_every_byte_is_as_likely(source):
    """χ² over 256 values; false alarm 1e-5 (and on the system's bytes, on every run)."""
    counts = np.bincount(np.frombuffer(source.read(1 << 20), np.uint8), minlength=256)
    assert surprise(counts, np.full(256, 1 / 256)) > ALPHA


def test_given_bytes_are_used_once_and_run_out():
    source = BytesSource(b"abcd")
    assert (source.read(1), source.read(2)) == (b"a", b"bc")
    with pytest.raises(MdrrError, match="2 random bytes are needed, 1 are left"):
        source.read(2)
