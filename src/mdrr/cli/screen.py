"""What a command shows: tables and progress for people, JSON for machines.

Answers go to stdout; notes and progress go to stderr, so that answers can be piped.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from mdrr.display import counted as counted

T = TypeVar("T")
_PIPED_WIDTH = 120


def print_json(fields: Any) -> None:
    """Print JSON-ready values; the keys of a command's JSON do not change between releases."""
    print(json.dumps(fields, ensure_ascii=False, indent=2, allow_nan=False))


def finite(value: float | None) -> float | None:
    """A number as JSON can say it: ∞ is null."""
    return None if value is None or math.isinf(value) else value


def print_answer(fields: Any, text: str, *, as_json: bool) -> None:
    """Print an answer as JSON for machines or as a line for people."""
    if as_json:
        print_json(fields)
    else:
        print_text(text)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "", *, labels: int = 1
) -> None:
    """Print rows under headings, numbers to the right.

    A table too wide for the screen is cut between columns. Each part repeats the first ones, so
    many as `labels` says.
    """
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    listed = [list(row) for row in rows]
    texts = [[_text(value) for value in column] for column in zip(columns, *listed, strict=True)]
    sizes = [[Measurement.get(console, console.options, each) for each in some] for some in texts]
    longest = max(1, console.width // (labels + 1) - 4)  # so that one more column has room
    least = [min(max(s.minimum for s in some), longest) for some in sizes]  # words are kept whole
    parts = [[*range(labels)]]
    for j in range(labels, len(columns)):
        if len(parts[-1]) > labels and sum(least[i] + 3 for i in (*parts[-1], j)) >= console.width:
            parts.append([*range(labels)])
        parts[-1].append(j)
    for number, part in enumerate(parts):
        widths = {j: max(s.maximum for s in sizes[j]) for j in part}
        while sum(widths.values()) + 3 * len(part) >= console.width:
            wide = [j for j in part if widths[j] > least[j]]
            if not wide:
                break
            widths[max(wide, key=widths.__getitem__)] -= 1
        head = _text(title) if title and not number else None
        table = Table(title=head, title_justify="left", title_style="bold")
        for j in part:
            right = bool(listed) and all(isinstance(row[j], int | float) for row in listed)
            side: Any = "right" if right else "left"
            table.add_column(texts[j][0], justify=side, overflow="fold", width=widths[j])
        for i in range(1, len(listed) + 1):
            table.add_row(*(texts[j][i] for j in part))
        console.print(table)


def print_text(text: str | None) -> None:
    """Print what people read, if there is anything to say."""
    if text:
        print(printable(text))


def few(things: Sequence[T], most: int, show: Callable[[T], str] = str) -> str:
    """The first things in a row, and how many more there are.

    >>> few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(things) - most:,} more" if len(things) > most else ""
    return ", ".join(map(show, things[:most])) + more


def step(text: str) -> None:
    """Say now, on stderr, what is being done."""
    print(printable(text), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """A text that may come from elsewhere: an escape sequence in it is shown, not obeyed."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


_notes: list[str] = []


def note(text: str | None) -> None:
    """Say something, if anything, beside the answer: on stderr, once the command has succeeded."""
    if text:
        _notes.append(text)


def take_notes() -> list[str]:
    """What there is to say beside the answer; an error is said alone."""
    taken = _notes.copy()
    _notes.clear()
    return taken


@contextmanager
def progress(label: str) -> Iterator[Callable[[float], None]]:
    """A bar on stderr with the time left; gives a function that takes the share done, 0 to 1.

    Nothing is shown when stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda share: None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    columns = (*Progress.get_default_columns(), TextColumn("left "))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _text(value: object) -> Any:
    """A value as it stands: a name such as `[net] income` is no markup, an escape no command."""
    from rich.text import Text

    if isinstance(value, bool) or not isinstance(value, int | float):
        return Text(printable(str(value)))
    if isinstance(value, int):
        return Text(f"{value:,}")
    return Text(f"{value:,.4f}" if abs(value) < 1000 else f"{value:,.0f}")
