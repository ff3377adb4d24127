"""`mdrr demo`: the paper from beginning to end, on the people of Adult.

A pilot group answers RR-Independent; their reports give the dependences; Algorithm 1 forms the
clusters; the others answer RR-Clusters. Everyone reports once, so nobody pays twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdrr.cli.options import AsJson

if TYPE_CHECKING:
    from mdrr.dependence import Dependences
    from mdrr.design import Design
    from mdrr.estimation import Count, Estimate
    from mdrr.query import Where

EXAMPLE = "mdrr demo --out out/report.html --epsilon 12"

PILOT_SHARE = 0.3
MAX_CELLS = 300
MIN_DEPENDENCE = 0.2

METHODS = ("product", "adjust", "latent")
"""The estimators compared; the first is the one whose marginals are shown."""

QUERIES: dict[str, Where] = {
    "women earning over 50K": {"sex": ["Female"], "income": [">50K"]},
    "married, living as husband": {
        "marital-status": ["Married-civ-spouse"],
        "relationship": ["Husband"],
    },
    "never married, 50K or less": {"marital-status": ["Never-married"], "income": ["<=50K"]},
    "government professionals": {
        "workclass": ["Federal-gov", "Local-gov", "State-gov"],
        "occupation": ["Prof-specialty"],
    },
    "women in clerical work": {"sex": ["Female"], "occupation": ["Adm-clerical"]},
    "a degree and over 50K": {
        "education": ["Bachelors", "Masters", "Doctorate", "Prof-school"],
        "income": [">50K"],
    },
}
"""Groups to count: some within the clusters that Algorithm 1 finds, some across them."""


@dataclass(frozen=True, eq=False)
class Story:
    """What the simulation did and found."""

    pilot: Design
    pilot_n: int
    dependences: Dependences
    clusters: tuple[tuple[str, ...], ...]
    design: Design
    others: Any
    estimates: tuple[Estimate, ...]

    @property
    def n(self) -> int:
        """How many people answered the clustered design."""
        return self.estimates[0].n

    @property
    def steps(self) -> list[str]:
        """The story in words, one sentence or two a step."""
        n = self.pilot_n + self.n
        return [
            f"The {n:,} people of the Adult data set play the respondents; each keeps one true "
            "record to herself.",
            f"{self.pilot_n:,} of them, chosen at random, are the pilot: they answer "
            f"RR-Independent, spending ε = {self.pilot.epsilon:.2f} each.",
            "Dependences between attributes are learnt from the pilot's reports, with the "
            "randomization taken out.",
            f"Algorithm 1 joins attributes whose dependence is at least {MIN_DEPENDENCE}, while a "
            f"cluster has at most {MAX_CELLS} combinations.",
            f"The other {self.n:,} people answer RR-Clusters, spending "
            f"ε = {self.design.epsilon:.2f} each. Nobody answers twice.",
            "Their reports are tallied, and all estimates on this page come from that tally.",
        ]


def simulate(
    epsilon: float, seed: int, say: Callable[[str, float], None] = lambda text, share: None
) -> Story:
    """Play the whole survey on Adult.

    Arguments:
        epsilon: what each person spends.
        seed: for the split into pilot and others, and for the randomization.
        say: told what happens and the share done.
    """
    import numpy as np

    from mdrr.clustering import cluster
    from mdrr.datasets import adult, adult_domain
    from mdrr.dependence import dependences as learn
    from mdrr.estimation import estimate
    from mdrr.frames import randomize, tally
    from mdrr.protocols import clustered, independent
    from mdrr.source import SeededSource

    domain = adult_domain()
    pilot_design = independent(domain, epsilon=epsilon)
    say("Loading the people", 0.0)
    people = adult()
    order = np.random.default_rng(seed).permutation(len(people))
    size = round(PILOT_SHARE * len(people))
    pilot, others = people[order[:size]], people[np.sort(order[size:])]
    say("The pilot answers RR-Independent", 0.1)
    first = tally(
        randomize(pilot, pilot_design, source=SeededSource(f"{seed}/pilot")), pilot_design
    )
    say("Learning dependences, forming clusters", 0.2)
    dependences = learn(first, pilot_design)
    clusters = cluster(dependences, domain, max_cells=MAX_CELLS, min_dependence=MIN_DEPENDENCE)
    design = clustered(domain, clusters, epsilon=epsilon)
    say("The others answer RR-Clusters", 0.3)
    second = tally(randomize(others, design, source=SeededSource(f"{seed}/others")), design)
    say("Estimating", 0.35)
    return Story(
        pilot_design,
        size,
        dependences,
        clusters,
        design,
        others,
        tuple(estimate(second, design, method) for method in METHODS),
    )


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The page to write, whole or not at all.")
    ] = Path("out/report.html"),
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="What each person spends in all.")
    ] = 16.0,
    seed: Annotated[
        int, typer.Option("--seed", help="This is a simulation: the seed repeats it.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Play a whole survey on the Adult data set: pilot, clusters, reports, estimate, one page."""
    from mdrr.cli.screen import print_json, progress
    from mdrr.reporting import report

    out.parent.mkdir(parents=True, exist_ok=True)
    with progress("Starting", quiet=as_json) as done:
        story = simulate(epsilon, seed, _said(done, as_json))
        _said(done, as_json)("Drawing and writing the report", 0.5)
        report(
            story.estimates[0],
            story.design,
            path=out,
            truth=story.others,
            dependences=story.dependences,
            clusters=story.clusters,
            queries=QUERIES,
            others=story.estimates[1:],
            story=story.steps,
            title="Adult, as its people would have reported it",
        )
    answers = [_answer(words, where, story) for words, where in QUERIES.items()]
    if as_json:
        print_json(_fields(story, answers, out))
    else:
        _show(story, answers, out)


def _said(done: Callable[[float], None], quiet: bool) -> Callable[[str, float], None]:
    """Each step as a line on stderr, and the bar moved."""
    from mdrr.cli.screen import step

    def say(text: str, share: float) -> None:
        if not quiet:
            step(f"  {text} …")
        done(share)

    return say


@dataclass(frozen=True)
class Answer:
    """One query of the demo: how many there are, and how many each method finds."""

    words: str
    together: bool
    truth: int
    counts: dict[str, Count]


def _answer(words: str, where: Where, story: Story) -> Answer:
    from mdrr.frames import encode
    from mdrr.query import Query
    from mdrr.reporting.contents import held_together

    domain = story.design.domain
    query = Query.of(where, domain)
    truth = query.holds(dict(zip(domain.names, encode(story.others, domain), strict=True)))
    return Answer(
        words,
        held_together(query, story.design),
        int(truth.sum()),
        {each.method: each.count(query) for each in story.estimates},
    )


def _show(story: Story, answers: list[Answer], out: Path) -> None:
    from mdrr.cli.screen import print_table, print_text
    from mdrr.privacy import in_words

    for at, step in enumerate(story.steps, 1):
        print_text(f"{at}. {step}")
    print_text("")
    print_table(
        ("cluster", "combinations", "truth sent", "ε"),
        [
            (c.name.replace("+", " + "), c.matrix.cells, _percent(c.matrix), c.epsilon)
            for c in story.design.clusters
        ],
        title="What each of the others reports",
    )
    rows = [
        (
            a.words + ("" if a.together else " *"),
            a.truth,
            *(f"{c.value:,.0f} ({c.low:,.0f} – {c.high:,.0f})" for c in a.counts.values()),
        )
        for a in answers
    ]
    title = f"Count queries among {story.n:,} people, with 95 % intervals"
    print_table(("how many …", "truth", *METHODS), rows, title=title)
    print_text(
        "* across clusters: product takes them as independent, adjust keeps a weakened part of "
        "their relation, latent models it; intervals do not hold the error of doing so."
    )
    print_text("")
    for sentence in in_words(story.design)[len(story.design.clusters) :]:
        print_text(sentence)
    print_text("")
    print_text(f"The report, with charts: {out}")


def _percent(matrix: Any) -> str:
    return f"{100 * matrix.keep:.0f} %"


def _fields(story: Story, answers: list[Answer], out: Path) -> dict[str, Any]:
    return {
        "out": str(out),
        "n": story.n,
        "pilot": story.pilot_n,
        "epsilon": story.design.epsilon,
        "fingerprint": story.design.fingerprint,
        "clusters": [list(names) for names in story.clusters],
        "queries": [
            {
                "words": a.words,
                "together": a.together,
                "truth": a.truth,
                "counts": {
                    method: {"value": c.value, "low": c.low, "high": c.high}
                    for method, c in a.counts.items()
                },
            }
            for a in answers
        ],
    }
