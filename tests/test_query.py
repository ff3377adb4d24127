"""Queries: every way of writing a set S gives its mask, and errors show how to write it."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError, QueryError, SchemaError
from mdrr.query import Query, Term, cells_shape
from tests.cases import MIXED, domain_of

D = domain_of(2, 3, 4)


def enumerated(condition) -> np.ndarray:
    """The mask over a × b × c of a condition on labels, cell by cell."""
    labels = [attribute.categories for attribute in D.attributes]
    return np.array([bool(condition(*cell)) for cell in product(*labels)]).reshape(D.shape)


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ({"a": ["a1"]}, lambda a, b, c: a == "a1"),
        ({"a": "a1"}, lambda a, b, c: a == "a1"),
        ({"c": ("c0", "c3"), "a": {"a0"}}, lambda a, b, c: c in ("c0", "c3") and a == "a0"),
        ({("c", "a"): [("c2", "a0"), ["c0", "a1"]]}, lambda a, b, c: (c, a) in
         (("c2", "a0"), ("c0", "a1"))),
        ({("a", "b"): [("a0", "b1")], "b": ["b1", "b2"]}, lambda a, b, c: (a, b) == ("a0", "b1")),
        ({("a", "b"): [("a0", "b1"), ("a1", "b2")], ("b", "c"): [("b1", "c3"), ("b2", "c0")]},
         lambda a, b, c: (a, b, c) in (("a0", "b1", "c3"), ("a1", "b2", "c0"))),
        ({("c",): [("c1",)]}, lambda a, b, c: c == "c1"),
        ({}, lambda a, b, c: True),
        ("a == 'a1'", lambda a, b, c: a == "a1"),
        ("a == 'a1' and b in ('b0', 'b2')", lambda a, b, c: a == "a1" and b != "b1"),
        ("a == 'a1' or c == 'c2'", lambda a, b, c: a == "a1" or c == "c2"),
        ("not (a == 'a1' or c == 'c2') and b != 'b0'",
         lambda a, b, c: not (a == "a1" or c == "c2") and b != "b0"),
        ("(a == 'a0' and b == 'b1') or (b == 'b2' and c not in ['c1', 'c2'])",
         lambda a, b, c: (a == "a0" and b == "b1") or (b == "b2" and c not in ("c1", "c2"))),
        ("c in {'c1'} and (c == 'c1' or a == 'a0')", lambda a, b, c: c == "c1"),
        ("a == 'a0' and a == 'a1'", lambda a, b, c: False),
        ("'a1' == a", lambda a, b, c: a == "a1"),
    ],
)  # fmt: skip
def test_a_query_is_the_set_it_says(where, condition):
    query = Query.of(where, D)
    wanted = enumerated(condition)
    np.testing.assert_array_equal(query.mask(D.names), wanted)
    grids = np.indices(D.shape).reshape(3, -1)
    held = query.holds(dict(zip(D.names, grids, strict=True)))
    np.testing.assert_array_equal(held.reshape(D.shape), wanted)
    names = [name for term in query.terms for name in term.names]
    assert len(names) == len(set(names)), "terms look at disjoint attributes"
    assert query.attributes == tuple(n for n in D.names if n in names)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data())
def test_any_mix_of_terms_is_their_conjunction(data):
    """Random masks over random attribute sets, sharing or not, in any order."""
    wanted = np.ones(D.shape, dtype=bool)
    where = {}
    for _ in range(data.draw(st.integers(1, 4))):
        names = tuple(data.draw(st.permutations(D.names)))[: data.draw(st.integers(1, 3))]
        sizes = [D.attribute(n).size for n in names]
        cells = data.draw(st.sets(st.integers(0, int(np.prod(sizes)) - 1), min_size=1))
        if names in where:
            continue
        codes = [np.unravel_index(cell, sizes) for cell in sorted(cells)]
        where[names] = [
            tuple(D.attribute(n).categories[c] for n, c in zip(names, row, strict=True))
            for row in codes
        ]
        mask = np.zeros(D.shape, dtype=bool)
        for row in codes:
            at = [slice(None)] * 3
            for n, c in zip(names, row, strict=True):
                at[D.index(n)] = c
            mask[tuple(at)] = True
        wanted &= mask
    np.testing.assert_array_equal(Query.of(where, D).mask(D.names), wanted)


def test_labels_of_every_type_are_found():
    query = Query.of({"smokes": [True], "children": [0, -5], "ville": "🦔"}, MIXED)
    assert query.mask(MIXED.names).sum() == 1 * 1 * 2 * 3


def test_a_query_is_a_query_only_of_its_domain():
    query = Query.of({"a": ["a1"]}, D)
    assert Query.of(query, D) is query
    with pytest.raises(QueryError, match="another domain"):
        Query.of(query, domain_of(2, 3))


@pytest.mark.parametrize(
    ("where", "kind", "complaint"),
    [
        (3, QueryError, "a mapping {attribute: [labels]} or a text, not int"),
        (None, QueryError, "not NoneType"),
        ({"z": ["a1"]}, SchemaError, "no attribute 'z'. Known: 'a', 'b', 'c'"),
        ({"a": ["z"]}, QueryError, "'a' has no category 'z'. Known: 'a0', 'a1'"),
        ({"a": [float("nan")]}, QueryError, "'a' has no category nan"),
        ({"a": []}, QueryError, "gives no label for 'a', so it selects nobody"),
        ({"a": None}, QueryError, "gives None for 'a'; give a list"),
        ({3: ["a"]}, QueryError, "key is an attribute or a tuple of attributes, not 3"),
        ({("a", 3): []}, QueryError, "key is an attribute or a tuple"),
        ({("a", "a"): [("a0", "a0")]}, QueryError, "names an attribute twice"),
        ({("a", "b"): [("a0",)]}, QueryError, "('a0',) is not a combination of ('a', 'b')"),
        ({("a", "b"): ["a0"]}, QueryError, "'a0' is not a combination"),
        ({("a", "b"): [("b0", "a0")]}, QueryError, "'a' has no category 'b0'"),
    ],
)
def test_a_bad_query_is_refused(where, kind, complaint):
    with pytest.raises(kind) as error:
        Query.of(where, D)
    assert complaint in str(error.value)


def test_a_mask_over_too_many_cells_is_refused():
    large = domain_of(*[50] * 6)
    with pytest.raises(QueryError, match="15,625,000,000 combinations; join conditions over fewer"):
        cells_shape(large.names, large)
    with pytest.raises(QueryError, match="combinations"):
        Query.of(" or ".join(f"{n} == '{n}1'" for n in large.names), large)
    assert len(Query.of(" and ".join(f"{n} == '{n}1'" for n in large.names), large).terms) == 6


def test_a_mask_over_other_attributes_is_refused():
    with pytest.raises(QueryError, match=r"looks at \('a',\), the table only at \('b',\)"):
        Query(D, (Term(("a",), np.array([True, False])),)).mask(("b",))


def test_parentheses_around_a_conjunction_make_no_larger_mask():
    found = Query.of("(a == 'a0' and b == 'b0') and (c == 'c0')", D)
    assert [term.names for term in found.terms] == [("a",), ("b",), ("c",)]


ODD = Domain(
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
    query = Query.of(text, ODD)
    assert query.attributes == (name,)
    np.testing.assert_array_equal(query.mask(), np.array(mask, dtype=bool))


def test_a_name_that_looks_like_a_placeholder_is_itself():
    query = Query.of("`marital-status` == 'single' and _q0_ == 'y'", ODD)
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
        Query.of(text, ODD)
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
        Query.of(text, ODD)
    assert complaint in str(error.value)


def test_nothing_is_evaluated(tmp_path):
    target = tmp_path / "made"
    with pytest.raises(MdrrError):
        Query.of(f"grade == open({str(target)!r}, 'w')", ODD)
    assert not target.exists()
