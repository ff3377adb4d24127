import pytest

from mdrr.domain import Attribute, Domain, bin_labels, edge_text, known
from mdrr.errors import SchemaError
from tests.cases import MIXED, domain_of


def test_a_label_has_the_code_of_its_place():
    attribute = Attribute("size", ("s", "m", "l"), kind="ordinal")
    assert [attribute.code(label) for label in ("s", "m", "l")] == [0, 1, 2]
    assert attribute.size == 3
    assert attribute.scores == (0.0, 1.0, 2.0)


def test_bins_are_closed_below_and_the_last_one_above():
    age = Attribute("age", kind="numeric", edges=(0, 17.5, 65, 120))
    assert age.categories == ("[0, 17.5)", "[17.5, 65)", "[65, 120]")
    assert age.scores == (8.75, 41.25, 92.5)
    assert bin_labels((-1, 0, 1e16)) == ("[-1, 0)", "[0, 1e+16]")


def test_a_missing_answer_is_one_more_category_of_a_numeric_attribute():
    age = Attribute("age", kind="numeric", edges=(0, 18, 120), missing="no answer")
    assert age.categories == ("[0, 18)", "[18, 120]", "no answer")
    assert not age.is_ordered


@pytest.mark.parametrize(
    ("kind", "missing", "ordered"),
    [("nominal", None, False), ("ordinal", None, True), ("ordinal", "x", False)],
)
def test_only_orders_without_a_missing_category_have_a_correlation(kind, missing, ordered):
    assert Attribute("a", ("x", "y"), kind=kind, missing=missing).is_ordered is ordered


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": "  "}, "needs a name"),
        ({"name": 3}, "needs a name, not 3"),
        ({"categories": ()}, "'a' has 0 categories"),
        ({"categories": ("x",)}, "'a' has 1 categories; with fewer than 2 there is nothing to ask"),
        ({"categories": ("x", "y", "x")}, "'a' lists the category 'x' twice"),
        ({"categories": "xyz"}, "'a' are one text; give a list"),
        ({"categories": ("x", 1)}, "'a' must all be text, all integers or all booleans"),
        ({"categories": (0, True)}, "'a' must all be text, all integers or all booleans"),
        ({"categories": (0.5, 1.5)}, "found 'float'"),
        ({"categories": (float("nan"), 1.0)}, "found 'float'"),
        ({"categories": ("x", None)}, "found 'NoneType', 'str'"),
        ({"categories": (0, 2**53)}, "'a' has an integer category beyond 2^53"),
        ({"categories": ("x", "\ud800")}, "'a': the category '\\ud800' has a control character"),
        ({"categories": ("x", "y\0")}, r"'a': the category 'y\x00' has a control character"),
        ({"categories": ("x", "y\nz")}, r"'a': the category 'y\nz' has a control character"),
        ({"name": "a\u2028b"}, r"'a\u2028b': its name has a control character, a line break"),
        ({"name": "a\x1b[2J"}, r"'a\x1b[2J': its name has a control character"),
        ({"kind": "continuous"}, "'a' has kind 'continuous'. Known: 'nominal'"),
        ({"missing": "z"}, "'a' declares missing='z', which is not among its categories: 'x', 'y'"),
        ({"categories": (0, 1), "missing": True}, "missing=True, which is not among"),
        ({"edges": (0, 1, 2)}, "'a' is nominal but has edges"),
        ({"kind": "numeric"}, "needs at least 3 edges"),
        ({"kind": "numeric", "categories": (), "edges": (0, 1)}, "at least 3 edges"),
        ({"kind": "numeric", "categories": (), "edges": (0, 2, 2)}, "must strictly increase"),
        ({"kind": "numeric", "categories": (), "edges": (0, float("nan"), 2)}, "not a finite"),
        ({"kind": "numeric", "categories": (), "edges": (0, float("inf"), 2)}, "not a finite"),
        ({"kind": "numeric", "categories": (), "edges": (0, True, 2)}, "edge True of 'a' is not"),
        ({"kind": "numeric", "categories": (), "edges": (0, 1, 10**400)}, "not a finite number"),
        ({"kind": "numeric", "categories": (), "edges": (0, "1", 2)}, "not a finite number"),
        ({"kind": "numeric", "edges": (0, 1, 2)}, "are its bins: leave them out"),
    ],
)
def test_a_bad_attribute_is_refused(fields, complaint):
    with pytest.raises(SchemaError) as error:
        Attribute(**{"name": "a", "categories": ("x", "y"), **fields})
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("attribute", "label"),
    [
        (Attribute("a", ("x", "y")), "z"),
        (Attribute("a", (0, 1)), True),
        (Attribute("a", (False, True)), 1),
        (Attribute("a", ("0", "1")), 0),
        (Attribute("a", ("x", "y")), float("nan")),
        (Attribute("a", ("x", "y")), None),
    ],
)
def test_an_unknown_category_is_named_with_the_known_ones(attribute, label):
    with pytest.raises(SchemaError) as error:
        attribute.code(label)
    text = str(error.value)
    assert text.startswith(f"'a' has no category {label!r}")
    assert f" Known: {attribute.categories[0]!r}" in text
    assert "Add it to the survey file or map it first" in text


def test_a_domain_keeps_its_order_and_counts_exactly():
    domain = domain_of(2, 3, 4)
    assert domain.names == ("a", "b", "c")
    assert domain.shape == (2, 3, 4)
    assert domain.size == 24
    assert domain.index("c") == 2
    assert domain.project(["c", "a"]).shape == (4, 2)
    assert Domain(tuple(Attribute(f"a{i}", (0, 1, 2)) for i in range(100))).size == 3**100


def test_one_attribute_is_a_domain():
    assert domain_of(5).shape == (5,)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Domain(()), "at least one attribute"),
        (
            lambda: Domain((*domain_of(2).attributes, *domain_of(3).attributes)),
            "'a' is declared tw",
        ),
        (lambda: Domain(("a",)), "made of Attributes, not str"),
        (lambda: domain_of(2, 2).index("z"), "no attribute 'z'. Known: 'a', 'b'"),
        (lambda: domain_of(2, 2).project(["a", "a"]), "'a' is declared twice"),
        (lambda: Domain.from_dict([{"categories": ["x", "y"]}]), "has no 'name'"),
        (lambda: Domain.from_dict([{"name": "a", "categories": 5}]), "cannot be read"),
        (lambda: Domain.from_dict([{"name": "a", "categories": "xy"}]), "are one text"),
        (
            lambda: Domain.from_dict([{"name": "a", "kind": "numeric", "edges": ["0", "x", "1"]}]),
            "the edge 'x' of 'a' is not a finite number",
        ),
    ],
)
def test_a_bad_domain_is_refused(make, complaint):
    with pytest.raises(SchemaError) as error:
        make()
    assert complaint in str(error.value)


def test_a_domain_comes_back_from_its_fields():
    again = Domain.from_dict(MIXED.to_dict())
    assert again == MIXED
    assert [type(label) for label in again.attribute("smokes").categories] == [bool, bool]
    assert again.attribute("age").edges == (0, 17.5, 65, 120)


@pytest.mark.parametrize(
    ("edge", "text"),
    [(0, "0"), (-0.0, "0"), (17.0, "17"), (0.1, "0.1"), (1e300, "1e+300"), (2**53, str(2.0**53))],
)
def test_an_edge_is_the_shortest_decimal(edge, text):
    assert edge_text(edge) == text
    assert float(edge_text(edge)) == edge


def test_a_long_list_is_cut():
    assert known(range(9), limit=3) == "0, 1, 2, … (9 in all)"
    assert known("ab") == "'a', 'b'"


def test_a_domain_is_shown_in_a_line():
    assert repr(domain_of(2, 3)) == "<Domain: a (2), b (3)>"
    many = Domain(tuple(Attribute(f"attribute{i}", ("x", "y")) for i in range(100)))
    assert repr(many).endswith(" …>")
    assert len(repr(many)) < 140


@pytest.mark.parametrize(
    "text", ["Genève", "a, b", "a+b", "🦔\u200d", "no\u00a0break", "עברית", "[x]"]
)
def test_any_text_that_can_be_shown_on_a_line_is_a_name_and_a_label(text):
    attribute = Attribute(text, (text, "other"))
    assert Attribute.from_dict(attribute.to_dict()) == attribute
