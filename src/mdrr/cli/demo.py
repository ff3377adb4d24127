"""`mdrr demo`: a whole survey on the people of Adult, beside the paper's own methods.

The survey is planned, answered, tallied and estimated with the defaults. The same people then play
the respondents of the paper's protocols at the same ε: RR-Independent, whose reports also give the
dependences from which Algorithm 1 forms the clusters, and RR-Clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdrr.cli.options import AsJson, Budget

if TYPE_CHECKING:
    from mdrr.dependence import Dependences
    from mdrr.design import Design
    from mdrr.estimation import Estimate
    from mdrr.planning import Plan
    from mdrr.query import Where
    from mdrr.reporting.contents import Contents
    from mdrr.tallies import Tally

EXAMPLE = "mdrr demo --out out/report.html --epsilon 3"

MAX_CELLS = 100
MIN_DEPENDENCE = 0.2

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
"""Groups to count, large and small."""


@dataclass(frozen=True, eq=False)
class Story:
    """What the simulation did and found.

    Arguments:
        people: the true records.
        plan: made before anyone was asked.
        estimate: of the planned design, by the default method.
        dependences: learnt from the reports of the planned design.
        clustered: RR-Clusters, formed from the reports of RR-Independent.
        others: the paper's estimates, by protocol and method.
    """

    people: Any
    plan: Plan
    estimate: Estimate
    dependences: Dependences
    clustered: Design
    others: dict[str, Estimate]

    @property
    def clusters(self) -> tuple[tuple[str, ...], ...]:
        """The clusters that Algorithm 1 formed."""
        return tuple(cluster.attributes for cluster in self.clustered.clusters)

    @property
    def steps(self) -> list[str]:
        """The story in words, one sentence or two a step."""
        joined = [" + ".join(names) for names in self.clusters if len(names) > 1]
        found = ", ".join(joined) or "none, every attribute stays alone"
        return [
            f"The {self.estimate.n:,} people of the Adult data set play the respondents; each "
            "keeps one true record to herself.",
            f"The survey is planned before anyone is asked: of {len(self.plan.candidates)} designs "
            f"at ε = {self.plan.epsilon:g}, “{self.plan.best.name}” is predicted to do best.",
            f"Everyone answers it, spending ε = {self.plan.design.epsilon:.2f} at most. The "
            f"reports are tallied and estimated by the default method, {self.estimate.method}.",
            "For comparison the same records play two surveys of the paper at the same ε. In real "
            "life these are other people: nobody answers twice.",
            "In the first, everyone answers RR-Independent. Dependences are learnt from the "
            "reports, with the randomization taken out; Algorithm 1 joins attributes whose "
            f"dependence is at least {MIN_DEPENDENCE}, while a cluster has at most {MAX_CELLS} "
            f"combinations. Joined: {found}.",
            f"In the second, everyone answers RR-Clusters with those clusters, spending "
            f"ε = {self.clustered.epsilon:.2f} at most.",
        ]


def simulate(
    epsilon: float, seed: int, say: Callable[[str, float], None] = lambda text, share: None
) -> Story:
    """Play the surveys on Adult.

    Arguments:
        epsilon: what each person spends.
        seed: for the randomization.
        say: told what happens and the share done.
    """
    from mdrr.datasets import adult, adult_domain
    from mdrr.dependence import dependences as learn
    from mdrr.estimation import estimate
    from mdrr.planning import plan

    say("Loading the people", 0.0)
    people = adult()
    say("Planning the survey", 0.05)
    made = plan(adult_domain(), n=len(people), epsilon=epsilon)
    say("Everyone answers it", 0.2)
    tally = _answered(people, made.design, f"{seed}/planned")
    say("Estimating", 0.25)
    found, learnt = estimate(tally, made.design), learn(tally, made.design)
    say("The paper's RR-Independent and RR-Clusters", 0.6)
    return Story(people, made, found, learnt, *paper(people, epsilon, seed))


def paper(people: Any, epsilon: float, seed: int) -> tuple[Design, dict[str, Estimate]]:
    """RR-Independent; Algorithm 1 on its reports; RR-Clusters.

    Arguments:
        people: the true records of Adult.
        epsilon: what each person spends on either.
        seed: for the randomization.

    Returns:
        The clustered design, and the paper's estimates by protocol and method.
    """
    from mdrr.clustering import cluster
    from mdrr.datasets import adult_domain
    from mdrr.dependence import dependences as learn
    from mdrr.estimation import estimate
    from mdrr.protocols import clustered, independent

    domain = adult_domain()
    apart = independent(domain, epsilon=epsilon)
    first = _answered(people, apart, f"{seed}/independent")
    learnt = learn(first, apart, level=None)
    groups = cluster(learnt, domain, max_cells=MAX_CELLS, min_dependence=MIN_DEPENDENCE)
    joined = clustered(domain, groups, epsilon=epsilon)
    second = _answered(people, joined, f"{seed}/clusters")
    return joined, {
        "RR-Independent, product": estimate(first, apart, "product"),
        "RR-Independent, adjust": estimate(first, apart, "adjust"),
        "RR-Clusters, product": estimate(second, joined, "product"),
    }


def _answered(people: Any, design: Design, seed: str) -> Tally:
    """The tally of everybody's reports."""
    from mdrr.frames import randomize, tally
    from mdrr.source import SeededSource

    return tally(randomize(people, design, source=SeededSource(seed)), design)


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path(
        "out/report.html"
    ),
    epsilon: Budget = 4.0,
    seed: Annotated[
        int, typer.Option("--seed", help="This is a simulation: the seed repeats it.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Plan, play and estimate a survey on the Adult data set, beside the paper's methods."""
    from mdrr.cli.screen import print_json, progress
    from mdrr.files import write_text
    from mdrr.reporting.contents import gather
    from mdrr.reporting.page import render

    out.parent.mkdir(parents=True, exist_ok=True)
    with progress("Starting", quiet=as_json) as done:
        say = _said(done, as_json)
        story = simulate(epsilon, seed, say)
        say("Drawing and writing the report", 0.7)
        contents = gather(
            story.estimate,
            story.plan.design,
            truth=story.people,
            dependences=story.dependences,
            clusters=None,
            queries=QUERIES,
            others=story.others,
            plan=story.plan,
            story=story.steps,
            title="Adult, as its people would have reported it",
        )
        write_text(out, render(contents))
    if as_json:
        print_json(_fields(story, contents, out))
    else:
        _show(story, contents, out)


def _said(done: Callable[[float], None], quiet: bool) -> Callable[[str, float], None]:
    """Each step as a line on stderr, and the bar moved."""
    from mdrr.cli.screen import step

    def say(text: str, share: float) -> None:
        if not quiet:
            step(f"  {text} …")
        done(share)

    return say


def _show(story: Story, contents: Contents, out: Path) -> None:
    from mdrr.cli.screen import print_table, print_text
    from mdrr.plots.style import percent

    for at, step in enumerate(story.steps, 1):
        print_text(f"{at}. {step}")
    print_text("")
    rows = [
        (
            outcome.name,
            "–" if outcome.predicted is None else percent(outcome.predicted.error),
            percent(outcome.typical),
            "–" if outcome.predicted is None else percent(outcome.predicted.worst),
            percent(outcome.worst),
            "–" if outcome.median is None else f"{outcome.median:.0f}",
            "–" if outcome.largest is None else f"{outcome.largest:+.0f}",
        )
        for outcome in contents.outcomes
    ]
    heads = ["typical: predicted", "found", "worst table: predicted", "found"]
    heads = ["design, method", *heads, "groups: median", "worst"]
    print_table(heads, rows, title=f"Errors in %, all at ε = {story.plan.epsilon:g}")
    print_text(
        "A typical count holds a tenth of the combinations of one or two attributes; its error is "
        "a share of the mean size of such counts. Groups are those below: small ones are off by "
        "more in percent."
    )
    for warning in contents.warnings:
        print_text(f"Warning: {warning}")
    print_text("")
    counted = [
        (
            asked.words,
            asked.truth,
            *(f"{c.value:,.0f} ({c.low:,.0f} – {c.high:,.0f})" for c in asked.counts.values()),
        )
        for asked in contents.queries
    ]
    title = f"Count queries among {story.estimate.n:,} people, with 95 % intervals"
    print_table(("how many …", "truth", *contents.methods), counted, title=title)
    print_text(
        "The intervals of product and adjust do not cover the error of taking attributes that are "
        "reported apart as unrelated, or as less related than they are."
    )
    print_text("")
    for sentence in contents.privacy:
        print_text(sentence)
    print_text("")
    print_text(f"The report, with charts: {out}")


def _fields(story: Story, contents: Contents, out: Path) -> dict[str, Any]:
    return {
        "out": str(out),
        "n": story.estimate.n,
        "epsilon": story.plan.design.epsilon,
        "design": story.plan.best.name,
        "fingerprint": story.plan.design.fingerprint,
        "clusters": [list(names) for names in story.clusters],
        "outcomes": [
            {
                "method": outcome.name,
                "predicted": outcome.predicted and outcome.predicted.error,
                "typical": outcome.typical,
                "predicted_worst": outcome.predicted and outcome.predicted.worst,
                "worst": outcome.worst,
                "median_of_groups": outcome.median,
                "worst_of_groups": outcome.largest,
            }
            for outcome in contents.outcomes
        ],
        "queries": [
            {
                "words": asked.words,
                "together": asked.together,
                "truth": asked.truth,
                "counts": {
                    method: {"value": c.value, "low": c.low, "high": c.high}
                    for method, c in asked.counts.items()
                },
            }
            for asked in contents.queries
        ],
    }
