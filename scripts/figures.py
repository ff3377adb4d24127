"""Draw the figures of the pages, docs/img/*.svg: `make picture`. Every number is a library call's.

A figure holds the numbers that it draws as JSON, so that a test can compare them.
"""

import io
import json
import re
from collections.abc import Callable, Sequence
from contextlib import chdir
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import mdrr
from mdrr.auditing import samples
from mdrr.frozen import freeze
from mdrr.plots import style, to_svg
from mdrr.plots.style import COLOURS, alt, chart_of, layered
from mdrr.privacy import belief
from mdrr.server.findings import raw_shares

DOCS = Path(__file__).resolve().parents[1] / "docs"
IMAGES = DOCS / "img"
WIDTH, HEIGHT, MARGIN = 400, 220, 12
ROLES = ("estimate", "truth", "second", "third")
DASHES = ([1, 0], [7, 3], [2, 2], [10, 3, 2, 3])
Rows = list[dict[str, Any]]


class Figure(NamedTuple):
    """What a figure shows, how it is drawn, and its page."""

    page: str
    words: str
    rows: Callable[[], Rows]
    chart: Callable[[Rows], Any]


def lines(rows: Rows, x: Any, y: Any, *, points: bool, labels: Sequence[dict[str, Any]]) -> Any:
    """Curves told apart by colour, by dashes and by words beside them."""
    names = list(dict.fromkeys(row["curve"] for row in rows))
    roles = [COLOURS[role] for role in ROLES[: len(names)]]
    colour = alt.Color("curve:N", scale=alt.Scale(domain=names, range=roles), legend=None)
    dashes = alt.Scale(domain=names, range=list(DASHES[: len(names)]))
    base = chart_of(rows).encode(x=x, y=y, color=colour)
    dash = alt.StrokeDash("curve:N", scale=dashes, legend=None)
    drawn = [base.mark_line(strokeWidth=2.5).encode(strokeDash=dash)]
    if points:
        drawn.append(base.mark_circle(size=44, opacity=1))
    beside = chart_of(list(labels)).encode(x=x, y=y, color=colour)
    drawn.append(beside.mark_text(align="left", dx=8, fontSize=12).encode(text="curve:N"))
    return layered(drawn, width=WIDTH, height=HEIGHT)


def powers(channel: Any, title: str, values: Sequence[float], ends: Sequence[float]) -> Any:
    """A logarithmic axis."""
    axis = alt.Axis(values=list(values), format="~g" if values[0] < 1 else ",")
    return channel(title=title, scale=alt.Scale(type="log", domain=list(ends)), axis=axis)


def last_of_each(rows: Rows) -> Rows:
    """Where the words of a curve stand: at its end."""
    return list({row["curve"]: row for row in rows}.values())


def beliefs() -> Rows:
    """What an onlooker can believe at most, against ε."""
    return [
        {"curve": f"{prior:.0%} before", "x": k / 10, "y": 100 * belief(prior, k / 10).high}
        for prior in (0.5, 0.1)
        for k in range(81)
    ]


def draw_beliefs(rows: Rows) -> Any:
    """One curve for each guess."""
    x = alt.X(
        "x:Q", title="ε", scale=alt.Scale(domain=[0, 8]), axis=alt.Axis(values=list(range(9)))
    )
    y = alt.Y("y:Q", title="the guess is right, at most (%)", scale=alt.Scale(domain=[0, 100]))
    labels = [row | {"y": row["y"] - 8} for row in rows if row["x"] == 0.9]
    return lines(rows, x, y, points=False, labels=labels)


def planned() -> Rows:
    """The predicted error of the survey of docs/howto/plan.md."""
    text = (DOCS / "howto" / "plan.md").read_text(encoding="utf-8")
    [block] = re.findall(r">>> domain = (mdrr\.Domain\(.*?\n)>>> ", text, re.DOTALL)
    domain = eval(block.replace("\n...", "\n"), {"mdrr": mdrr})
    return [
        {"curve": f"ε = {epsilon:g}", "x": people, "y": 100 * error}
        for epsilon in (0.5, 1, 2, 4)
        for people in (1_000, 3_000, 10_000, 30_000, 100_000)
        for error in [mdrr.plan(domain, n=people, epsilon=epsilon).best.predicted.error]
    ]


def draw_planned(rows: Rows) -> Any:
    """One line for each ε."""
    people = sorted({row["x"] for row in rows})
    x = powers(partial(alt.X, "x:Q"), "people", people, (people[0], people[-1]))
    errors = (0.5, 1, 2, 5, 10, 20, 50)
    y = powers(partial(alt.Y, "y:Q"), "predicted error of a count (%)", errors, (0.25, 50))
    return lines(rows, x, y, points=True, labels=last_of_each(rows))


def rehearsed() -> Rows:
    """One answer of the tutorial's survey: the tutorial's own program and survey file, seeded."""
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    [invent] = re.findall(r'^```python title="invent.py"\n(.*?)^```$', text, re.M | re.DOTALL)
    [survey] = re.findall(r'^```toml title="survey.toml"\n(.*?)^```$', text, re.M | re.DOTALL)
    with TemporaryDirectory() as folder, chdir(folder):
        Path("survey.toml").write_text(survey, encoding="utf-8")
        exec(compile(invent, "invent.py", "exec"), {})
        people = pl.read_csv(io.BytesIO(Path("invented.csv").read_bytes()))
        design = freeze(mdrr.Survey.load("survey.toml")).design
    reports = mdrr.randomize(people, design, source=mdrr.SeededSource("tutorial"))
    tally = mdrr.tally(reports, design)
    found, sent = mdrr.estimate(tally, design).table("exhausted"), raw_shares(tally, design)
    return [
        {
            "label": answer,
            "value": 100 * float(found.values[i]),
            "low": 100 * float(found.low[i]),
            "high": 100 * float(found.high[i]),
            "sent": 100 * (sent["exhausted"] or [])[i],
            "truth": 100 * float((people["exhausted"] == answer).mean()),
        }
        for i, answer in enumerate(design.domain.attribute("exhausted").categories)
    ]


def draw_rehearsed(rows: Rows) -> Any:
    """Three marks for each answer, and an interval."""
    axis = alt.Axis(ticks=False, domain=False, grid=False)
    order = [row["label"] for row in rows]
    y = alt.Y("label:N", sort=order, title="too exhausted", axis=axis)
    names = {"as sent": "sent", "estimate, with interval": "value", "truth": "truth"}
    marks = [
        {"label": row["label"], "what": what, "x": row[key]}
        for row in rows
        for what, key in names.items()
    ]
    x = alt.X("x:Q", title="% of people", scale=alt.Scale(domain=[0, 50]))
    colours = [COLOURS[role] for role in ("muted", "estimate", "truth")]
    colour = alt.Color("what:N", title=None, scale=alt.Scale(domain=list(names), range=colours))
    shapes = alt.Scale(domain=list(names), range=["cross", "circle", "diamond"])
    legend = alt.Legend(orient="top", symbolSize=90)
    bars = chart_of(rows).mark_bar(height=9, opacity=0.35, color=COLOURS["estimate"])
    points = chart_of(marks).mark_point(filled=True, opacity=1, size=90).encode(
        x=x, y=y, color=colour.legend(legend), shape=alt.Shape("what:N", title=None, scale=shapes)
    )  # fmt: skip
    drawn = [bars.encode(x=alt.X("low:Q"), x2="high:Q", y=y), points]
    return layered(drawn, width=WIDTH, height=44 * len(rows))


def audited() -> Rows:
    """The lower bound on ε from samples, of a sound randomizer and of one with a fault."""
    domain = mdrr.Domain((mdrr.Attribute("smokes", ("no", "yes")),))
    design, louder = (mdrr.independent(domain, epsilon=epsilon) for epsilon in (1.0, 1.2))
    rows = []
    for name, sampled in (("keeps its claim", design), ("sends the truth too often", louder)):
        for n in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000):

            def run(codes: Any, claimed: mdrr.Design, _: Any, sampled: Any = sampled) -> Any:
                made = mdrr.randomize_codes(codes, sampled, mdrr.SeededSource(4))
                return replace(made, fingerprint=claimed.fingerprint)

            found = samples.empirical(run, design, "bulk", n, alpha=1e-4)
            rows.append({"curve": name, "x": n, "y": found.epsilon})
    return rows


def draw_audited(rows: Rows) -> Any:
    """Two curves, and the claim as a level line."""
    reports = (1_000, 10_000, 100_000, 1_000_000)
    x = powers(partial(alt.X, "x:Q"), "reports sampled", reports, (reports[0], reports[-1]))
    y = alt.Y("y:Q", title="lower bound on ε", scale=alt.Scale(domain=[0.6, 1.25]))
    claim = chart_of([{"y": 1.0, "text": "the claim, ε = 1"}])
    rule = claim.mark_rule(color=COLOURS["ink"], strokeWidth=1.5).encode(y=y)
    words = style.words(claim, "text:N").encode(x=alt.value(WIDTH + 8), y=y)
    labels = [row | {"y": row["y"] - 0.05} for row in rows if row["x"] == 30_000]
    curves = lines(rows, x, y, points=True, labels=labels)
    return layered([*curves.layer, rule, words], width=WIDTH, height=HEIGHT)


FIGURES = {
    "belief.svg": Figure(
        "howto/choose-epsilon.md",
        "Two rising curves: how sure an onlooker can be after a report, against ε. A guess that "
        "was right in 50 of 100 cases can be near certain at ε = 4, one that was right in 10 "
        "of 100 cases at ε = 6",
        beliefs,
        draw_beliefs,
    ),
    "plan.svg": Figure(
        "howto/plan.md",
        "Four falling lines, one for each ε: the predicted error of a count against the number of "
        "people. More people have a smaller error, and so has a larger ε",
        planned,
        draw_planned,
    ),
    "tutorial.svg": Figure(
        "tutorial.md",
        "For each answer the share as sent, the estimate with its interval, and the truth. The "
        "truth lies in every interval. The shares as sent lie nearer to each other than the "
        "true ones",
        rehearsed,
        draw_rehearsed,
    ),
    "audit.svg": Figure(
        "audit.md",
        "Two rising curves and a level line, the claim ε = 1. The bound of a sound randomizer "
        "comes close to the line from below. The bound of one that sends the truth too often "
        "crosses it",
        audited,
        draw_audited,
    ),
}  # fmt: skip


def drawn(figure: Figure) -> str:
    """A figure as an SVG file, readable on light and dark pages: it brings its own background."""
    rows = figure.rows()
    svg = to_svg(figure.chart(rows).properties(padding=MARGIN), figure.words)
    held = json.dumps([{k: rounded(v) for k, v in row.items()} for row in rows], ensure_ascii=False)
    head, body = svg.split("</title>", 1)
    return (
        head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        + f"</title><metadata>{held}</metadata>"
        + '<rect width="100%" height="100%" rx="10" fill="#ffffff"/>'
        + f"{body}\n"
    )


def rounded(value: Any) -> Any:
    """A number to six digits."""
    return float(f"{value:.6g}") if isinstance(value, float | np.floating) else value


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, figure in FIGURES.items():
        (IMAGES / name).write_text(drawn(figure), encoding="utf-8")
