"""The sentences of a report: what was asked, how it was estimated, what a query selects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mdrr.dependence import Dependences
from mdrr.design import Design
from mdrr.estimation import Estimate
from mdrr.query import Query, Where

_METHODS = {
    "product": (
        "The reported frequencies of each cluster were multiplied by the inverse of its matrix, "
        "which is unbiased. The clusters were taken to be independent of each other (the paper's "
        "estimator)."
    ),
    "adjust": (
        "The randomized records were re-weighted until their margins met the estimated ones "
        "(RR-Adjustment, Algorithm 2). This keeps part of the dependence between clusters, "
        "weakened by the randomization."
    ),
    "latent": (
        "Latent classes were fitted to the reports by expectation-maximization, through the "
        "design. Within a class the attributes are independent. It is a model: attributes of "
        "different clusters are related only as far as its classes can show it."
    ),
    "pairwise": (
        "Every pair of attributes was estimated from its own reports, which is unbiased. It was "
        "then moved towards the product of its margins as far as its noise suggests. One "
        "distribution was made that has all these pairs."
    ),
    "correspondence": (
        "A correspondence analysis of the unbiased tables found a few axes that all pairs of "
        "attributes share. The pairs were made of these axes and the single attributes. One "
        "distribution was made that has all these pairs."
    ),
    "auto": (
        "Up to three models were fitted: the product of the single attributes, a correspondence "
        "analysis of all pairs and, if people report several attributes as one, latent classes. "
        "Each was moved towards the unbiased tables, most where reports are nearly exact. Held-out "
        "people decided how the models were mixed. One distribution was made that has the mixed "
        "tables."
    ),
}
_PROJECTIONS = {
    "euclidean": (
        "Where the inverse gave negative shares, the nearest proper distribution was taken "
        "(Euclidean projection)."
    ),
    "clip": "Negative shares were set to 0 and the rest rescaled (the paper's procedure).",
    "bayes": "Proper distributions were found by iterative Bayesian update.",
}
_INTERVALS = (
    "Intervals are made from the unbiased counts, whatever the method, and contain the estimate."
)
_STOPPED = {
    "passes": "it had made as many passes as were chosen",
    "tolerance": "it had reached its tolerance",
    "sweeps": "it had used all the sweeps allowed, before reaching its tolerance",
}


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


def design_words(design: Design) -> tuple[str, ...]:
    """What each person was asked, and what the combinations come to."""
    domain, several, other = design.domain, len(design.questionnaires), ""
    beside = (design.outside,) if domain.public else ()
    if domain.public:
        design, other = design.randomized, "other "
    if several > 1:
        sizes = sorted({len(q.attributes) for q in design.questionnaires})
        number = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        asked = (
            f"Each person got one of {several:,} questionnaires at random and reported {number} of "
            f"the {other}attributes."
        )
    elif protocol_name(design) == "RR-Independent":
        asked = f"Every {other}attribute was randomized on its own."
    elif len(design.clusters) == 1:
        asked = f"All {other}attributes were randomized together, as one."
    else:
        asked = (
            f"{'The others' if other else 'They'} were randomized in {len(design.clusters)} "
            "clusters: attributes of one cluster together, as one answer, and the clusters "
            "independently of each other."
        )
    return (
        f"The survey has {len(domain)} attribute{'s' if len(domain) > 1 else ''} with "
        f"{size_words(domain.size)} possible combinations.",
        *beside,
        asked,
    )


def reported_words(design: Design) -> str:
    """What one person reports under a design, as a phrase.

    >>> from mdrr.domain import Attribute, Domain
    >>> from mdrr.protocols import independent, sampled
    >>> d = Domain(tuple(Attribute(n, ("x", "y")) for n in "abc"))
    >>> reported_words(independent(d, p=0.5)), reported_words(sampled(d, 2, epsilon=1))
    ('every attribute, each on its own', '2 attributes, as one answer')
    """
    beside = f"{', '.join(design.domain.public)} as it is; " if design.domain.public else ""
    design = design.randomized
    asked = design.questionnaires
    sizes = sorted({len(q.attributes) for q in asked})
    if len(sizes) > 1:
        what = f"{sizes[0]} to {sizes[-1]} attributes"
    elif sizes[0] == len(design.domain):
        other = "other " if beside else ""
        what = f"every {other}attribute" if sizes[0] > 1 else f"the {other}attribute"
    else:
        what = f"{sizes[0]} attribute{'s' if sizes[0] > 1 else ''}"
    what = beside + what
    if sizes == [1]:
        return what
    if all(len(c.attributes) == 1 for q in asked for c in q.clusters):
        return f"{what}, each on its own"
    groups = max(len(q.clusters) for q in asked)
    return f"{what}, as one answer" if groups == 1 else f"{what}, in {groups} groups"


def made_words(estimate: Estimate, design: Design | None) -> tuple[str, ...]:
    """How an estimate was made: method, projection, why it stopped, what it could not do."""
    notes = estimate.notes
    words = [_METHODS.get(estimate.method, f"The estimator is “{estimate.method}”.")]
    if (projection := notes.get("projection")) is not None:
        words.append(_PROJECTIONS.get(str(projection), f"Projection: {projection}."))
    words += [_stopped(name, note) for name, note in notes.items() if hasattr(note, "stopped")]
    if isinstance(why := notes.get("stopped"), str):
        after = f" after {notes['passes']:,} passes" if "passes" in notes else ""
        words.append(f"The fit stopped{after} because {_STOPPED.get(why, why)}.")
    if "classes" in notes and "why" not in notes:
        tried = {entry[0] for entry in notes.get("held_out") or ()}
        chosen = ", chosen on reports held out of the fit" if len(tried) > 1 else ""
        words.append(f"It has {notes['classes']} classes{chosen}.")
    if isinstance(mixed := notes.get("why"), str):
        words.append(f"In numbers: {mixed}.")
    if unreached := notes.get("unreached"):
        listed = ", ".join(f"{name} (code {code})" for name, code in unreached)
        words.append(f"No report has these answers, so they keep weight 0: {listed}.")
    words.append(_INTERVALS)
    apart = design is None or any(len(q.clusters) > 1 for q in design.questionnaires)
    if estimate.method == "product" and apart:
        words.append(
            "Taking clusters as independent may put an estimate across clusters far off. Its "
            "interval allows for that, the estimate does not."
        )
    if estimate.method == "adjust":
        words.append(
            "The bias that adjustment leaves is not in the intervals' centre: they are made "
            "longer where an estimate lies outside."
        )
    return tuple(words)


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


def pairs_words(design: Design, together: str) -> str:
    """What becomes of pairs, all, some or none (empty) of them reported as one answer."""
    if together == "all" and len(design.questionnaires) == 1:
        return "Everybody reports all attributes as one answer, so their relation is kept."
    if together == "all":
        return (
            "Some people report each pair as one answer, so its relation is estimated from their "
            "reports, with no assumption."
        )
    grey = "every pair's" if not together else "a grey pair's"
    if any(len(q.clusters) > 1 for q in design.questionnaires):
        return (
            f"The answers to {grey} questions are randomized apart, so their relation reaches the "
            "collector weakened."
        )
    return f"Nobody is asked both of {grey} questions, so the reports cannot show their relation."


def _stopped(name: str, note: Any) -> str:
    """Why an iteration stopped, from whatever it recorded."""
    why = _STOPPED.get(str(note.stopped), str(note.stopped))
    took = next((k for k in ("sweeps", "iterations", "steps") if hasattr(note, k)), None)
    after = "" if took is None else f" after {getattr(note, took):,} {took}"
    residual = getattr(note, "residual", None)
    left = "" if residual is None else f" (largest distance left: {residual:.1e})"
    return f"The {name} stopped{after} because {why}{left}."


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
