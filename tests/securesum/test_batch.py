"""A batch says whom one trusts, and is refused unless its aggregators are those named."""

from dataclasses import replace

import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.roster import read_pins
from tests.securesum.aggregating import BATCH, GROUP
from tests.securesum.group import Group, people


def test_the_batch_says_whom_one_trusts() -> None:
    assert "as long as one of Office A, Office B is honest" in BATCH.trust
    alone = Group(8, minimum=4, operators=("Office A", "Office A")).batch
    assert "run by Office A, who can therefore read every single answer" in alone.trust
    for batch in (BATCH, alone):
        assert "what the aggregators call themselves, which nobody checked" in batch.trust
        assert "call themselves" not in batch.pinned_trust
        assert batch.pinned_trust.endswith("The aggregators are the ones you named.")


def test_a_batch_is_refused_unless_its_aggregators_are_exactly_those_named() -> None:
    one, two = (identity.public for identity in GROUP.aggregators)
    three = people(1, seed=7)[0].public
    BATCH.check_pins(read_pins([two.pin, one.pin]))  # in any order
    for pins, reason in (
        ((one.pin, three.pin), f"it has {two.pin[:16]}…, and lacks {three.pin[:16]}…"),
        ((one.pin, two.pin, three.pin), f"it has nobody else, and lacks {three.pin[:16]}…"),
    ):
        with pytest.raises(ProtocolError, match=reason):
            BATCH.check_pins(read_pins(pins))


@pytest.mark.parametrize("field", ["sealing", "operator"])
def test_a_pin_holds_the_sealing_key_and_the_operator_too(field: str) -> None:
    """An organiser that keeps a signing key, and so the id, but changes what else it signs for."""
    pins = read_pins(one.pin for one in BATCH.aggregators)
    other = people(1, seed=7)[0].public.sealing if field == "sealing" else "Office Z"
    swapped = replace(BATCH.aggregators[0], **{field: other})
    batch = replace(BATCH, aggregators=(swapped, BATCH.aggregators[1]))
    assert batch.ids == BATCH.ids
    with pytest.raises(ProtocolError, match="not the ones you named"):
        batch.check_pins(pins)


@pytest.mark.parametrize(
    ("pins", "reason"),
    [
        (["0" * 64], "1 aggregators named: a batch has two or three"),
        ([f"{k}" * 64 for k in range(4)], "4 aggregators named"),
        (["0" * 64, "0" * 64], "named twice"),
        (["0" * 64, "Office A"], "'Office A' is not the id of an aggregator"),
        (["0" * 64, "A" * 64], "64 lower-case hex digits"),
    ],
)
def test_pins_that_name_no_batch_are_refused(pins: list[str], reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        read_pins(pins)


@pytest.mark.parametrize(
    ("operators", "reason"), [(("A",), "two or three"), (("A", "B", "C", "D"), "two or three")]
)
def test_impossible_batches_are_refused(operators: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        _ = Group(8, minimum=4, operators=operators).batch
