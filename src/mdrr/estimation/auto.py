"""The default: what held-out reports say is best between models, products and inversion."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError, whole
from mdrr.estimation.assisted import assisted, mixed
from mdrr.estimation.axes import MOST_CATEGORIES, confirmed
from mdrr.estimation.carry import Carried, from_tables, refitted
from mdrr.estimation.channel import stacks
from mdrr.estimation.evidence import Evidence, Names, Tables, has_band, has_jointly
from mdrr.estimation.latent import Classes, Halves, fitted, step
from mdrr.estimation.mixture import MixtureJoint
from mdrr.estimation.pairwise import axes_tables, product_tables
from mdrr.estimation.records import with_records
from mdrr.estimation.result import Estimate
from mdrr.estimation.strata import Strata, strata_of
from mdrr.matrix import Array, Constant
from mdrr.tallies import Tally

_TRUST = 4.0
"""Belief before looking: a model's share is what it is expected to be, give or take 1/√4."""
_TRUST_ALONE = 16.0
"""The same of single attributes, where there is a reason to expect it: of 4 and 16 the better where
people report four attributes each, and level elsewhere, on data sets that are not held out."""
_HEARD = 0.5
"""How far shares go from what is expected to what halves of the people say. With all of them
unbiased tables have half the noise, so what is drawn to them gains more than halves can show."""
_KNOWN = 0.5
"""The share of people with a record from which on records say more of wide tables than pairs do."""
_PASSES = 8
"""Passes of EM over the reports that tell the joint of pairs what they say of more attributes."""
_FAINT = 1e-3
"""Pseudo-reports of each class in those passes, so that none rules out what a pair may hold."""
_MOST_REPORTS = 2**16
"""Distinct reports of single attributes up to which latent classes are fitted to them: pair tables
of more people say as much as classes do, at a cost that does not grow with them."""
_MOST_PAIRS = 100
"""Pairs on which models are compared; of more, some evenly spread over them."""

Pairs = Sequence[tuple[str, str]]
Models = dict[str, list[Tables]]
"""Each model's tables by its name: those from everyone, then those from each half of the people."""


def auto(tally: Tally, design: Design, *, classes: int | None = None, seed: int = 0) -> Estimate:
    """Estimate without having to choose a method.

    Up to three models see the single attributes and the pairs: the product of the margins; the
    axes that all pairs share; and latent classes fitted to the reports, with nearly exact reports
    as records. Where very many people report single attributes, their pairs say as much as classes
    would, and none are fitted. Each model's tables are drawn towards the unbiased ones as far as
    the latter's noise allows. The models are mixed by the shares c that come nearest to the
    unbiased tables u of held-out people: the least
    Σ |Σ c_b·b − u|²/v + t·|c − c₀|², with v the mean variance of u's cells. t pulls the shares
    towards c₀ when held-out people cannot tell. One joint that carries the mixed tables is the
    estimate.

    Arguments:
        tally: the reports.
        design: how they were made.
        classes: how many latent classes, instead of choosing.
        seed: for the fits and for who is held out.

    Returns:
        An estimate whose notes say what was chosen and why.
    """
    seed = whole("seed", seed, 0, EstimateError)
    classes = None if classes is None else whole("classes", classes, 1, EstimateError)
    evidence = Evidence(tally, design)
    halves = evidence.halves(seed)
    strata = strata_of(evidence)
    seen = strata.merged
    seen_halves = seen.halves(seed) if strata.places else halves
    banded = any(has_band(c.matrix) for q in design.questionnaires for c in q.clusters)
    found: Classes | None = None
    together = has_jointly(design) or banded
    few = not tally.has_sums and tally.listed <= _MOST_REPORTS
    listed = all(len(group.counts) for group in tally.groups if group.n)
    if classes is not None or few or (together and listed):
        found = fitted(seen, seen_halves, classes=classes, seed=seed)
    base = None if found is None else _recorded(found.mixture, seen, strata)
    crossed = zip(() if found is None else found.choice.crossed, seen_halves or (), strict=False)
    others = [_recorded(mixture, half, strata) for mixture, half in crossed]
    models, axes = _models(evidence, halves, base, others)
    alone, shares = _shares(models, halves, together, banded)
    drawn = [assisted(tables[0], evidence) for tables in models.values()]
    tables = mixed([each.tables for each in drawn], alone, shares)
    joint = _joint(strata, tables, base, seed)
    widest, public = min(len(design.domain), 2), {*design.domain.public}
    looked = [names for names in tables if len(names) == widest and not public.issuperset(names)]
    weights = [np.mean([each.weights[names] for names in looked] or [0.0]) for each in drawn]
    weight = float(np.dot(shares if widest > 1 else alone, weights))
    names = list(models)
    notes = {
        **({} if found is None else found.notes),
        "axes": axes,
        "chosen": _chosen(names, shares, weight),
        "why": _why(names, alone, shares, weight, design, found, halves is not None),
        "shares": dict(zip(names, map(float, shares), strict=True)),
        "shares_alone": dict(zip(names, map(float, alone), strict=True)),
        "unbiased_weight": weight,
        "carried": joint.distance,
    }
    return Estimate("auto", joint.joint, evidence, notes)


def _recorded(mixture: MixtureJoint, seen: Evidence, strata: Strata) -> MixtureJoint:
    """Latent classes with nearly exact reports as records, over the whole domain."""
    return strata.among(seen).spread(with_records(mixture, seen.tally, seen.design))


def _joint(strata: Strata, tables: Tables, base: MixtureJoint | None, seed: int) -> Carried:
    """One joint for all tables: made of records where most people's are known, else of classes.

    Classes made for the pairs are told by EM what reports say of more attributes at once: each pass
    goes as far that way as the reports are exact. Then they are fitted to the pairs again.
    """
    if base is not None and len(strata.domain) > 2:
        records = (group for group in base.pinned if group.places != strata.places)
        if sum(float(group.shares.sum()) for group in records) >= _KNOWN:
            return refitted(base, tables, strata, _noise(strata.evidence))
        seen, joint = strata.merged, strata.gathered(from_tables(tables, strata, seed).joint)
        reports = stacks(seen.tally, seen.design)
        for _ in range(_PASSES):
            joint, _likely = step(reports, joint, seen.margins, _FAINT)
        return refitted(strata.spread(joint), tables, strata)
    return from_tables(tables, strata, seed)


def _noise(evidence: Evidence) -> dict[Names, float] | None:
    """The noise of unbiased pair tables, if everybody reports all attributes in one answer.

    Then records hold all that reports say, of pairs as well. Otherwise pair tables also tell what
    people who were asked different attributes say together, and are met in full: None.
    """
    design = evidence.design
    private = set(design.domain.names) - set(design.domain.public)
    for questionnaire in design.questionnaires:
        wide = (c for c in questionnaire.clusters if isinstance(c.matrix, Constant))
        if not any(private <= set(cluster.attributes) for cluster in wide):
            return None
    found = ((pair, evidence.table(pair)) for pair in evidence.pairs)
    return {pair: float(u.variances().sum()) for pair, u in found if u is not None}


def _models(
    evidence: Evidence,
    halves: Halves | None,
    base: MixtureJoint | None,
    crossed: Sequence[MixtureJoint],
) -> tuple[Models, int]:
    """Every model of everyone's reports and of each half's; and how many axes there are."""
    some = some_of(evidence.pairs)
    seen = [(evidence, evidence.pairs), *((half, some) for half in halves or ())]
    models = {"product": [product_tables(each, pairs) for each, pairs in seen]}
    kept = 0
    if len(evidence.design.domain) > 1 and sum(evidence.design.domain.shape) <= MOST_CATEGORIES:
        axes, of_halves = confirmed(evidence, halves or ())
        kept = axes.kept
        models["correspondence"] = [
            axes_tables(each, found, pairs)
            for (each, pairs), found in zip(seen, (axes, *of_halves), strict=True)
        ]
    if base is not None:
        halved = (_tables(joint, some) for joint in crossed)
        models["latent"] = [_tables(base, evidence.pairs), *halved]
    return models, kept


def _tables(joint: MixtureJoint, pairs: Pairs) -> Tables:
    names = [(name,) for name in joint.domain.names]
    return {key: joint.table(key) for key in (*names, *pairs)}


def some_of(pairs: Pairs) -> Pairs:
    """All pairs, or some evenly spread over them."""
    if len(pairs) <= _MOST_PAIRS:
        return pairs
    return [pairs[at] for at in np.linspace(0, len(pairs) - 1, _MOST_PAIRS).astype(np.int64)]


def _shares(
    models: Models, halves: Halves | None, together: bool, banded: bool
) -> tuple[Array, Array]:
    """c of single attributes and of pairs: tables of each half, unbiased ones of the other.

    Held-out people differ from the others, and errors below that difference cannot be seen. So the
    shares found count for as much as the randomization has in the noise, and the rest is dealt
    evenly between the first model and the last, each drawn to the unbiased table where that is
    nearly exact: their errors differ, and of two that cannot be told apart the mean errs less.

    Where held-out people cannot tell, single attributes that people report as parts of joint
    answers are the latent classes': a likelihood makes more of them than inversion. Pairs are then
    all models' alike, or the latent classes' alone after bands.
    """
    count = len(models)
    last = np.eye(count)[-1]
    even = np.full(count, 1 / count)
    alone, pairs = last if together else np.eye(count)[0], last if banded else even
    if halves is None or not all(len(tables) == 3 for tables in models.values()):
        return alone, pairs
    drawn = [
        [assisted(tables[1 + f], halves[f]).tables for tables in models.values()] for f in (0, 1)
    ]

    def shares(width: int, expected: Array, trust: float) -> Array:
        gram = np.zeros((count, count))
        randomized = total = 0.0
        for f in (0, 1):
            for names in drawn[f][0]:
                held = halves[1 - f].table(names) if len(names) == width else None
                if held is None or held.exact:
                    continue
                noise = float(held.variances(population=True).sum())
                randomized, total = randomized + float(held.variances().sum()), total + noise
                if noise > 0:
                    gaps = np.stack([(made[names] - held.values).ravel() for made in drawn[f]])
                    gram += gaps @ gaps.T / (noise / held.values.size)
        found = nearest_mixture(gram + trust * np.eye(count), trust * expected)
        found = _HEARD * found + (1 - _HEARD) * expected
        seen = randomized / total if total > 0 else 1.0
        return np.asarray(seen * found + (1 - seen) * (np.eye(count)[0] + last) / 2)

    return shares(1, alone, _TRUST_ALONE), shares(2, pairs, _TRUST)


def nearest_mixture(gram: Array, pull: Array) -> Array:
    """The shares c ≥ 0, Σ c = 1, that minimise cᵀGc − 2·pullᵀc: for few shares, all faces tried.

    >>> nearest_mixture(np.diag([1.0, 3.0]), np.zeros(2))
    array([0.75, 0.25])
    """
    size = len(pull)
    best, least = np.full(size, 1 / size), np.inf
    for count in range(1, size + 1):
        for face in map(list, combinations(range(size), count)):
            system = np.ones((count + 1, count + 1))
            system[:count, :count] = gram[np.ix_(face, face)]
            system[count, count] = 0.0
            found = np.linalg.solve(system, np.append(pull[face], 1.0))[:count]
            shares = np.zeros(size)
            shares[face] = found
            value = float(shares @ gram @ shares - 2 * pull @ shares)
            if (found >= 0).all() and value < least:
                best, least = shares, value
    return best


def _chosen(names: Sequence[str], shares: Array, weight: float) -> str:
    """The models of a tenth or more, and the unbiased tables if they count for as much."""
    if weight > 0.9:
        return "unbiased"
    parts = [name for name, share in zip(names, shares, strict=True) if share >= 0.1]
    return " and ".join(parts if weight < 0.1 else [*parts, "unbiased"])


def _why(
    names: Sequence[str],
    alone: Array,
    shares: Array,
    weight: float,
    design: Design,
    found: Classes | None,
    compared: bool,
) -> str:
    """What was mixed and why, in words."""
    sentences = []
    if found is not None and found.choice.tried:
        shown = ", ".join(f"{entry[0]}: {entry[2]:.5f}" for entry in found.choice.tried)
        sentences.append(
            f"{found.choice.classes} latent class{'es' if found.choice.classes > 1 else ''}, "
            "the most that predict held-out reports as well as any do (mean log-likelihood by "
            f"number of classes: {shown})"
        )
    if not compared:
        sentences.append("there are too few people to hold some out and compare models with them")
    sentences.append(f"single attributes are {_listed(names, alone)}")
    if all(len(questionnaire.attributes) < 2 for questionnaire in design.questionnaires):
        sentences.append("nobody was asked two attributes: of their relation nothing is known")
    else:
        sentences.append(
            f"pairs are {_listed(names, shares)}, each drawn towards the unbiased table, "
            f"{weight:.0%} of the way on average"
        )
    return "; ".join(sentences)


def _listed(names: Sequence[str], shares: Array) -> str:
    parts = zip(shares, names, strict=True)
    return " + ".join(f"{share:.0%} {name}" for share, name in parts if share >= 0.005)
