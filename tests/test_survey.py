from pathlib import Path

import pytest

from mdrr.datasets import adult_domain, adult_survey
from mdrr.domain import Attribute, Domain
from mdrr.errors import DesignError, SchemaError
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.survey import Question, Settings, Survey

ROOT = Path(__file__).resolve().parents[1]
DOMAIN = Domain(tuple(Attribute(name, ("x", "y", "z"), kind="ordinal") for name in "abc"))

FULL = """
title = "Health"
introduction = "Thank you."

[design]
protocol = "clusters"
epsilon = 2.5
clusters = [["smokes", "sex"], ["age"], ["visits"], ["insured"]]

[[attributes]]
name = "smokes"
question = "Do you smoke?"
categories = ["no", "yes", "?"]
missing = "?"
labels = { yes = "Yes, I do", "?" = "No answer" }

[[attributes]]
name = "age"
edges = [0, 17.5, 65, 120]

[[attributes]]
name = "visits"
kind = "ordinal"
categories = [0, 1, 2]
labels = { 2 = "twice or more" }

[[attributes]]
name = "insured"
categories = [false, true]
labels = { true = "Yes", false = "No" }

[[attributes]]
name = "sex"
categories = ["F", "M"]
"""


def test_a_full_survey_is_read_as_written():
    survey = Survey.from_toml(FULL)
    assert survey.title == "Health"
    assert survey.introduction == "Thank you."
    assert survey.domain == Domain(
        (
            Attribute("smokes", ("no", "yes", "?"), missing="?"),
            Attribute("age", kind="numeric", edges=(0, 17.5, 65, 120)),
            Attribute("visits", (0, 1, 2), kind="ordinal"),
            Attribute("insured", (False, True)),
            Attribute("sex", ("F", "M")),
        )
    )
    assert survey.question("smokes").text == "Do you smoke?"
    assert survey.question("smokes").labels == ("no", "Yes, I do", "No answer")
    assert survey.question("visits").labels == ("0", "1", "twice or more")
    assert survey.question("insured").labels == ("No", "Yes")
    assert survey.question("age") == Question(survey.domain.attribute("age"))
    assert survey.question("age").text == "age"
    clusters = [["smokes", "sex"], ["age"], ["visits"], ["insured"]]
    assert survey.settings.make(survey.domain) == clustered(survey.domain, clusters, epsilon=2.5)


def test_the_example_declares_adult_in_words():
    survey = Survey.load(ROOT / "examples" / "adult.toml")
    assert survey.domain == adult_domain()
    assert survey == adult_survey()
    assert survey.settings == Settings("planned", epsilon=4.0, people=32_561)
    for question in survey.questions:
        assert question.text.endswith("?")
        assert question.text != question.attribute.name
        assert len(set(question.labels)) == question.attribute.size


def test_title_words_and_settings_may_be_left_out():
    survey = Survey.from_toml('[[attributes]]\nname = "a"\ncategories = ["x", "y"]')
    assert (survey.title, survey.introduction, survey.settings) == ("", "", None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("title = ?\n", "s.toml: not TOML: .*line 1"),
        ("title = 'x'", r"s.toml: no \[\[attributes\]\]"),
        ("attributes = 3", r"s.toml: no \[\[attributes\]\]"),
        ("attributes = [3]", "s.toml: attribute 1: not a table"),
        ("titel = 'x'", "s.toml: there is no key 'titel'.*Did you mean 'title'"),
        ("title = 3\n{ok}", "s.toml: title = 3 is not text"),
        ("{ok}{ok}", "s.toml: the attribute 'a' is declared twice"),
        ("{ok}questoin = 'x'", r"attribute 1 \('a'\): there is no key 'questoin'.*'question'"),
        (
            "[[attributes]]\ncategories = ['x', 'y']",
            "s.toml: attribute 1: an attribute has no 'name'",
        ),
        ("[[attributes]]\nname = 'a'", r"attribute 1 \('a'\): 'a' has 0 categories"),
        ("[[attributes]]\nname = 'a'\ncategories = ['x']", r"\('a'\): 'a' has 1 categories"),
        (
            "[[attributes]]\nname = 'a'\ncategories = 'xy'",
            r"\('a'\): categories = 'xy' is not a list",
        ),
        ("[[attributes]]\nname = 'a'\ncategories = ['x', 1]", "must all be text, all integers"),
        ("[[attributes]]\nname = 'a'\ncategories = ['x', 'x']", "the category 'x' twice"),
        ("[[attributes]]\nname = 'a'\ncategories = ['x', 1979-05-27]", "must all be text"),
        ("[[attributes]]\nname = 'a'\nedges = [0, 1]", "at least 3 edges"),
        ("[[attributes]]\nname = 'a'\nedges = [0, 'x', 2]", "edge 'x' of 'a' is not a finite"),
        ("{ok}kind = 'nominl'", "kind 'nominl'. Known: 'nominal'"),
        ("{ok}missing = '?'", "missing='[?]', which is not among"),
        ("{ok}question = 3", r"\('a'\): question = 3 is not text"),
        ("{ok}labels = 3", r"\('a'\): labels must be a table"),
        ("{ok}labels = {{ z = 'Z' }}", r"\('a'\): labels: 'z' is not a category"),
        ("{ok}labels = {{ x = 3 }}", r"\('a'\): labels: the words for 'x' are not text"),
        ("design = 3\n{ok}", r"s.toml: \[design\]: not a table"),
        ("[design]\nprotocl = 'joint'\n{ok}", r"\[design\]: there is no key 'protocl'.*'protocol'"),
        ("[design]\nprotocol = 'jont'\n{ok}", r"\[design\]: there is no protocol 'jont'.*'joint'"),
        ("[design]\np = 'high'\n{ok}", r"\[design\]: p = 'high' is not a number"),
        ("[design]\nsize = 2\n{ok}", r"\[design\]: size goes with protocol 'sampled'"),
        ("[design]\nprotocol = 'sampled'\n{ok}", r"\[design\]: protocol 'sampled' needs size"),
        (
            "[design]\nprotocol = 'clusters'\n{ok}",
            r"\[design\]: protocol 'clusters' needs clusters",
        ),
        ("[design]\nclusters = ['a']\n{ok}", r"\[design\]: clusters is a list of lists"),
    ],
)
def test_errors_name_the_file_the_table_and_the_key(text, complaint):
    ok = "[[attributes]]\nname = 'a'\ncategories = ['x', 'y']\n"
    with pytest.raises(SchemaError, match=complaint) as error:
        Survey.from_toml(text.format(ok=ok), "s.toml")
    assert str(error.value).startswith("s.toml: ")
    assert str(error.value).count("s.toml") == 1
    assert "\n" not in str(error.value)


def test_a_survey_file_is_named_in_its_errors(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text('title = 3\n[[attributes]]\nname = "a"\ncategories = ["x", "y"]')
    with pytest.raises(SchemaError, match=r"bad\.toml: title = 3"):
        Survey.load(path)
    with pytest.raises(FileNotFoundError):
        Survey.load(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("settings", "design"),
    [
        (Settings(p=0.4), independent(DOMAIN, p=0.4)),
        (Settings(epsilon=2.0), independent(DOMAIN, epsilon=2.0)),
        (
            Settings(epsilon={"a": 1.0, "b": 2.0, "c": 3.0}),
            independent(DOMAIN, epsilon={"a": 1.0, "b": 2.0, "c": 3.0}),
        ),
        (Settings("joint", p=0.4), joint(DOMAIN, p=0.4)),
        (
            Settings("clusters", p=0.4, clusters=(("a", "b"), ("c",))),
            clustered(DOMAIN, [["a", "b"], ["c"]], p=0.4),
        ),
        (Settings("sampled", epsilon=1.0, size=2), sampled(DOMAIN, 2, epsilon=1.0)),
        (
            Settings("sampled", epsilon=0.2, size=2, report="subset"),
            sampled(DOMAIN, 2, epsilon=0.2, report="subset"),
        ),
        (Settings(p=0.4, ordered="banded"), independent(DOMAIN, p=0.4, ordered="banded")),
    ],
)
def test_settings_make_the_protocols_designs(settings, design):
    assert settings.make(DOMAIN) == design


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (Settings(), "give p or epsilon"),
        (Settings(p=0.5, epsilon=1.0), "give p or epsilon"),
        (Settings("sampled", p=0.5, size=2), "'sampled' needs epsilon"),
        (Settings("sampled", size=2), "'sampled' needs epsilon"),
        (Settings("joint", epsilon={"a": 1.0}), "goes with protocol 'independent'"),
        (Settings("clusters", p=0.5, clusters=(("a", "b"), ("a", "b"))), "name 'a', 'b' twice"),
        (Settings("clusters", p=0.5, clusters=(("a", "b"),)), "no cluster holds 'c'"),
    ],
)
def test_settings_that_make_no_design_are_refused(settings, complaint):
    with pytest.raises(DesignError, match=complaint):
        settings.make(DOMAIN)


def test_labels_must_be_one_per_category():
    with pytest.raises(SchemaError, match="2 categories and 1 labels"):
        Question(Attribute("a", ("x", "y")), labels=("X",))
