"""Draw docs/img/flow.svg, the README's picture: `make picture`. Its numbers are those of a run."""

import math
from html import escape
from pathlib import Path

import numpy as np

import mdrr

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "img" / "flow.svg"
PEOPLE, TRUE_YES, EPSILON = 10_000, 2_000, 1.0
INK, MUTED, LINE, BLUE, ORANGE = "#1b2430", "#5f6b7a", "#c9d1da", "#0072b2", "#d55e00"
WIDTH, HEIGHT, PANEL, GAP = 860, 232, 182, 36


def simulated() -> dict[str, float]:
    """What 10,000 people send if 2,000 of them would have to say yes, and the estimate from it."""
    domain = mdrr.Domain((mdrr.Attribute("answer", ("no", "yes")),))
    design = mdrr.independent(domain, epsilon=EPSILON)
    truth = (np.arange(PEOPLE) < TRUE_YES).astype(np.uint8)
    sent = mdrr.randomize_codes([truth], design, mdrr.SeededSource(1))
    tally = mdrr.tally(sent, design)
    found = mdrr.estimate(tally, design, "product").count({"answer": ["yes"]})
    no, yes = (int(k) for k in tally.groups[0].counts)
    ends = {"share": found.share, "low": found.low / PEOPLE, "high": found.high / PEOPLE}
    return {"no": no, "yes": yes, "keep": design.clusters[0].matrix.keep, **ends}


def words(x: float, y: float, text: str, *, size: int = 14, colour: str = INK, **look: str) -> str:
    """A line of text."""
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in look.items())
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}"{more}>{escape(text)}</text>'
    )


def panel(place: int, title: str, who: str, inner: str) -> str:
    """One step: a frame, a title, who knows it, and what it shows."""
    x = 12 + place * (PANEL + GAP)
    frame = (
        f'<rect x="{x}" y="12" width="{PANEL}" height="158" rx="8" fill="none" stroke="{LINE}"/>'
    )
    head = words(x + 14, 36, title, size=15, font_weight="bold") + words(
        x + 14, 54, who, size=12, colour=MUTED
    )
    return f'{frame}{head}<g transform="translate({x} 62)">{inner}</g>'


def arrow(place: int) -> str:
    """From one step to the next."""
    x = 12 + place * (PANEL + GAP) + PANEL + 6
    return (
        f'<path d="M{x} 91h{GAP - 14}m-6 -5l6 5l-6 5" fill="none" stroke="{MUTED}" '
        'stroke-width="2"/>'
    )


def person() -> str:
    """A head and shoulders."""
    return (
        f'<circle cx="36" cy="34" r="11" fill="{MUTED}"/>'
        f'<path d="M16 72c0-28 40-28 40 0z" fill="{MUTED}"/>'
    )


def bar(y: float, label: str, count: int, colour: str) -> str:
    """How often an answer was sent."""
    length = 84 * count / PEOPLE
    return (
        words(14, y + 12, label)
        + f'<rect x="44" y="{y:g}" width="{length:.1f}" height="15" fill="{colour}"/>'
        + words(50 + length, y + 12, f"{count:,}", size=13)
    )


def picture() -> str:
    """The drawing as SVG, readable on light and dark pages: it brings its own background."""
    run = simulated()
    low, high, at = (14 + 150 * (run[key] - 0.1) / 0.2 for key in ("low", "high", "share"))
    kept = f"the truth in {100 * run['keep']:.0f} of 100 cases"
    first = (
        person()
        + words(72, 44, "“yes”", size=20, colour=ORANGE)
        + words(14, 96, "never leaves her device", size=12, colour=MUTED)
    )
    second = (
        words(14, 44, "“no”", size=20, colour=BLUE)
        + words(14, 70, "drawn by her device:", size=13)
        + words(14, 88, kept, size=13)
    )
    third = (
        bar(22, "no", int(run["no"]), LINE)
        + bar(48, "yes", int(run["yes"]), BLUE)
        + words(14, 96, f"{PEOPLE:,} people", size=12, colour=MUTED)
    )
    fourth = (
        words(14, 34, f"{100 * run['share']:.0f} % yes", size=20, colour=BLUE)
        + f'<path d="M14 52h150" stroke="{LINE}"/>'
        + f'<path d="M{low:.1f} 52H{high:.1f}" stroke="{BLUE}" stroke-width="8" opacity="0.4"/>'
        + f'<circle cx="{at:.1f}" cy="52" r="5" fill="{BLUE}"/>'
        + words(14, 78, f"between {100 * run['low']:.0f} and {100 * run['high']:.0f} %", size=13)
        + words(14, 96, f"the truth: {100 * TRUE_YES / PEOPLE:.0f} %", size=12, colour=MUTED)
    )
    below = (
        f"Here ε = {EPSILON:g}: whatever she sends, the odds of any guess about her change at most "
        f"e^ε = {math.exp(EPSILON):.1f} times. True answers exist on the devices alone."
    )
    steps = (
        ("True answer", "known to her alone", first),
        ("Report", "seen by the collector", second),
        ("Tally", "may be published", third),
        ("Estimate", "may be published", fourth),
    )
    parts = [panel(k, *step) for k, step in enumerate(steps)] + [arrow(k) for k in range(3)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Arial, Helvetica, sans-serif" role="img">'
        "<title>From a true answer to an estimate</title>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>'
        + "".join(parts)
        + words(12, 204, below, size=13)
        + "</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
