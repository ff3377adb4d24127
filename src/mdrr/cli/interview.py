"""Asking one person in the terminal, and showing what leaves in the survey's words."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mdrr.cli.screen import step
from mdrr.errors import MdrrError
from mdrr.response import Report

if TYPE_CHECKING:
    from mdrr.survey import Question

Words = Mapping[str, tuple[str, tuple[str, ...]]]
"""The question and the answers to choose from, by attribute."""


def words_of(questions: Iterable[Question]) -> Words:
    """The words in which questions are asked."""
    return {q.attribute.name: (q.text, q.answers) for q in questions}


def agreed(question: str) -> bool:
    """Whether a person types yes; whatever else she types is no."""
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() == "yes"


class Interview(Mapping[str, Any]):
    """A record that asks for an answer when the randomizer needs it, and keeps none."""

    def __init__(
        self, design: Mapping[str, Any], words: Words, sent: str = "nothing was sent"
    ) -> None:
        self._labels = {a["name"]: a["categories"] for a in design["attributes"]}
        self._words, self._sent = words, sent

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, name: str) -> Any:
        labels = self._labels[name]
        question, texts = self._words[name]
        step(f"\n{question}")
        for number, text in enumerate(texts, start=1):
            step(f"  {number}. {text}")
        while True:
            print(f"1 to {len(labels)}: ", end="", file=sys.stderr, flush=True)
            typed = sys.stdin.readline()
            if not typed:
                raise MdrrError(f"the answers ended early; {self._sent}")
            if typed.strip().isdecimal() and 1 <= int(typed) <= len(labels):
                return labels[int(typed) - 1]


def leaving(design: Mapping[str, Any], report: Report, words: Words) -> list[str]:
    """What leaves, as lines in the words of the questions."""
    lines = ["", "This leaves. It may or may not be what you answered:"]
    clusters = design["questionnaires"][report.questionnaire]["clusters"]
    for cluster, code in zip(clusters, report.codes, strict=True):
        names, matrix = cluster["attributes"], cluster["matrix"]
        cells = _cells(matrix, code)
        if matrix["kind"] in ("constant", "public", "dense") and cells:
            for name, label in zip(names, _labels(names, cells[0], words), strict=True):
                lines.append(f"  {words[name][0]}: {label}")
            continue
        read = [" + ".join(_labels(names, cell, words)) for cell in cells]
        if not read:
            text = f"sign number {code}"
        elif matrix["kind"] == "banded":
            text = read[0] if len(read) == 1 else f"between: {read[0]} – {read[-1]}"
        else:
            text = f"one of: {' · '.join(read)}"
        lines.append(f"  {' + '.join(words[name][0] for name in names)}: {text}")
    return lines


def _labels(names: list[str], cell: int, words: Words) -> list[str]:
    """The answers in a cell, the first attribute most significant."""
    found = []
    for name in reversed(names):
        cell, place = divmod(cell, len(words[name][1]))
        found.append(words[name][1][place])
    return found[::-1]


def _cells(matrix: Mapping[str, Any], code: int) -> list[int]:
    """The true cells that a code speaks for; none if it is a mere sign."""
    if matrix["kind"] == "banded":
        return [x for x in range(matrix["cells"]) if x <= code <= x + 2 * matrix["width"]]
    if matrix["kind"] == "subset":
        codes, block = matrix["codes"], set(matrix["block"])
        return [x for x in range(matrix["cells"]) if (x - code) % codes in block]
    if matrix["kind"] == "dense" and len(matrix["weights"]) != len(matrix["weights"][0]):
        return []
    return [code]
