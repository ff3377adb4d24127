import os
import signal
import subprocess
import sys

import pytest

from mdrr.errors import MdrrError
from mdrr.files import whole, write_text


class Interrupted(BaseException):
    """Not even an Exception, as KeyboardInterrupt is not."""


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    write_text(path, "é" * 10_000)
    assert path.read_text(encoding="utf-8") == "é" * 10_000
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, Interrupted, KeyboardInterrupt])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail_half_way() -> None:
        with whole(path) as beside:
            beside.write_text("half of the ne")
            assert path.read_text() == "old"
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_the_temporary_file_stands_in_the_same_folder_so_that_renaming_is_one_step(tmp_path):
    with whole(tmp_path / "a.txt") as beside:
        assert beside.parent == tmp_path
        beside.write_text("x")


def test_permissions_and_links_survive(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    write_text(path, "old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(MdrrError, match=r"there is no folder .*nowhere'. Make it first"):
        write_text(tmp_path / "nowhere" / "a.txt", "x")


def test_what_is_not_a_file_is_not_replaced(tmp_path):
    with pytest.raises(MdrrError, match="is not a file that can be replaced"):
        write_text(tmp_path, "x")
    with pytest.raises(MdrrError, match="is not a file that can be replaced"):
        write_text(os.devnull, "x")


SLOW = """
import sys, time
from mdrr.files import whole
with whole(sys.argv[1]) as beside:
    beside.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_killed_program_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    run = subprocess.Popen([sys.executable, "-c", SLOW, str(path)], stdout=subprocess.PIPE)
    assert run.stdout.readline() == b"writing\n"
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert path.read_text() == "old"
