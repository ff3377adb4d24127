"""Sources: the system's bytes and nothing else, seeded streams, given bytes; and who may draw."""

import ast
from pathlib import Path

import numpy as np
import pytest

from mdrr.errors import MdrrError
from mdrr.source import BytesSource, SeededSource, SystemSource
from tests.chance import ALPHA, aes_256, nothing_else, surprise

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "mdrr"


@pytest.mark.parametrize("count", [1, 100, 4096])
def test_few_bytes_are_the_systems_own(system, count):
    source = SystemSource()
    assert [source.read(count), source.read(count)] == system.pieces
    assert len(system.pieces[0]) == count


@pytest.mark.parametrize("count", [4097, 100_000, 2**22, 2**22 + 1])
def test_many_bytes_are_a_keystream_under_256_bits_of_the_system_fresh_every_time(system, count):
    source = SystemSource()
    streams = [source.read(count), source.read(count)]
    assert [len(key) for key in system.pieces] == [32, 32]
    assert streams == [aes_256(key, count) for key in system.pieces]


@pytest.mark.parametrize("count", [32, 5000])
def test_nothing_but_the_system_decides(count):
    drawn = set()
    for _ in range(3):
        with nothing_else():
            drawn.add(SystemSource().read(count))
    assert len(drawn) == 3  # equal with probability 2^-256


@pytest.mark.parametrize("count", [0, 1, 4096, 4097, 100_000])
def test_the_system_gives_as_many_fresh_bytes_as_asked(count):
    source = SystemSource()
    first, second = source.read(count), source.read(count)
    assert len(first) == len(second) == count
    assert count < 4096 or first != second  # equal with probability 2^-32768


@pytest.mark.parametrize("cut", [(10_000,), (1, 9_999), (4_096, 5_904), (17, 4_100, 5_883)])
def test_a_seeded_stream_does_not_depend_on_how_it_is_cut(cut):
    source = SeededSource(11)
    assert b"".join(source.read(n) for n in cut) == SeededSource(11).read(10_000)


def test_a_seeded_stream_is_the_same_in_every_version():
    assert SeededSource(7).read(16).hex() == "cb6aee167b71bbefd88e500348f4ab5b"
    assert SeededSource("a long name, then 1").read(16).hex() == "eacdac0eb87edb33f183e1f70c01e5a6"


def test_seeds_differ():
    assert SeededSource("a long name, then 1").read(8) != SeededSource("a long name, then 2").read(
        8
    )
    assert len({SeededSource(seed).read(32) for seed in (0, 1, "1 ", "a", -1)}) == 5
    assert SeededSource(1).read(32) == SeededSource("1").read(32)


def test_a_seeded_source_says_what_it_is_for():
    assert repr(SeededSource(3)).startswith("SeededSource(3)")
    assert "simulation only" in repr(SeededSource(3))
    assert repr(SystemSource()) == "SystemSource()"


@pytest.mark.parametrize("source", [SystemSource(), SeededSource(5)])
def test_every_byte_is_as_likely(source):
    """χ² over 256 values; false alarm 1e-5 (and on the system's bytes, on every run)."""
    counts = np.bincount(np.frombuffer(source.read(1 << 20), np.uint8), minlength=256)
    assert surprise(counts, np.full(256, 1 / 256)) > ALPHA


def test_given_bytes_are_used_once_and_run_out():
    source = BytesSource(b"abcd")
    assert (source.read(1), source.read(2)) == (b"a", b"bc")
    with pytest.raises(MdrrError, match="2 random bytes are needed, 1 are left"):
        source.read(2)


MAY_DRAW = {
    "urandom": ("source.py", "auditing/observed.py"),  # there it is watched
    # Names of files, passwords, tokens, ids of surveys and answers, blinding factors, the order of
    # published reports, the seed of a simulation.
    "secrets": (
        "respondent.py",
        "files/",
        "securesum/transport/",
        "frozen.py",
        "collector.py",
        "server/blind.py",
        "server/held.py",
        "server/published.py",
        "cli/demo.py",
        "spark/__init__.py",
    ),
    # Simulations.
    "SeededSource": ("source.py", "__init__.py", "cli/tallying.py", "cli/demo.py", "cli/crowd.py"),
    "default_rng": ("",),  # estimates and plans, with stated seeds
    "random": ("auditing/observed.py",),  # to show that its seed does not matter
    "RandomState": (),
    "uuid": (),
    "__import__": (),
}
SENDERS = (
    *("matrix/", "randomizer.py", "respondent.py", "response.py"),
    *("frames.py", "report_frames.py", "batches.py", "files/", "spark/", "securesum/"),
)
"""What people send passes here: no generator but the sources'."""


def drawn_in(path: Path) -> set[str]:
    """Which sources of randomness a module names."""
    named = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            named |= {alias.name for alias in node.names} | {getattr(node, "module", None)}
        elif isinstance(node, ast.Attribute):
            named |= {node.attr} - {"random"}  # numpy's own
        elif isinstance(node, ast.Name):
            named.add(node.id)
    return named & set(MAY_DRAW)


def test_only_these_modules_may_draw():
    """What people send is drawn by three modules; other chance is an argument or has its seed."""
    wrong = [
        (file, name)
        for path in PACKAGE.rglob("*.py")
        for file in [path.relative_to(PACKAGE).as_posix()]
        for name in drawn_in(path)
        if not file.startswith(MAY_DRAW[name])
        or (name == "default_rng" and file.startswith(SENDERS))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    ["import random", "from random import Random", "import numpy as np\nnp.random.default_rng(0)",
     "import os\nos.urandom(1)", "from mdrr.source import SeededSource", "__import__('random')"],
)  # fmt: skip
def test_a_drawing_module_is_noticed(tmp_path, text):
    (tmp_path / "module.py").write_text(text, "utf-8")
    assert drawn_in(tmp_path / "module.py")
