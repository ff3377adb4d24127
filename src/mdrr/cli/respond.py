"""`mdrr respond`: one person answers in the terminal; only her randomized report leaves.

Uses the single-record randomizer alone, on the standard library.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mdrr.cli.options import DesignFile, MaybeOut, SurveyFile
from mdrr.errors import DesignError, MdrrError
from mdrr.respondent import check
from mdrr.respondent import respond as randomize
from mdrr.response import Report

EXAMPLE = "mdrr respond --design design.json --survey examples/adult.toml"


def respond(design: DesignFile, survey: SurveyFile = None, out: MaybeOut = None) -> None:
    """Answer a survey in the terminal and see what would be sent. True answers are not stored."""
    published = _read(design)
    report = randomize(_Asking(published, _words(survey, published)), published)
    for line in _in_words(published, report):
        print(line, file=sys.stderr)
    if out is None:
        print(report.to_json())
        return
    from mdrr.files.whole import write_text

    write_text(out, report.to_json() + "\n")
    print(f"Wrote {out}.", file=sys.stderr)


class _Asking(Mapping[str, Any]):
    """A record that asks for an answer when the randomizer needs it, and keeps none."""

    def __init__(self, design: Mapping[str, Any], words: Mapping[str, Any]) -> None:
        self._labels = {a["name"]: a["categories"] for a in design["attributes"]}
        self._words = words

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, name: str) -> Any:
        labels = self._labels[name]
        question, texts = self._words.get(name, (name, [str(label) for label in labels]))
        print(f"\n{question}", file=sys.stderr)
        for number, text in enumerate(texts, start=1):
            print(f"  {number}. {text}", file=sys.stderr)
        while True:
            print(f"1 to {len(labels)}: ", end="", file=sys.stderr, flush=True)
            typed = sys.stdin.readline()
            if not typed:
                raise MdrrError("the answers ended early; nothing was sent")
            if typed.strip().isdecimal() and 1 <= int(typed) <= len(labels):
                return labels[int(typed) - 1]


def _read(path: Path) -> dict[str, Any]:
    try:
        design = json.loads(path.read_text(encoding="utf-8"))
        check(design)
    except MdrrError as error:
        raise DesignError(f"{path}: {error}") from None
    except ValueError:
        raise DesignError(f"{path}: not a design, which is a JSON file") from None
    return dict(design)


def _words(survey: Path | None, design: Mapping[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """The survey's words for the design's questions."""
    if survey is None:
        return {}
    from mdrr.survey import Survey

    questions = Survey.load(survey).questions
    asked = {q.attribute.name: list(q.attribute.categories) for q in questions}
    for attribute in design["attributes"]:
        if asked.get(attribute["name"]) != attribute["categories"]:
            raise DesignError(f"{survey}: not the survey of this design, see {attribute['name']!r}")
    return {q.attribute.name: (q.text, list(q.labels)) for q in questions}


def _in_words(design: Mapping[str, Any], report: Report) -> list[str]:
    """What leaves, as labels."""
    labels = {a["name"]: a["categories"] for a in design["attributes"]}
    lines = ["", "This leaves. It may or may not be what you answered:"]
    clusters = design["questionnaires"][report.questionnaire]["clusters"]
    for cluster, code in zip(clusters, report.codes, strict=True):
        if cluster["matrix"]["kind"] not in ("constant", "dense"):
            lines.append(f"  {' + '.join(cluster['attributes'])}: the number {code}")
            continue
        sent = []
        for name in reversed(cluster["attributes"]):
            code, place = divmod(code, len(labels[name]))
            sent.append(f"  {name}: {labels[name][place]}")
        lines += reversed(sent)
    return lines
