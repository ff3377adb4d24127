"""Files for their owner alone: how they are written, and what is refused."""

import os
from pathlib import Path

import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.private import (
    make_folder,
    refuse_if_others_look,
    refuse_if_others_read,
    write_atomically,
)


def test_a_folder_is_for_its_owner_alone_and_one_that_is_there_stays(tmp_path: Path) -> None:
    made, there = tmp_path / "some" / "folder", tmp_path / "there"
    there.mkdir(mode=0o755)
    for folder in (made, there):
        make_folder(folder)
        make_folder(folder)
    assert [folder.stat().st_mode & 0o777 for folder in (made, there)] == [0o700, 0o755]


@pytest.mark.parametrize("bit", [0o040, 0o020, 0o010, 0o004, 0o002, 0o001])
def test_a_file_that_others_can_use_in_any_way_is_refused(tmp_path: Path, bit: int) -> None:
    path = tmp_path / "keys"
    path.touch()
    path.chmod(0o700)
    refuse_if_others_read(path, "make new ones")
    path.chmod(0o600 | bit)
    with pytest.raises(ProtocolError, match=rf"mode {0o600 | bit:03o}\).*Otherwise make new ones$"):
        refuse_if_others_read(path, "make new ones")


@pytest.mark.parametrize("bit", [0o040, 0o020, 0o010, 0o004, 0o002, 0o001])
def test_a_folder_that_others_can_look_into_is_refused(tmp_path: Path, bit: int) -> None:
    folder = tmp_path / "my state"
    refuse_if_others_look(folder)  # it is made later, for its owner alone
    assert not folder.exists()
    make_folder(folder)
    refuse_if_others_look(folder)
    folder.chmod(0o700 | bit)
    with pytest.raises(
        ProtocolError, match=rf"mode {0o700 | bit:03o}\).* Run: chmod 700 '.*my state'"
    ):
        refuse_if_others_look(folder)


def test_what_is_written_goes_through_no_name_that_could_be_prepared(tmp_path: Path) -> None:
    """A link under the name that used to be written first leads a secret elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"")
    path = tmp_path / "keys.json"
    (tmp_path / f".{path.name}.{os.getpid()}").symlink_to(elsewhere)
    write_atomically(path, b"secret")
    assert path.read_bytes() == b"secret"
    assert not path.is_symlink()
    assert elsewhere.read_bytes() == b""
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_written_first_is_hidden_beside_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the same disk, so that it moves to its place in one step."""
    path, moved, right = tmp_path / "some" / "folder" / "keys.json", [], os.replace

    def watched(fresh: str, place: Path) -> None:
        moved.append((Path(fresh), place))
        right(fresh, place)

    monkeypatch.setattr(os, "replace", watched)
    write_atomically(path, b"secret")
    [(fresh, place)] = moved
    assert (fresh.parent, place) == (path.parent, path)
    assert fresh.name.startswith(".keys.json.")
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomically(path, b"new")
    assert list(tmp_path.iterdir()) == [path]
