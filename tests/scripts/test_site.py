"""What the documentation site does to pages and docstrings."""

import pytest

pytest.importorskip("griffe")

from scripts.site import DOCS, commands, fenced, inside, options, with_options


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


PAGE = (DOCS / "cli.md").read_text(encoding="utf-8")


def test_every_option_of_every_command_is_explained_on_the_site():
    """An option without a help text fails here, and so does a command without a section."""
    page = with_options(PAGE)
    found = {name: list(options(command)) for name, command in commands()}
    assert {"plan", "survey init", "estimate"} <= set(found)
    assert sum(map(len, found.values())) > 200
    assert [(name, o) for name, every in found.items() for o, words in every if not words] == []
    for name, every in found.items():
        section = page.split(f"\n## mdrr {name.split()[0]}\n", 1)[1].split("\n## ", 1)[0]
        table = section.split(f"| options of `mdrr {name}` |", 1)[1] if every else ""
        assert [o for o, _ in every if f"| {o} |" not in table] == []


def test_the_rest_of_the_page_stays_as_it_is():
    kept = [line for line in PAGE.splitlines() if line.strip()]
    shown = with_options(PAGE).splitlines()
    assert [line for line in kept if line not in shown] == []
    assert with_options("# A page\n\n## Other\n") == "# A page\n\n## Other\n"
