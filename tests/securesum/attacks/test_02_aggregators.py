"""Attack 2: the first strangers who call themselves aggregators become them."""

from dataclasses import replace
from pathlib import Path

import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.aggregator import Aggregator, offer
from mdrr.securesum.batch import Batch, make_batch, read_offer
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import Ledger
from mdrr.securesum.message import write
from mdrr.securesum.wire import encode64
from mdrr.source import SeededSource
from tests.securesum.group import organiser
from tests.securesum.scene import CLOSES, Scene

THIEF = Identity.generate(SeededSource("thief"), "Office A")


def test_who_is_not_in_the_signed_batch_gets_nothing_and_says_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    made = scene.report(*range(12))
    ids = encode64(b"".join(one.id for one in made))
    with pytest.raises(ProtocolError, match="aggregators of their batch alone"):
        scene.post.parts(write(THIEF, "fetch", scene.batch.digest, {"ids": ids}))
    with pytest.raises(ProtocolError, match="nobody in this run signed"):
        scene.post.say(write(THIEF, "job", scene.batch.digest, {"number": 0}))
    with pytest.raises(ProtocolError, match="does not name this aggregator"):
        Aggregator(THIEF, scene.batch, Ledger(":memory:"), scene.post, scene.source)


def test_a_batch_of_another_organiser_or_with_other_aggregators_gets_no_report(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    theirs = offer(THIEF, Ledger(":memory:"), scene.source)
    swapped, folder = make_batch(
        THIEF, scene.question, [theirs, scene.offers[1]], scene.tokens, scene.source, closes=CLOSES
    )
    with pytest.raises(ProtocolError, match="do not take part"):
        Batch.read(folder.message, organiser().id)
    with pytest.raises(ProtocolError, match="not the ones you named"):  # whoever signed it
        swapped.check_ids(scene.batch.ids)
    scene.batch.check_ids(scene.batch.ids[::-1])


def test_nobody_can_put_another_sealing_key_into_an_offer(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    good = scene.offers[0]
    body = {**good.body, "sealing": encode64(THIEF.public.sealing)}
    with pytest.raises(ProtocolError, match="not an aggregator's offer"):
        read_offer(replace(good, body=body, _canonical=b""))
    moved = write(THIEF, "offer", good.run, good.body)
    with pytest.raises(ProtocolError, match="the aggregator it names did not sign"):
        read_offer(moved)
