"""Every `>>>` in the pages of docs/ gives what the page says."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PAGES = sorted(page for page in DOCS.rglob("*.md") if ">>> " in page.read_text(encoding="utf-8"))


def examples(text: str) -> str:
    """The Python blocks of a page, everything else blanked so that line numbers stay."""
    kept = [""] * (text.count("\n") + 1)
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if ">>> " in block[1]:
            first = text.count("\n", 0, block.start(1))
            lines = block[1].splitlines()
            kept[first : first + len(lines)] = lines
    return "\n".join(kept) + "\n"


def failures(text: str, name: str) -> tuple[int, int]:
    """(failed, tried), the failures printed."""
    test = doctest.DocTestParser().get_doctest(examples(text), {}, name, name, 0)
    found = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    return found.failed, found.attempted


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_says_what_happens(page):
    failed, tried = failures(page.read_text(encoding="utf-8"), page.name)
    assert tried > 0
    assert failed == 0


def test_a_wrong_number_is_found():
    page = "# A page\n\n```python\n>>> 1 + 1\n3\n```\n\n```python\nnot run\n```\n"
    assert failures(page, "page") == (1, 1)
    assert failures(page.replace("3", "2"), "page") == (0, 1)
