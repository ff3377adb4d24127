"""Designs: canonical order, exact ε, a fingerprint of the content, and refusal of anything else."""

import hashlib
import json
from fractions import Fraction

import pytest

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import DesignError, MdrrError, SchemaError
from mdrr.matrix import Public, constant_matrix
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.respondent import draw_bytes
from tests.cases import (
    banded,
    designs,
    domain_of,
    mixed_matrices,
    public,
    unequal_questionnaires,
    uneven,
)

AB = domain_of(2, 3)
A = Cluster(("a",), constant_matrix(2, p=0.5))
B = Cluster(("b",), constant_matrix(3, p=0.5))
BOTH = Design(AB, (Questionnaire((A, B)),))


@pytest.mark.parametrize("name", designs())
def test_a_design_comes_back_from_its_json(name):
    design = designs()[name]
    again = Design.from_json(design.to_json())
    assert again == design
    assert again.fingerprint == design.fingerprint
    assert again.epsilon == design.epsilon


def test_clusters_and_their_attributes_take_the_domains_order():
    design = mixed_matrices()
    assert [c.attributes for c in design.clusters] == [
        ("a", "h"), ("b",), ("c", "d"), ("e",), ("f", "g")
    ]  # fmt: skip
    turned = Design(AB, (Questionnaire((B, A)),))
    assert turned == BOTH
    assert turned.fingerprint == BOTH.fingerprint


def test_the_fingerprint_is_that_of_the_canonical_json():
    canonical = (
        '{"attributes":[{"categories":["a0","a1"],"kind":"nominal","name":"a"}],"mdrr":1,'
        '"questionnaires":[{"clusters":[{"attributes":["a"],"matrix":'
        '{"cells":2,"diagonal":49152,"kind":"constant","off":16384}}],"weight":1}]}'
    )
    design = independent(domain_of(2), p=0.5)
    assert design.fingerprint == hashlib.sha256(canonical.encode()).hexdigest()


def test_every_part_of_a_design_changes_its_fingerprint():
    others = [
        independent(AB, p=0.5),
        independent(AB, p=0.6),
        independent(domain_of(3, 2), p=0.5),
        independent(Domain((Attribute("z", ("a0", "a1")), AB.attributes[1])), p=0.5),
        independent(Domain((Attribute("a", ("a1", "a0")), AB.attributes[1])), p=0.5),
        independent(
            Domain((Attribute("a", ("a0", "a1"), kind="ordinal"), AB.attributes[1])), p=0.5
        ),
        independent(
            Domain((Attribute("a", ("a0", "a1"), missing="a1"), AB.attributes[1])), p=0.5
        ),
        Design(AB, (Questionnaire((A, B), 2),)),
        Design(AB, (Questionnaire((A, B), 2**15), Questionnaire((A,), 2**15))),
    ]  # fmt: skip
    assert len({design.fingerprint for design in others}) == len(others)


def test_epsilon_is_the_worst_questionnaire_of_summed_clusters():
    design = unequal_questionnaires()
    sums = [sum(c.matrix.epsilon for c in q.clusters) for q in design.questionnaires]
    assert sums[1] == max(sums) > sums[0]
    assert sums[1] <= design.epsilon <= sums[1] * (1 + 1e-15)


def test_an_infinite_epsilon_is_said():
    design = Design(domain_of(4), (Questionnaire((Cluster(("a",), banded(4)),)),))
    assert design.epsilon == float("inf")


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7])
def test_summed_epsilons_are_rounded_up(epsilon):
    design = Design(
        domain_of(3, 4, 5),
        (
            Questionnaire(
                tuple(
                    Cluster((name,), constant_matrix(size, epsilon=epsilon))
                    for name, size in zip("abc", (3, 4, 5), strict=True)
                )
            ),
        ),
    )
    parts = [cluster.epsilon for cluster in design.clusters]
    exact = sum(map(Fraction, parts))
    assert Fraction(sum(parts)) < exact  # added as they stand, they would claim too little
    assert exact <= Fraction(design.epsilon) < exact + Fraction(1, 2**50)


def test_bytes_are_counted_for_the_longest_questionnaire():
    design = unequal_questionnaires()
    lengths = [sum(draw_bytes(c.matrix.total) for c in q.clusters) for q in design.questionnaires]
    assert design.record_bytes == 2 + max(lengths)
    assert design.selection_bytes == 2
    assert BOTH.selection_bytes == 0
    assert BOTH.record_bytes == 4


@pytest.mark.parametrize("names", ["a", "b", "ab", "abc", "cd", "abcd"])
def test_who_is_asked_some_attributes_is_found_by_looking_at_all(names):
    design = sampled(domain_of(2, 3, 2, 2), 2, epsilon=1.0)
    wanted = [i for i, q in enumerate(design.questionnaires) if set(names) <= set(q.attributes)]
    assert design.asking(names) == wanted


def test_several_questionnaires_have_no_single_list_of_clusters():
    with pytest.raises(DesignError, match=r"3 questionnaires; look into design.questionnaires"):
        _ = unequal_questionnaires().clusters


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Cluster((), A.matrix), "at least one attribute"),
        (lambda: Cluster("ab", A.matrix), "write ('ab',)"),
        (lambda: Cluster(("a", "a"), A.matrix), "names 'a' twice"),
        (lambda: Questionnaire(()), "at least one cluster"),
        (lambda: Questionnaire((A,), 0), "a positive integer, not 0"),
        (lambda: Questionnaire((A,), True), "a positive integer, not True"),
        (lambda: Questionnaire((A,), 1.0), "a positive integer, not 1.0"),
        (lambda: Questionnaire((A, B, A)), "'a' is in two clusters of one questionnaire"),
        (lambda: Design(AB, ()), "at least one questionnaire"),
        (lambda: Design(AB, (Questionnaire((A,)),)), "'b' is in no cluster; add it, alone if"),
        (lambda: Design(AB, (Questionnaire((A, B)),) * 2), "weights sum to 2; they must sum"),
        (
            lambda: Design(AB, (Questionnaire((A, Cluster(("b",), A.matrix))),)),
            "the matrix of 'b' has 2 cells, its attributes have 3 combinations",
        ),
        (
            lambda: Design(AB, (Questionnaire((Cluster(("b", "a"), uneven(6, 1)),)),)),
            "list them in the domain's order: 'a+b'",
        ),
        (lambda: named("questionnaire", "b"), "need the column 'questionnaire' for themselves"),
        (lambda: named("a", "a (code)"), "'a' need the column 'a (code)', which is an attribute"),
        (
            lambda: clustered(of("a", "b+c", "a+b", "c"), [["a", "b+c"], ["a+b", "c"]], p=0.5),
            "['a', 'b+c'] and ['a+b', 'c'] would both be called 'a+b+c'; rename an attribute",
        ),
        (
            lambda: clustered(of("a", "b", "a+b"), [["a", "b"], ["a+b"]], p=0.5),
            "['a+b'] and ['a', 'b'] would both be called 'a+b'",
        ),
        (lambda: sampled(of("questionnaire", "b"), 1, epsilon=1.0), "rename the attribute"),
        (lambda: Design.from_json("{"), "the design is not JSON"),
        (lambda: Design.from_json('{"mdrr-tally": 1}'), "this is not a design: it has no 'mdrr'"),
        (lambda: Design.from_json("[]"), "a design is a JSON object"),
        (lambda: Design.from_json("{}"), "it has no 'mdrr', the version of its format"),
        (lambda: Design.from_json('{"mdrr": 2}'), "has format 2"),
        (lambda: Design.from_json('{"mdrr": 1}'), "the design has no 'attributes'"),
        (lambda: tampered(["questionnaires"], 3), "cannot be read"),
        (lambda: tampered(["questionnaires"], [3]), "cannot be read"),
        (lambda: tampered(["questionnaires", 0, "clusters", 0, "attributes"], None), "cannot be"),
        (lambda: tampered(["questionnaires", 0, "weight"], 2), "it was changed after it was publ"),
        (lambda: tampered(["questionnaires", 0, "weight"], None), "positive integer, not None"),
        (lambda: tampered(["attributes", 0, "categories", 0], "z"), "it was changed after"),
        (lambda: tampered(["attributes", 0, "public"], False), "'public' only if it is true"),
        (lambda: tampered(["fingerprint"], "00"), "says its fingerprint is 00…"),
        (lambda: tampered(["fingerprint"], None), "says its fingerprint is None…"),
        (lambda: clustered(AB, [["a"], ["b"], ["a"]], p=0.5), "name 'a' twice"),
        (lambda: clustered(AB, [["a", "b"], ["b", "a"]], p=0.5), "name 'a', 'b' twice"),
        (lambda: clustered(AB, [["a"], ["a", "b"]], p=0.5), "name 'a' twice; each belongs in"),
        (lambda: clustered(AB, [["a", "a"], ["b"]], p=0.5), "name 'a' twice"),
        (lambda: clustered(AB, [["a"]], p=0.5), "no cluster holds 'b'; add each, alone if need"),
        (lambda: clustered(AB, [["a"], [], ["b"]], p=0.5), "at least one attribute"),
        (lambda: clustered(AB, ["a", "b"], p=0.5), "write ['a']"),
    ],
)
def test_a_bad_design_is_refused(make, complaint):
    with pytest.raises(DesignError) as error:
        make()
    assert complaint in str(error.value)


def of(*names):
    return Domain(tuple(Attribute(name, tuple("stuvwxyz"), kind="ordinal") for name in names))


def named(*names):
    """A design whose reports of each attribute are a place on a longer scale."""
    return independent(of(*names), epsilon=1.0 * len(names), ordered="banded")


def test_names_that_only_look_alike_are_let_pass():
    assert len(named("a", "b (code)").clusters) == 2
    assert len(independent(of("a", "a (code)"), p=0.5).clusters) == 2
    assert len(clustered(of("a", "b", "a+b"), [["a", "a+b"], ["b"]], p=0.5).clusters) == 2


def tampered(path, value):
    """The design read back after one field of its JSON was replaced."""
    fields = json.loads(BOTH.to_json())
    place = fields
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return Design.from_json(json.dumps(fields))


def test_an_unknown_attribute_is_named():
    with pytest.raises(SchemaError, match=r"no attribute 'z'. Known: 'a', 'b'"):
        Design(AB, (Questionnaire((A, Cluster(("z",), B.matrix))),))


@pytest.mark.parametrize("replacement", [None, 7, "x", [], {}, [[]], {"kind": "dense"}])
def test_no_mangled_field_gets_through_or_crashes(replacement):
    """Whatever a field is replaced by, the only error is ours."""
    fields = json.loads(BOTH.to_json())
    places = [("attributes",), ("questionnaires",), ("attributes", 0), ("questionnaires", 0)]
    cluster = ("questionnaires", 0, "clusters", 0)
    places += [("attributes", 0, key) for key in ("name", "categories", "kind")]
    places += [cluster[:3], cluster, (*cluster, "matrix"), (*cluster, "attributes")]
    places += [(*cluster, "matrix", key) for key in ("kind", "cells", "diagonal", "off")]
    assert fields["questionnaires"][0]["clusters"][0]["attributes"] == ["a"]
    for path in places:
        with pytest.raises(MdrrError):
            tampered(path, replacement)


def test_lists_do_as_well_as_tuples():
    assert Cluster(["a"], A.matrix) == A
    assert Questionnaire([A, B]) == Questionnaire((A, B))


def test_the_order_is_the_domains_not_the_alphabets():
    domain = Domain(tuple(reversed(AB.attributes)))
    pair = Cluster(("a", "b"), constant_matrix(6, p=0.5))
    design = Design(domain, (Questionnaire((pair,)),))
    assert design.clusters[0].attributes == ("b", "a")
    assert design.shape(design.clusters[0]) == (3, 2)


def test_the_json_is_for_people_too():
    domain = Domain((Attribute("où", ("ici", "là")),))
    design = independent(domain, p=0.5)
    lines = design.to_json().splitlines()
    assert lines[:2] == ["{", f' "fingerprint": "{design.fingerprint}",']
    assert '   "name": "où",' in lines


def test_fingerprint_and_a_single_weight_may_be_left_out():
    fields = BOTH.to_dict()
    assert Design.from_dict(fields) == BOTH
    del fields["questionnaires"][0]["weight"]
    assert Design.from_dict(fields) == BOTH


def test_a_design_is_shown_as_html():
    assert BOTH.fingerprint[:12] in BOTH._repr_html_()


def test_a_design_is_shown_in_a_line():
    mark = BOTH.fingerprint[:12]
    assert repr(BOTH).startswith(f"<Design {mark}: 2 attributes, 1 questionnaire, ε = ")
    two = Design(AB, (Questionnaire((A,), 2**15), Questionnaire((B,), 2**15)))
    assert "2 attributes, 2 questionnaires, ε = " in repr(two)
    assert all(len(repr(design)) < 120 for design in designs().values())


OPEN = public(domain_of(3, 2, 4), "a")
"""a is public, b and c are not."""
SHOWN = Cluster(("a",), Public(3))
REST = Cluster(("b", "c"), constant_matrix(8, p=0.5))


def test_public_attributes_are_reported_as_they_are_beside_the_others():
    design = Design(OPEN, (Questionnaire((SHOWN, REST)),))
    hidden = domain_of(3, 2, 4).project("bc")
    assert design.epsilon == REST.epsilon
    assert design.record_bytes == joint(hidden, p=0.5).record_bytes
    assert OPEN.public == ("a",)
    assert OPEN.private == ("b", "c")
    assert joint(OPEN, epsilon=3.0).epsilon == joint(hidden, epsilon=3.0).epsilon
    fields = design.to_dict()["attributes"]
    assert [field.get("public") for field in fields] == [True, None, None]


@pytest.mark.parametrize("make", [independent, joint], ids=["independent", "joint"])
def test_protocols_put_public_attributes_beside_the_others(make):
    design = make(OPEN, epsilon=3.0)
    hidden = make(OPEN.project("bc"), epsilon=3.0)
    assert design.clusters == (SHOWN, *hidden.clusters)


def test_sampled_designs_ask_everybody_what_is_public():
    design = sampled(OPEN, 1, epsilon=1.0)
    assert [q.attributes for q in design.questionnaires] == [("a", "b"), ("a", "c")]
    with pytest.raises(DesignError, match="between 1 and 2 attributes beside the public ones"):
        sampled(OPEN, 3, epsilon=1.0)


def test_clusters_name_only_what_is_not_public():
    assert clustered(OPEN, [["b", "c"]], p=0.5) == clustered(OPEN, [["a"], ["c", "b"]], p=0.5)
    with pytest.raises(DesignError, match="'a' is public; leave it out of the clusters"):
        clustered(OPEN, [["a", "b"], ["c"]], p=0.5)
    with pytest.raises(DesignError, match="'a' is public and spends nothing"):
        independent(OPEN, epsilon={"a": 1.0, "b": 1.0, "c": 1.0})
    assert independent(OPEN, epsilon={"b": 1.0, "c": 1.0}).epsilon <= 2.0


@pytest.mark.parametrize(
    ("clusters", "match"),
    [
        ((Cluster(("a",), constant_matrix(3, p=0.5)), REST), "'a' is public: it stands alone"),
        ((Cluster(("a", "b", "c"), constant_matrix(24, p=0.5)),), "'a' is public: it stands alone"),
        ((SHOWN, Cluster(("b",), Public(2)), Cluster(("c",), REST.matrix)), "4 combinations"),
        ((SHOWN, Cluster(("b", "c"), Public(8))), "'b\\+c' would be reported as it is"),
        ((Cluster(("a", "b"), Public(6)), Cluster(("c",), Public(4))), "would be reported as it"),
    ],
)
def test_a_public_attribute_and_a_public_matrix_go_together(clusters, match):
    with pytest.raises(DesignError, match=match):
        Design(OPEN, (Questionnaire(clusters),))


def test_a_public_attribute_is_in_every_questionnaire():
    parts = (Questionnaire((SHOWN, REST), 2**15), Questionnaire((REST,), 2**15))
    with pytest.raises(DesignError, match="'a' is public: it stands alone in a cluster of every"):
        Design(OPEN, parts)
    with pytest.raises(DesignError, match=r"Cluster\(\('a',\), Public\(3\)\)"):
        Design(OPEN, parts)


def test_not_everything_is_public():
    with pytest.raises(DesignError, match="all attributes are public"):
        independent(public(AB, "a", "b"), p=0.5)
    with pytest.raises(DesignError, match="all attributes are public"):
        Design(
            public(AB, "a", "b"),
            (Questionnaire((Cluster(("a",), Public(2)), Cluster(("b",), Public(3)))),),
        )
    with pytest.raises(SchemaError, match="public is true or false, not 1"):
        Attribute("a", ("x", "y"), public=1)
