import hmac

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
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


def test_sums_are_reduced() -> None:
    rows = np.full((300, 3), 300, np.uint16)
    assert ring.add(rows, 301).tolist() == [300 * 300 % 301] * 3


@pytest.mark.parametrize("modulus", [2, 256, 257, 65536, 65537, 2**32])
def test_packing_reads_back(modulus: int) -> None:
    vector = ring.uniform(SeededSource(3), modulus, 20)
    packed = ring.pack(vector, modulus)
    assert len(packed) == 20 * ring.width(modulus)
    assert np.array_equal(ring.unpack(packed, modulus, 20), vector)


@pytest.mark.parametrize(
    ("data", "message"), [(b"\x06\x01", "not reduced"), (b"\x01", "takes 2 bytes")]
)
def test_unreduced_or_short_vectors_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        ring.unpack(data, 6, 2)


@pytest.mark.parametrize("modulus", [-1, 0, 1, 2**32 + 1])
def test_impossible_moduli_are_refused(modulus: int) -> None:
    with pytest.raises(ProtocolError, match="not between"):
        ring.width(modulus)


@pytest.mark.parametrize(
    ("people", "bits"), [(1, 16), (65_535, 16), (65_536, 32), (2**32 - 1, 32), (2**32, 64)]
)
def test_the_ring_holds_every_count(people: int, bits: int) -> None:
    assert ring.ring_bits(people) == bits


@pytest.mark.parametrize("people", [0, 2**64])
def test_uncountable_groups_are_refused(people: int) -> None:
    with pytest.raises(ProtocolError, match="cannot be counted"):
        ring.ring_bits(people)


@pytest.mark.parametrize("bits", ring.BITS)
def test_masks_are_uniform_in_every_byte_and_depend_on_seed_and_context(bits: int) -> None:
    masks = [
        ring.expand(seed, context, bits, 4000)
        for seed in (bytes(32), b"\x01" + bytes(31))
        for context in (b"a", b"b")
    ]
    assert len({mask.tobytes() for mask in masks}) == 4
    for k in range(bits // 8):
        column = masks[0].view(np.uint8).reshape(-1, bits // 8)[:, k]
        assert chisquare(np.bincount(column, minlength=256)).pvalue > ALARM


def test_seeds_have_32_bytes_and_rings_are_known() -> None:
    with pytest.raises(ProtocolError, match="32 bytes"):
        ring.expand(b"short", b"", 16, 1)
    with pytest.raises(ProtocolError, match="not offered"):
        ring.ring_type(8)


def test_a_mask_is_hkdf_and_aes_in_counter_mode_as_the_specification_says() -> None:
    """Computed again from HMAC (RFC 5869) and single AES blocks."""
    seed, context = bytes(range(32)), b"some context"
    prk = hmac.digest(b"mdrr securesum/1 mask", seed, "sha256")
    key = hmac.digest(prk, context + b"\x01", "sha256")
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    stream = block.update(b"".join(k.to_bytes(16, "big") for k in range(4)))
    for bits in ring.BITS:
        cells = 64 * 8 // bits
        wanted = np.frombuffer(stream, f"<u{bits // 8}")
        assert np.array_equal(ring.expand(seed, context, bits, cells), wanted)
