"""The default: what held-out reports say is best between latent classes, products and inversion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

import numpy as np

from mdrr.design import Design
from mdrr.errors import EstimateError
from mdrr.estimation.assisted import Shrinker, typical_weight
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.latent import latent, one_way
from mdrr.estimation.misfit import FittedSpread
from mdrr.estimation.result import Estimate
from mdrr.estimation.spread import BlendSpread
from mdrr.estimation.tabled import TabledJoint, fit_margins, fit_pairs
from mdrr.estimation.unbiased import unbiased
from mdrr.matrix import Array
from mdrr.tallies import Group, Tally

_MOST_PAIRS = 100
_HELD_OUT = 1 / 3
_TRUST = 4.0
"""Belief in the latent classes before looking: their share is 1, give or take 1/√4."""


def auto(tally: Tally, design: Design, *, classes: int | None = None, seed: int = 0) -> Estimate:
    """Estimate without having to choose a method.

    Held-out reports choose how many latent classes to fit. Every table asked for is drawn towards
    its unbiased estimate as far as the latter's noise allows, once from the latent classes and once
    from the product of its margins, and the two are mixed by the share c that is nearest to the
    unbiased two-way tables of held-out people:
    c = (Σ ⟨l − p, u − p⟩/V + t) / (Σ |l − p|²/V + t), cut to [0, 1], with V the mean variance of
    u's cells. The t draws c towards the latent classes where held-out people cannot tell.

    Arguments:
        tally: the reports.
        design: how they were made.
        classes: how many latent classes, instead of choosing.
        seed: for the fit and for who is held out.

    Returns:
        An estimate whose notes say what was chosen and why.
    """
    model = latent(tally, design, classes=classes, seed=seed)
    by_model = Shrinker(model.joint, tally, design)
    by_product = Shrinker(_product(tally, design), tally, design)
    pairs = list(islice(combinations(design.domain.names, 2), _MOST_PAIRS))
    options = {key: int(model.notes[key]) for key in ("classes", "passes")}
    alone, share = _shares(tally, design, pairs, options, seed)
    blend = Blend(by_model, by_product, alone, share)
    assert isinstance(model.spread, FittedSpread)
    weight = typical_weight(by_model if share > 0.5 else by_product, pairs)
    return Estimate(
        domain=design.domain,
        n=tally.n,
        method="auto",
        joint=TabledJoint(design.domain, model.joint, blend),
        spread=BlendSpread(blend, model.spread.resampled),
        notes={
            **model.notes,
            "chosen": _chosen(options["classes"], share, weight),
            "why": _why(model, share, weight),
            "latent_share": share,
            "latent_share_alone": alone,
            "unbiased_weight": weight,
        },
    )


def _product(tally: Tally, design: Design) -> ProductJoint:
    margins = zip(design.domain.names, one_way(tally, design), strict=True)
    return ProductJoint(design.domain, tuple(Factor((name,), margin) for name, margin in margins))


def _shares(
    tally: Tally,
    design: Design,
    pairs: Sequence[tuple[str, str]],
    options: dict[str, int],
    seed: int,
) -> tuple[float, float]:
    """c of single attributes and of pairs: tables of some people, unbiased ones of the others.

    Held-out people differ from the others, and errors below that difference cannot be seen; so c is
    lowered to the share of the randomization in the noise.
    """
    train, test = split(tally, _HELD_OUT, seed)
    try:
        model = latent(train, design, **options, fits=1, seed=seed)
        by_product = Shrinker(_product(train, design), train, design)
    except EstimateError:  # too few people to split
        return 1.0, 1.0
    by_model = Shrinker(model.joint, train, design)

    def share(tables: Sequence[tuple[str, ...]]) -> float:
        along = length = randomized = total = 0.0
        for names in tables:
            held = unbiased(test, design, names)
            if held is None:
                continue
            first, second = by_product.table(names), by_model.table(names)
            noise = float(held.variances(population=True).sum())
            randomized, total = randomized + float(held.variances().sum()), total + noise
            if noise > 0:
                along += float(((second - first) * (held.values - first)).sum()) / noise
                length += float(((second - first) ** 2).sum()) / noise
        found = min(max(along / length, 0.0), 1.0) if length > 0 else 1.0
        return found * (randomized / total if total > 0 else 1.0)

    return share([(name,) for name in design.domain.names]), share(pairs)


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


def _chosen(classes: int, share: float, weight: float) -> str:
    if weight > 0.9:
        return "unbiased"
    if share < 0.1 or classes == 1:
        return "product" if weight < 0.1 else "product and unbiased"
    model = "latent" if share > 0.9 else "latent and product"
    return model if weight < 0.1 else f"{model} and unbiased"


def _why(model: Estimate, share: float, weight: float) -> str:
    tried = model.notes["held_out"]
    text = f"{model.notes['classes']} latent classes"
    if tried:
        shown = ", ".join(f"{entry[0]}: {entry[2]:.5f}" for entry in tried)
        text += f" predict held-out reports best (mean log-likelihood by classes: {shown})"
    return (
        f"{text}; held-out tables lie {share:.0%} of the way from products to the latent classes; "
        f"tables are drawn {weight:.0%} of the way to the unbiased ones"
    )


@dataclass(frozen=True, eq=False)
class Blend:
    """Makes tables between one shrinker's and another's.

    Arguments:
        model: from the latent classes.
        product: from the product of the margins.
        alone: the model's share in single attributes.
        share: the model's share in pairs.
    """

    model: Shrinker
    product: Shrinker
    alone: float
    share: float
    _known: dict[tuple[str, ...], Array] = field(default_factory=dict, repr=False)

    def table(self, names: tuple[str, ...], /) -> Array:
        """The blended table of one or two attributes; wider ones are fitted to their pairs."""
        if names not in self._known:
            self._known[names] = self._made(names)
        return self._known[names]

    def _made(self, names: tuple[str, ...]) -> Array:
        if len(names) > 2:
            pairs = {
                (i, j): self.table((names[i], names[j]))
                for i, j in combinations(range(len(names)), 2)
            }
            return fit_pairs(self.model.table(names), pairs)
        share = self.alone if len(names) == 1 else self.share
        mixed = share * self.model.table(names) + (1 - share) * self.product.table(names)
        if len(names) == 1:
            return mixed
        return fit_margins(mixed, [self.table((name,)) for name in names])
