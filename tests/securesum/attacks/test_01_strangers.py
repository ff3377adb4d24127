"""Attack 1: a stranger joins as often as it likes and isolates a person."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import RELAY, credential
from mdrr.securesum.keys import seal
from mdrr.securesum.opening import REFUSALS, STRANGER
from mdrr.securesum.person import part_context
from tests.securesum.scene import Scene, forged, shares_of, slip_in, token


def test_nine_reports_of_a_stranger_do_not_hide_behind_one_person(tmp_path: Path) -> None:
    scene = Scene(tmp_path, 10, minimum=3)
    record = scene.question.encode([0, 0, 0]).tolist()
    scene.report(0)
    for k in range(9):
        with pytest.raises(ProtocolError, match="not on the relay's roll"):
            scene.post.upload(forged(scene.batch, token(k, seed=9), record, f"stranger {k}"))
    with pytest.raises(ProtocolError, match="1 reports count, which is fewer than"):
        scene.finish()


def test_a_relay_that_invents_people_is_found_out(tmp_path: Path) -> None:
    """It lets in whom it likes, but the aggregators have a roll of their own."""
    scene = Scene(tmp_path, 10, minimum=3)
    record = scene.question.encode([0, 0, 0]).tolist()
    scene.report(*range(4))
    for k in range(6):
        slip_in(scene, forged(scene.batch, token(k, seed=9), record, f"stranger {k}"))
    outcome = scene.finish()
    assert outcome.refused == {REFUSALS[STRANGER]: 6}
    assert np.array_equal(outcome.totals, scene.truth(*range(4)))


def test_a_relay_and_an_aggregator_together_cannot_replace_people(tmp_path: Path) -> None:
    """They know what everybody showed to both of them; the other aggregator wants its own.

    Otherwise all people but one could be replaced, and the total would show her record.
    """
    scene = Scene(tmp_path, 10, minimum=5)
    scene.report(0)  # the reports of 1 to 9 they keep back
    record = scene.question.encode([0, 0, 0]).tolist()
    for k in range(1, 10):
        report, public, shares = shares_of(scene.batch, record, f"puppet {k}")
        known = [credential(scene.tokens[k], scene.batch.ids[0]), bytes(32)]
        parts = [
            seal(shown + share, one.sealing, part_context(scene.batch, report, one.id, public))
            for shown, share, one in zip(known, shares, scene.batch.aggregators, strict=True)
        ]
        puppet = forged(scene.batch, scene.tokens[k], record)
        assert puppet.credential == credential(scene.tokens[k], RELAY)
        slip_in(scene, replace(puppet, id=report, data=b"".join([public, *parts])))
    with pytest.raises(ProtocolError, match="1 reports count, which is fewer than"):
        scene.finish()
    assert scene.ends() == ["abort", "abort"]
