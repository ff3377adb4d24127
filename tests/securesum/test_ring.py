import numpy as np
import pytest
from scipy.stats import chisquare

from mdrr.errors import ProtocolError
from mdrr.securesum import ring
from mdrr.source import BytesSource, SeededSource

ALARM = 1e-5  # false-alarm rate of each statistical test; the seeds are fixed


@pytest.mark.parametrize("modulus", [2, 4, 6, 101, 256, 257, 1000])
def test_residues_are_uniform(modulus: int) -> None:
    drawn = ring.uniform(SeededSource(modulus), modulus, 200 * modulus)
    assert drawn.max() < modulus
    assert chisquare(np.bincount(drawn, minlength=modulus)).pvalue > ALARM


def test_a_remainder_without_rejection_would_be_noticed() -> None:
    # Planted bug: bytes mod 101 favour residues below 256 − 2·101 = 54 by a half.
    biased = np.frombuffer(SeededSource(1).read(200 * 101), np.uint8) % 101
    assert chisquare(np.bincount(biased, minlength=101)).pvalue < ALARM


def test_bytes_beyond_the_last_full_multiple_are_rejected() -> None:
    drawn = ring.uniform(BytesSource(bytes([252, 251, 255, 253, 6])), 6, 2)
    assert drawn.tolist() == [251 % 6, 6 % 6]
    two = np.array([65_000, 64_999, 65_535, 7], "<u2").tobytes()
    assert ring.uniform(BytesSource(two), 1000, 2).tolist() == [999, 7]


@pytest.mark.parametrize("parties", [2, 3, 255, 256, 300])
def test_dealt_shares_sum_to_zero_and_every_row_is_uniform(parties: int) -> None:
    shares = ring.zero_shares(SeededSource(parties), parties, 700)
    assert shares.shape == (parties, 700)
    assert not (shares.sum(axis=0, dtype=np.int64) % (parties + 1)).any()
    first, last = (chisquare(np.bincount(shares[j] % 2, minlength=2)) for j in (0, -1))
    if parties % 2:  # an even modulus, so parity is a fair coin
        assert min(first.pvalue, last.pvalue) > ALARM


def test_every_coordinate_of_the_last_share_is_uniform() -> None:
    rows = np.array([ring.zero_shares(SeededSource(seed), 4, 6)[3] for seed in range(2000)])
    for column in rows.T:
        assert chisquare(np.bincount(column, minlength=5)).pvalue > ALARM


def test_shares_have_the_narrowest_type_and_use_no_byte_too_many() -> None:
    for modulus, size in ((2, 1), (256, 1), (257, 2), (65536, 2), (65537, 4), (2**32, 4)):
        assert ring.width(modulus) == size
        source = BytesSource(bytes(range(4 * size)))
        drawn = ring.uniform(source, modulus, 3)
        assert (len(drawn), drawn.dtype) == (3, np.dtype(f"<u{size}"))
        assert source.read(size) == bytes(range(3 * size, 4 * size))
        whole = np.frombuffer(bytes(range(3 * size)), f"<u{size}")
        assert drawn.tolist() == (whole.astype(np.int64) % modulus).tolist()
    assert ring.zero_shares(SeededSource(1), 255, 2).dtype == np.uint8
    assert ring.zero_shares(SeededSource(1), 256, 2).dtype == np.uint16


def test_sums_are_reduced() -> None:
    rows = np.full((300, 3), 300, np.uint16)
    assert ring.add(rows, 301).tolist() == [300 * 300 % 301] * 3
    assert ring.add(rows, 301).dtype == np.uint16


@pytest.mark.parametrize("modulus", [2, 256, 257, 65536, 65537, 2**32])
def test_packing_reads_back(modulus: int) -> None:
    vector = ring.uniform(SeededSource(3), modulus, 20)
    packed = ring.pack(vector, modulus)
    assert len(packed) == 20 * ring.width(modulus)
    assert np.array_equal(ring.unpack(packed, modulus, 20), vector)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x06\x01", "6: it was not reduced"),
        (b"\x01\xff", "6: it was not reduced"),
        (b"\x01", "takes 2 bytes, these are 1"),
        (b"\x01\x01\x01", "takes 2 bytes, these are 3"),
    ],
)
def test_unreduced_or_short_vectors_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        ring.unpack(data, 6, 2)
    with pytest.raises(ProtocolError, match="1000: it was not reduced"):
        ring.unpack(np.array([999, 1000], "<u2").tobytes(), 1000, 2)


@pytest.mark.parametrize("modulus", [-1, 0, 1, 2**32 + 1])
def test_impossible_moduli_are_refused(modulus: int) -> None:
    with pytest.raises(ProtocolError, match="not between"):
        ring.width(modulus)
