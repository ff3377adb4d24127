"""`mdrr survey init, check, preview, freeze`: from a table to a frozen file."""

import json
from pathlib import Path

import pytest

from mdrr.frozen import FrozenSurvey
from mdrr.survey import Survey
from tests.cli.run import answer, done, refusal, run

DESIGN = '\n[design]\nprotocol = "planned"\nepsilon = 1.0\npeople = 600\n'


@pytest.fixture
def draft(folder):
    """The survey of the folder, with a design to plan."""
    text = Path("survey.toml").read_text(encoding="utf-8")
    head, rest = text.split("[[attributes]]", 1)
    Path("survey.toml").write_text(head + DESIGN + "[[attributes]]" + rest, encoding="utf-8")
    return folder


def test_names_with_quotes_are_read_as_by_others(folder):
    Path("q.csv").write_text('"a ""b"" c",d\nx,1\ny,2\n', encoding="utf-8")
    assert 'a "b" c, d.' in done("survey init q.csv -o q.toml")
    assert Survey.load("q.toml").domain.names == ('a "b" c', "d")
    assert "No problems." in done("survey check q.toml q.csv")
    done("design q.toml -o q.json")
    done("randomize q.csv -d q.json -o q.parquet --seed 1")  # which reads the people otherwise


def test_one_question_is_one(folder):
    Path("q.csv").write_text("a\nx\ny\n", encoding="utf-8")
    assert "1 question: a." in done("survey init q.csv -o q.toml")


def test_init_drafts_a_survey_and_warns_of_the_leak(folder):
    result = run("survey init people.csv -o draft.toml")
    assert result.exit_code == 0
    assert Survey.load("draft.toml").domain.names == ("smokes", "age", "visits", "insured")
    assert "Left out 'ssn'" in result.stdout
    assert "WARNING" in result.stderr
    assert "leak" in result.stderr
    assert "secret" not in Path("draft.toml").read_text(encoding="utf-8")
    assert "exists" in refusal("survey init people.csv -o draft.toml")
    done("survey init people.csv -o draft.toml --force --title Again")
    assert Survey.load("draft.toml").title == "Again"
    assert "No problems" in done("survey check draft.toml people.csv")


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("p.xlsx", b"x", "give the people as CSV or TSV"),
        ("p.csv", b"a;b\n1;2\n", "semicolons"),
        ("p.csv", b"a;b\n1,5;secret\n", "semicolons"),
        ("p.csv", b"a\tb\n1\tsecret\n", "Name it .tsv"),
        ("p.csv", b"a,b\n1,secret,3\n", "row 2: more fields than the first row names"),
        ("p.csv", b"a\n\xff\xfe\n", "row 2: not text in UTF-8"),
        ("p.csv", b"a,b\n1,2\nsecret\n", "row 3: fewer fields than the first row names"),
        ("p.csv", b'a,b\n1,"secret\n', "row 2: a quotation mark is not closed"),
        ("p.csv", b"a,a\n1,secret\n", "the first row names 'a' 2 times"),
        ("p.csv", b"a,b\n", "no rows"),
        ("p.csv", b"", "nothing is in its first row"),
        ("p.csv.gz", b"\x1f\x8bsecret", "not whole"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(folder, name, content, complaint):
    Path(name).write_bytes(content)
    said = refusal(f"survey init {name} -o draft.toml")
    assert complaint in said
    assert "secret" not in said


def test_check_lists_every_problem_of_a_survey_at_once(folder):
    Path("bad.toml").write_text(
        """
titel = "x"
languages = ["en", "de"]
purpose = { en = "To know." }
[design]
protocl = "joint"
[[attributes]]
name = "a"
categories = ["x"]
[[attributes]]
name = "b"
categories = ["x", "y"]
labels = { z = "Z", x = 3 }
kin = "ordinal"
""",
        encoding="utf-8",
    )
    result = run("survey check bad.toml")
    assert result.exit_code == 1
    for part in (
        "there is no key 'titel'",
        "purpose: there are no words in 'de'",
        "[design]: there is no key 'protocl'",
        "attribute 1 ('a'): 'a' has 1 categories",
        "attribute 2 ('b'): labels: 'z' is not a category",
        "attribute 2 ('b'): labels: the words for 'x' are not text",
        "attribute 2 ('b'): there is no key 'kin'",
        "8 problems.",
    ):
        assert part in result.stdout
    fields = json.loads(run("survey check bad.toml people.csv --json").stdout)
    assert len(fields["problems"]) == 8
    assert fields["people"] == []


MANY = """
languages = ["en", "en", "x-"]
[design]
protocol = "clusters"
clusters = [["a", "nope"], ["a"]]
p = 2
epsilon = -1
people = 0
size = 4
odd = 1
[[attributes]]
name = "a"
kind = "nominl"
public = "yes"
categories = ["x", "x"]
labels = { q = "Q" }
[[attributes]]
name = "a"
edges = [0, "one", "two"]
kind = "odd"
[[attributes]]
name = "b"
categories = ["x", "y\\u0007"]
missing = "?"
"""


def test_no_problem_hides_another(folder):
    Path("bad.toml").write_text(MANY, encoding="utf-8")
    found = json.loads(run("survey check bad.toml --json").stdout)["problems"]
    for part in (
        "languages: 'en' is named twice",
        "'x-' is no language",
        "attribute 1 ('a'): 'a' has kind 'nominl'",
        "attribute 1 ('a'): 'a': public is true or false",
        "attribute 1 ('a'): 'a' lists the category 'x' twice",
        "attribute 1 ('a'): labels: 'q' is not a category",
        "attribute 2 ('a'): the edge 'one' of 'a' is not a finite number",
        "attribute 2 ('a'): the edge 'two' of 'a' is not a finite number",
        "attribute 2 ('a'): 'a' has kind 'odd'",
        "attribute 3 ('b'): 'b': the category 'y\\x07' has a control character",
        "attribute 3 ('b'): 'b' declares missing='?'",
        "the attribute 'a' is declared twice",
        "[design]: there is no key 'odd'",
        "[design]: people = 0",
        "[design]: size goes with protocol 'sampled'",
        "[design]: give p or epsilon",
        "[design]: p=2 must lie strictly between",
        "[design]: ε=-1 must be a positive number",
        "[design]: size=4: a person can be asked between",
        "[design]: clusters: there is no attribute 'nope'",
        "[design]: clusters: 'b' has none",
        "[design]: the clusters name 'a' twice",
    ):
        [_] = [problem for problem in found if problem.startswith(part)]
    assert len(found) == 22


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe", "not text in UTF-8"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b"", "no [[attributes]]"),
        (b"title = 'x", "not TOML"),
        (b"[design]\nprotocol = 'planned'\nepsilon = 1\npeople = 5\n[[attributes]]\nname = 'a'\n"
         b"categories = ['x', 'y']\npublic = true", "all attributes are public"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_survey_is_a_problem_and_named(folder, content, problem):
    Path("odd.toml").write_bytes(content)
    result = run("survey check odd.toml")
    assert (result.exit_code, result.stderr) == (1, "")
    assert f"odd.toml: {problem}" in result.stdout


def test_a_byte_order_mark_is_no_problem(folder):
    text = Path("survey.toml").read_bytes()
    Path("marked.toml").write_bytes(b"\xef\xbb\xbf" + text)
    assert done("survey check marked.toml") == done("survey check survey.toml")
    assert done("survey preview marked.toml") == done("survey preview survey.toml")


def test_check_finds_every_misfit_by_row_and_prints_no_answer(draft):
    lines = Path("people.csv").read_text(encoding="utf-8").splitlines()
    lines[1] = "sometimes,30,0,True,s"
    lines[5] = "yes,4711,,True,s"
    lines[6] = "yes,old,0,maybe,s"
    Path("people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = run("survey check survey.toml people.csv")
    assert result.exit_code == 1
    assert "'smokes': row 2: none of the categories" in result.stdout
    assert "'age': row 6: outside the edges, 0 to 120" in result.stdout
    assert "'age': row 7: not a number" in result.stdout
    assert "'visits': row 6: no answer" in result.stdout
    assert "'insured': row 7: none of the categories" in result.stdout
    assert "5 problems." in result.stdout
    for value in ("sometimes", "4711", "old,", "maybe"):
        assert value not in result.stdout + result.stderr
    fields = json.loads(run("survey check survey.toml people.csv --json").stdout)
    assert [each["rows"] for each in fields["people"]] == [[2], [6], [7], [6], [7]]


def test_check_finds_broken_rows_and_wrong_answers_at_once(draft):
    """A row that is broken is named once; the others are checked as well."""
    lines = Path("people.csv").read_text(encoding="utf-8").splitlines()
    lines[0] += ",note,note"
    lines[1:] = [f"{line},," for line in lines[1:]]
    lines[2] = "yes"
    lines[3] += ",more"
    lines[4] = "sometimes,30,0,True,s,,"
    text = "\n".join(lines) + "\n"
    Path("people.csv").write_bytes(text.encode() + b"\xff,30,0,True,s,,\n")
    found = json.loads(run("survey check survey.toml people.csv --json").stdout)["people"]
    assert [(each["attribute"], each["rows"]) for each in found] == [
        (None, []),
        (None, [3]),
        (None, [4]),
        (None, [len(lines) + 1]),
        ("smokes", [5]),
    ]
    said = run("survey check survey.toml people.csv").stdout
    assert "people.csv: row 3: fewer fields than the first row names" in said
    assert "people.csv: the first row names 'note' 2 times" in said


def test_people_that_are_no_table_are_one_problem(draft):
    Path("people.parquet").write_bytes(b"no parquet")
    assert "this is no Parquet file" in run("survey check survey.toml people.parquet").stdout
    Path("semicolons.csv").write_text("smokes;age\nno;3\n", encoding="utf-8")
    assert "1 problem." in run("survey check survey.toml semicolons.csv").stdout
    assert "is a folder" in refusal("survey check survey.toml .")


def test_a_settings_problem_of_the_design_is_found(folder):
    text = Path("survey.toml").read_text(encoding="utf-8")
    Path("bad.toml").write_text(
        text.replace("[[attributes]]", '[design]\nprotocol="joint"\n[[attributes]]', 1),
        encoding="utf-8",
    )
    result = run("survey check bad.toml")
    assert (result.exit_code, "[design]: give p or epsilon" in result.stdout) == (1, True)


def test_preview_shows_questions_plan_and_privacy(draft):
    shown = done("survey preview survey.toml")
    for part in (
        "1 of 4. Do you smoke?",
        "( ) Yes, daily",
        "The plan, for 600 people at ε = 1",
        "The best comes first; single attributes' errors weigh 5 times as much as wider tables'",
        "One person spends ε = ",
        "a typical count errs by",
        "One forged answer adds at most",
        "Somebody who sees your report",
    ):
        assert part in shown
    assert "has no texts in 'de'" in refusal("survey preview survey.toml --language de")


def test_freeze_says_both_fingerprints(draft):
    said = done("survey freeze survey.toml -o survey.json")
    frozen = FrozenSurvey.from_json(Path("survey.json").read_bytes())
    assert frozen.design.fingerprint in said
    assert frozen.words in said
    assert answer("survey freeze survey.toml -o other.json")["words"] == frozen.words


def test_freeze_writes_what_everything_later_reads(draft):
    shown = done("survey freeze survey.toml -o frozen.json")
    frozen = FrozenSurvey.from_json(Path("frozen.json").read_text(encoding="utf-8"))
    assert frozen.survey.title == "Health"
    assert frozen.design.epsilon <= 1.0
    assert frozen.design.fingerprint in shown
    assert frozen.predicted["people"] == 600
    assert "exists" in refusal("survey freeze survey.toml -o frozen.json")
    fields = answer("survey freeze survey.toml -o other.json")
    assert fields["fingerprint"] == frozen.design.fingerprint
    assert fields["id"] != frozen.id
    assert fields["public"] == []


def test_a_public_attribute_is_said_wherever_epsilon_is(draft):
    text = Path("survey.toml").read_text(encoding="utf-8")
    Path("survey.toml").write_text(
        text.replace('name = "smokes"', 'name = "smokes"\npublic = true').replace(
            "planned", "independent"
        ),
        encoding="utf-8",
    )
    assert "Outside ε: smokes." in done("survey preview survey.toml")
    assert "Outside ε: smokes." in done("survey freeze survey.toml -o frozen.json")
    assert answer("survey freeze survey.toml -o f.json")["public"] == ["smokes"]


def test_freeze_takes_a_design_made_before(folder):
    done("survey freeze survey.toml --design design.json -o frozen.json")
    frozen = FrozenSurvey.from_json(Path("frozen.json").read_text(encoding="utf-8"))
    assert frozen.design.to_json() == Path("design.json").read_text(encoding="utf-8")
    assert "has no [design]" in refusal("survey freeze survey.toml -o other.json")


def test_no_frozen_survey_replaces_a_design(folder):
    assert "holds a design" in refusal(
        "survey freeze survey.toml --design tally.json -o design.json --force"
    )


WORDED = """
languages = ["en", "de"]
title = { en = "Health", de = "Gesundheit" }
purpose = { en = "To plan clinics.", de = "Für Kliniken." }
consent = { en = "I agree to this purpose.", de = "Ich stimme zu." }
retention = { en = "A year.", de = "Ein Jahr." }
contact = "health@example.org"
[design]
epsilon = 2.0
[[attributes]]
name = "smokes"
question = { en = "Do you smoke?", de = "Rauchen Sie?" }
categories = ["no", "yes"]
labels = { no = { en = "No", de = "Nein" }, yes = { en = "Yes", de = "Ja" } }
[[attributes]]
name = "children"
kind = "ordinal"
question = { en = "How many?", de = "Wie viele?" }
categories = [0, 1, 2]
[[attributes]]
name = "age"
question = { en = "Age?", de = "Wie alt sind Sie?" }
edges = [0, 18, 65]
labels = { "[0, 18)" = { en = "a", de = "b" }, "[18, 65]" = { en = "older", de = "älter" } }
"""


@pytest.mark.parametrize(
    ("before", "after", "advice"),
    [
        ("", "", []),
        ('question = { en = "How many?", de = "Wie viele?" }', "", [
            "ask in people's words (question = …): 'children'",
            "translate into 'de': 'children'",
        ]),
        ('yes = { en = "Yes", de = "Ja" } }', 'yes = "Yes" }', ["translate into 'de': 'smokes'"]),
        ('{ en = "A year.", de = "Ein Jahr." }', '"A year."', ["translate into 'de': 'retention'"]),
        (', "[18, 65]" = { en = "older", de = "älter" }', "", [
            "say what bins such as [18, 65) mean to people (labels = …): 'age'"
        ]),
        ('{ en = "To plan clinics.", de = "Für Kliniken." }', '""', [
            "say what the answers are for: people agree to this purpose, and it is empty "
            "(purpose = …)"
        ]),
    ],
)  # fmt: skip
def test_what_a_survey_does_not_say_is_noted_and_is_no_error(tmp_path, before, after, advice):
    assert before in WORDED
    file = tmp_path / "survey.toml"
    file.write_text(WORDED.replace(before, after, 1), encoding="utf-8")
    found = answer("survey", "check", file)
    assert (found["problems"], found["advice"]) == ([], advice)
