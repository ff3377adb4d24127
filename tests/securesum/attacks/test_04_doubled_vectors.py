"""Attack 4: one doubled vector, or one who stops at the end, and the honest cannot try again."""

from pathlib import Path

import numpy as np
import pytest

from mdrr.errors import AbortedError, ProtocolError
from mdrr.securesum.device import Device
from mdrr.securesum.message import Abort
from mdrr.securesum.opening import read_outcome
from tests.securesum.scene import Scene, forged


def test_a_doubled_vector_is_refused_and_the_total_of_the_others_opens(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.report(*range(11))
    doubled = [2 * cell for cell in scene.question.encode([1, 2, 3]).tolist()]
    scene.post.upload(forged(scene.batch, scene.tokens[11], doubled))
    outcome = scene.finish()
    assert np.array_equal(outcome.totals, scene.truth(*range(11)))
    assert sum(outcome.refused.values()) == 1


def test_after_an_aggregator_gave_up_the_same_people_may_try_again(tmp_path: Path) -> None:
    first, again = Scene(tmp_path / "1"), Scene(tmp_path / "2", seed=1)
    devices = [Device(tmp_path / f"device{k}") for k in range(12)]
    posts = {"first": first.post, "again": again.post}

    def answer(scene: Scene, url: str) -> None:
        for k, device in enumerate(devices):
            made = device.prepare(scene.batch, url, lambda k=k: scene.reports([k])[0], posts.get)
            assert made is not None
            scene.post.upload(made)
            device.arrived(scene.batch)

    answer(first, "first")
    first.machines[0].advance()
    first.machines[1].stop(Abort("verify", "no more power"))
    first.machines[1].advance()
    with pytest.raises(ProtocolError, match="every aggregator of that batch has signed"):
        answer(again, "again")  # one of two is not enough: the other might still open
    first.drive()
    assert first.ends() == ["abort", "abort"]
    with pytest.raises(AbortedError, match="no more power"):
        read_outcome(first.post, first.batch)
    answer(again, "again")
    again.drive()
    outcome = read_outcome(again.post, again.batch)
    assert outcome is not None
    assert np.array_equal(outcome.totals, again.truth(*range(12)))
