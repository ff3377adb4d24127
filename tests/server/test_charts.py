"""The dashboard's routes: the survey's words and the report's charts, for the owner alone."""

import subprocess
import sys
from xml.etree import ElementTree

import httpx
import pytest

from mdrr.estimation import estimate
from mdrr.frozen import freeze
from mdrr.protocols import independent
from mdrr.survey import Survey
from tests.server.cases import answer, report, running

WORDS = Survey.from_toml("""
title = "Health"
[[attributes]]
name = "smokes"
question = "Do you <i>smoke</i>?"
categories = ["no", "yes"]
labels = { no = "Never & nowhere", yes = "Yes" }
[[attributes]]
name = "age"
kind = "ordinal"
categories = ["young", "middle", "old"]
[[attributes]]
name = "town"
public = true
categories = ["A", "B", "C", "D"]
""")
DESIGN = independent(WORDS.domain, epsilon=3.0)
CHARTS = ("arrivals", "dependences", "privacy", "compared")
PATHS = ("survey", "compared", "charts/shares.html", *(f"charts/{name}.svg" for name in CHARTS))


@pytest.fixture
def owner(tmp_path):
    """A client with the owner's token, and the survey's address, store and id."""
    made = freeze(WORDS, DESIGN)
    with running(f"sqlite:///{tmp_path}/answers.db") as (url, store):
        headers = {"authorization": f"Bearer {store.create(made)}"}
        store.open(made.id)
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            yield client, f"/api/surveys/{made.id}/owner", store, made.id


def fill(store, id, count=40):
    held = store.need(id)
    store.accept([answer(held, report(DESIGN)) for _ in range(count)])


def test_a_server_starts_without_what_draws_and_estimates():
    slow = ("altair", "jinja2", "numba", "pyarrow", "scipy", "mdrr.estimation", "mdrr.plots")
    code = f"import sys, mdrr.server.app; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_stranger_sees_nothing(owner):
    client, base, store, id = owner
    fill(store, id)
    for path in PATHS:
        assert (
            client.get(f"{base}/{path}", headers={"authorization": "Bearer x"}).status_code == 401
        )
        assert client.get(f"{base}/{path}").status_code == 200


def test_charts_are_images_that_stand_alone(owner):
    client, base, store, id = owner
    fill(store, id)
    for name in CHARTS:
        reply = client.get(f"{base}/charts/{name}.svg", params={"width": 200})
        assert reply.headers["content-type"] == "image/svg+xml"
        root = ElementTree.fromstring(reply.text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root[0].tag.endswith("title")
        assert root[0].text
    wide = client.get(f"{base}/charts/arrivals.svg", params={"width": 800}).text
    assert int(ElementTree.fromstring(wide).get("width")) > 800
    assert client.get(f"{base}/charts/arrivals.svg", params={"width": 10_000}).status_code == 422


def test_without_answers_a_sentence_says_so(owner):
    client, base, _, _ = owner
    for path in ("compared", "charts/shares.html", "charts/dependences.svg"):
        reply = client.get(f"{base}/{path}")
        assert reply.status_code == 409
        assert "no answers yet" in reply.json()["error"]
    assert client.get(f"{base}/charts/arrivals.svg").status_code == 422
    assert client.get(f"{base}/charts/privacy.svg").status_code == 200


def test_shares_are_in_the_surveys_words_and_escaped(owner):
    client, base, store, id = owner
    fill(store, id)
    page = client.get(f"{base}/charts/shares.html").text
    assert "Do you &lt;i&gt;smoke&lt;/i&gt;?" in page
    assert "<i>" not in page
    assert "Never &amp; nowhere" in page
    found = estimate(store.tally(store.need(id).phase()), DESIGN)
    assert f'<td class="n">{100 * found.table("smokes").values[0]:.1f}</td>' in page
    assert '<td class="n raw">100.0</td>' in page  # everybody lives in B, and that is public


def test_estimators_are_compared_on_one_group_or_on_pairs(owner):
    client, base, store, id = owner
    fill(store, id)
    tally = store.tally(store.need(id).phase())
    where = "smokes == 'no' and age == 'old'"
    (answered,) = client.get(f"{base}/compared", params={"where": where}).json()["answers"]
    for method, count in answered["counts"].items():
        found = estimate(tally, DESIGN, method).count(where)
        assert count == pytest.approx({key: getattr(found, key) for key in count})
    assert set(answered["counts"]) == {"auto", "product", "pairwise", "latent"}
    labels = [each["label"] for each in client.get(f"{base}/compared").json()["answers"]]
    assert len(labels) == 3
    bad = client.get(f"{base}/compared", params={"where": "smokes = 1"})
    assert bad.status_code == 422
    assert "cannot be read" in bad.json()["error"]


def test_the_survey_says_what_a_person_spends(owner):
    client, base, _, _ = owner
    said = client.get(f"{base}/survey").json()
    spent = {each["name"]: each["epsilon"] for each in said["attributes"]}
    assert spent.pop("town") is None  # reported as it is
    assert said["attributes"][2]["public"]
    assert sum(spent.values()) == pytest.approx(said["epsilon"])
    assert said["survey"]["questions"][0]["labels"][0] == {"en": "Never & nowhere"}


def test_the_report_is_in_the_surveys_words(owner):
    client, base, store, id = owner
    fill(store, id)
    page = client.get(f"{base}/report.html", params={"method": "product"}).text
    assert '<h1 lang="en" dir="auto">Health</h1>' in page
    assert '<h3 lang="en" dir="auto">Do you &lt;i&gt;smoke&lt;/i&gt;?</h3>' in page
    assert '<th scope="row" lang="en" dir="auto">Never &amp; nowhere</th>' in page
    other = client.get(f"{base}/report.html", params={"language": "de"})
    assert other.status_code == 422
    assert "no texts in 'de'" in other.json()["error"]
