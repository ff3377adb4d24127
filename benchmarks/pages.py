"""What the pages of results are written with: Markdown tables, prose in lines, and ranges."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Sequence


def table(
    heads: Sequence[object], rows: Iterable[Sequence[object]], texts: Collection[int] = (0,)
) -> str:
    """A Markdown table. Columns at the places in `texts` hold words, all others numbers.

    >>> print(table(["name", "n"], [["a", 1]]))
    | name | n |
    |---|--:|
    | a | 1 |
    """
    first, *others = (f"| {' | '.join(map(str, cells))} |" for cells in (heads, *rows))
    kinds = ("---|" if place in texts else "--:|" for place in range(len(heads)))
    return "\n".join([first, "|" + "".join(kinds), *others])


def wrapped(part: str) -> str:
    """Prose in lines of a hundred characters; tables and headings as they are."""
    blocks = []
    for block in part.split("\n\n"):
        if block.startswith(("|", "#")):
            blocks.append(block)
        else:
            indent = "  " if block.startswith("- ") else ""
            text = " ".join(block.split())
            blocks.append(
                textwrap.fill(text, 100, subsequent_indent=indent, break_on_hyphens=False)
            )
    return "\n\n".join(blocks)


def span(numbers: Collection[int], between: str = " to ") -> str:
    """The least and the largest of some numbers, or the one that they are.

    >>> span([3, 5, 4]), span([2, 2])
    ('3 to 5', '2')
    """
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low}{between}{high}"
