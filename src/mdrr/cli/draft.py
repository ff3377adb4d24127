"""`mdrr survey init`, `check`, `preview`, `freeze`: from a table of people to a frozen survey."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer import Argument, Option

from mdrr.cli.inputs import about, check_ending, keep_apart, load_design, load_survey
from mdrr.cli.options import AsJson, Language, Out
from mdrr.cli.screen import counted, few, note, print_json, print_table, print_text
from mdrr.columns import require
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    import polars as pl

    from mdrr.design import Design
    from mdrr.misfits import Misfit
    from mdrr.survey import Survey

_MOST_ROWS = 10_000

DraftFile = Annotated[Path, Argument(help="The survey file (TOML).")]


def init(
    people: Annotated[Path, Argument(help="People (CSV or TSV): a column per question.")],
    out: Out,
    title: Annotated[str | None, Option(help="Its title. Default: the file's name.")] = None,
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Draft a survey file from the columns of a table and their types."""
    from mdrr.draft import LEAK, draft
    from mdrr.files import write_text
    from mdrr.survey import Survey

    keep_apart(out, [people])
    check_ending(out, ".toml", "a survey file is TOML")
    if out.exists() and not force:
        raise MdrrError(f"{out} exists. Name another file with -o, or replace it with --force")
    made = draft(_read_table(people), title or people.stem)
    Survey.from_toml(made.text, str(out))
    write_text(out, made.text)
    print_text(f"Wrote {out}, {counted(len(made.asked), 'question')}: {', '.join(made.asked)}.")
    for name, why in made.left:
        print_text(f"Left out {name!a}: {why}.")
    if made.read:
        note(f"WARNING: {LEAK} This concerns {', '.join(map(ascii, made.read))}")
    print_text(f"Edit it, then: mdrr survey check {out}")


def check(
    survey: DraftFile,
    people: Annotated[
        Path | None, Argument(help="True records (CSV, TSV or Parquet) to check against it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List everything that is wrong with a survey file, or with a file of people. Exit code 1."""
    from mdrr.misfits import misfits
    from mdrr.survey import problems

    try:
        found = problems(survey.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        found = ["not text in UTF-8. Save it as UTF-8"]
    except RecursionError:
        found = ["nested too deeply to be read"]
    read = None if found else load_survey(survey)
    bad: list[Misfit] = []
    if people is not None and read is not None:
        table, bad = _read_what_can_be(people)
        broken = {row for each in bad for row in each.rows}
        if table is not None:
            bad += misfits(table, read.domain, leave_out=broken)
    advice = [] if read is None else _advice(read)
    header = 0 if people is None or people.suffix.lower() in (".parquet", ".pq") else 1
    if as_json:
        rows = [
            {
                "attribute": each.attribute or None,
                "problem": each.what,
                "people": len(each.rows),
                "rows": [row + header for row in each.rows[:_MOST_ROWS]],
            }
            for each in bad
        ]
        print_json({"problems": found, "people": rows, "advice": advice})
    else:
        for problem in found:
            print_text(f"{survey}: {problem}")
        for each in bad:
            print_text(f"{people}: {_said(each, header)}")
        for line in advice:
            print_text(f"Advice: {line}")
        if people is not None and read is None:
            print_text(f"{people} was not checked: the survey file comes first.")
        wrong = len(found) + len(bad)
        print_text(f"{counted(wrong, 'problem')}." if wrong else "No problems.")
    if found or bad:
        raise typer.Exit(1)


def preview(survey: DraftFile, language: Language = None) -> None:
    """Show the survey as people would read it, and what its design is expected to do."""
    read = load_survey(survey)
    shown = read if language is None else read.spoken(language)
    for text in (shown.title, shown.introduction, shown.purpose, shown.retention, shown.contact):
        if text:
            print_text(f"{text}\n")
    for number, question in enumerate(shown.questions, start=1):
        public = "  (not randomized: sent as it is)" if question.attribute.public else ""
        print_text(f"{number} of {len(shown.questions)}. {question.text}{public}")
        for label in question.answers:
            print_text(f"   ( ) {label}")
        print()
    if shown.consent:
        print_text(f"[ ] {shown.consent}\n")
    if read.settings is None:
        note(f"{survey} has no [design], so nothing can be said of privacy and error")
        return
    if read.settings.protocol != "planned":
        design = read.settings.make(read.domain)
    else:
        plan = read.settings.plan(read.domain)
        design = plan.design
        rows = [
            [c.name, f"{c.predicted.error:.3g}", f"{c.predicted.forged:.3g}"]
            for c in plan.candidates
        ]
        heads = ["design", "predicted error", "one forged answer"]
        print_table(heads, rows, title=f"The plan, for {plan.n:,} people at ε = {plan.epsilon:g}")
        print_text(plan.ranking)
    say_design(design, read.settings.people)


def freeze(
    survey: DraftFile,
    out: Out,
    design: Annotated[
        Path | None,
        Option("--design", "-d", help="A design (JSON) instead of the file's [design]."),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace another frozen survey.")] = False,
    as_json: AsJson = False,
) -> None:
    """Plan the survey and freeze it: what is written never changes, and everything reads it."""
    from mdrr.files import write_text
    from mdrr.frozen import freeze as make

    keep_apart(out, [survey], design)
    check_ending(out, ".json", "a frozen survey is JSON")
    if out.exists() and not force:
        raise MdrrError(
            f"{out} exists. Answers are collected under what it holds. Name another file with -o, "
            "or replace it with --force"
        )
    read = load_survey(survey)
    frozen = make(read, None if design is None else load_design(design))
    write_text(out, frozen.to_json())
    if as_json:
        fields = {"out": str(out), "id": frozen.id, "words": frozen.words, **about(frozen.design)}
        print_json({**fields, "predicted": dict(frozen.predicted)})
        return
    people = read.settings.people if read.settings else None
    say_design(frozen.design, people)
    for line in _advice(read):
        note(f"Advice: {line}")
    print_text(f"Wrote {out}: survey {frozen.id}, fingerprint {frozen.design.fingerprint}.")
    print_text(f"Its words have the fingerprint {frozen.words}.")
    print_text("It is frozen. Give people both fingerprints by a second way if you can.")
    print_text(f"Next: mdrr survey open {out} --invitations {people or 100}")


def say_design(design: Design, people: int | None) -> None:
    """Print ε, what is outside it, the predicted error, and what a forged answer weighs."""
    from mdrr.frozen import predictions
    from mdrr.planning.predict import GUESSED, GUESSWORK
    from mdrr.privacy import in_words

    print_text(f"One person spends ε = {design.epsilon:.4f} at most.")
    print_text(design.outside)
    found: dict[str, Any] = predictions(design, people)
    if not found:
        print_text("Say people = … under [design] to have the error predicted.")
    else:
        alone, together = found["alone"], found["together"]
        kinds = ""
        if alone is not None and together is not None:
            kinds = f" (single questions {alone:.1%}, pairs {together:.1%})"
        print_text(
            f"With {people:,} people a typical count errs by {found['error']:.1%}{kinds}, the "
            f"worst table by {found['worst']:.1%}."
        )
        print_text(
            f"One forged answer adds at most {found['forged']:.3g} people to a count. Invitations "
            "limit everybody to one answer."
        )
        if found["guess"] > GUESSWORK:
            print_text(GUESSED)
    for sentence in in_words(design):
        print_text(f"• {sentence}")


def _advice(read: Survey) -> list[str]:
    """What a survey should say to the people it asks, and does not."""
    wanted = {
        "purpose": "what the answers are for",
        "consent": "what people agree to",
        "retention": "how long the randomized answers are kept",
        "contact": "whom people can ask",
    }
    if "purpose" in read.consent.lower():
        wanted["purpose"] += ": people agree to this purpose, and it is empty"
    found = [f"say {why} ({key} = …)" for key, why in wanted.items() if not getattr(read, key)]
    if read.settings is None:
        found.append("say how to make the design ([design])")
    bare = [q.attribute.name for q in read.questions if q.text == q.attribute.name]
    if bare:
        found.append(f"ask in people's words (question = …): {few(bare, 8, ascii)}")
    bins = [
        attribute.name
        for attribute, labels in ((q.attribute, q.labels) for q in read.questions)
        if attribute.edges and set(labels) & {*attribute.categories} - {attribute.missing}
    ]
    if bins:
        found.append(
            f"say what bins such as [18, 65) mean to people (labels = …): {few(bins, 8, ascii)}"
        )
    return found + [
        f"translate into {other.language!r}: {few(same, 8, ascii)}"
        for other in read.translations
        if (same := _untranslated(read, other))
    ]


def _untranslated(read: Survey, other: Survey) -> list[str]:
    """The texts and questions that say in two languages the same words."""
    from mdrr.survey import TEXTS

    def same(one: str, two: str) -> bool:
        return one == two and any(letter.isalpha() for letter in one)

    found = [
        key for key in TEXTS if key != "contact" and same(getattr(read, key), getattr(other, key))
    ]
    for mine, theirs in zip(read.questions, other.questions, strict=True):
        words = zip((mine.text, *mine.labels), (theirs.text, *theirs.labels), strict=True)
        if any(same(one, two) for one, two in words):
            found.append(mine.attribute.name)
    return found


def _read_table(path: Path) -> pl.DataFrame:
    """A table of people as a Polars frame; an error repeats nothing that the file holds."""
    from mdrr.misfits import misplaced

    if not _named(path).endswith((".csv", ".tsv")):
        raise MdrrError(f"{path}: give the people as CSV or TSV")
    content, separator = _content(path)
    found = misplaced(content, separator)
    if found:
        raise MdrrError(f"{path}: {'; '.join(_said(each, 1) for each in found)}")
    return _csv(content, separator, infer_schema_length=None)


def _read_what_can_be(path: Path) -> tuple[pl.DataFrame | None, list[Misfit]]:
    """What can be read of a table, as text, and what is wrong with it."""
    from mdrr.misfits import Misfit, misplaced

    polars = require("polars", "frames")
    if _named(path).endswith((".parquet", ".pq")):
        try:
            return polars.read_parquet(path), []
        except polars.exceptions.PolarsError:
            return None, [Misfit("", "this is no Parquet file")]
    if not _named(path).endswith((".csv", ".tsv")):
        raise MdrrError(f"{path}: give the people as CSV, TSV or Parquet")
    content, separator = _content(path)
    found = misplaced(content, separator)
    lossy = {"infer_schema": False, "truncate_ragged_lines": True, "encoding": "utf8-lossy"}
    try:
        table = _csv(content, separator, **lossy)
    except MdrrError:
        if not found:
            raise
        return None, found
    return (None if found and table.width == 1 else table), found


def _named(path: Path) -> str:
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file", str(path))
    if path.is_dir():
        raise MdrrError(f"{path} is a folder. Name the file with the people")
    return path.name.lower().removesuffix(".gz")


def _content(path: Path) -> tuple[bytes, str]:
    """The text of a table, unzipped, and what stands between its fields."""
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            raise MdrrError(f"{path} is zipped, and not whole. Copy it again") from None
    return content, "\t" if _named(path).endswith(".tsv") else ","


def _csv(content: bytes, separator: str, **options: Any) -> pl.DataFrame:
    polars = require("polars", "frames")
    try:
        table = cast("pl.DataFrame", polars.read_csv(content, separator=separator, **options))
    except polars.exceptions.PolarsError:
        raise MdrrError("the people cannot be read as a table. Write it as CSV anew") from None
    # Polars leaves quotes in names doubled, as in "a""b".
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", "replace", newline="")
    try:
        names = next(csv.reader(text, delimiter=separator), [])
    except csv.Error:
        names = []
    if len(names) == table.width == len(set(names)):
        table.columns = names
    return table


def _said(each: Misfit, header: int) -> str:
    """What is wrong, for people: with its rows, as the file counts them."""
    about = f"{each.attribute!a}: " if each.attribute else ""
    rows = few(each.rows, 10, lambda row: f"{row + header:,}")
    where = f"row{'s' if len(each.rows) > 1 else ''} {rows}: " if rows else ""
    return f"{about}{where}{each.what}"
