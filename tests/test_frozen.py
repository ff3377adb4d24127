"""A frozen survey is what it was when it was frozen, and nothing else is read as one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mdrr.errors import MdrrError
from mdrr.frozen import FrozenSurvey, freeze, predictions, shortfall
from mdrr.protocols import independent, joint
from mdrr.survey import Survey

ROOT = Path(__file__).resolve().parents[1]
DRAFT = """
languages = ["en", "ar"]
title = { en = "Health", ar = "صحة" }
purpose = "To plan clinics."
consent = { en = "I agree.", ar = "أوافق" }
contact = "health@example.org"

[design]
protocol = "planned"
epsilon = 1.5
people = 500

[[attributes]]
name = "smokes"
question = { en = "Do you smoke?", ar = "هل تدخن؟" }
categories = ["no", "yes", "?"]
missing = "?"
labels = { yes = { en = "Yes", ar = "نعم" }, "?" = "?" }

[[attributes]]
name = "age"
edges = [0, 18.5, 65, 120]

[[attributes]]
name = "insured"
categories = [false, true]
"""


@pytest.fixture(scope="module")
def frozen() -> FrozenSurvey:
    return freeze(Survey.from_toml(DRAFT))


def test_reading_gives_what_was_written(frozen):
    again = FrozenSurvey.from_json(frozen.to_json())
    assert again == frozen
    assert again.to_json() == frozen.to_json()
    assert again.design.fingerprint == frozen.design.fingerprint
    assert again.survey.spoken("ar").question("smokes").labels == ("no", "نعم", "?")


def test_the_format_is_the_agreed_one(frozen):
    fields = json.loads(frozen.to_json())
    assert list(fields) == ["mdrr-survey", "id", "survey", "phases", "predicted"]
    assert fields["mdrr-survey"] == 1
    assert fields["survey"]["languages"] == ["en", "ar"]
    assert fields["survey"]["purpose"] == {"en": "To plan clinics.", "ar": "To plan clinics."}
    assert fields["survey"]["questions"][0] == {
        "name": "smokes",
        "text": {"en": "Do you smoke?", "ar": "هل تدخن؟"},
        "labels": [{"en": "no", "ar": "no"}, {"en": "Yes", "ar": "نعم"}, {"en": "?", "ar": "?"}],
        "kind": "nominal",
        "missing": "?",
        "public": False,
    }
    assert fields["phases"][0]["design"]["fingerprint"] == frozen.design.fingerprint


def test_the_plan_and_its_prediction_are_kept(frozen):
    assert frozen.design.epsilon <= 1.5
    assert frozen.predicted["people"] == 500
    assert frozen.predicted["forged"] > 1
    assert (
        freeze(
            Survey.from_toml(DRAFT.replace("people = 500", "").replace("planned", "joint"))
        ).predicted
        == {}
    )


def test_ids_are_made_anew_each_time():
    survey = Survey.from_toml(DRAFT)
    design = independent(survey.domain, epsilon=1.0)
    assert len({freeze(survey, design).id for _ in range(50)}) == 50


def test_a_survey_without_settings_needs_a_design():
    survey = replace(Survey.from_toml(DRAFT), settings=None)
    with pytest.raises(MdrrError, match=r"the survey has no \[design\]"):
        freeze(survey)
    assert freeze(survey, joint(survey.domain, epsilon=1.0)).predicted == {}


def changed(frozen, change) -> str:
    fields = json.loads(frozen.to_json())
    change(fields)
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda f: f.pop("mdrr-survey"), "not a frozen survey"),
        (lambda f: f.update({"mdrr-survey": 2}), "has format 2"),
        (lambda f: f.pop("id"), "has no 'id'"),
        (lambda f: f.update(extra=1), "unknown key 'extra'"),
        (lambda f: f.update(id="ABC"), "the id of a survey"),
        (lambda f: f.update(phases=[]), "one phase or two"),
        (lambda f: f.update(phases=f["phases"] * 3), "one phase or two"),
        (lambda f: f.update(phases=3), "cannot be read"),
        (lambda f: f["survey"].pop("title"), "has no 'title'"),
        (lambda f: f["survey"]["title"].pop("ar"), "has no 'ar'"),
        (lambda f: f["survey"]["title"].update(ar=3), "once for each language"),
        (lambda f: f["survey"]["title"].update(de="x"), "once for each language"),
        (lambda f: f["survey"].update(languages=[]), "no languages"),
        (lambda f: f["survey"].update(more="x"), "says of its questions"),
        (lambda f: f["survey"]["questions"].pop(), "not those of its design"),
        (lambda f: f["survey"]["questions"][0].update(name="x"), "not those of its design"),
        (lambda f: f["survey"]["questions"][0]["labels"].pop(), "3 categories and 2 labels"),
        (lambda f: f["survey"]["questions"][0].update(public=True), "says of its questions"),
        (lambda f: f["survey"]["questions"][1].update(kind="nominal"), "says of its questions"),
        (lambda f: f["predicted"].update(error="small"), "'error' is not a number"),
        (
            lambda f: f["phases"][0]["design"].update(fingerprint="0" * 64),
            "changed after it was published",
        ),
        (
            lambda f: f["phases"][0]["design"]["attributes"][1].update(edges=["0", "2", "3", "9"]),
            "of numeric 'age' are its bins",
        ),
    ],
)
def test_a_changed_file_is_refused(frozen, change, complaint):
    with pytest.raises(MdrrError, match=complaint):
        FrozenSurvey.from_json(changed(frozen, change))


@pytest.mark.parametrize("text", ["", "[]", "3", "{", "null", "[" * 100_000])
def test_what_is_no_frozen_survey_is_refused(text):
    with pytest.raises(MdrrError, match="frozen survey"):
        FrozenSurvey.from_json(text)


def test_the_phases_ask_the_same(frozen):
    other = independent(Survey.load(ROOT / "examples" / "adult.toml").domain, epsilon=1.0)
    with pytest.raises(MdrrError, match="do not ask the same"):
        replace(frozen, phases=(frozen.design, other))


def test_fewer_people_than_expected_are_said_with_the_error_they_bring():
    frozen = freeze(Survey.from_toml(DRAFT))
    promised, found = frozen.predicted["error"], predictions(frozen.design, 50)["error"]
    assert found > promised
    assert shortfall(frozen, frozen.design, 50) == (
        f"50 of 500 people expected. A typical count errs by about {found:.1%}, not {promised:.1%}."
    )
    assert shortfall(frozen, frozen.design, 0) == "0 of 500 people expected."
    assert shortfall(frozen, frozen.design, 500) == ""
    other = independent(frozen.survey.domain, p=0.5)  # a pilot, of which nothing was promised
    assert shortfall(frozen, other, 50) == ""
    assert shortfall(freeze(Survey.from_toml(DRAFT), other), other, 50) != ""
    assert shortfall(replace(frozen, predicted={}), frozen.design, 50) == ""
