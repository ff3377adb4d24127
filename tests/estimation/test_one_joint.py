"""One joint behind every answer: tables, counts, samples and frames of one estimate agree.

On 8, 21 and 60 attributes, for the designs of the paper and the ones that `plan` gives. A sample
may stray z(1e-5) standard errors in every cell.
"""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

import mdrr
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError
from mdrr.estimation import estimate
from mdrr.protocols import clustered, independent
from mdrr.query import Query, Term
from tests.chance import z
from tests.estimation.simulated import people, reports

N, DRAWN = 900, 200_000
SIZES = {8: (3, 2, 4, 2, 5, 2, 3, 2), 21: (2,) * 21, 60: (2,) * 59 + (3,)}
DOMAINS = {
    count: Domain(tuple(Attribute(f"x{j}", tuple(range(r))) for j, r in enumerate(sizes)))
    for count, sizes in SIZES.items()
}


@cache
def design_of(count, kind):
    domain = DOMAINS[count]
    if kind == "independent":
        return independent(domain, epsilon=2.0 * count)
    if kind == "planned":
        return mdrr.plan(domain, n=N, epsilon=4.0).design
    names = domain.names
    return clustered(domain, [names[i : i + 3] for i in range(0, count, 3)], epsilon=2.0 * count)


CASES = [
    *((8, "independent", method) for method in ("pairwise", "correspondence", "latent", "auto")),
    *((8, "planned", method) for method in ("pairwise", "latent", "auto", "product")),
    *((8, "clusters", method) for method in ("adjust", "pairwise", "auto", "product")),
    *((21, "independent", method) for method in ("pairwise", "latent", "adjust")),
    (21, "planned", "pairwise"),
    *((21, "clusters", method) for method in ("auto", "product")),
    (60, "independent", "pairwise"),
    *((60, "clusters", method) for method in ("latent", "adjust")),
]


@cache
def made(count, kind, method):
    design = design_of(count, kind)
    tally = reports(people(N, domain=DOMAINS[count]), design, 1)
    options = {"fits": 1, "classes": 4, "passes": 30} if method == "latent" else {}
    return estimate(tally, design, method, **options)


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case)))
def found(request):
    return made(*request.param)


def some_names(domain, width, seed=0):
    """A few sets of attributes, the axes out of order too."""
    rng = np.random.default_rng(seed)
    chosen = [tuple(domain.names[:width]), tuple(domain.names[: -width - 1 : -1])]
    return [*chosen, *(tuple(rng.choice(domain.names, width, replace=False)) for _ in range(3))]


def cell(domain, names, codes):
    """The query that one cell of some attributes is."""
    terms = []
    for name, code in zip(names, codes, strict=True):
        mask = np.zeros(domain.attribute(name).size, dtype=bool)
        mask[code] = True
        terms.append(Term((name,), mask))
    return Query(domain, tuple(terms))


def test_a_table_is_the_margin_of_a_wider_one(found):
    for names in some_names(found.domain, 3):
        wide = found.table(*names).values
        assert wide.sum() == pytest.approx(1, abs=1e-9)
        for kept in [*combinations(range(3), 2), (0,), (1,), (2,)]:
            gone = tuple(axis for axis in range(3) if axis not in kept)
            table = found.table(*(names[axis] for axis in kept)).values
            np.testing.assert_allclose(table, wide.sum(axis=gone), atol=1e-9)


def test_a_count_is_the_sum_of_its_cells(found):
    rng = np.random.default_rng(5)
    for names in some_names(found.domain, 4):
        table = found.table(*names).values
        masks = [rng.random(size) < 0.6 for size in table.shape]
        query = Query(
            found.domain, tuple(Term((n,), mask) for n, mask in zip(names, masks, strict=True))
        )
        inside = table[np.ix_(*masks)].sum()
        assert found.joint.mass(query) == pytest.approx(inside, abs=1e-9)
        tied = rng.random(table.shape[:2]) < 0.5
        wanted = table.sum(axis=(2, 3))[tied].sum()
        one = Query(found.domain, (Term(names[:2], tied),))
        assert found.joint.mass(one) == pytest.approx(wanted, abs=1e-9)
    codes = [0] * 12 if len(found.domain) > 12 else [0] * 7
    names = found.domain.names[: len(codes)]
    wide = found.table(*names).values[tuple(codes)]
    assert found.joint.mass(cell(found.domain, names, codes)) == pytest.approx(wide, abs=1e-9)


def test_records_drawn_have_the_tables(found):
    columns = found.joint.sample(DRAWN, np.random.default_rng(3))
    for width in (1, 2, 3):
        for names in some_names(found.domain, width, seed=width):
            wanted = found.table(*names).values
            places = [found.domain.index(name) for name in names]
            cells = np.ravel_multi_index([columns[j].astype(int) for j in places], wanted.shape)
            drawn = np.bincount(cells, minlength=wanted.size).reshape(wanted.shape) / DRAWN
            # A cell of few expected records is not normal: one record more is allowed.
            allowed = z() * np.sqrt(wanted * (1 - wanted) / DRAWN) + z() / DRAWN
            assert (np.abs(drawn - wanted) < allowed).all()


@pytest.mark.parametrize(
    "case",
    [
        *(case for case in CASES if case[0] == 8),
        (21, "independent", "pairwise"),
        (21, "independent", "adjust"),
        (60, "clusters", "adjust"),
    ],
    ids=lambda case: "-".join(map(str, case)),
)
def test_all_combinations_sum_to_the_tables(case):
    found = made(*case)
    columns, shares = found.joint.combinations()
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    for names in some_names(found.domain, 2):
        wanted = found.table(*names).values
        places = [found.domain.index(name) for name in names]
        cells = np.ravel_multi_index([columns[j].astype(int) for j in places], wanted.shape)
        sums = np.bincount(cells, shares, wanted.size).reshape(wanted.shape)
        np.testing.assert_allclose(sums, wanted, atol=1e-9)


def test_too_many_combinations_are_not_written_out():
    with pytest.raises(EstimateError, match="too many to write out"):
        made(60, "independent", "pairwise").to_frame()


@pytest.mark.parametrize("kind", ["independent", "planned", "clusters"])
def test_the_frame_and_the_sample_are_the_joints(kind):
    found = made(8, kind, "auto")
    frame = found.to_frame("pandas")
    by_pair = frame.groupby(["x0", "x4"])["probability"].sum().unstack(fill_value=0)
    wanted = found.table("x0", "x4").values
    np.testing.assert_allclose(by_pair.to_numpy(), wanted, atol=1e-9)
    records = found.sample(DRAWN, seed=2, backend="pandas")
    drawn = records.groupby(["x0", "x4"]).size().unstack(fill_value=0).to_numpy() / DRAWN
    assert (np.abs(drawn - wanted) < z() * np.sqrt(wanted * (1 - wanted) / DRAWN) + 1e-5).all()


@pytest.mark.parametrize("method", ["pairwise", "correspondence", "auto", "adjust"])
def test_as_many_are_counted_over_21_identical_attributes_as_over_12(method):
    """957 people who answer 21 questions alike; a joint that forgets pairs would count none."""
    rng = np.random.default_rng(4)
    answers = (rng.random(957) < 0.9).astype(np.uint8)
    design = independent(DOMAINS[21], p=0.97)
    found = estimate(reports([answers] * 21, design, 1), design, method)
    names = DOMAINS[21].names
    few, every = (found.count({name: [1] for name in names[:k]}).value for k in (12, 21))
    true = int(answers.sum())
    assert every <= few + 1e-6
    if method == "adjust":  # keeps the records' own dependence: 2 of 100 answers are not the truth
        assert every == pytest.approx(0.98**21 * true, rel=0.15)
        return
    assert few == pytest.approx(true, rel=0.05)
    assert every == pytest.approx(few, rel=0.05)
