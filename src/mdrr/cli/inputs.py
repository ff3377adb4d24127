"""What commands read, with the file named in every error, and designs, which none replaces."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from filecmp import cmp
from functools import reduce
from itertools import combinations
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mdrr.cli.screen import few, note, progress
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.domain import Domain
    from mdrr.frozen import FrozenSurvey
    from mdrr.survey import Survey
    from mdrr.tallies import Keep, Tally

T = TypeVar("T")

SAVED = ".npz"
"""The ending of a saved estimate, a zip of NumPy arrays."""

_ENDINGS = {
    **dict.fromkeys((".csv", ".tsv", ".parquet", ".jsonl", ".gz"), "a table of people or reports"),
    ".arrow": "a tally",
    ".toml": "a survey file",
    SAVED: "a saved estimate",
}
_KINDS = {
    "a tally": {"mdrr-tally"},
    "a frozen survey": {"mdrr-survey"},
    "a design": {"mdrr", "questionnaires"},
    "a report": {"design", "questionnaire", "codes"},
    "a file of dependences": {"names", "values"},
    "a file of tables": {"tables"},
}
"""Kinds of JSON files, and the keys by which each is told."""

_MAKES = {
    "a design": "'mdrr design SURVEY --p 0.7 -o design.json' makes one",
    "a tally": "'mdrr tally REPORTS --design DESIGN -o tally.json' makes one",
    "a frozen survey": "'mdrr survey freeze survey.toml -o survey.json' makes one",
    "a survey file": "It is TOML and declares the attributes",
    "a file of dependences": "'mdrr dependence REPORTS --design DESIGN -o FILE' makes one",
    "a saved estimate": "'mdrr estimate REPORTS --design DESIGN -o estimate.npz' makes one",
}


def kind_of(path: Path) -> str | None:
    """What a file holds, as far as its name or its keys tell."""
    if kind := _ENDINGS.get(path.suffix.lower()):
        return kind
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    held = set(fields) if isinstance(fields, dict) else set()
    return next((kind for kind, keys in _KINDS.items() if keys <= held), None)


def load(path: Path, wanted: str, read: Callable[[Path], T]) -> T:
    """What `read` makes of a file; an error names the file, and says so when it is another kind."""
    try:
        return read(path)
    except UnicodeDecodeError:
        error: MdrrError = MdrrError("not text in UTF-8")
    except MdrrError as caught:
        error = caught
    from mdrr.files.streams import ZIPPED

    with path.open("rb") as file:
        if file.read(2) == ZIPPED:
            raise MdrrError(
                f"{path} is a gzip file, and {wanted} is read unzipped. Unzip it first, as in: "
                f"gunzip < {path} > plain{'.toml' if wanted == 'a survey file' else '.json'}"
            )
    kind = kind_of(path)
    if kind not in (None, wanted):
        raise MdrrError(f"{path} is {kind}, and {wanted} is needed here. {_MAKES[wanted]}")
    raise error if str(error).startswith(str(path)) else error.inside(str(path))


def load_design(path: Path) -> Design:
    """Read a design file."""
    from mdrr.design import Design

    return load(path, "a design", lambda p: Design.from_json(p.read_text(encoding="utf-8")))


def load_survey(path: Path) -> Survey:
    """Read a survey file."""
    from mdrr.survey import Survey

    return load(path, "a survey file", Survey.load)


def load_frozen(path: Path) -> FrozenSurvey:
    """Read a frozen survey."""
    from mdrr.frozen import FrozenSurvey

    return load(path, "a frozen survey", lambda p: FrozenSurvey.from_json(p.read_bytes()))


def about(design: Design) -> dict[str, Any]:
    """What the JSON of many commands says of a design."""
    return {
        "fingerprint": design.fingerprint,
        "epsilon": design.epsilon,
        "public": list(design.domain.public),
    }


def check_ending(out: Path | None, ending: str, what: str, *others: str) -> None:
    """Refuse to write a file under a name that says it is of another format."""
    if out is not None and (out.is_dir() or out.name in ("", "..")):
        raise MdrrError(
            f"{out} is a folder: {what}. Name a file, as in {str(out / f'new{ending}')!r}"
        )
    if out is not None and out.suffix.lower() not in (ending, *others):
        raise MdrrError(f"{out}: {what}. Name it {str(out.with_suffix(ending))!r}")


def keep_apart(
    out: Path | None,
    paths: Sequence[Path | None],
    design: Path | None = None,
    *,
    publishes: bool = False,
) -> None:
    """Refuse to write over what is read or over a design, and to read one file twice.

    With `publishes` a design is written, which `publish` keeps from replacing another.
    """
    seen: set[Path] = set()
    for path in filter(None, (*paths, design)):
        if out is not None and path.resolve() == out.resolve():
            raise MdrrError(f"{path} would be written over what is read; name another file with -o")
        if path.resolve() in seen:
            advice = "is named twice. Name each file once: reports named twice count twice"
            if path is design:
                kind = kind_of(path) or "no design"
                advice = f"is {kind}, and --design needs a design. {_MAKES['a design']}"
                if kind == "a design":
                    advice = "is a design, and is named in place of something else too"
            raise MdrrError(f"{path} {advice}")
        seen.add(path.resolve())
    if publishes:
        check_ending(out, ".json", "a design is JSON")
    elif out is not None and out.is_file() and (held := held_design(out)):
        raise MdrrError(
            f"{out} holds a design ({held[:12]}…), and reports made under it cannot be read "
            "without it. Nothing was written. Name another file"
        )


def write_json(path: Path, fields: Any) -> None:
    """Write to a file what `print_json` would print."""
    from mdrr.files import write_text

    write_text(path, json.dumps(fields, ensure_ascii=False, indent=2) + "\n")


def publish(path: Path, made: Design, *, force: bool = False, option: str = "-o") -> str:
    """Write a design and say so; a file that holds anything else is refused without `force`."""
    from mdrr.files import write_text

    if path.is_file() and not force:
        held = held_design(path)
        if held == made.fingerprint:
            return f"{path} holds this very design already and was left as it is."
        what = "is no design" if held is None else f"holds another design ({held[:12]}…)"
        why = "" if held is None else ", and reports made under it cannot be read without it"
        raise MdrrError(
            f"{path} {what}{why}. Nothing was written. Name another file with {option}, or replace "
            "it with --force"
        )
    write_text(path, made.to_json())
    return f"Wrote {path}. It is frozen: reports carry its fingerprint."


def held_design(path: Path) -> str | None:
    """The fingerprint of the design a file holds, or None when it holds none."""
    from mdrr.design import Design

    try:
        with path.open("rb") as file:
            if not file.read(64).lstrip().startswith(b"{"):  # spares reading large files
                return None
        return Design.from_json(path.read_text(encoding="utf-8")).fingerprint
    except (ValueError, RecursionError):
        return None


def read_groups(text: str, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Groups of attributes written 'a+b,c'; known names may hold these signs themselves.

    >>> read_groups("a+b, c", ["a", "b", "c"])
    (('a', 'b'), ('c',))
    >>> read_groups("town, if any + a", ["a", "town, if any"])
    (('town, if any', 'a'),)
    """
    known = "".join(f"{re.escape(name)}|" for name in sorted(names, key=len, reverse=True))
    groups: list[tuple[str, ...]] = [()]
    for name, sign in re.findall(rf"\s*({known}[^,+]*?)\s*(,|\+|$)", text):
        groups[-1] += (name,)
        if sign == ",":
            groups.append(())
        elif not sign:
            break
    return tuple(groups)


def load_domain(survey: Path | None, design: Path | None) -> Domain:
    """The domain that a survey file or a design file declares."""
    if survey is not None and design is None:
        return load_survey(survey).domain
    if design is not None and survey is None:
        return load_design(design).domain
    raise MdrrError("give --survey or --design to say what was asked, exactly one of them")


def load_tally(
    paths: Sequence[Path], design: Design, *, different_people: bool = False, keep: Keep = "auto"
) -> Tally:
    """Read and add up tallies (.json, .arrow), or files of reports, of which so much is kept.

    Unless they are of `different_people`, tallies mixed with reports, and equal files, are refused:
    a tally and the reports it was made of would count everybody twice.
    """
    from mdrr.files import read_tally, stated_fingerprint, tally_files

    others = (".json", ".arrow", ".toml", SAVED)  # what is no tally is refused by its kind
    tallies = [path for path in paths if path.suffix.lower() in others]
    reports = [path for path in paths if path not in tallies]
    for path in reports:
        if str(path) != "-":
            path.stat()  # a missing file is named before anything else is said
    if tallies and reports and not different_people:
        raise MdrrError(
            f"{tallies[0]} is a tally and {reports[0]} holds reports: if the tally was made of "
            "these reports, everybody would count twice. Leave one of them out or, if they are of "
            "different people, add them up with mdrr tally --different-people"
        )
    found = [load(path, "a tally", lambda p: read_tally(p, design)) for path in tallies]
    if not different_people:
        whole = [path for path in reports if path.is_file()]
        pairs = combinations(zip(tallies, found, strict=True), 2)
        alike = [(a, b, "tally") for (a, one), (b, other) in pairs if one == other]
        alike += [(a, b, "reports") for a, b in combinations(whole, 2) if cmp(a, b, shallow=False)]
        for one, other, what in alike:
            raise MdrrError(
                f"{one} and {other} hold the same {what}, so everybody would count twice. If they "
                "are of different people, add them up with mdrr tally --different-people"
            )
    silent = [path for path in reports if stated_fingerprint(path) is None]
    if silent:
        note(f"Note: {few(silent, 1)} does not say its design, so it is taken on trust")
    if reports:
        with progress("Tallying") as advance:
            found.append(tally_files(reports, design, advance, keep=keep))
    return plausible(reduce(add, found), design)


def plausible(tally: Tally, design: Design) -> Tally:
    """The tally; what makes it doubtful is noted."""
    from mdrr.plausibility import doubts

    for doubt in doubts(tally, design):
        note(f"Warning: {doubt}")
    return tally
