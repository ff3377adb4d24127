"""The tables once more under every other reading, way and choice: what makes which difference."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mdrr.reproduction.clusters import WAYS
from mdrr.reproduction.readings import READINGS
from mdrr.reproduction.settings import Settings


@dataclass(frozen=True, slots=True)
class Variant:
    """Settings that differ from the main ones in a named way, and the tables run with them."""

    name: str
    meaning: str
    settings: Settings
    tables: tuple[str, ...] = ("table1",)


def readings(settings: Settings) -> list[Variant]:
    """Every reading of section 6.3, with the two attributes of a query distinct or not."""
    return [
        Variant(
            f"{name}, {pairs}",
            reading.meaning,
            replace(settings, matrix=name, pairs=pairs),
            ("table1", "table2"),
        )
        for pairs in ("distinct", "repeated")
        for name, reading in READINGS.items()
    ]


def dependences(settings: Settings) -> list[Variant]:
    """Every way to learn dependences."""
    return [
        Variant(name, way.meaning, replace(settings, dependences=name))
        for name, way in WAYS.items()
    ]


def choices(settings: Settings) -> list[Variant]:
    """Each choice that the paper leaves open, made otherwise."""
    others = (
        ("rounding down", "σ·cells rounded down, at least 1", replace(settings, rounding="down")),
        ("rounding up", "σ·cells rounded up", replace(settings, rounding="up")),
        ("empty queries count", "X_S = 0 counts as ∞", replace(settings, empty="infinite")),
        ("three attributes", "queries over 3 attributes", replace(settings, query_size=3)),
        (
            "Euclidean projection",
            "the nearest distribution instead of clip and rescale",
            replace(settings, projection="euclidean"),
        ),
    )
    first = Variant("as stated", "the settings of the main run", settings)
    return [first, *(Variant(name, meaning, other) for name, meaning, other in others)]


KINDS = {"readings": readings, "dependences": dependences, "choices": choices}
"""What `mdrr reproduce` can vary, by target."""
