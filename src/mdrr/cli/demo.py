"""`mdrr demo`: a whole survey on the people of Adult, beside the paper's own methods.

The survey is planned, answered, tallied and estimated with the defaults, in memory or, with --http,
through a real collector on SQLite. The same people then play
the respondents of the paper's protocols at the same ε: RR-Independent, whose reports also give the
dependences from which Algorithm 1 forms the clusters, and RR-Clusters.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from mdrr.cli.options import AsJson, Budget
from mdrr.cli.screen import print_json, print_table, print_text, progress, step
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.design import Design
    from mdrr.estimation import Estimate
    from mdrr.planning import Plan
    from mdrr.query import Where
    from mdrr.reporting.contents import Contents
    from mdrr.tallies import Tally

EXAMPLES = {"demo": "mdrr demo --out out/report.html --epsilon 3"}

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


def demo(
    out: Annotated[Path, Option("--out", "-o", help="Page to write.")] = Path("out/report.html"),
    epsilon: Budget = 4.0,
    seed: Annotated[
        int | None,
        Option(help="The same seed repeats the simulation. Without one every run is another."),
    ] = None,
    http: Annotated[
        bool, Option("--http", help="Collect the answers with a real server, one request a person.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Plan, simulate and estimate a survey on the Adult data set, beside the paper's methods."""
    from mdrr.datasets import adult, adult_domain
    from mdrr.dependence import dependences
    from mdrr.estimation import estimate
    from mdrr.files import write_text
    from mdrr.planning import plan
    from mdrr.reporting import render
    from mdrr.reporting.contents import Contents

    out.parent.mkdir(parents=True, exist_ok=True)
    drawn = secrets.token_hex(16) if seed is None else str(seed)
    with progress("Starting") as done:

        def say(text: str, share: float) -> None:
            step(f"  {text} …")
            done(share)

        say("Loading the people", 0.0)
        people = adult()
        say("Planning the survey", 0.05)
        made = plan(adult_domain(), n=len(people), epsilon=epsilon)
        if http:
            tally = _collected(people, made.design, f"{drawn}/planned", lambda x: say(x, 0.2))
        else:
            say("Everyone answers it", 0.2)
            tally = _answered(people, made.design, f"{drawn}/planned")
        say("Estimating", 0.25)
        found, learnt = estimate(tally, made.design), dependences(tally, made.design)
        say("The paper's RR-Independent and RR-Clusters", 0.6)
        clustered, others = paper(people, epsilon, drawn)
        say("Drawing and writing the report", 0.7)
        contents = Contents(
            found,
            made.design,
            truth=people,
            dependences=learnt,
            clusters=None,
            queries=QUERIES,
            others=others,
            plan=made,
            story=_steps(made, found, clustered),
            title="Adult, as its people would have reported it",
        )
        write_text(out, render(contents))
    outcomes = [
        {
            "method": each.name,
            "predicted": each.predicted and each.predicted.error,
            "typical": each.typical,
            "predicted_worst": each.predicted and each.predicted.worst,
            "worst": each.worst,
            "median_of_groups": each.median,
            "worst_of_groups": each.largest,
        }
        for each in contents.outcomes
    ]
    if not as_json:
        _show(contents, outcomes, epsilon, out)
        return
    print_json(
        {
            "out": str(out),
            "n": found.n,
            "epsilon": made.design.epsilon,
            "design": made.best.name,
            "fingerprint": made.design.fingerprint,
            "clusters": [list(cluster.attributes) for cluster in clustered.clusters],
            "outcomes": outcomes,
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
                for asked in contents.asked
            ],
        }
    )


def paper(people: Any, epsilon: float, seed: str) -> tuple[Design, dict[str, Estimate]]:
    """RR-Independent; Algorithm 1 on its reports; RR-Clusters, spending the same ε.

    Returns:
        The clustered design, and the paper's estimates by protocol and method.
    """
    from mdrr.clustering import cluster
    from mdrr.datasets import adult_domain
    from mdrr.dependence import dependences
    from mdrr.estimation import estimate
    from mdrr.protocols import clustered, independent

    domain = adult_domain()
    apart = independent(domain, epsilon=epsilon)
    first = _answered(people, apart, f"{seed}/independent")
    learnt = dependences(first, apart, level=None)
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


def _collected(people: Any, design: Design, seed: str, say: Callable[[str], None]) -> Tally:
    """The same tally, from a collector's database: a server takes every report over HTTP."""
    from mdrr.cli.collection import opened
    from mdrr.cli.crowd import answer_database, drawn
    from mdrr.datasets import adult_survey
    from mdrr.frozen import freeze

    frozen = freeze(adult_survey(), design)
    with tempfile.TemporaryDirectory(prefix="mdrr-demo-") as folder:
        database = f"sqlite:///{Path(folder, 'answers.db')}"
        with opened(database, new=True) as store:
            store.create(frozen)
            store.open(frozen.id)
            say("A server opens the survey, and everyone answers it over HTTP")
            sent = answer_database(database, frozen.id, drawn(people, design, seed=seed))
            if sent.refused:
                raise MdrrError(f"{sent.refused:,} answers were refused: {sent.reason}")
            rate = sent.answered / sent.seconds
            say(f"{sent.answered:,} answers stored, {rate:,.0f} a second; the survey closes")
            store.close(frozen.id)
            return store.tally(store.need(frozen.id).phase())


def _steps(made: Plan, found: Estimate, clustered: Design) -> list[str]:
    """The story in words, one sentence or two a step."""
    groups = [cluster.attributes for cluster in clustered.clusters]
    joined = ", ".join(" + ".join(names) for names in groups if len(names) > 1)
    return [
        f"The {found.n:,} people of the Adult data set play the respondents; each keeps one true "
        "record to herself.",
        f"The survey is planned before anyone is asked: of {len(made.candidates)} designs at "
        f"ε = {made.epsilon:g}, “{made.best.name}” is predicted to do best.",
        f"Everyone answers it, spending ε = {made.design.epsilon:.2f} at most. The reports are "
        f"tallied and estimated by the default method, {found.method}.",
        "For comparison the same records play two surveys of the paper at the same ε. In real "
        "life these are other people: nobody answers twice.",
        "In the first, everyone answers RR-Independent. Dependences are learnt from the reports, "
        "with the randomization taken out; Algorithm 1 joins attributes whose dependence is at "
        f"least {MIN_DEPENDENCE}, while a cluster has at most {MAX_CELLS} combinations. Joined: "
        f"{joined or 'none, every attribute stays alone'}.",
        "In the second, everyone answers RR-Clusters with those clusters, spending "
        f"ε = {clustered.epsilon:.2f} at most.",
    ]


def _show(contents: Contents, outcomes: list[dict[str, Any]], epsilon: float, out: Path) -> None:
    from mdrr.plots.style import percent
    from mdrr.privacy import in_words

    for at, said in enumerate(contents.story, 1):
        print_text(f"{at}. {said}")
    heads = ["design, method", "typical: predicted", "found", "worst table: predicted", "found"]
    heads += ["groups: median", "worst"]
    shows: list[Any] = [str, *[percent] * 4, "{:.0f}".format, "{:+.0f}".format]
    rows = [
        ["–" if x is None else show(x) for show, x in zip(shows, each.values(), strict=True)]
        for each in outcomes
    ]
    print()
    print_table(heads, rows, title=f"Errors in %, all at ε = {epsilon:g}")
    print_text(
        "A typical count holds a tenth of the combinations of one or two attributes; its error is "
        "a share of the mean size of such counts. Groups are those below: small ones are off by "
        "more in percent."
    )
    for warning in contents.warnings:
        print_text(f"Warning: {warning}")
    print()
    counted = [
        [
            asked.words,
            asked.truth,
            *(f"{c.value:,.0f} ({c.low:,.0f} – {c.high:,.0f})" for c in asked.counts.values()),
        ]
        for asked in contents.asked
    ]
    title = f"Count queries among {contents.estimate.n:,} people, with 95 % intervals"
    print_table(["how many …", "truth", *contents.methods], counted, title=title)
    print_text(
        "The intervals of product and adjust do not cover the error of taking attributes that are "
        "reported apart as unrelated, or as less related than they are.\n"
    )
    for sentence in in_words(contents.design):
        print_text(sentence)
    print_text(f"\nThe report, with charts: {out}")
