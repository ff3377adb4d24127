"""The paper's protocols: ε equivalence Σ ε_A, and budgets that are never exceeded."""

import math
import re
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mdrr.domain import Attribute, Domain
from mdrr.errors import DesignError, MatrixError, SchemaError
from mdrr.matrix import Constant, Subset
from mdrr.matrix.protocol import LEAST_EPSILON
from mdrr.protocols import (
    _budgets,
    _unrank,
    clustered,
    epsilon_of,
    independent,
    joint,
    p_of,
    sampled,
    subsets,
)
from tests.cases import EIGHT, domain_of

FINE = 3 / 1024
"""Rounding costs less than 2/1024 a cluster where D is below 2^48 (see tests/matrix)."""
D = domain_of(2, 3)


@pytest.mark.parametrize("p", [0.05, 0.3, 0.7, 0.99])
def test_independent_keeps_every_answer_with_probability_p(p):
    design = independent(EIGHT, p=p)
    for attribute, cluster in zip(EIGHT.attributes, design.clusters, strict=True):
        assert cluster.attributes == (attribute.name,)
        assert cluster.matrix.signal == pytest.approx(p, rel=1 / 1024)
        assert cluster.matrix.signal <= p
        assert cluster.epsilon <= epsilon_of(p, attribute.size) * (1 + 1e-15)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_clusters_are_as_private_as_their_attributes_alone(p):
    """ε_C = Σ_{A∈C} ln(1 + p·r_A/(1−p)) (section 6.3 with the sign of p_C corrected)."""
    groups = [["a", "b"], ["c", "d", "e"], ["f"], ["g", "h"]]
    design = clustered(EIGHT, groups, p=p)
    for names, cluster in zip(groups, design.clusters, strict=True):
        wanted = sum(math.log(1 + p * EIGHT.attribute(n).size / (1 - p)) for n in names)
        assert wanted - FINE < cluster.epsilon <= wanted * (1 + 1e-14)
        cells = math.prod(EIGHT.attribute(n).size for n in names)
        kept = 1 / (1 + (cells - 1) * math.exp(-wanted))
        assert cluster.matrix.keep == pytest.approx(kept, rel=FINE)


def test_joint_is_one_cluster_and_spends_the_same():
    domain = domain_of(3, 2, 4)
    design = joint(domain, p=0.5)
    assert [c.attributes for c in design.clusters] == [("a", "b", "c")]
    assert design.epsilon == pytest.approx(independent(domain, p=0.5).epsilon, abs=4 * FINE)
    assert clustered(domain, [["c", "a", "b"]], p=0.5) == design


def test_every_attribute_alone_is_independent():
    alone = [[name] for name in reversed(EIGHT.names)]
    assert clustered(EIGHT, alone, p=0.4) == independent(EIGHT, p=0.4)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(2, 40), min_size=1, max_size=8),
    budget=st.floats(0.01, 2.5),
    shape=st.sampled_from(["independent", "joint", "clustered", "sampled"]),
)
def test_a_budget_is_never_exceeded_and_nearly_used(sizes, budget, shape):
    domain = domain_of(*sizes)
    epsilon = budget * len(sizes)
    half = len(sizes) // 2
    groups = [g for g in (domain.names[:half], domain.names[half:]) if g]
    design = {
        "independent": lambda: independent(domain, epsilon=epsilon),
        "joint": lambda: joint(domain, epsilon=epsilon),
        "clustered": lambda: clustered(domain, groups, epsilon=epsilon),
        "sampled": lambda: sampled(domain, max(half, 1), epsilon=epsilon),
    }[shape]()
    assert design.epsilon <= epsilon
    worst = max(len(q.clusters) for q in design.questionnaires)
    assert design.epsilon > epsilon - worst * FINE


def test_a_whole_budget_gives_every_attribute_the_same_p():
    design = independent(EIGHT, epsilon=8.0)
    signals = [c.matrix.signal for c in design.clusters]
    assert max(signals) / min(signals) < 1 + 2 / 1024
    assert p_of(8.0, EIGHT.shape) == pytest.approx(signals[0], rel=1 / 1024)


def test_budgets_by_name_are_each_met():
    budgets = {"c": 0.5, "a": 1.0, "b": 2.0}
    design = independent(domain_of(2, 3, 4), epsilon=budgets)
    for cluster in design.clusters:
        asked = budgets[cluster.attributes[0]]
        assert asked - FINE < cluster.epsilon <= asked


@settings(max_examples=60, deadline=None, derandomize=True)
@given(p=st.floats(0.001, 0.999), sizes=st.lists(st.integers(2, 500), min_size=1, max_size=6))
def test_p_of_undoes_epsilon_of(p, sizes):
    total = sum(epsilon_of(p, r) for r in sizes)
    assert p_of(total, sizes) == pytest.approx(p, rel=1e-9)


def test_sampled_asks_every_subset_equally_often_with_the_whole_budget():
    domain = domain_of(3, 2, 4, 2)
    design = sampled(domain, 2, epsilon=2.0)
    asked = [q.attributes for q in design.questionnaires]
    assert asked == list(combinations("abcd", 2))
    weights = [q.weight for q in design.questionnaires]
    assert sum(weights) == 2**32
    assert max(weights) - min(weights) <= 1
    for questionnaire in design.questionnaires:
        assert len(questionnaire.clusters) == 1
        assert 2.0 - FINE < questionnaire.epsilon <= 2.0


def test_a_sample_of_all_attributes_is_the_joint_design():
    assert sampled(D, 2, epsilon=2.0) == joint(D, epsilon=2.0)


def test_sets_are_reported_only_on_request():
    """At ε = 0.5 sets of 12 cells are more accurate than single ones."""
    domain = domain_of(12)
    assert isinstance(sampled(domain, 1, epsilon=0.5).clusters[0].matrix, Constant)
    assert isinstance(sampled(domain, 1, epsilon=0.5, report="subset").clusters[0].matrix, Subset)


def test_only_ordered_attributes_get_a_band_and_only_on_request():
    ages = tuple(str(age) for age in range(9))
    kinds = [Attribute(kind, ages, kind=kind) for kind in ("nominal", "ordinal")]
    for ordered, second in (("constant", "constant"), ("banded", "banded")):
        design = independent(Domain(tuple(kinds)), epsilon=2.0, ordered=ordered)
        assert [c.matrix.kind for c in design.clusters] == ["constant", second]


def test_alone_in_a_cluster_an_answer_is_kept_with_probability_p_exactly():
    (cluster,) = clustered(domain_of(2), [["a"]], p=0.5).clusters
    assert cluster.matrix == Constant(2, diagonal=49152, off=16384)


def test_budgets_never_add_up_to_more_than_the_whole():
    alone = [(name,) for name in EIGHT.names]
    for tenths in range(1, 100):
        assert math.fsum(_budgets(EIGHT, alone, None, tenths / 10)) <= tenths / 10


def test_the_smallest_and_largest_budget_that_can_be_sampled():
    assert p_of(LEAST_EPSILON, (2,)) > 0
    assert p_of(33.2, (2,)) < 1
    with pytest.raises(MatrixError, match=r"48 random bits a draw; choose ε of at most 33\.2$"):
        p_of(33.3, (2,))


def limit_of(make) -> float:
    """The ε that the error of too large a one tells to choose."""
    with pytest.raises(MatrixError, match="needs more than 48 random bits a draw") as error:
        make(1e5)
    return float(re.search(r"choose ε (?:of at most|below) ([\d.]+)$", str(error.value))[1])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(sizes=st.lists(st.integers(2, 3000), min_size=2, max_size=4))
@example(sizes=[2, 300])
@example(sizes=[300, 2, 2])
@example(sizes=[3000] * 4)
def test_the_largest_epsilon_that_an_error_names_can_be_had_and_little_more(sizes):
    """Unequal sizes spend unequally: the largest attribute or cluster is the first at its limit."""
    domain = domain_of(*sizes)
    pairs = [list(domain.names[:2]), *([name] for name in domain.names[2:])]
    for make in (
        lambda epsilon: independent(domain, epsilon=epsilon),
        lambda epsilon: clustered(domain, pairs, epsilon=epsilon),
        lambda epsilon: joint(domain, epsilon=epsilon),
    ):
        limit = limit_of(make)
        assert make(limit).epsilon <= limit
        with pytest.raises(MatrixError, match="choose ε of at most"):
            make(limit + 0.11)
    assert limit_of(lambda epsilon: sampled(domain, 1, epsilon=epsilon)) == 33


@pytest.mark.parametrize("sizes", [(2, 300), (40, 3, 3)])
def test_so_it_can_with_banded_matrices(sizes):
    names = [f"a{i}" for i in range(len(sizes))]
    every = zip(names, sizes, strict=True)
    domain = Domain(tuple(Attribute(n, tuple(range(r)), kind="ordinal") for n, r in every))
    limit = limit_of(lambda epsilon: independent(domain, epsilon=epsilon, ordered="banded"))
    assert independent(domain, epsilon=limit, ordered="banded").epsilon <= limit
    with pytest.raises(MatrixError, match=r"a draw; choose ε of at most 33\.2"):
        independent(domain, epsilon=dict.fromkeys(names, 33.5), ordered="banded")
    independent(domain, epsilon=dict.fromkeys(names, 33.2), ordered="banded")


def test_subsets_are_numbered_in_lexicographic_order():
    assert [_unrank(rank, 7, 3) for rank in range(35)] == list(combinations(range(7), 3))


@pytest.mark.parametrize(("m", "size", "least"), [(24, 4, 1700), (30, 4, 1700), (3000, 2, 3000)])
def test_where_all_subsets_are_too_many_nearly_as_many_as_may_be_are_used(m, size, least):
    assert least <= len(subsets(m, size)) <= max(2048, m)


@pytest.mark.parametrize(("m", "size"), [(8, 8), (8, 1), (30, 4), (50, 2), (50, 5)])
def test_sampled_is_balanced_also_when_it_cannot_use_every_subset(m, size):
    design = sampled(domain_of(*[2] * m), size, epsilon=1.0)
    asked = Counter(name for q in design.questionnaires for name in q.attributes)
    assert len(set(asked.values())) == 1
    assert len(asked) == m
    assert len({q.attributes for q in design.questionnaires}) == len(design.questionnaires) <= 2048
    assert all(len(q.attributes) == size for q in design.questionnaires)


@pytest.mark.parametrize(
    ("make", "kind", "complaint"),
    [
        (lambda: independent(D), DesignError, "give p or epsilon, exactly one"),
        (lambda: independent(D, p=0.5, epsilon=1), DesignError, "give p or epsilon, exactly one"),
        (lambda: joint(D), DesignError, "give p or epsilon, exactly one"),
        (lambda: clustered(D, [["a", "b"]]), DesignError, "give p or epsilon, exactly one"),
        (lambda: independent(D, p=0), MatrixError, "p=0"),
        (lambda: independent(D, p=1), MatrixError, "p=1"),
        (lambda: joint(D, p=0), MatrixError, "p=0 must lie strictly between"),
        (lambda: joint(D, p=1), MatrixError, "p=1 must lie strictly between"),
        (lambda: joint(D, p=math.nan), MatrixError, "p=nan"),
        (lambda: clustered(D, [["a"], ["b"]], p=1.0), MatrixError, "p=1.0"),
        (lambda: independent(D, epsilon=0), MatrixError, "ε=0 must be a positive number"),
        (lambda: independent(D, epsilon=-1), MatrixError, "ε=-1 must be a positive"),
        (lambda: independent(D, epsilon=math.nan), MatrixError, "ε=nan"),
        (lambda: independent(D, epsilon=math.inf), MatrixError, "ε=inf"),
        (lambda: independent(D, epsilon=1e6), MatrixError, "choose ε of at most 66"),
        (lambda: independent(D, epsilon=67.0), MatrixError, "48 random bits"),
        (lambda: joint(D, epsilon=40.0), MatrixError, "48 random bits"),
        (lambda: joint(D, epsilon=1e6), MatrixError, "48 random bits"),
        (lambda: independent(D, epsilon={"a": 1.0}), DesignError, "no ε is given for 'b'"),
        (lambda: independent(D, epsilon={"a": 1, "b": 1, "z": 1}), SchemaError, "attribute 'z'"),
        (lambda: independent(D, epsilon={"a": 1, "b": 0}), MatrixError, "ε=0"),
        (lambda: clustered(D, [["a"], ["z"]], p=0.5), SchemaError, "no attribute 'z'"),
        (lambda: sampled(D, 0, epsilon=1), DesignError, "size=0: a person can be asked between 1"),
        (lambda: sampled(D, 3, epsilon=1), DesignError, "size=3"),
        (lambda: sampled(D, 1.5, epsilon=1), DesignError, "size=1.5"),
        (lambda: sampled(D, 1, epsilon=0), MatrixError, "ε=0"),
        (lambda: joint(domain_of(*[10] * 15), p=0.5), MatrixError, "48 random bits"),
        (lambda: joint(domain_of(*[10] * 15), epsilon=1.0), MatrixError, "48 random bits"),
    ],
)
def test_what_cannot_be_is_refused(make, kind, complaint):
    with pytest.raises(kind) as error:
        make()
    assert complaint in str(error.value)
