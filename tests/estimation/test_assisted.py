"""How far tables are drawn from a model to what the reports say themselves."""

from itertools import combinations

import numpy as np
import pytest

from mdrr.design import Design
from mdrr.domain import Attribute, Domain
from mdrr.estimation.assisted import Assisted, Gap, assisted, discoveries, mixed
from mdrr.estimation.evidence import Evidence, Names
from mdrr.estimation.raking import fit_margins
from mdrr.protocols import independent
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes

DOMAIN = Domain(tuple(Attribute(f"a{j}", tuple("uvwxyz"[:r])) for j, r in enumerate((2, 3, 2, 4))))
PAIRS = list(combinations(DOMAIN.names, 2))
SINGLE = [(name,) for name in DOMAIN.names]
N = 3_000


def drawn(columns: list[np.ndarray], design: Design, seed: int, wrong: str = "") -> Assisted:
    """From the product of the true margins, one of them turned round if asked."""
    model: dict[Names, np.ndarray] = {}
    for name, codes, size in zip(DOMAIN.names, columns, DOMAIN.shape, strict=True):
        margin = np.bincount(codes, minlength=size) / N
        model[(name,)] = margin[::-1] if name == wrong else margin
    for a, b in PAIRS:
        model[a, b] = np.outer(model[(a,)], model[(b,)])
    reports = randomize_codes(columns, design, SeededSource(seed))
    return assisted(model, Evidence(tally_codes(reports, design), design))


def unrelated(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.choice(r, N, p=rng.dirichlet(np.full(r, 5.0))) for r in DOMAIN.shape]


@pytest.mark.parametrize("false", [0.05, 0.1, 0.3])
def test_discoveries_are_benjamini_and_hochbergs(false):
    rng = np.random.default_rng(5)
    for _ in range(50):
        chances = np.concatenate([rng.random(8), rng.random(4) * 0.02])
        level = discoveries(chances.tolist(), false)
        believed = int((chances <= level).sum())
        assert level == pytest.approx(max(believed, 1) * false / 12)
        # No larger set of them holds itself up.
        assert all((chances <= k * false / 12).sum() < k for k in range(believed + 1, 13))


@pytest.mark.parametrize("tables", [PAIRS, SINGLE], ids=["pairs", "single attributes"])
def test_chance_seldom_moves_a_right_model(tables):
    rng = np.random.default_rng(11)
    design = independent(DOMAIN, epsilon=2.0)
    moved = 0
    for seed in range(100):
        made = drawn(unrelated(rng), design, seed)
        moved += any(made.weights[names] > 0 for names in tables)
    # A tenth of the data sets are expected to; 20 of 100 would be three standard errors more.
    assert moved < 20


def test_a_pair_that_stands_out_is_believed_and_the_others_are_not():
    rng = np.random.default_rng(3)
    columns = unrelated(rng)
    columns[2] = columns[0].copy()
    made = drawn(columns, independent(DOMAIN, epsilon=12.0), 7)
    same = made.tables["a0", "a2"]
    assert made.weights["a0", "a2"] > 0.8
    true = np.zeros((2, 2))
    np.add.at(true, (columns[0], columns[2]), 1 / N)
    product = np.outer(true.sum(axis=1), true.sum(axis=0))
    assert np.abs(same - true).sum() < 0.3 * np.abs(product - true).sum()
    others = [made.weights[pair] for pair in PAIRS if pair != ("a0", "a2")]
    assert np.mean(others) < 0.3


def test_a_margin_that_stands_out_is_believed_and_the_others_are_not():
    columns = unrelated(np.random.default_rng(4))
    design = independent(DOMAIN, epsilon=12.0)
    made = drawn(columns, design, 2, wrong="a3")
    true = np.bincount(columns[3], minlength=4) / N
    assert made.weights[("a3",)] > 0.8
    found = made.tables[("a3",)]
    assert np.abs(found - true).sum() < 0.3 * np.abs(true[::-1] - true).sum()
    assert max(made.weights[(name,)] for name in ("a0", "a1", "a2")) < 0.3
    for a, b in PAIRS:
        assert made.tables[a, b].sum(axis=1) == pytest.approx(made.tables[(a,)], abs=1e-9)
        assert made.tables[a, b].sum(axis=0) == pytest.approx(made.tables[(b,)], abs=1e-9)


def test_nearly_exact_reports_speak_for_themselves():
    rng = np.random.default_rng(9)
    columns = unrelated(rng)
    columns[1] = (columns[3] + 1) % 3
    made = drawn(columns, independent(DOMAIN, p=0.999999), 1)
    true = np.zeros((3, 4))
    np.add.at(true, (columns[1], columns[3]), 1 / N)
    assert made.weights["a1", "a3"] > 0.99
    assert made.tables["a1", "a3"] == pytest.approx(true, abs=2e-3)


def test_a_strongly_dependent_pair_of_many_categories_is_believed():
    """Its error is larger than the product's own square, by as much as there are categories."""
    k, rng = 30, np.random.default_rng(2)
    domain = Domain(tuple(Attribute(n, tuple(f"{n}{i}" for i in range(k))) for n in "ab"))
    first = rng.integers(0, k, 20_000)
    second = np.where(rng.random(20_000) < 0.9, first, rng.integers(0, k, 20_000))
    design = independent(domain, epsilon=9.0)
    tally = tally_codes(randomize_codes([first, second], design, SeededSource(1)), design)
    even = {("a",): np.full(k, 1 / k), ("b",): np.full(k, 1 / k)}
    made = assisted(even | {("a", "b"): np.full((k, k), 1 / k**2)}, Evidence(tally, design))
    true = np.zeros((k, k))
    np.add.at(true, (first, second), 1 / 20_000)
    assert ((true - 1 / k**2) ** 2).sum() > 10 * (1 / k**2)
    assert made.weights["a", "b"] > 0.8
    assert np.abs(made.tables["a", "b"] - true).sum() / 2 < 0.2


def test_no_error_is_larger_than_margins_allow():
    """Over random pairs of tables with common margins; a diagonal comes near it."""
    rng = np.random.default_rng(8)
    for _ in range(200):
        shape = tuple(rng.integers(2, 6, 2))
        true, start = (rng.dirichlet(np.full(shape[0] * shape[1], 0.2)) for _ in range(2))
        true = true.reshape(shape) + 1e-9
        model = fit_margins(start.reshape(shape), [true.sum(axis=1), true.sum(axis=0)])
        assert ((true - model) ** 2).sum() <= Gap(model, None)._most + 1e-9
    diagonal, even = np.eye(5) / 5, np.full((5, 5), 1 / 25)
    assert ((diagonal - even) ** 2).sum() > 0.6 * Gap(even, None)._most


def test_mixed_tables_agree_with_mixed_margins():
    rng = np.random.default_rng(4)
    parts, alone, pairs = [], np.array([0.3, 0.7]), np.array([0.6, 0.4])
    for _ in alone:
        table = rng.dirichlet(np.ones(6)).reshape(2, 3)
        parts.append({("a",): table.sum(axis=1), ("b",): table.sum(axis=0), ("a", "b"): table})
    found = mixed(parts, alone, pairs)
    for name in ("a", "b"):
        wanted = sum(one * tables[(name,)] for tables, one in zip(parts, alone, strict=True))
        assert found[(name,)] == pytest.approx(wanted)
    assert found["a", "b"].sum(axis=1) == pytest.approx(found[("a",)], abs=1e-9)
    assert found["a", "b"].sum(axis=0) == pytest.approx(found[("b",)], abs=1e-9)
    blend = sum(two * tables["a", "b"] for tables, two in zip(parts, pairs, strict=True))
    odds = [t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) for t in (blend, found["a", "b"])]
    assert odds[0] == pytest.approx(odds[1], rel=1e-6)
