"""The notebooks in examples/ run from top to bottom, and what they show is stored and small."""

import re
import shutil

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

import mdrr
from scripts import make_published
from scripts.notebooks import EXAMPLES, notebooks, run

MOST = 120_000
"""Bytes of a notebook with its outputs."""


@pytest.mark.slow
@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path, tmp_path):
    """In a copy of the folder; every cell shows the kinds of output that are stored with it."""
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder)
    stored = nbformat.read(path, as_version=4)
    fresh = run(folder / path.name, folder)
    assert [kinds(cell) for cell in fresh.cells] == [kinds(cell) for cell in stored.cells]
    assert any("image/svg+xml" in kinds(cell) for cell in fresh.cells)
    assert any("text/html" in kinds(cell) for cell in fresh.cells)


def kinds(cell) -> set[str]:
    """What a cell shows; a text may come in one piece or in several."""
    outputs = cell.get("outputs", ())
    return {kind for output in outputs for kind in output.get("data", [output.get("name")])}


def test_there_are_three_and_they_are_small():
    assert len(notebooks()) == 3
    assert [path.name for path in notebooks() if path.stat().st_size > MOST] == []


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_stored_notebook_is_valid_and_names_no_machine(path):
    text = path.read_text(encoding="utf-8")
    nbformat.validate(nbformat.read(path, as_version=4))
    assert "Traceback" not in text
    links = re.findall(r"\]\((\.\./[^)\s]+)\)", text)
    assert [link for link in links if not (path.parent / link).exists()] == []
    assert str(EXAMPLES.parent) not in text
    assert "/tmp/" not in text


def test_the_published_files_are_what_the_script_makes():
    design, tally = make_published.published()
    folder = make_published.FOLDER
    stored = mdrr.Design.from_json((folder / "design.json").read_text(encoding="utf-8"))
    assert stored.epsilon == pytest.approx(make_published.EPSILON, rel=0.01)
    assert stored.domain == design.domain
    assert mdrr.read_tally(folder / "tally.json", stored).n == tally.n


def test_a_cell_that_fails_is_found(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    nbformat.write(notebook, tmp_path / "bad.ipynb")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        run(tmp_path / "bad.ipynb", tmp_path)
