"""Attack 5: 30 people and 5 puppets, then 29 of them and 5 other puppets: the difference is she."""

from pathlib import Path

import numpy as np
import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.device import Device
from mdrr.securesum.question import randomized_in_all
from tests.securesum.group import DOMAIN
from tests.securesum.scene import Scene

PEOPLE = 30


def test_no_device_answers_exactly_twice_whoever_else_is_in_the_group(tmp_path: Path) -> None:
    first = Scene(tmp_path / "1", PEOPLE + 5)
    devices = [Device(tmp_path / f"device{k}") for k in range(PEOPLE)]
    for k, device in enumerate(devices):
        made = device.prepare(first.batch, "first", lambda k=k: first.reports([k])[0], {}.get)
        assert made is not None
        first.post.upload(made)
    first.report(*range(PEOPLE, PEOPLE + 5))
    outcome = first.finish()
    assert np.array_equal(outcome.totals, first.truth(*range(PEOPLE + 5)))
    second = Scene(tmp_path / "2", PEOPLE + 4, seed=1)
    second.report(*range(PEOPLE - 1, PEOPLE + 4))  # the puppets
    reach = {"first": first.post}.get
    for k, device in enumerate(devices[1:]):
        with pytest.raises(ProtocolError, match="you answered smokes, region, age exactly"):
            device.prepare(second.batch, "second", lambda k=k: second.reports([k])[0], reach)
    with pytest.raises(ProtocolError, match="5 reports count, which is fewer than the minimum"):
        second.finish()


def test_what_randomized_pairs_spend_is_added_up(tmp_path: Path) -> None:
    device = Device(tmp_path / "device")
    for k in range(2):
        scene = Scene(tmp_path / str(k), seed=k, question=randomized_in_all(DOMAIN, 1.5 + k))
        assert device.prepare(scene.batch, "", lambda s=scene: s.reports([0])[0], {}.get)
    assert device.spent() == pytest.approx(4.0, rel=1e-3)
    exact = Scene(tmp_path / "exact", seed=7)
    assert device.prepare(exact.batch, "", lambda: exact.reports([0])[0], {}.get)
    assert device.spent() == float("inf")


def test_a_crash_before_the_report_arrived_sends_the_same_report_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    made = [
        Device(tmp_path).prepare(scene.batch, "", lambda: scene.reports([0])[0], {}.get)
        for _ in range(2)
    ]
    assert made[0] == made[1] is not None
    Device(tmp_path).arrived(scene.batch)
    assert Device(tmp_path).prepare(scene.batch, "", lambda: scene.reports([0])[0], {}.get) is None
    kept = (tmp_path / "answered.json").read_text()
    other = Scene(tmp_path / "other", seed=3)
    wrong, right = (
        Device(tmp_path / "2").prepare(other.batch, "", lambda k=k: other.reports([k])[0], {}.get)
        for k in (0, 1)  # a second invitation, after the first was refused
    )
    assert wrong is not None
    assert right is not None
    assert wrong.credential != right.credential
    assert len(Device(tmp_path / "2").answered()) == 1
    assert made[0] is not None
    assert made[0].data.hex() not in kept
    (tmp_path / "answered.json").write_text("[{}]")
    with pytest.raises(ProtocolError, match="is not the list of batches you answered"):
        Device(tmp_path).answered()
