"""The page about a reproduction: `out/reproduction/results.md`, and `docs/reproduction.md`."""

from __future__ import annotations

from collections.abc import Iterator

from mdrr.reproduction import markdown as md
from mdrr.reproduction.claims import check
from mdrr.reproduction.clusters import WAYS, clusters_of, way
from mdrr.reproduction.explanation import explains_all
from mdrr.reproduction.outcome import Outcome, epsilons
from mdrr.reproduction.population import adult_population
from mdrr.reproduction.printed import KEEPS, LEAST_DEPENDENCES, MOST_CELLS
from mdrr.reproduction.readings import READINGS
from mdrr.reproduction.verdict import in_all


def page(outcome: Outcome, command: str, pictures: str | None = None) -> str:
    """The whole page in Markdown.

    Arguments:
        outcome: what was reproduced.
        command: the command that made it.
        pictures: the folder of the charts, as seen from the page; no pictures by default.
    """
    parts = [*_opening(outcome, command), *_claims(outcome), *_protocol(outcome)]
    for name, table in outcome.tables.items():
        parts += [f"## {md.TITLES[name]}: relative error of RR-Clusters", *_picture(pictures, name)]
        parts += [
            f"{md.agreement(table)} cells agree: the paper's median is one that the same "
            "experiment might have given. `*` marks those that do not.",
            md.side_by_side(table),
        ]
    parts += [*_readings(outcome, pictures), *_figures(outcome, pictures)]
    parts += [*_dependences(outcome), *_choices(outcome)]
    return "\n\n".join(parts) + "\n"


def _picture(folder: str | None, name: str) -> Iterator[str]:
    if folder is not None:
        yield f"![{name}]({folder}/{name}.svg)"


def _opening(outcome: Outcome, command: str) -> Iterator[str]:
    yield "# The paper's experiments, run again"
    yield (
        f"Made by `{command}`: do not edit. Every error is a median over {outcome.settings.runs:,} "
        "runs on the 32,561 records of Adult, with a 99 % Monte-Carlo band in parentheses; a ratio "
        "is ours / paper. The same seed gives the same numbers on any machine with any number of "
        "processes."
    )
    lines = [f"- Of section 6, {in_all(check(outcome), outcome.settings.runs)}."]
    lines += [
        f"- {md.TITLES[name]}: {md.agreement(table)} cells agree with the paper's under the "
        f"`{outcome.settings.matrix}` reading."
        for name, table in outcome.tables.items()
    ]
    variants = outcome.variants.get("readings", ())
    if variants:
        found = explains_all(variants)
        subject = f"{', '.join(found)} explains" if found else "No single reading explains"
        lines.append(
            f"- {subject} all rows of both tables; "
            "[which explains which](#which-reading-explains-which-rows)."
        )
    yield "\n".join(lines)


def _claims(outcome: Outcome) -> Iterator[str]:
    yield "## What section 6 claims"
    yield (
        "A claim holds or not by a criterion fixed in `mdrr/reproduction/claims.py`, if the 99 % "
        "intervals of the differences concerned lie on one side of it; where they straddle it, it "
        "cannot be told from this many runs. This rule, and what counts as equal (within 10 "
        "%), were set after the first results were seen, the other thresholds before any run. "
        '"Beyond chance" is more than 2.58 joint Monte-Carlo standard errors (99 %).'
    )
    yield md.claim_table(check(outcome))


def _protocol(outcome: Outcome) -> Iterator[str]:
    settings = outcome.settings
    learning = way(settings.dependences)
    population = adult_population()
    yield "## What was run"
    yield (
        "The paper's section 6: eight attributes, p ∈ {0.1, 0.3, 0.5, 0.7}, T_v ∈ {50, 100, 300}, "
        "T_d ∈ {0.1, 0.2, 0.3}, σ from 0.1 to 0.9, S a random share σ of the combinations of two "
        "random attributes, medians of |Y_S − X_S| and |Y_S − X_S| / X_S. Every run draws fresh "
        "reports and a fresh S."
    )
    yield "\n".join(
        (
            f"- Matrix: `{settings.matrix}`, {READINGS[settings.matrix].meaning}.",
            f"- Dependences: `{settings.dependences}`, {learning.meaning}.",
            f"- σ·(number of combinations) is rounded `{settings.rounding}` (`nearest`: ties up), "
            "to at least 1.",
            f"- A query that no true record satisfies (X_S = 0): `{settings.empty}`.",
            f"- The attributes of a query are `{settings.pairs}`, {settings.query_size} of them.",
            f"- Estimates are made proper by `{settings.projection}`.",
            f"- Figure 3 takes T_v and T_d from `{settings.thresholds}`.",
            "- Ties in Algorithm 1 go to the pair first in the domain's order; a median over an "
            "even number of runs is the mean of the middle two.",
            "- Tables 1 and 2 and Figure 2 are simulated from the counts of true cells, which is "
            "exact in distribution (`mdrr/reproduction/channel.py` has the proof, the tests "
            "compare with the real randomizer). Cells have their own reports and queries.",
            "- Figure 3 randomizes and rakes whole records, raking until every margin is within "
            "1e-6 of its target. Within a run its five methods answer the same queries, and its "
            "nine coverages read the same two randomized data sets, with a fresh query each.",
            "- ε of a report: "
            + ", ".join(f"{e:.2f} at p = {p}" for p, (e, _) in epsilons(settings).items())
            + ".",
            f"- Seed {settings.seed}, {settings.runs:,} runs; settings `{settings.fingerprint}`.",
        )
    )
    if learning.is_random:
        return
    dependences = learning.learn(population, KEEPS[0], settings.stream("page"))
    found = {
        (most, least): clusters_of(dependences, population, most, least)
        for most in MOST_CELLS
        for least in LEAST_DEPENDENCES
    }
    same = all(found[most, least] == found[most, 0.1] for most, least in found)
    names = population.domain.names
    lines = [
        f"- T_v = {most}: "
        + ", ".join(
            "{" + ", ".join(names[j] for j in members) + "}"
            for members in found[most, 0.1]
            if len(members) > 1
        )
        for most in MOST_CELLS
    ]
    values = [value for _, _, value in dependences.ranked()]
    unequal = len(set(values)) == len(values)
    ties = "; no two are equal, so there are no ties" if unequal else ""
    verdict = "are the same for all T_d" if same else "change with T_d; those for T_d = 0.1"
    yield f"The {len(values)} dependences range from {values[-1]:.3f} to {values[0]:.3f}{ties}."
    yield f"The clusters {verdict} (attributes not named are alone):\n\n" + "\n".join(lines)


def _readings(outcome: Outcome, pictures: str | None) -> Iterator[str]:
    variants = outcome.variants.get("readings", ())
    if not variants:
        return
    yield "## Which reading explains which rows"
    yield (
        "Section 6.3 cannot be followed to the letter: its matrix has rows that do not sum to 1, "
        "its ε_A is 0 for 9 categories at p = 0.1 (a matrix that says nothing), and its p_C has a "
        "wrong sign. Nor does section 6.5 say whether the two attributes of a query must differ. "
        "Each way to make sense of it is a reading, run in full:"
    )
    yield "\n".join(f"- `{name}`: {reading.meaning}." for name, reading in READINGS.items())
    yield (
        "With `repeated` the two attributes are drawn one by one and may be the same one, which "
        "leaves a query over a single attribute."
    )
    yield from _picture(pictures, "readings")
    for name in ("table1", "table2"):
        yield (
            f"{md.TITLES[name]}: errors for T_v = 50 / 100 / 300 (means over T_d), and how many of "
            "the nine cells agree with the paper's."
        )
        yield md.fit_table(variants, name)
    yield (
        "A reading explains the nine cells of a p if at least eight agree (bold): were it the "
        f"paper's, fewer would happen in 0.3 % of cases. {len(variants)} readings were tried, none "
        "tuned, so a match says that a reading is possible, not that it was the authors'. By that "
        "measure:"
    )
    yield md.best_readings(variants)
    yield "Cells that agree, over all p:"
    yield md.overall_table(variants)
    yield (
        "Two oddities stand in the printed numbers themselves. Table 1 prints 0.335 for T_v = 50 "
        "and T_d = 0.1 both at p = 0.1 and at p = 0.3. And at p = 0.3 its errors for T_v = 50 fall "
        "from 0.335 to 0.199 as T_d grows, though exact dependences give the same clusters for "
        "all three T_d, while Table 2's rise from 0.149 to 0.178."
    )


def _figures(outcome: Outcome, pictures: str | None) -> Iterator[str]:
    if outcome.figure1:
        values = dict(outcome.figure1)
        yield "## Figure 1: √B"
        yield from _picture(pictures, "figure1")
        yield (
            f"√B is {values[1]:.2f} for one category, {values[10]:.2f} for 10, {values[1000]:.2f} "
            f"for 1000 and {values[1_814_400]:.2f} for the 1,814,400 of Adult. The paper says "
            '"above 200 %": that holds from two categories on.'
        )
    if outcome.figure2:
        yield "## Figure 2: Randomized and RR-Independent at p = 0.7"
        yield from _picture(pictures, "figure2")
        yield "The paper prints no numbers for this figure; its claims are checked above."
        yield md.figure2_table(outcome)
    if outcome.figure3:
        yield "## Figure 3: the five methods"
        yield from _picture(pictures, "figure3")
        yield (
            "The paper prints no numbers for this figure but those of its Table 1 for RR-Clusters "
            "at σ = 0.1: "
            + ", ".join(
                f"{found.paper:.3f} at p = {p} (ours {found.value:.3f})"
                for (p, _, _), found in outcome.figure3.items()
                if found.paper is not None
            )
            + "."
        )
        for p in KEEPS:
            most, least = outcome.thresholds[p]
            yield f"p = {p}, T_v = {most}, T_d = {least}:"
            yield md.figure3_table(outcome, p)
    if outcome.joint:
        yield "## RR-Joint on all eight attributes"
        yield (
            "The paper sets it aside as infeasible and too inaccurate. In closed form it costs "
            "milliseconds. At the ε that RR-Independent spends, relative errors at σ = 0.1 are"
        )
        yield md.joint_table(outcome)


def _dependences(outcome: Outcome) -> Iterator[str]:
    variants = outcome.variants.get("dependences", ())
    if not variants:
        return
    yield "## Table 1 with dependences learnt in other ways"
    yield "\n".join(f"- `{name}`: {known.meaning}." for name, known in WAYS.items())
    yield (
        "What each costs a person in all, and the median number of clusters (8 is RR-Independent) "
        "for T_d = 0.1, 0.2, 0.3:"
    )
    yield md.cluster_table(variants)
    yield "Relative errors for T_d = 0.1, 0.2, 0.3:"
    yield md.variant_table(variants)
    yield (
        "The paper finds that T_d matters. Here it can only where dependences are learnt from "
        "reports:"
    )
    yield md.threshold_lines(variants)


def _choices(outcome: Outcome) -> Iterator[str]:
    variants = outcome.variants.get("choices", ())
    if not variants:
        return
    yield "## Table 1 with other choices where the paper is silent"
    yield "\n".join(f"- {found.variant.name}: {found.variant.meaning}." for found in variants)
    yield "Relative errors for T_d = 0.1, 0.2, 0.3:"
    yield md.variant_table(variants)
