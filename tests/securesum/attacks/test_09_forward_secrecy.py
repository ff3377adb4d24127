"""Attack 9: who gets an aggregator's disk later opens what was recorded years ago."""

from pathlib import Path

import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import credential, hashed
from mdrr.securesum.message import write
from mdrr.securesum.person import open_part
from mdrr.securesum.wire import encode64
from tests.securesum.scene import Scene


def disk(scene: Scene, k: int) -> bytes:
    """Everything an aggregator has on disk, the write-ahead log included."""
    return b"".join(file.read_bytes() for file in scene.folder.glob(f"agg{k}.sqlite*"))


@pytest.mark.parametrize("enough", [True, False])
def test_after_a_batch_nothing_on_disk_opens_a_report(tmp_path: Path, enough: bool) -> None:
    scene = Scene(tmp_path, minimum=12 if not enough else 10)
    made = scene.report(*range(11))
    while scene.machines[0].step != "job":
        scene.machines[0].advance()
    secrets = []
    for k, (one, ledger) in enumerate(zip(scene.batch.aggregators, scene.ledgers, strict=True)):
        secret = ledger.secret(one.sealing, scene.batch.digest)
        assert secret is not None
        assert secret in disk(scene, k)  # power of the test: before, it is there
        secrets.append(secret)
    progress = scene.ledgers[0].progress(scene.batch.digest)
    assert progress is not None
    assert progress.verify_key in disk(scene, 0)
    if enough:
        scene.finish()
    else:
        with pytest.raises(ProtocolError, match="fewer than the minimum"):
            scene.finish()
    assert scene.ends() == ["result" if enough else "abort"] * 2
    shown = [hashed(credential(scene.tokens[0], name)) for name in scene.batch.ids]
    for k, secret in enumerate(secrets):
        left = disk(scene, k)
        assert secret not in left
        assert progress.verify_key not in left
        assert shown[k] not in left
    # The operator's long-term key signs, and opens nothing of what the relay has kept.
    ids = encode64(made[0].id)
    for identity in scene.identities:
        kept = scene.post.parts(write(identity, "fetch", scene.batch.digest, {"ids": ids}))
        with pytest.raises(ProtocolError, match="does not open"):
            open_part(scene.batch, identity, made[0].id, kept[made[0].id])
