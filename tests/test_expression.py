"""Expressions: Python's grammar, nothing of Python's evaluation, errors that show the way."""

import numpy as np
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError, QueryError
from mdrr.query import Query

D = Domain(
    (
        Attribute("marital-status", ("single", "it's over", 'say "I do"')),
        Attribute("age", kind="numeric", edges=(0, 18, 65.5, 120), missing="?"),
        Attribute("grade", ("low", "middle", "high"), kind="ordinal"),
        Attribute("level", (1, 2, -3), kind="ordinal"),
        Attribute("smokes", (False, True)),
        Attribute("in", ("x", "`y`")),
        Attribute("health", ("?", "bad", "good", "best"), kind="ordinal", missing="?"),
        Attribute("_q0_", ("x", "y")),
    )
)


@pytest.mark.parametrize(
    ("text", "name", "mask"),
    [
        ("`marital-status` == 'single'", "marital-status", [1, 0, 0]),
        ('`marital-status` == "it\'s over"', "marital-status", [0, 1, 0]),
        ("`marital-status` == 'it\\'s over'", "marital-status", [0, 1, 0]),
        ("`marital-status` != 'say \"I do\"'", "marital-status", [1, 1, 0]),
        ("`in` == '`y`'", "in", [0, 1]),
        ("age < 18", "age", [1, 0, 0, 0]),
        ("age >= 18", "age", [0, 1, 1, 0]),
        ("18 <= age < 65.5", "age", [0, 1, 0, 0]),
        ("65.5 > age", "age", [1, 1, 0, 0]),
        ("age < 120", "age", [1, 1, 1, 0]),
        ("age >= 0", "age", [1, 1, 1, 0]),
        ("age == '?'", "age", [0, 0, 0, 1]),
        ("age in ('[0, 18)', '[65.5, 120]')", "age", [1, 0, 1, 0]),
        ("not age < 18", "age", [0, 1, 1, 1]),
        ("grade < 'high'", "grade", [1, 1, 0]),
        ("grade <= 'middle'", "grade", [1, 1, 0]),
        ("grade > 'low'", "grade", [0, 1, 1]),
        ("grade >= 'middle'", "grade", [0, 1, 1]),
        ("'low' < grade <= 'high'", "grade", [0, 1, 1]),
        ("level == -3", "level", [0, 0, 1]),
        ("level < -3", "level", [1, 1, 0]),
        ("smokes", "smokes", [0, 1]),
        ("not smokes", "smokes", [1, 0]),
        ("smokes == False", "smokes", [1, 0]),
        ("  smokes  ", "smokes", [0, 1]),
        ("smokes == true", "smokes", [0, 1]),
        ("smokes != false", "smokes", [0, 1]),
        ("smokes == TRUE", "smokes", [0, 1]),
        ("grade in ('low')", "grade", [1, 0, 0]),
        ("grade not in 'low'", "grade", [0, 1, 1]),
        ("health >= 'good'", "health", [0, 0, 1, 1]),
        ("health > 'good'", "health", [0, 0, 0, 1]),
        ("health <= 'good'", "health", [0, 1, 1, 0]),
        ("health < 'good'", "health", [0, 1, 0, 0]),
        ("health == '?'", "health", [1, 0, 0, 0]),
        ("not health < 'good'", "health", [1, 0, 1, 1]),
        ("'good' <= health", "health", [0, 0, 1, 1]),
        ("'good' < health", "health", [0, 0, 0, 1]),
        ("'good' >= health", "health", [0, 1, 1, 0]),
        ("'good' > health", "health", [0, 1, 0, 0]),
        ("'good' == health", "health", [0, 0, 1, 0]),
        ("'good' != health", "health", [1, 1, 0, 1]),
        ("18 <= age", "age", [0, 1, 1, 0]),
        ("18 > age", "age", [1, 0, 0, 0]),
    ],
)
def test_an_expression_selects_the_labels_it_names(text, name, mask):
    query = Query.of(text, D)
    assert query.attributes == (name,)
    np.testing.assert_array_equal(query.mask(), np.array(mask, dtype=bool))


def test_a_name_that_looks_like_a_placeholder_is_itself():
    query = Query.of("`marital-status` == 'single' and _q0_ == 'y'", D)
    assert query.attributes == ("marital-status", "_q0_")
    np.testing.assert_array_equal(query.mask(), [[0, 1], [0, 0], [0, 0]])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the query '' cannot be read. Write for example"),
        ("grade ==", "the query 'grade ==' cannot be read. Write for example"),
        ("grade = 'low'", "cannot be read near column 7. Write"),
        ("`marital-status` = 'low'", " = 'low'\" cannot be read. Write"),
        ("smokes AND smokes", "'and', 'or', 'not' in lower case"),
        ("marital-status == 'single'", "put the name 'marital-status' in backticks"),
        ("grade = 'low'", "== for equality, != for its opposite; put names"),
        ("grade == low", "put the label low in quotes: 'low'"),
        ("'low'", "'low'\" is not a condition; write attribute == 'label'"),
        ("grade", "'grade' is not a condition"),
        ("grade + 1 == 'low'", "'grade + 1' is not an attribute"),
        ("grade in grade", "grade is an attribute"),
        ("'low' in grade", "'in' needs the attribute on the left"),
        ("grade in (low,)", "put the label low in quotes: 'low'"),
        ("grade == {[]: 1}", "is not a label"),
        ("grade == 1.5", "'grade' has no category 1.5. Known: 'low'"),
        ("grade == None", "'grade' has no category None"),
        ("grade == [[1]]", "'grade' has no category [[1]]"),
        ("grade is 'low'", "write == instead of 'is'"),
        ("smokes is True", "write == instead of 'is'"),
        ("grade == level", "level is an attribute, and an attribute is compared with labels"),
        ("grade == 'low' & smokes", "write 'and' and 'or' between conditions"),
        ("(grade == 'low') | smokes", "write 'and' and 'or' between conditions"),
        ("~smokes", "write 'not' instead of ~"),
        ("health > '?'", "'?' is a missing answer of 'health' and has no place in the order"),
        ("`marital-status` < 'single'", "'marital-status' is nominal: its categories have no ord"),
        ("age < 20", "compare it with < or >= and one of its edges: 0, 18, 65.5, 120"),
        ("age <= 18", "compare it with < or >="),
        ("age < True", "compare it with < or >="),
        ("age < '18'", "compare it with < or >="),
        ("age < [18]", "compare it with < or >="),
        ("z == 'low'", "no attribute 'z'. Known: 'marital-status'"),
        ("Grades == 'low'", "no attribute 'Grades'. Did you mean 'grade'? Known: "),
        ("smokes == 'true'", "'smokes' has no category 'true'. Did you mean True? Known: "),
        ("level == '2'", "'level' has no category '2'. Did you mean 2? Known: "),
        ("grade == 'hihg'", "'grade' has no category 'hihg'. Did you mean 'high'? Known: "),
        ("__import__('os').system('true')", "is not a condition"),
        ("[g for g in grade] == 'low'", "is not an attribute"),
        ("grade == 'low' if smokes else smokes", "is not a condition"),
        ("not " * 5000 + "smokes", ""),
        ("(" * 300 + "smokes" + ")" * 300, "cannot be read"),
        ("smokes\0", "cannot be read"),
    ],
)
def test_what_cannot_be_read_says_how_to_write_it(text, complaint):
    with pytest.raises(QueryError) as error:
        Query.of(text, D)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("grade == 'top'", "'grade' has no category 'top'. Known: 'low', 'middle', 'high'"),
        ("grade < 'top'", "'grade' has no category 'top'"),
        ("smokes == 1", "'smokes' has no category 1"),
        ("level == True", "'level' has no category True"),
    ],
)
def test_an_unknown_label_is_named(text, complaint):
    with pytest.raises(QueryError) as error:
        Query.of(text, D)
    assert complaint in str(error.value)


def test_nothing_is_evaluated(tmp_path):
    target = tmp_path / "made"
    with pytest.raises(MdrrError):
        Query.of(f"grade == open({str(target)!r}, 'w')", D)
    assert not target.exists()
