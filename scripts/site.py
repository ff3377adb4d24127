"""What `mkdocs build` does beside building.

Links that leave docs/ become the names of their files: on the site there is no source code to link
to. Examples in docstrings become blocks of code. Every command of the page on the command line gets
a table of its options, from the command itself.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from typer import Context
from typer.main import get_command

from mdrr.cli import make_app

DOCS = Path(__file__).resolve().parents[1] / "docs"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write `[text](../src/file.py)` as text (`src/file.py`); list the options of commands."""
    if page.file.src_path == "cli.md":
        markdown = with_options(markdown)
    return inside(markdown, DOCS / page.file.src_path)


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command that can be run, such as `survey init`, and what Typer knows of it."""
    group = get_command(make_app()) if group is None else group
    context = Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def options(command: Any) -> Iterator[tuple[str, str]]:
    """The options of a command with their help; what is not an option stands in its usage."""
    for parameter in command.params:
        names = [*parameter.opts, *parameter.secondary_opts]
        if names[0].startswith("-"):
            yield ", ".join(f"`{name}`" for name in names), " ".join((parameter.help or "").split())


def with_options(markdown: str) -> str:
    """The page with a table of options below every section `## mdrr COMMAND`."""
    tables: dict[str, list[str]] = {}
    for name, command in commands():
        rows = [
            f"| {names} | {words.replace('|', chr(92) + '|')} |"
            for names, words in options(command)
        ]
        head = [f"| options of `mdrr {name}` | |", "|---|---|"]
        tables.setdefault(name.split()[0], []).append("\n".join([*head, *rows, ""]) if rows else "")
    parts = re.split(r"^(?=## )", markdown, flags=re.MULTILINE)
    made = []
    for part in parts:
        found = re.match(r"## mdrr ([\w-]+)\n", part)
        listed = "\n".join(filter(None, tables.get(found[1], []))) if found else ""
        made.append(f"{part.rstrip()}\n\n{listed}\n" if listed else part)
    return "".join(made)


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
