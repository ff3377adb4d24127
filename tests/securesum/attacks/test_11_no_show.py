"""Attack 11: a person waits until all have joined, and one who does not come stops all."""

from pathlib import Path

import numpy as np

from mdrr.securesum.opening import read_outcome
from tests.securesum.scene import CLOSES, Scene


def test_nobody_waits_for_people_and_people_wait_for_nobody(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for k in range(11):  # each comes alone and leaves; no aggregator has begun
        scene.report(k)
    assert scene.post.hear("key") == []
    scene.drive()
    assert read_outcome(scene.post, scene.batch) is None  # somebody may still come
    scene.now = CLOSES + 10.0
    scene.drive()
    outcome = read_outcome(scene.post, scene.batch)
    assert outcome is not None
    assert np.array_equal(outcome.totals, scene.truth(*range(11)))
