"""What the documentation site does to pages and docstrings."""

import pytest

pytest.importorskip("griffe")

from scripts.site import DOCS, fenced, inside


def test_links_that_leave_docs_become_names_of_files():
    page = DOCS / "page.md"
    assert inside("[a](../src/mdrr/design.py)", page) == "a (`src/mdrr/design.py`)"
    assert inside("[`src/mdrr/design.py`](../src/mdrr/design.py)", page) == "`src/mdrr/design.py`"
    below = DOCS / "benchmarks" / "page.md"
    assert inside("[b](../privacy.md#words)", below) == "[b](../privacy.md#words)"
    assert inside("[c](../gone.md)", below) == "[c](../gone.md)"  # the strict build names it


def test_examples_in_docstrings_become_code():
    text = "Add.\n\nExample:\n    >>> 1 + 1\n    2\n\n    >>> 2\n    2"
    assert fenced(text) == (
        "Add.\n\nExample:\n    ```python\n    >>> 1 + 1\n    2\n    ```\n\n"
        "    ```python\n    >>> 2\n    2\n    ```"
    )
    assert fenced("No example.") == "No example."
