"""The default: what held-out reports say is best between models, products and inversion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError, whole
from mdrr.estimation.assisted import Shrinker, some_pairs, typical_weight
from mdrr.estimation.correspondence import MOST_CATEGORIES, correspondence
from mdrr.estimation.joint import Factor, Joint, ProductJoint
from mdrr.estimation.latent import latent
from mdrr.estimation.margins import has_band, one_way
from mdrr.estimation.misfit import FittedSpread
from mdrr.estimation.result import Estimate
from mdrr.estimation.spread import BlendSpread
from mdrr.estimation.tabled import TabledJoint, fit_margins, fit_pairs
from mdrr.estimation.unbiased import unbiased
from mdrr.matrix import Array
from mdrr.tallies import Group, Tally

_HELD_OUT = 1 / 3
_TRUST = 4.0
"""Belief before looking: a share is what it is expected to be, give or take 1/√4."""
_TRUST_ALONE = 16.0
"""The same of single attributes, where there is a reason to expect it: of 4 and 16 the better where
people report four attributes each, and level elsewhere, on data sets that are not held out."""

Shares = tuple[float, float, float]
"""Of the latent classes, the correspondence analysis and the product; they sum to 1."""

_LATENT, _AXES, _PRODUCT = np.eye(3)


def auto(tally: Tally, design: Design, *, classes: int | None = None, seed: int = 0) -> Estimate:
    """Estimate without having to choose a method.

    Three models are fitted: latent classes, as many as held-out reports choose; the axes of a
    correspondence analysis; and the product of the margins. Every table asked for is drawn from
    each model towards its unbiased estimate as far as the latter's noise allows, and the three are
    mixed by the shares c that come nearest to the unbiased tables u of held-out people: the least
    Σ |Σ c_b·b − u|²/v + t·|c − c₀|², with v the mean variance of u's cells. The t is for where
    held-out people cannot tell. There, pairs are the correspondence analysis's, whose axes nearly
    vanish by themselves where nothing can be seen, and single attributes are the latent classes' if
    they are reported jointly with others: a likelihood makes more of such reports than inversion.
    It does so of banded ones too, and where there are any pairs are the latent classes'.

    Arguments:
        tally: the reports.
        design: how they were made.
        classes: how many latent classes, instead of choosing.
        seed: for the fits, the draws, and who is held out.

    Returns:
        An estimate whose notes say what was chosen and why.
    """
    seed = whole("seed", seed, 0, EstimateError)
    model = latent(tally, design, classes=classes, seed=seed)
    others, axes = _others(tally, design, seed)
    makers = tuple(Shrinker(base, tally, design) for base in (model.joint, *others))
    pairs = some_pairs(design.domain)
    options = {key: int(model.notes[key]) for key in ("classes", "passes")}
    alone, shares, held_out = _shares(tally, design, pairs, options, seed)
    blend = Blend(makers, alone, shares)
    weights = [typical_weight(maker, pairs) for maker in makers]
    weight = float(np.dot(shares if pairs else alone, weights))
    asked = _asked_together(design)
    assert isinstance(model.spread, FittedSpread)
    return Estimate(
        domain=design.domain,
        n=tally.n,
        method="auto",
        joint=TabledJoint(design.domain, model.joint, blend),
        spread=BlendSpread(blend, model.spread.resampled),
        notes={
            **model.notes,
            "axes": axes,
            "chosen": _chosen(options["classes"], others[0] is others[1], shares, weight),
            "why": _why(model, _mixed(alone, shares, axes, weight, asked) if held_out else None),
            "shares": shares,
            "shares_alone": alone,
            "unbiased_weight": weight,
        },
    )


def _others(tally: Tally, design: Design, seed: int) -> tuple[tuple[Joint, Joint], int]:
    """The correspondence analysis and the product, and how many axes were fitted.

    Of one attribute, or more categories than can be analysed, there are none, and both are the
    product.
    """
    margins = zip(design.domain.names, one_way(tally, design), strict=True)
    factors = tuple(Factor((name,), margin) for name, margin in margins)
    product = ProductJoint(design.domain, factors)
    if len(design.domain) < 2 or sum(design.domain.shape) > MOST_CATEGORIES:
        return (product, product), 0
    found = correspondence(tally, design, seed=seed)
    return (found.joint, product), int(found.notes["axes"])


def _shares(
    tally: Tally,
    design: Design,
    pairs: Sequence[tuple[str, str]],
    options: dict[str, int],
    seed: int,
) -> tuple[Shares, Shares, bool]:
    """c of single attributes and of pairs: tables of some people, unbiased ones of the others.

    The last says whether there were enough people to hold some out; if not, c is c₀.

    Held-out people differ from the others, and errors below that difference cannot be seen. So the
    shares found count for as much as the randomization has in the noise, and the rest is dealt
    evenly between the latent classes and the product, each drawn to the unbiased table where that
    is nearly exact: their errors differ, and of two that cannot be told apart the mean errs less.
    """
    clusters = [cluster for q in design.questionnaires for cluster in q.clusters]
    together = any(len(cluster.attributes) > 1 for cluster in clusters)
    expected = _LATENT if together else _AXES
    jointly = _LATENT if any(has_band(cluster.matrix) for cluster in clusters) else _AXES
    train, test = split(tally, _HELD_OUT, seed)
    try:
        model = latent(train, design, **options, fits=1, seed=seed)
        others, _ = _others(train, design, seed)
    except EstimateError:  # too few people to split
        return _as_shares(expected), _as_shares(jointly), False
    makers = [Shrinker(base, train, design) for base in (model.joint, *others)]

    def shares(tables: Sequence[tuple[str, ...]], expected: Array, trust: float) -> Shares:
        gram = np.zeros((3, 3))
        randomized = total = 0.0
        for names in tables:
            held = unbiased(test, design, names)
            if held is None:
                continue
            noise = float(held.variances(population=True).sum())
            randomized, total = randomized + float(held.variances().sum()), total + noise
            if noise > 0:
                gaps = np.stack([(maker.table(names) - held.values).ravel() for maker in makers])
                gram += gaps @ gaps.T / (noise / held.values.size)
        found = nearest_mixture(gram + trust * np.eye(3), trust * expected)
        seen = randomized / total if total > 0 else 1.0
        return _as_shares(seen * found + (1 - seen) * (_LATENT + _PRODUCT) / 2)

    single: list[tuple[str, ...]] = [(name,) for name in design.domain.names]
    alone = shares(single, expected, _TRUST_ALONE)
    return alone, shares(pairs, jointly, _TRUST), test.n > 0


def _as_shares(values: Array) -> Shares:
    latent_share, axes_share, product_share = (float(value) for value in values)
    return latent_share, axes_share, product_share


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


def split(tally: Tally, share: float, seed: int) -> tuple[Tally, Tally]:
    """Deal the people out: a tally of the others, and one of a random share of them."""
    rng = np.random.default_rng(seed)
    kept: list[Group] = []
    held: list[Group] = []
    for group in tally.groups:
        taken = rng.binomial(group.counts, share)
        for counts, side in ((group.counts - taken, kept), (taken, held)):
            some = counts > 0
            side.append(Group(tuple(c[some] for c in group.codes), counts[some], group.sizes))
    return Tally(tally.fingerprint, tuple(kept)), Tally(tally.fingerprint, tuple(held))


def _chosen(classes: int, alone: bool, shares: Shares, weight: float) -> str:
    """The methods of a tenth or more; `alone` if there was no correspondence to be analysed."""
    if weight > 0.9:
        return "unbiased"
    named = ["latent" if classes > 1 else "product", "product" if alone else "correspondence"]
    parts = [n for n, share in zip([*named, "product"], shares, strict=True) if share >= 0.1]
    return " and ".join(dict.fromkeys(parts if weight < 0.1 else [*parts, "unbiased"]))


def _asked_together(design: Design) -> bool:
    """Whether anybody reports two attributes."""
    return any(len(questionnaire.attributes) > 1 for questionnaire in design.questionnaires)


def _why(model: Estimate, mixed: str | None) -> str:
    tried = model.notes["held_out"]
    classes = model.notes["classes"]
    text = f"{classes} latent class{'es' if classes > 1 else ''}"
    if tried:
        shown = ", ".join(f"{entry[0]}: {entry[2]:.5f}" for entry in tried)
        likelihoods = [entry[2] for entry in tried]
        best = max(tried, key=lambda entry: entry[2])[0] == classes
        alike = max(likelihoods) - min(likelihoods) < 5e-6
        verb = "predict" if classes > 1 else "predicts"
        text += f" {verb} held-out reports {'best' if best and not alike else 'as well as any'}"
        text += f" (mean log-likelihood by classes: {shown})"
    return f"{text}; {mixed or 'too few people to compare tables of some with those of the others'}"


def _mixed(alone: Shares, shares: Shares, axes: int, weight: float, asked: bool) -> str:
    """What tables are mixed of, in words."""
    text = f"of held-out people, single attributes are nearest to {_listed(alone, axes)}"
    if not asked:
        return f"{text}; nobody was asked two attributes: of their relation nothing is known"
    return (
        f"{text}, pairs to {_listed(shares, axes)}; each is drawn towards the unbiased table, "
        f"pairs {weight:.0%} of the way on average"
    )


def _listed(shares: Shares, axes: int) -> str:
    names = ("latent classes", f"correspondence analysis (axes fitted: {axes})", "products")
    parts = zip(shares, names, strict=True)
    return " + ".join(f"{share:.0%} {name}" for share, name in parts if share >= 0.005)


@dataclass(frozen=True, eq=False)
class Blend:
    """Makes tables between those of several shrinkers.

    Arguments:
        makers: from the latent classes, the correspondence analysis and the product.
        alone: their shares in single attributes.
        shares: their shares in pairs.
    """

    makers: tuple[Shrinker, ...]
    alone: Shares
    shares: Shares
    _known: dict[tuple[str, ...], Array] = field(default_factory=dict, repr=False)

    def table(self, names: tuple[str, ...], /) -> Array:
        """The blended table of one or two attributes; wider ones are fitted to their pairs."""
        if names not in self._known:
            self._known[names] = self._made(names)
        return self._known[names]

    def parts(self, names: Sequence[str]) -> list[tuple[Shrinker, float]]:
        """The shrinkers that make a table of some attributes, and their shares.

        Products say nothing of what pairs do not: their share in wide tables is latent classes'.
        """
        shares = self.alone if len(names) == 1 else self.shares
        if len(names) > 2:
            shares = (shares[0] + shares[2], shares[1], 0.0)
        return [(m, share) for m, share in zip(self.makers, shares, strict=True) if share > 0]

    def _made(self, names: tuple[str, ...]) -> Array:
        mixed = sum(share * maker.table(names) for maker, share in self.parts(names))
        if len(names) == 1:
            return np.asarray(mixed)
        if len(names) == 2:
            return fit_margins(np.asarray(mixed), [self.table((name,)) for name in names])
        pairs = {
            (i, j): self.table((names[i], names[j])) for i, j in combinations(range(len(names)), 2)
        }
        return fit_pairs(np.asarray(mixed), pairs)
