"""What `mkdocs build` does beside building.

Links that leave docs/ become the names of their files: on the site there is no source code to link
to. Examples in docstrings become blocks of code.
"""

import re
from pathlib import Path
from typing import Any

import griffe

DOCS = Path(__file__).resolve().parents[1] / "docs"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write `[text](../src/file.py)` as text (`src/file.py`)."""
    return inside(markdown, DOCS / page.file.src_path)


def inside(markdown: str, page: Path) -> str:
    """Links to files outside docs/ as text; those within docs/, and broken ones, as they are."""

    def plain(link: re.Match[str]) -> str:
        target = (page.parent / link[2].partition("#")[0]).resolve()
        if target.is_relative_to(DOCS) or not target.exists():
            return link[0]
        name = target.relative_to(DOCS.parent).as_posix()
        return link[1] if name in link[1] else f"{link[1]} (`{name}`)"

    return re.sub(r"\[([^\]]+)\]\((\.\./[^)\s]+)\)", plain, markdown)


class Doctests(griffe.Extension):
    """Shows the `>>>` lines of docstrings, and what they print, as code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a function, class or module."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Fences around every run of lines from `>>>` to the next empty one."""
    lines: list[str] = []
    indent: str | None = None
    for line in [*text.splitlines(), ""]:
        if indent is None and line.lstrip().startswith(">>> "):
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(f"{indent}```python")
        elif indent is not None and not line.strip():
            lines.append(f"{indent}```")
            indent = None
        lines.append(line)
    return "\n".join(lines[:-1])
