"""A draft asks what the columns hold, says what it read off them, and leaves identifiers out."""

import polars as pl
import pytest

from mdrr.draft import draft
from mdrr.errors import SchemaError
from mdrr.misfits import misfits
from mdrr.survey import Survey

PEOPLE = pl.DataFrame(
    {
        "id": range(1000),
        "name": [f"person {i}" for i in range(1000)],
        "region": [("north", "south", None)[i % 3] for i in range(1000)],
        "work": [("office", "?", 'a "shop"')[i % 3] for i in range(1000)],
        "visits": [i % 5 if i % 5 != 2 else 3 for i in range(1000)],
        "rooms": [None if i % 9 == 0 else i % 4 for i in range(1000)],
        "salary": [i % 90 * 271 for i in range(1000)],
        "height": [None if i % 50 == 0 else 150.5 + i % 47 for i in range(1000)],
        "insured": [i % 2 == 0 for i in range(1000)],
        "agrees": [(True, False, None)[i % 3] for i in range(1000)],
        "country": ["x"] * 1000,
        "free": [f"text {i % 200}" for i in range(1000)],
        "bad\tname": ["u", "v"] * 500,
    }
)


@pytest.fixture(scope="module")
def made():
    return draft(PEOPLE, title='The "first"')


@pytest.fixture(scope="module")
def survey(made):
    return Survey.from_toml(made.text)


def test_the_draft_is_a_survey_that_its_people_fit(made, survey):
    assert survey.title == 'The "first"'
    assert survey.domain.names == made.asked
    assert misfits(PEOPLE, survey.domain.project([n for n in made.asked if n != "agrees"])) == []
    written = pl.read_csv(PEOPLE.write_csv().encode(), infer_schema=False)
    assert misfits(written, survey.domain) == []
    assert survey.settings.protocol == "planned"
    assert survey.settings.people == 1000


@pytest.mark.parametrize(
    ("name", "kind", "categories", "missing"),
    [
        ("region", "nominal", ("north", "south", "no answer"), "no answer"),
        ("work", "nominal", ('a "shop"', "office", "?"), "?"),
        ("visits", "ordinal", (0, 1, 2, 3, 4), None),
        ("rooms", "ordinal", (0, 1, 2, 3, -1), -1),
        ("insured", "nominal", (False, True), None),
        ("agrees", "nominal", ("false", "true", "no answer"), "no answer"),
    ],
)
def test_columns_become_questions(survey, name, kind, categories, missing):
    attribute = survey.domain.attribute(name)
    assert (attribute.kind, attribute.categories) == (kind, categories)
    assert attribute.missing == missing


def test_numbers_get_round_edges(survey):
    assert survey.domain.attribute("salary").edges == (0, 5000, 10000, 15000, 20000, 25000)
    height = survey.domain.attribute("height")
    assert height.edges == (150, 160, 170, 180, 190, 200)
    assert height.missing == "no answer"


def test_what_is_left_out_is_said_with_the_reason(made):
    left = dict(made.left)
    assert set(left) == {"id", "name", "country", "free", "bad\tname"}
    assert "looks like an identifier" in left["id"]
    assert "looks like an identifier" in left["name"]
    assert "1 different values" in left["country"]
    assert "200 different values" in left["free"]
    for name in left:
        assert f"# {name!a} is left out: " in made.text
    assert "person 7" not in made.text
    assert "text 7" not in made.text


def test_the_leak_is_said_at_the_head_and_at_each_question(made):
    assert "WARNING" in made.text.splitlines()[2]
    assert "is a leak" in made.text
    assert made.text.count("# Read off the answers") == len(made.read) == 6
    assert "insured" not in made.read


def test_a_table_with_nothing_to_ask_is_refused():
    with pytest.raises(SchemaError, match="no column can be asked: 'a': it has 1 different"):
        draft(pl.DataFrame({"a": ["x", "x"]}))
    with pytest.raises(SchemaError, match="no rows"):
        draft(pl.DataFrame({"a": []}))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["60,5", "70,1", " 80"], "decimal comma or with blanks"),
        ([1e308, -1e308, 0.0], "too large to be binned"),
        ([1e16, 10000000000000002.0, 1e16], "too large or too close"),
        (["a\nb", "c", "c"], "cannot be shown on one line"),
    ],
)
def test_columns_that_no_question_fits_are_left_out_with_the_reason(values, why):
    made = draft(pl.DataFrame({"sex": ["F", "M", "F"], "odd": values}))
    assert made.asked == ("sex",)
    [(name, said)] = made.left
    assert name == "odd"
    assert why in said
    Survey.from_toml(made.text)


def test_columns_without_a_name_are_left_out():
    people = pl.read_csv(b"sex,,\nF,1,2\nM,2,1\n")
    assert draft(people).left == (("", "it has no name"),) * 2


def test_the_smallest_numbers_have_edges():
    made = draft(pl.DataFrame({"a": [5e-324, 1e-323]}))
    assert Survey.from_toml(made.text).domain.names == ("a",)
