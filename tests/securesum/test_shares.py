"""What the paper's protocol sends: sealed shares, commitments, and what opens them."""

import hashlib
from typing import Any

import numpy as np
import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.shares import (
    commitment,
    read_commitment,
    read_reveal,
    read_share,
    reveal_body,
    share_body,
)
from mdrr.securesum.wire import digest, encode64
from tests.securesum.group import QUESTION, people, roster_of

PEOPLE = people(4)
ROSTER = roster_of(PEOPLE, 1)
ME, HER, THIRD = PEOPLE[:3]
SHARE = (np.arange(QUESTION.cells) % 5).astype(np.uint8)
NONCE = bytes(range(32))


def test_a_share_opens_for_its_recipient_in_its_run_from_its_sender() -> None:
    body = share_body(ROSTER, ME.id, HER.public, SHARE)
    assert read_share(body, ROSTER, ME.id, HER).tolist() == SHARE.tolist()
    for wrong in (
        lambda: read_share(body, ROSTER, ME.id, THIRD),
        lambda: read_share(body, ROSTER, THIRD.id, HER),
        lambda: read_share(body, roster_of(PEOPLE, 2), ME.id, HER),
    ):
        with pytest.raises(ProtocolError, match="does not open"):
            wrong()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sealed": encode64(bytes(QUESTION.cells + 47))}, "'sealed' of a share must be 74 bytes"),
        ({"sealed": encode64(bytes(QUESTION.cells + 49))}, "'sealed' of a share must be 74 bytes"),
        ({"more": 1}, "a share has an unknown field 'more'"),
    ],
)
def test_a_share_of_another_form_is_refused(change: dict[str, Any], reason: str) -> None:
    body = share_body(ROSTER, ME.id, HER.public, SHARE)
    with pytest.raises(ProtocolError, match=reason):
        read_share({**body, **change}, ROSTER, ME.id, HER)


def test_a_share_that_was_not_reduced_is_refused() -> None:
    body = share_body(ROSTER, ME.id, HER.public, np.full(QUESTION.cells, 5, np.uint8))
    with pytest.raises(ProtocolError, match="not reduced"):
        read_share(body, ROSTER, ME.id, HER)


def test_a_commitment_binds_run_sender_nonce_and_sum() -> None:
    head = f"mdrr securesum/1 commitment\n{ROSTER.digest}\n{ME.id}\n".encode()
    bound = commitment(ROSTER, ME.id, NONCE, b"sum")
    assert bound == hashlib.sha256(head + NONCE + b"sum").hexdigest()
    assert read_commitment({"commitment": bound}) == bound
    with pytest.raises(ProtocolError, match="'commitment' of a commitment must be 64"):
        read_commitment({"commitment": "x"})
    with pytest.raises(ProtocolError, match="a commitment has an unknown field 'more'"):
        read_commitment({"commitment": bound, "more": 1})


def test_a_revealed_sum_is_the_one_that_was_committed_to() -> None:
    packed = SHARE.tobytes()
    bound = commitment(ROSTER, ME.id, NONCE, packed)
    committed = {ME.id: bound, HER.id: "0" * 64}
    body = reveal_body(committed, NONCE, packed)
    assert body == {
        "commitments": digest(committed),
        "nonce": encode64(NONCE),
        "sum": encode64(packed),
    }
    vector, seen = read_reveal(body, ROSTER, ME.id, bound)
    assert (vector.tolist(), seen) == (SHARE.tolist(), digest(committed))
    changed = bytes([1]) + packed[1:]
    for sender, change, reason in (
        (HER.id, {}, "not the one that was committed to"),
        (ME.id, {"nonce": encode64(bytes(32))}, "not the one that was committed to"),
        (ME.id, {"sum": encode64(changed)}, "not the one that was committed to"),
        (ME.id, {"sum": encode64(packed[1:])}, "takes 26 bytes"),
        (ME.id, {"sum": encode64(bytes([5]) + packed[1:])}, "not reduced"),
        (ME.id, {"nonce": encode64(bytes(31))}, "'nonce' of a revealed sum must be 32 bytes"),
        (ME.id, {"commitments": "x"}, "'commitments' of a revealed sum must be 64"),
        (ME.id, {"more": 1}, "a revealed sum has an unknown field 'more'"),
    ):
        with pytest.raises(ProtocolError, match=reason):
            read_reveal({**body, **change}, ROSTER, sender, bound)
