"""Attack 3: one person's k·e(x) − k·e(y) decides the result."""

from pathlib import Path

import numpy as np

from mdrr.securesum.prio3 import vdaf
from mdrr.securesum.ways import assess
from tests.securesum.scene import Scene, forged


def test_a_vector_that_passes_all_checks_on_totals_does_not_pass_the_proof(tmp_path: Path) -> None:
    scene = Scene(tmp_path, 200, minimum=50)
    scene.report(*range(199))
    honest = scene.truth(*range(199))
    vector = scene.question.encode([0, 0, 0]).astype(np.int64)
    smokes_region = slice(0, 6)  # two rows, three columns: margins stay as they are
    k = int(honest[smokes_region].reshape(2, 3)[[0, 1], [1, 0]].min())
    vector[smokes_region] += (k * np.array([[1, -1, 0], [-1, 1, 0]])).ravel()
    moved = honest + vector
    scene.question.check(moved, 200)  # nothing but a proof can find it
    before = assess(scene.question, honest, 199).dependences["smokes", "region"]
    after = assess(scene.question, moved, 200).dependences["smokes", "region"]
    assert before < 0.25 < 0.5 < after
    scene.post.upload(forged(scene.batch, scene.tokens[199], vector.tolist()))
    outcome = scene.finish()
    assert outcome.refused == {vdaf.REASONS[vdaf.INVALID]: 1}
    assert np.array_equal(outcome.totals, honest)
