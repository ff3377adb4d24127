"""The public list: complete, importable, and lazy."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import mdrr


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", mdrr.__all__)
def test_every_public_name_is_there(name):
    try:
        value = getattr(mdrr, name)
    except ModuleNotFoundError as error:
        pytest.fail(f"mdrr.{name} is promised and its module is not there: {error}")
    assert value is not None
    assert name in dir(mdrr)


def test_a_name_is_listed_once_and_its_home_defines_it():
    assert len(set(mdrr.__all__)) == len(mdrr.__all__)
    for name, home in mdrr._HOMES.items():
        assert getattr(importlib.import_module(f"mdrr.{home}"), name) is getattr(mdrr, name)


def test_no_module_shadows_a_public_function():
    """`mdrr.estimate` must stay the function whatever was imported before."""
    modules = {m.removeprefix("mdrr.") for m in sys.modules if m.startswith("mdrr.")}
    assert not set(mdrr._HOMES) & modules


def test_what_the_readme_uses_is_public():
    """The names of the first program a reader runs."""
    paper = {"independent", "joint", "clustered", "sampled", "randomize", "tally", "estimate"}
    assert paper | {"datasets", "Design", "privacy", "theory", "respond"} <= set(mdrr.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'mdrr' has no attribute 'magic'"):
        _ = mdrr.magic
    assert not hasattr(mdrr, "numpy")


def test_importing_the_package_loads_nothing():
    program = (
        "import sys, mdrr; print([m for m in ('numpy', 'scipy', 'polars') if m in sys.modules])"
    )
    assert run(program) == "[]"


def test_the_version_is_the_distributions():
    from importlib.metadata import version

    assert mdrr.__version__ == version("mdrr")
    cited = (Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {mdrr.__version__}\n" in cited
