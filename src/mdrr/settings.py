"""How a survey file says its design is to be made: a protocol and its parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from mdrr.design import Design
from mdrr.domain import Domain, known
from mdrr.errors import DesignError, did_you_mean, is_number
from mdrr.protocols import clustered, independent, joint, sampled

if TYPE_CHECKING:
    from mdrr.planning import Plan

PROTOCOLS = ("independent", "joint", "clusters", "sampled", "planned")

_GOES_WITH = {
    "clusters": "clusters",
    "size": "sampled",
    "report": "sampled",
    "ordered": "independent",
}
_CHOICES = {"ordered": ("constant", "banded"), "report": ("cell", "subset")}


@dataclass(frozen=True)
class Settings:
    """How to make a design: one of the protocols and its parameters.

    Arguments:
        protocol: `"independent"`, `"joint"`, `"clusters"`, `"sampled"` or `"planned"`, which is
            the design that `mdrr.plan` ranks first.
        p: probability of keeping each true answer; not for `"sampled"` and `"planned"`.
        epsilon: instead of p, what one person spends; `{name: ε}` too for `"independent"`.
        clusters: for `"clusters"`, a partition of the attributes.
        size: for `"sampled"`, how many attributes each person is asked.
        report: for `"sampled"`, `"cell"` or `"subset"`: see `mdrr.sampled`.
        ordered: for `"independent"`, `"constant"` or `"banded"`: see `mdrr.independent`.
        people: how many people are expected to answer; `"planned"` needs it, and no error can be
            predicted without it.

    Example:
        >>> from mdrr.domain import Attribute
        >>> domain = Domain((Attribute("a", ("x", "y")), Attribute("b", ("x", "y"))))
        >>> Settings("joint", p=0.5).make(domain).clusters[0].name
        'a+b'
    """

    protocol: str = "independent"
    p: float | None = None
    epsilon: float | Mapping[str, float] | None = None
    clusters: tuple[tuple[str, ...], ...] | None = None
    size: int | None = None
    report: str | None = None
    ordered: str | None = None
    people: int | None = None

    def __post_init__(self) -> None:
        for fault in setting_faults(vars(self)):
            raise DesignError(fault)

    def make(self, domain: Domain) -> Design:
        """The design of these settings over a domain."""
        if self.protocol == "independent":
            ordered: Any = self.ordered or "constant"
            return independent(domain, p=self.p, epsilon=self.epsilon, ordered=ordered)
        if isinstance(self.epsilon, Mapping):
            raise DesignError("one ε per attribute goes with protocol 'independent'")
        if self.protocol == "joint":
            return joint(domain, p=self.p, epsilon=self.epsilon)
        if self.protocol == "clusters":
            return clustered(domain, self.clusters or (), p=self.p, epsilon=self.epsilon)
        if self.p is not None or self.epsilon is None:
            raise DesignError(f"protocol {self.protocol!r} needs epsilon, and takes no p")
        if self.protocol == "planned":
            return self.plan(domain).design
        report: Any = self.report or "cell"
        return sampled(domain, self.size or 0, epsilon=self.epsilon, report=report)

    def plan(self, domain: Domain) -> Plan:
        """Every design that spends this ε on this many people, the best first."""
        if self.epsilon is None or isinstance(self.epsilon, Mapping) or self.people is None:
            raise DesignError("a plan needs epsilon, one number, and people, the expected number")
        from mdrr.planning import plan

        return plan(domain, n=self.people, epsilon=self.epsilon)


def setting_faults(given: Mapping[str, Any]) -> Iterator[str]:
    """Everything that is wrong with settings, whatever is asked.

    >>> list(setting_faults({"protocol": "sampled", "size": "two", "people": 0}))
    ["size = 'two' is not a number", 'people = 0: expect at least one']
    """
    s = _filled(given)
    if s.protocol not in PROTOCOLS:
        yield (
            f"there is no protocol {s.protocol!r}. Known: {known(PROTOCOLS)}"
            f"{did_you_mean(s.protocol, PROTOCOLS)}"
        )
    numbers = {"p": int | float, "size": int, "epsilon": int | float | Mapping, "people": int}
    for key, wanted in numbers.items():
        value = getattr(s, key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, wanted)):
            yield f"{key} = {value!r} is not a number"
    if s.protocol == "clusters" and s.clusters is None:
        yield "protocol 'clusters' needs clusters, as in [['a', 'b'], ['c']]"
    if s.protocol == "sampled" and s.size is None:
        yield "protocol 'sampled' needs size: how many attributes each is asked"
    if s.protocol == "planned" and (s.people is None or s.epsilon is None):
        yield "protocol 'planned' needs epsilon and people, the expected number"
    elif s.protocol == "planned" and not (is_number(s.epsilon) and s.epsilon >= 1e-9):
        yield f"epsilon = {s.epsilon}: a plan needs one positive number"
    if isinstance(s.people, int) and s.people < 1:
        yield f"people = {s.people}: expect at least one"
    if s.protocol in PROTOCOLS:
        for key, protocol in _GOES_WITH.items():
            if getattr(s, key) is not None and s.protocol != protocol:
                yield f"{key} goes with protocol {protocol!r}, not {s.protocol!r}"


def making_faults(
    given: Mapping[str, Any], names: Sequence[str], public: Sequence[str]
) -> Iterator[str]:
    """Everything that keeps settings from making a design of attributes of these names.

    >>> list(making_faults({"p": 2.0, "ordered": "odd"}, ["a"], []))[0]
    "ordered='odd': choose 'constant' or 'banded'"
    """
    s, private = _filled(given), [name for name in names if name not in public]
    for key, choices in _CHOICES.items():
        value = getattr(s, key)
        if value is not None and value not in choices:
            yield f"{key}={value!r}: choose {' or '.join(map(repr, choices))}"
    if s.protocol in ("independent", "joint", "clusters") and (s.p is None) == (s.epsilon is None):
        yield "give p or epsilon, exactly one of them"
    if s.protocol in ("sampled", "planned") and s.p is not None:
        yield f"protocol {s.protocol!r} needs epsilon, and takes no p"
    if isinstance(s.p, int | float) and not 0 < s.p < 1:
        yield f"p={s.p} must lie strictly between 0 (nothing learnt) and 1 (ε = ∞)"
    each = s.epsilon if isinstance(s.epsilon, Mapping) else {}
    if each and s.protocol in PROTOCOLS and s.protocol != "independent":
        yield "one ε per attribute goes with protocol 'independent'"
    spent = [s.epsilon, *each.values()] if s.protocol != "planned" else each.values()
    for epsilon in spent:
        if isinstance(epsilon, int | float) and not 0 < epsilon < float("inf"):
            yield f"ε={epsilon} must be a positive number"
    if isinstance(s.size, int) and private and not 1 <= s.size <= len(private):
        yield f"size={s.size}: a person can be asked between 1 and {len(private)} attributes"
    lists = s.clusters if isinstance(s.clusters, list | tuple) else ()
    held = Counter(name for cluster in lists for name in cluster if isinstance(name, str))
    for key, found in (("epsilon", each), ("clusters", held)):
        for name in found:
            if name not in names:
                hint = did_you_mean(name, names) or "."
                yield f"{key}: there is no attribute {name!r}{hint} Known: {known(names)}"
        left = [name for name in private if name not in found]
        if found and left:
            yield f"{key}: {known(left)} has none; every attribute needs one"
    twice = [name for name, times in held.items() if times > 1]
    if twice:
        yield f"the clusters name {known(twice)} twice; each belongs in one of them"


def _filled(given: Mapping[str, Any]) -> Any:
    """Settings that need not be valid, with what is left out filled in."""
    return SimpleNamespace(**{**{each.name: each.default for each in fields(Settings)}, **given})
