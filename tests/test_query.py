"""Queries: every way of writing a set S gives the mask that enumeration gives."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.errors import QueryError, SchemaError
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
