"""Phrases and sentences of a report, of its charts, and of the collector's pages."""

from __future__ import annotations

from collections.abc import Iterable

from mdrr.dependence import Dependences
from mdrr.design import Design
from mdrr.estimation import Estimate
from mdrr.query import Query, Where


def protocol_name(design: Design) -> str:
    """The paper's name of a design.

    >>> from mdrr.domain import Attribute, Domain
    >>> from mdrr.protocols import independent, joint
    >>> d = Domain(tuple(Attribute(n, ("x", "y")) for n in "ab"))
    >>> protocol_name(independent(d, p=0.5)), protocol_name(joint(d, p=0.5))
    ('RR-Independent', 'RR-Joint')
    """
    if len(design.questionnaires) > 1:
        return "a sampled design"
    clusters = design.randomized.clusters
    if all(len(cluster.attributes) == 1 for cluster in clusters):
        return "RR-Independent"
    return "RR-Joint" if len(clusters) == 1 else "RR-Clusters"


def size_words(size: int) -> str:
    """A number of combinations, however large.

    >>> size_words(1_814_400), size_words(10**30)
    ('1,814,400', 'about 10^30')
    """
    return f"{size:,}" if size < 10**15 else f"about 10^{len(str(size)) - 1}"


def reported_words(design: Design) -> str:
    """What one person reports under a design, as a phrase.

    >>> from mdrr.domain import Attribute, Domain
    >>> from mdrr.protocols import independent, sampled
    >>> d = Domain(tuple(Attribute(n, ("x", "y")) for n in "abc"))
    >>> reported_words(independent(d, p=0.5)), reported_words(sampled(d, 2, epsilon=1))
    ('every attribute, each on its own', '2 attributes, as one answer')
    """
    public = design.domain.public
    beside = f"{', '.join(public)} as {'it is' if len(public) == 1 else 'they are'}, and "
    other = "other " if public else ""
    design = design.randomized
    asked = design.questionnaires
    sizes = sorted({len(q.attributes) for q in asked})
    if len(sizes) > 1:
        what = f"{sizes[0]} to {sizes[-1]} {other}attributes"
    elif sizes[0] == len(design.domain):
        what = f"every {other}attribute" if sizes[0] > 1 else f"the {other}attribute"
    else:
        what = f"{sizes[0]} {other}attribute{'s' if sizes[0] > 1 else ''}"
    what = beside + what if public else what
    if sizes == [1]:
        return what
    if all(len(c.attributes) == 1 for q in asked for c in q.clusters):
        return f"{what}, each on its own"
    counts = {len(q.clusters) for q in asked}
    if len(counts) > 1:
        return what
    return f"{what}, as one answer" if counts == {1} else f"{what}, in {counts.pop()} clusters"


def strongest_words(found: Dependences, most: int = 3) -> str:
    """The pairs that depend on each other most, of those told from 0; how many are not."""
    ranked = found.ranked()
    clear = [(a, b, value) for a, b, value in ranked if found.is_clear(a, b)]
    if not clear:
        return "No two attributes can be told to depend on each other: there is too much noise."
    listed = []
    for a, b, value in clear[:most]:
        ends = found.interval(a, b)
        sure = "" if ends is None else f", {ends[0]:.2f} to {ends[1]:.2f}"
        listed.append(f"{a} and {b} ({value:.2f}{sure})")
    scale = "" if found.measure == "covariance" else ", from 0 to 1"
    unclear = len(ranked) - len(clear)
    left = f" {unclear} of {len(ranked)} pairs cannot be told from 0." if unclear else ""
    return f"What goes together most{scale}: {'; '.join(listed)}.{left}"


def warning_words(estimates: Iterable[Estimate]) -> tuple[str, ...]:
    """Why some reports are doubtful, as sentences, each once."""
    doubts = (str(doubt) for each in estimates for doubt in each.notes.get("warnings", ()))
    return tuple(dict.fromkeys(f"{doubt.rstrip('.')}." for doubt in doubts))


def query_words(where: Where) -> str:
    """A query as a phrase.

    >>> query_words({"sex": ["F"], "income": ["low", "high"]})
    'sex: F; income: low or high'
    """
    if isinstance(where, str):
        return where
    if isinstance(where, Query):
        return "a set over " + ", ".join(where.attributes)
    return "; ".join(
        f"{_joined(key, ' with ')}: {_labels(labels)}" for key, labels in where.items()
    )


def _joined(value: object, sign: str) -> str:
    return sign.join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _labels(labels: object) -> str:
    listed = labels if isinstance(labels, list | tuple | set | frozenset) else [labels]
    return " or ".join(_joined(label, "/") for label in listed)
