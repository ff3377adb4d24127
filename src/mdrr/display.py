"""How objects show themselves in a notebook: small HTML tables, and the way to their charts.

Every text is escaped here, and nowhere else is HTML written for notebooks. Colours come from the
notebook, so that light and dark ones are equally readable; bars have one that stands out on both.
"""

from __future__ import annotations

import importlib
from collections.abc import Container, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice, product
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from mdrr.dependence import Dependences
    from mdrr.design import Cluster, Design
    from mdrr.domain import Attribute, Domain
    from mdrr.estimation import Count, Estimate, Table
    from mdrr.planning.plan import Plan
    from mdrr.tallies import Tally

ROWS = 12
"""The most rows of a table; a line says how many are left out."""
COLUMNS = 8
"""The most columns of a cross table; wider ones are listed."""
_LABELS = 6
_EM = 8
_PAD = "padding:.15em .6em"
_BAR = "display:inline-block;height:.7em;background:#3a87c8"


@dataclass(frozen=True)
class Bar:
    """A cell with a bar as long as a share between 0 and 1, and words behind it."""

    share: float
    text: str


Cell: TypeAlias = "str | Bar"


def _cell(value: Cell, side: str) -> str:
    if isinstance(value, Bar):
        width = _EM * min(max(value.share, 0.0), 1.0)
        inner = f'<span style="{_BAR};width:{width:.2f}em"></span> {escape(value.text)}'
    else:
        inner = escape(value)
    return f'<td style="text-align:{side};{_PAD}">{inner}</td>'


def page(
    title: str,
    head: Sequence[str] = (),
    rows: Sequence[Sequence[Cell]] = (),
    *,
    right: Container[int] = (),
    note: str = "",
) -> str:
    """A title, a table of at most `ROWS` rows, and a note below; all of it is escaped.

    Arguments:
        title: one line.
        head: the columns' names.
        rows: the cells; a line says how many rows were left out.
        right: the columns that are set to the right, as numbers are.
        note: what to say below.

    >>> page("<b>")
    '<div><strong>&lt;b&gt;</strong></div>'
    """
    parts = [f"<strong>{escape(title)}</strong>"]
    if rows:
        sides = ["right" if i in right else "left" for i in range(len(head))]
        names = "".join(
            f'<th style="text-align:{side};{_PAD}">{escape(name)}</th>'
            for side, name in zip(sides, head, strict=True)
        )
        body = ("".join(map(_cell, row, sides)) for row in rows[:ROWS])
        parts.append(
            f'<table style="margin:.4em 0"><thead><tr>{names}</tr></thead><tbody>'
            + "".join(f"<tr>{row}</tr>" for row in body)
            + "</tbody></table>"
        )
    left = f"… and {len(rows) - ROWS:,} more. " if len(rows) > ROWS else ""
    if left or note:
        parts.append(f"{'' if rows else ' '}<small>{escape(left + note)}</small>")
    return f"<div>{''.join(parts)}</div>"


def charts() -> Any:
    """The charts, loaded when one is asked for; without Altair, an error says how to install it."""
    return importlib.import_module("mdrr.plots")


def on_white(chart: Any) -> Any:
    """A chart on white: its words are dark, and a notebook may be too."""
    return chart.properties(background="white")


def percent(share: float) -> str:
    """A share with a digit, as people read it.

    >>> percent(0.1234), percent(0.0004), percent(0.0)
    ('12.3 %', '0.04 %', '0 %')
    """
    if 0 < abs(share) < 0.001:
        return f"{100 * share:.1g} %"
    return f"{100 * share:.1f} %" if share else "0 %"


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "report"), counted(2000, "report")
    ('1 report', '2,000 reports')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _labels(attribute: Attribute) -> str:
    shown = [str(label) for label in attribute.categories[:_LABELS]]
    return ", ".join(shown) + (", …" if attribute.size > _LABELS else "")


def domain_html(found: Domain) -> str:
    """The attributes and what can be answered."""
    rows = [
        (a.name, a.kind + (", public" if a.public else ""), str(a.size), _labels(a))
        for a in found.attributes
    ]
    title = f"Domain: {counted(len(found), 'attribute')}, {counted(found.size, 'combination')}"
    return page(title, ("attribute", "kind", "categories", "labels"), rows, right={2})


def design_html(found: Design) -> str:
    """What is asked together, and what it spends."""
    asked = len(found.questionnaires)
    title = (
        f"Design {found.fingerprint[:12]}: {counted(len(found.domain), 'attribute')}, "
        f"{counted(asked, 'questionnaire')}, ε = {found.epsilon:.4g}"
    )
    if asked == 1:
        head = ["reported together", "combinations", "matrix", "ε"]
        rows = [
            (_together(c), f"{c.matrix.cells:,}", c.matrix.kind, f"{c.epsilon:.4g}")
            for c in found.clusters
        ]
        return page(title, head, rows, right={1, 3}, note=found.outside)
    shares = [
        (
            " and ".join(map(_together, q.clusters)),
            percent(q.weight / found.weights),
            f"{q.epsilon:.4g}",
        )
        for q in sorted(found.questionnaires, key=lambda q: -q.weight)
    ]
    return page(title, ["asked", "share of people", "ε"], shares, right={1, 2}, note=found.outside)


def _together(cluster: Cluster) -> str:
    return " + ".join(cluster.attributes)


def tally_html(found: Tally) -> str:
    """How many reports there are, of each questionnaire if there are several."""
    title = f"Tally: {counted(found.n, 'report')}, {found.kept}"
    rows = [(str(q), f"{group.n:,}") for q, group in enumerate(found.groups)]
    note = f"Design {found.fingerprint[:12]}."
    head = ("questionnaire", "reports")
    return page(title, head, rows if len(rows) > 1 else (), right={0, 1}, note=note)


def count_html(found: Count) -> str:
    """The number of people and its interval."""
    title = f"{found.value:,.0f} of {found.n:,} people ({percent(found.share)})"
    ends = f"{found.low:,.0f} to {found.high:,.0f}"
    return page(title, note=f"{100 * found.level:g} % interval: {ends}")


def table_html(found: Table) -> str:
    """Two attributes as a cross table; one, or more, as a list with intervals."""
    attributes = [found.estimate.domain.attribute(name) for name in found.attributes]
    title = f"Shares of people by {' × '.join(found.attributes)}"
    if len(attributes) == 2 and attributes[1].size <= COLUMNS:
        first, second = attributes
        crossed = [
            (str(label), *(percent(float(value)) for value in values))
            for label, values in zip(first.categories, found.values, strict=True)
        ]
        head = (f"{first.name} \\ {second.name}", *map(str, second.categories))
        note = "Intervals: .to_frame(intervals=True)."
        return page(title, head, crossed, right=range(1, len(head)), note=note)
    rows: list[tuple[Cell, ...]] = []
    for cell in islice(product(*(range(a.size) for a in attributes)), ROWS):
        labels = [a.categories[i] for a, i in zip(attributes, cell, strict=True)]
        where = {name: [label] for name, label in zip(found.attributes, labels, strict=True)}
        rows.append((*map(str, labels), *_share(found.estimate.count(where, level=found.level))))
    left = found.values.size - len(rows)
    note = f"… and {left:,} more in .values and .to_frame()." if left else ""
    return page(title, (*found.attributes, "share", _level(found.level)), rows, note=note)


def _share(found: Count) -> tuple[Bar, str]:
    """The share of people as a bar, and its interval."""
    ends = f"{100 * found.low / found.n:.1f} to {100 * found.high / found.n:.1f} %"
    return Bar(found.share, percent(found.share)), ends


def _level(level: float) -> str:
    return f"{100 * level:g} % interval"


def estimate_html(found: Estimate) -> str:
    """Each attribute's most frequent answer."""
    rows = []
    for attribute in found.domain.attributes[:ROWS]:
        label = attribute.categories[int(found.table(attribute.name).values.argmax())]
        rows.append((attribute.name, str(label), *_share(found.count({attribute.name: [label]}))))
    title = f"Estimate by {found.method}: {found.n:,} people"
    head = ("attribute", "most frequent answer", "share", _level(0.95))
    left = len(found.domain) - len(rows)
    note = f"… and {left:,} more attributes. " if left else ""
    return page(
        title, head, rows, note=f"{note}Ask it: .table(…), .count(…), .sample(…), .plot(…)."
    )


def plan_html(found: Plan) -> str:
    """The candidates and their predicted errors."""
    title = f"Plan for {found.n:,} people at ε = {found.epsilon:.4g}"
    kinds = {"error": "error of a typical count"}
    if found.has_both:
        kinds |= {"alone": "of single attributes", "together": "of wider tables"}
    head = ["design", *kinds.values(), "questionnaires"]
    rows = [
        (
            c.name,
            *(percent(getattr(c.predicted, kind)) for kind in kinds),
            f"{len(c.design.questionnaires):,}",
        )
        for c in found.candidates
    ]
    return page(title, head, rows, right=range(1, len(head)), note=f"Predicted. {found.ranking}")


def dependences_html(found: Dependences) -> str:
    """The strongest pairs with their intervals."""
    rows = []
    scale = max([1.0, *(value for _, _, value in found.ranked())])  # covariances may be larger
    for a, b, value in found.ranked():
        ends = found.interval(a, b)
        words = "exact" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"
        clear = "yes" if found.is_clear(a, b) else "no"
        rows.append((f"{a} · {b}", Bar(value / scale, f"{value:.2f}"), words, clear))
    title = f"Dependences of {counted(len(rows), 'pair')} of attributes"
    head = ("pair", "dependence", _level(found.level), "told from 0")
    return page(title, head, rows)
