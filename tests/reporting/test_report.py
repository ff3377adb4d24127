"""The page: parses, stands alone, holds the estimate's numbers, and no truth it was not given."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import mdrr
from mdrr.dependence import dependences
from mdrr.design import Cluster, Questionnaire
from mdrr.errors import DesignError, EstimateError, MdrrError
from mdrr.matrix import dense_matrix
from mdrr.planning import predict
from mdrr.plots.style import percent
from mdrr.privacy import in_words
from mdrr.reporting import report
from mdrr.reporting.alternatives import alternatives
from mdrr.reporting.words import reported_words
from mdrr.tallies import tally_codes
from tests.reporting.parsed import Page

DOMAIN = mdrr.Domain(
    (
        mdrr.Attribute("colour", ("red", '<green> & "co"', "blue")),
        mdrr.Attribute("smokes", ("no", "yes")),
        mdrr.Attribute("grade", (1, 2, 3), kind="ordinal"),
    )
)
DESIGN = mdrr.clustered(DOMAIN, [["colour", "smokes"], ["grade"]], p=0.6)


def people(n: int = 4000) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    colour = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    smokes = (rng.random(n) < np.where(colour == 0, 0.7, 0.2)).astype(int)
    return pl.DataFrame(
        {
            "colour": [DOMAIN.attribute("colour").categories[c] for c in colour],
            "smokes": [("no", "yes")[s] for s in smokes],
            "grade": [int(g) for g in rng.integers(1, 4, n)],
        }
    )


PEOPLE = people()
TALLY = mdrr.tally(mdrr.randomize(PEOPLE, DESIGN, source=mdrr.SeededSource(1)), DESIGN)
QUERIES = {
    "red smokers": {"colour": ["red"], "smokes": ["yes"]},
    "third grade smokers": "smokes == 'yes' and grade == 3",
}


def page(tmp_path: Path, **options: Any) -> str:
    estimate = options.pop("estimate", None) or mdrr.estimate(TALLY, DESIGN)
    return report(estimate, DESIGN, path=tmp_path / "report.html", **options).read_text("utf-8")


def everything(tmp_path: Path, **options: Any) -> str:
    return page(
        tmp_path,
        dependences=dependences(TALLY, DESIGN),
        queries=QUERIES,
        others=[mdrr.estimate(TALLY, DESIGN, method="adjust")],
        story=["First this.", "Then that."],
        **options,
    )


def test_page_parses_and_needs_nothing_from_outside(tmp_path: Path) -> None:
    text = everything(tmp_path, truth=PEOPLE)
    found = Page(text)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)
    assert not {"script", "link", "img", "iframe", "object", "embed"} & {
        tag for tag, _ in found.seen
    }
    assert all("src" not in attrs for _, attrs in found.seen)
    assert all(str(attrs.get("href", "#")).startswith("#") for _, attrs in found.seen)
    ids = [attrs["id"] for _, attrs in found.seen if "id" in attrs]
    assert len(set(ids)) == len(ids)
    targets = {str(attrs["href"])[1:] for attrs in found.all("a")}
    assert targets <= set(ids)


def test_page_is_accessible(tmp_path: Path) -> None:
    found = Page(everything(tmp_path, truth=PEOPLE))
    assert found.all("html") == [{"lang": "en"}]
    assert len(found.all("h1")) == 1
    assert len(found.all("table")) == len(found.all("caption"))
    assert all("scope" in attrs for attrs in found.all("th"))
    drawings = found.all("svg")
    charts = [attrs for attrs in drawings if attrs.get("role") == "img"]
    assert len(charts) == 5  # counts, heat map, pairs, privacy, other designs
    assert len(found.all("title")) == 1 + len(charts)
    assert len(drawings) - len(charts) == sum(a.size for a in DOMAIN.attributes)
    assert all(attrs["aria-hidden"] == "true" for attrs in drawings if attrs not in charts)


def test_page_holds_the_numbers_of_the_estimate(tmp_path: Path) -> None:
    estimate = mdrr.estimate(TALLY, DESIGN)
    text = Page(page(tmp_path, queries=QUERIES)).text
    for name in DOMAIN.names:
        table = estimate.table(name)
        for cell in zip(table.values, table.low, table.high, strict=True):
            value, low, high = (f"{100 * x:.1f}" for x in cell)
            assert f" {value} {low} – {high} " in text
    for where in QUERIES.values():
        count = estimate.count(where)
        assert f" {count.value:,.0f} {count.low:,.0f} – {count.high:,.0f} " in text
    assert f"{estimate.n:,}" in text
    assert DESIGN.fingerprint in text
    assert f"ε {DESIGN.epsilon:.3f}" in text or f"{DESIGN.epsilon:.3f}" in text
    assert f"mdrr {mdrr.__version__}" in text
    assert "RR-Clusters" in text


def test_page_tells_privacy_in_plain_words_and_what_is_not_protected(tmp_path: Path) -> None:
    text = Page(page(tmp_path)).text
    for sentence in in_words(DESIGN):
        assert sentence in text
    assert "What is not protected" in text


def test_page_says_how_the_estimate_was_made_and_why_it_stopped(tmp_path: Path) -> None:
    adjusted = mdrr.estimate(TALLY, DESIGN, method="adjust")
    found = adjusted.notes["adjustment"]
    text = Page(page(tmp_path, estimate=adjusted)).text
    assert "RR-Adjustment" in text
    assert f"stopped after {found.sweeps} sweeps because it had reached its tolerance" in text
    assert "Euclidean projection" in text
    hasty = mdrr.estimate(TALLY, DESIGN, method="adjust", sweeps=1, projection="clip")
    text = Page(page(tmp_path, estimate=hasty)).text
    assert "it had used all the sweeps allowed" in text
    assert "the paper's procedure" in text


def test_a_saved_estimate_says_as_much_of_how_it_was_made(tmp_path: Path) -> None:
    made = mdrr.estimate(TALLY, DESIGN, method="adjust")
    made.save(tmp_path / "estimate.npz")
    again = mdrr.Estimate.load(tmp_path / "estimate.npz")
    assert page(tmp_path, estimate=again) == page(tmp_path, estimate=made)


def test_a_method_not_known_here_is_named(tmp_path: Path) -> None:
    made = replace(mdrr.estimate(TALLY, DESIGN, "product"), method="oracle")
    assert "The estimator is “oracle”." in page(tmp_path, estimate=made)


KEPT = "A pair that somebody reports as one answer can be estimated with no assumption"
APART = "The answers to a grey pair's questions are randomized apart"
NEVER = "Nobody is asked both of a grey pair's questions"


@pytest.mark.parametrize(
    ("design", "asked", "pairs"),
    [
        (mdrr.joint(DOMAIN, p=0.5), "Everybody reported every attribute, as one answer.", KEPT),
        (mdrr.sampled(DOMAIN, 2, epsilon=9.0), "Each person got one of 3 questionnaires", KEPT),
        (mdrr.independent(DOMAIN, p=0.5), "every attribute, each on its own.", APART),
        (
            DESIGN,
            "Everybody reported every attribute, in 2 clusters.",
            f"{KEPT} on how it is related. {APART}",
        ),
        (mdrr.sampled(DOMAIN, 1, epsilon=1.0), "at random and reported 1 attribute.", NEVER),
    ],
)
def test_page_says_what_was_asked_and_how_pairs_reach_the_collector(
    tmp_path: Path, design: mdrr.Design, asked: str, pairs: str
) -> None:
    tally = mdrr.tally(mdrr.randomize(PEOPLE, design, source=mdrr.SeededSource(2)), design)
    made = mdrr.estimate(tally, design, "product")
    known = dependences(TALLY, DESIGN)
    path = report(made, design, path=tmp_path / "report.html", dependences=known)
    text = Page(path.read_text("utf-8")).text
    assert "The survey has 3 attributes with 18 possible combinations." in text
    assert asked in text
    assert [said in text for said in (KEPT, APART, NEVER)] == [
        said in pairs for said in (KEPT, APART, NEVER)
    ]
    assert pairs in text


def test_no_truth_and_no_word_of_simulation_unless_it_is_given(tmp_path: Path) -> None:
    text = Page(everything(tmp_path)).text
    assert "imulation" not in text
    assert " truth 95" not in text
    assert "error, %" not in text
    true = int(((PEOPLE["colour"] == "red") & (PEOPLE["smokes"] == "yes")).sum())
    assert f" {true:,} " not in text
    simulated = Page(everything(tmp_path, truth=PEOPLE)).text
    assert "This is a simulation." in simulated
    assert f" {true:,} " in simulated


def test_error_against_the_truth_is_relative(tmp_path: Path) -> None:
    estimate = mdrr.estimate(TALLY, DESIGN)
    true = int(((PEOPLE["colour"] == "red") & (PEOPLE["smokes"] == "yes")).sum())
    miss = 100 * (estimate.count(QUERIES["red smokers"]).value / true - 1)
    text = Page(page(tmp_path, truth=PEOPLE, queries=QUERIES)).text
    assert f"{true:,} {miss:+.1f}".replace("-", "−") in text


def test_a_true_count_of_zero_has_no_relative_error(tmp_path: Path) -> None:
    never = PEOPLE.with_columns(pl.lit("no").alias("smokes"))
    text = page(tmp_path, truth=never, queries=["smokes == 'yes'"])
    assert ">–<" in text


def test_queries_across_clusters_are_marked(tmp_path: Path) -> None:
    text = Page(page(tmp_path, queries=QUERIES)).text
    assert "red smokers across" not in text
    assert "third grade smokers across" in text


def test_labels_are_escaped(tmp_path: Path) -> None:
    text = everything(tmp_path, truth=PEOPLE, title="<script>x</script>")
    assert "<green>" not in text
    assert "<script" not in text
    assert "&lt;green&gt;" in text


def test_truth_must_be_the_same_people(tmp_path: Path) -> None:
    with pytest.raises(EstimateError, match=r"10 records, but 4,000 people"):
        page(tmp_path, truth=PEOPLE.head(10))
    assert not (tmp_path / "report.html").exists()


def test_the_design_must_be_the_estimates(tmp_path: Path) -> None:
    other = mdrr.independent(DOMAIN.project(["smokes"]), p=0.5)
    with pytest.raises(EstimateError, match="not of this design"):
        report(mdrr.estimate(TALLY, DESIGN), other, path=tmp_path / "report.html")


def test_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = page(tmp_path)

    def cut(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", cut)
    with pytest.raises(OSError, match="disk full"):
        page(tmp_path, title="Another")
    monkeypatch.undo()
    assert (tmp_path / "report.html").read_text("utf-8") == before
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_bad_query_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(MdrrError):
        page(tmp_path, queries=["height == 3"])
    assert not list(tmp_path.iterdir())


def test_same_input_same_page(tmp_path: Path) -> None:
    assert everything(tmp_path) == everything(tmp_path)


def test_page_compares_the_design_with_others_and_marks_the_one_in_use(tmp_path: Path) -> None:
    text = page(tmp_path)
    words = Page(text).text
    compared = alternatives(DESIGN, 4000)
    assert compared.words[0] in words
    assert compared.plan is not None
    for c in compared.plan.candidates:
        mark = " in use" if c is compared.used else ""
        kinds = (c.predicted.error, c.predicted.alone, c.predicted.together, c.predicted.worst)
        errors = " ".join("–" if each is None else percent(each) for each in kinds)
        asked = len(c.design.questionnaires)
        assert f"{c.name}{mark} {reported_words(c.design)} {errors} {asked} " in words
    assert text.count('<tr class="used">') == 1
    assert "Forged report : whoever makes a report up" in words
    assert "Every two attributes are taken to depend on each other a little." in words
    used = Page(page(tmp_path, dependences=dependences(TALLY, DESIGN))).text
    assert "The dependences shown above were used" in used


def test_an_infinite_budget_is_said_and_nothing_compared(tmp_path: Path) -> None:
    domain = DOMAIN.project(["smokes"])
    certain = dense_matrix([[1.0, 0.0], [0.5, 0.5]])
    design = mdrr.Design(domain, (Questionnaire((Cluster(("smokes",), certain),), 1),))
    tally = mdrr.tally(mdrr.randomize(PEOPLE, design, source=mdrr.SeededSource(2)), design)
    path = report(mdrr.estimate(tally, design, "product"), design, path=tmp_path / "s.html")
    text = path.read_text("utf-8")
    assert "<dd>∞</dd>" in text
    assert "ε is infinite" in text
    assert not re.search(r">\s*(inf|nan)\b", text)
    assert "Designs at the same budget" not in text


def test_many_attributes_say_how_to_get_the_comparison(tmp_path: Path) -> None:
    domain = mdrr.Domain(tuple(mdrr.Attribute(f"a{j}", (0, 1)) for j in range(50)))
    design = mdrr.independent(domain, epsilon=60.0)
    codes = [np.arange(20) % 2 for _ in range(50)]
    tally = tally_codes([codes], design)
    path = report(mdrr.estimate(tally, design, "product"), design, path=tmp_path / "s.html")
    text = Page(path.read_text("utf-8")).text
    assert "the survey's: mdrr plan design.json --n 20" in text


def test_a_sampled_design_with_many_questionnaires(tmp_path: Path) -> None:
    design = mdrr.sampled(DOMAIN, 2, epsilon=2.0)
    tally = mdrr.tally(mdrr.randomize(PEOPLE, design, source=mdrr.SeededSource(2)), design)
    found = mdrr.estimate(tally, design)
    path = report(
        found,
        design,
        path=tmp_path / "s.html",
        dependences=dependences(tally, design),
        queries=QUERIES,
    )
    text = Page(path.read_text("utf-8")).text
    assert "one of 3 questionnaires at random and reported 2 attributes, as one answer." in text
    assert "drawn at random" in text
    assert "protocol sampled 2 " in text


def test_one_attribute(tmp_path: Path) -> None:
    domain = DOMAIN.project(["smokes"])
    design = mdrr.independent(domain, p=0.5)
    tally = mdrr.tally(mdrr.randomize(PEOPLE, design, source=mdrr.SeededSource(2)), design)
    path = report(mdrr.estimate(tally, design), design, path=tmp_path / "s.html")
    text = Page(path.read_text("utf-8")).text
    assert "1 attribute with 2 possible combinations" in text
    assert "It is in use, and the only one there is to compare" in text
    assert "taken to depend on each other" not in text
    assert "predicted error of a count" not in text  # no chart of one design


def test_every_colour_of_a_chart_has_a_dark_side() -> None:
    from importlib import resources

    from mdrr.plots import COLOURS

    style = (resources.files("mdrr.reporting") / "page.css").read_text("utf-8")
    for role, colour in COLOURS.items():
        assert f'[fill="{colour}"] {{ fill: var(--{role}); }}' in style
        assert style.count(f"--{role}:") == 2


def test_only_different_methods_on_the_same_people_are_compared(tmp_path: Path) -> None:
    with pytest.raises(EstimateError, match="compare different methods"):
        page(tmp_path, others=[mdrr.estimate(TALLY, DESIGN)])
    with pytest.raises(EstimateError, match="compare different methods"):
        page(tmp_path, others={"RR-Clusters, auto": mdrr.estimate(TALLY, DESIGN)})
    few = mdrr.tally(mdrr.randomize(PEOPLE.head(50), DESIGN), DESIGN)
    with pytest.raises(EstimateError, match="not of the same people"):
        page(tmp_path, others=[mdrr.estimate(few, DESIGN, method="adjust")])


PLAN = mdrr.plan(DOMAIN, n=4000, epsilon=2.0)
PLANNED = mdrr.tally(mdrr.randomize(PEOPLE, PLAN.design, source=mdrr.SeededSource(5)), PLAN.design)


def planned(tmp_path: Path, **options: Any) -> Page:
    estimate = mdrr.estimate(PLANNED, PLAN.design, "pairwise")
    path = tmp_path / "planned.html"
    known = dependences(PLANNED, PLAN.design)
    report(estimate, PLAN.design, path=path, dependences=known, **options)
    return Page(path.read_text("utf-8"))


def test_pairs_of_a_split_questionnaire_are_not_said_to_be_randomized_apart(
    tmp_path: Path,
) -> None:
    assert PLAN.best.name == "split questionnaire"
    assert len(PLAN.design.questionnaires) > 1
    text = planned(tmp_path).text
    assert "A pair that somebody reports as one answer can be estimated" in text
    assert "randomized apart" not in text
    assert "not reported as one answer" not in text  # no pair is drawn grey
    clustered = Page(page(tmp_path, dependences=dependences(TALLY, DESIGN))).text
    assert "The answers to a grey pair's questions are randomized apart" in clustered
    assert "not reported as one answer" in clustered


def test_the_words_of_dependence_charts_name_only_what_can_be_told_from_0(tmp_path: Path) -> None:
    found = dependences(TALLY, DESIGN)
    assert not found.is_clear("smokes", "grade")  # independent, like colour and grade
    low, high = found.interval("colour", "smokes") or (0.0, 0.0)
    titles = re.findall("<title>(.*?)</title>", page(tmp_path, dependences=found))
    told = [words for words in titles if "colour and smokes" in words]
    assert len(told) == 2
    for words in told:
        assert f"{low:.2f} to {high:.2f}" in words
        assert "2 of 3 pairs cannot be told from 0" in words
        assert "smokes and grade" not in words
        assert "colour and grade" not in words


def test_one_design_is_called_split_questionnaire(tmp_path: Path) -> None:
    """The one in use by its plan's name; another one, if a new plan gives one, by another."""
    known = planned(tmp_path, plan=PLAN).text
    assert "split questionnaire in use" in known
    assert "another split questionnaire" not in known
    assert "the plan made before anyone was asked" in known
    uneven = mdrr.split_questionnaire(
        DOMAIN,
        [("colour", "smokes"), ("smokes", "grade"), ("colour", "grade")],
        epsilon=2.0,
        shares=[0.8, 0.1, 0.1],
    )
    proposed = alternatives(uneven, 4000).plan
    assert proposed is not None
    names = [c.name for c in proposed.candidates]
    assert "another split questionnaire" in names
    assert "split questionnaire" not in names
    with pytest.raises(DesignError, match="not of this design"):
        alternatives(uneven, 4000, made=mdrr.plan(DOMAIN.project(["smokes"]), n=9, epsilon=1.0))


def test_warnings_stand_at_the_top(tmp_path: Path) -> None:
    estimate = mdrr.estimate(TALLY, DESIGN, "product")
    assert "Read this first" not in page(tmp_path, estimate=estimate)
    warned = replace(estimate, notes={**estimate.notes, "warnings": ["These are <no> reports."]})
    text = page(tmp_path, estimate=warned)
    assert "These are &lt;no&gt; reports." in text
    assert text.index("Read this first") < text.index("people who reported") < text.index("<main")


def test_findings_and_a_chart_come_before_how_it_was_made(tmp_path: Path) -> None:
    found = mdrr.estimate(TALLY, DESIGN, "product")
    for options in ({"queries": QUERIES}, {}):
        text = page(tmp_path, estimate=found, story=["First this."], **options)
        heads = ["What was found", "Each attribute", "How the reports came about", "The design"]
        places = [text.index(f">{head}<") for head in (*heads, "How the estimate was made")]
        assert places == sorted(places)
        assert text.index("<svg") in range(places[0], places[1])


def test_without_queries_the_first_chart_is_the_most_frequent_answers(tmp_path: Path) -> None:
    estimate = mdrr.estimate(TALLY, DESIGN, "product")
    text = Page(page(tmp_path, estimate=estimate)).text
    for attribute in DOMAIN.attributes:
        table = estimate.table(attribute.name)
        top = int(np.argmax(table.values))
        label = f"{attribute.name}: {attribute.categories[top]}"
        assert f"{label} {100 * table.values[top]:.1f}" in text


def test_integers_are_folded_away(tmp_path: Path) -> None:
    text = page(tmp_path, estimate=mdrr.estimate(TALLY, DESIGN, "product"))
    matrix = DESIGN.clusters[0].matrix
    assert isinstance(matrix, mdrr.Constant)
    weights = text.index(f"{matrix.diagonal:,} and {matrix.off:,} of {matrix.total:,}")
    opened = text.rindex("<details", 0, weights)
    assert text[opened:].startswith("<details>")  # not open
    assert "</details>" not in text[opened:weights]


def test_cells_of_tables_that_stack_on_a_phone_say_what_they_are(tmp_path: Path) -> None:
    text = everything(tmp_path, truth=PEOPLE)
    tables = re.findall(r'<table class="stack">.*?</table>', text, flags=re.DOTALL)
    assert len(tables) == 2
    for table in tables:
        cells = re.findall(r"<td[^>]*>", table)
        assert cells
        assert all("data-label=" in cell for cell in cells)


def test_estimates_of_other_designs_are_compared_by_name(tmp_path: Path) -> None:
    """As many as one likes; the chart shows the first four."""
    other = mdrr.independent(DOMAIN, p=0.6)
    tally = mdrr.tally(mdrr.randomize(PEOPLE, other, source=mdrr.SeededSource(9)), other)
    methods = ("product", "adjust", "pairwise", "correspondence")
    named = {f"RR-Independent, {m}": mdrr.estimate(tally, other, m) for m in methods}
    text = Page(page(tmp_path, truth=PEOPLE, queries=QUERIES, others=named)).text
    for name, estimate in named.items():
        count = estimate.count(QUERIES["red smokers"])
        assert f" {name} {count.value:,.0f} {count.low:,.0f} – {count.high:,.0f} " in text
    assert " RR-Clusters, auto " in text
    assert "The intervals of product and adjust do not cover" in text


def test_the_median_and_the_worst_error_stand_beside_the_prediction(tmp_path: Path) -> None:
    found = mdrr.estimate(TALLY, DESIGN)
    text = Page(page(tmp_path, estimate=found, truth=PEOPLE, queries=QUERIES)).text
    smokes = PEOPLE["smokes"] == "yes"
    true = [((PEOPLE["colour"] == "red") & smokes).sum(), ((PEOPLE["grade"] == 3) & smokes).sum()]
    misses = [
        100 * (found.count(where).value / int(t) - 1)
        for where, t in zip(QUERIES.values(), true, strict=True)
    ]
    worst = max(misses, key=abs)
    middle = np.mean(np.abs(misses))  # the median of two
    assert f" {middle:.1f} {worst:+.1f} ".replace("-", "−") in text
    predicted = predict(DESIGN, 4000, PLAN.tables, dependences=PLAN.dependences).error
    said = text.replace("\u00a0", " ")
    assert re.search(rf"off by [\d.]+ % \(predicted: {percent(predicted)} %\)", said)
    biased = mdrr.estimate(TALLY, DESIGN, "product")  # predictions are of the default
    assert "(predicted:" not in page(tmp_path, estimate=biased, truth=PEOPLE)
