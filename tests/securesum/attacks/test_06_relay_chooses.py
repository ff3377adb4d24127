"""Attack 6: the relay chooses who counts: of 60 enrolled it delivers 10."""

from pathlib import Path

import numpy as np
import pytest

from mdrr.errors import AbortedError
from mdrr.securesum.opening import heard
from tests.securesum.scene import Scene


@pytest.mark.parametrize("delivered", [10, 29, 30])
def test_a_total_opens_for_half_of_those_invited_or_not_at_all(
    tmp_path: Path, delivered: int
) -> None:
    scene = Scene(tmp_path, 60)
    scene.report(*range(delivered))  # the others reported too, and the relay keeps that back
    if delivered >= 30:
        outcome = scene.finish()
        assert np.array_equal(outcome.totals, scene.truth(*range(30)))
        return
    with pytest.raises(AbortedError, match=f"{delivered} reports count, .* minimum of 30"):
        scene.finish()
    assert heard(scene.post, scene.batch, "result") == {}
