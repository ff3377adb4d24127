"""Outcomes with made-up numbers, to see what is said about them."""

from collections.abc import Callable

from mdrr.reproduction import base, joint, methods
from mdrr.reproduction.outcome import Outcome, TableMedians, VariantOutcome
from mdrr.reproduction.printed import COVERAGES, KEEPS, LEAST_DEPENDENCES, MOST_CELLS, TABLES
from mdrr.reproduction.results import Median
from mdrr.reproduction.settings import Settings
from mdrr.reproduction.variants import choices, dependences, readings


def sharp(value: float, paper: float | None = None, width: float = 0.02) -> Median:
    """A median with a narrow band, `width` of its value to each side."""
    low, high = value * (1 - width), value * (1 + width)
    return Median(value, low, high, low, high, 1000, paper)


def table(name: str, error: Callable[[float, int, float], float]) -> TableMedians:
    return {
        (p, most, least): sharp(error(p, most, least), TABLES[name][p, most, least])
        for p in KEEPS
        for least in LEAST_DEPENDENCES
        for most in MOST_CELLS
    }


def the_paper_s(name: str) -> TableMedians:
    """The table the paper prints, as if it were ours."""
    return table(name, lambda p, most, least: TABLES[name][p, most, least])


def like_the_paper(settings: Settings | None = None) -> Outcome:
    """Tables as printed, and figures that do what section 6 says."""
    settings = settings or Settings()
    method_factor = {
        "Randomized": 5.0,
        "RR-Independent": 1.0,
        "RR-Clusters": 0.7,
        "RR-Independent + Adjustment": 0.7,
        "RR-Clusters + Adjustment": 0.4,
    }

    def point(p: float, coverage: float, method: str) -> float:
        if p < 0.5:
            worse = 1.0 if method == "RR-Independent" else 1.3
            return worse * 0.2 * (1 - coverage)
        return method_factor[method] * (0.1 if coverage < 0.3 else 0.02) * (1 - coverage)

    variants = {
        "readings": readings(settings),
        "dependences": dependences(settings),
        "choices": choices(settings),
    }
    return Outcome(
        settings=settings,
        figure1=((1, 1.96), (10, 2.81), (1000, 4.06), (1_814_400, 5.6)),
        figure2={
            (c, m, e): sharp(
                (1 if m == "RR-Independent" else 4)
                * (1000 * c * (1 - c) if e == "absolute" else 0.1 * (1 - c))
            )
            for e in ("absolute", "relative")
            for m in base.METHODS
            for c in COVERAGES
        },
        figure3={
            (p, c, m): sharp(point(p, c, m), 0.1 if (c, m) == (0.1, "RR-Clusters") else None)
            for p in KEEPS
            for m in methods.METHODS
            for c in COVERAGES
        },
        thresholds=dict.fromkeys(KEEPS, (50, 0.1)),
        tables={name: the_paper_s(name) for name in TABLES},
        joint={(p, m): sharp(0.9) for p in KEEPS for m in joint.METHODS},
        variants={
            kind: tuple(
                VariantOutcome(v, {name: the_paper_s(name) for name in v.tables}) for v in listed
            )
            for kind, listed in variants.items()
        },
    )
