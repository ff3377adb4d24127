import importlib.util

import numpy as np
import pytest

from mdrr.columns import BACKENDS, make_frame, require
from mdrr.errors import ExtraError, MdrrError

KINDS = {"polars": "polars", "pandas": "pandas", "pyarrow": "pyarrow"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_frame_is_of_the_library_asked_for(backend):
    frame = make_frame({"n": np.arange(3), "t": ["x", "y", "z"]}, backend)
    assert type(frame).__module__.startswith(KINDS[backend])
    assert tuple(frame.shape) == (3, 2)
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert names == ["n", "t"]


@pytest.mark.parametrize("installed", BACKENDS)
def test_the_first_library_installed_is_taken(monkeypatch, installed):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: (name == installed or None) if name in BACKENDS else find(name, *rest),
    )
    assert type(make_frame({"n": [1]})).__module__.startswith(installed)


def test_what_is_not_there_is_said_with_the_command_that_brings_it():
    with pytest.raises(ExtraError) as error:
        require("no_such_library", "frames")
    assert str(error.value) == "no_such_library is not installed. Run: pip install 'mdrr[frames]'"
    assert isinstance(error.value, ImportError)
    with pytest.raises(MdrrError, match=r"no backend 'excel'. Known: polars, pandas, pyarrow"):
        make_frame({"n": [1]}, "excel")
