"""How a survey file says its design is to be made: a protocol and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mdrr.design import Design
from mdrr.domain import Domain, known
from mdrr.errors import DesignError, did_you_mean
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
        if self.protocol not in PROTOCOLS:
            raise DesignError(
                f"there is no protocol {self.protocol!r}. Known: {known(PROTOCOLS)}"
                f"{did_you_mean(self.protocol, PROTOCOLS)}"
            )
        numbers = {"p": int | float, "size": int, "epsilon": int | float | Mapping, "people": int}
        for key, wanted in numbers.items():
            value = getattr(self, key)
            if value is not None and (isinstance(value, bool) or not isinstance(value, wanted)):
                raise DesignError(f"{key} = {value!r} is not a number")
        if self.protocol == "clusters" and self.clusters is None:
            raise DesignError("protocol 'clusters' needs clusters, as in [['a', 'b'], ['c']]")
        if self.protocol == "sampled" and self.size is None:
            raise DesignError("protocol 'sampled' needs size: how many attributes each is asked")
        if self.protocol == "planned" and (self.people is None or self.epsilon is None):
            raise DesignError("protocol 'planned' needs epsilon and people, the expected number")
        if self.protocol == "planned" and not 1e-9 <= _number(self.epsilon) < float("inf"):
            raise DesignError(f"epsilon = {self.epsilon}: a plan needs one positive number")
        if self.people is not None and self.people < 1:
            raise DesignError(f"people = {self.people}: expect at least one")
        for key, protocol in _GOES_WITH.items():
            if getattr(self, key) is not None and self.protocol != protocol:
                raise DesignError(f"{key} goes with protocol {protocol!r}, not {self.protocol!r}")

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


def _number(epsilon: float | Mapping[str, float] | None) -> float:
    return epsilon if isinstance(epsilon, int | float) else 0.0
