"""Colours that stand for different things look different, also to colour-blind people.

Colour blindness is simulated by the matrices of Machado, Oliveira and Fernandes (2009), severity
1.0, on linear RGB. Distances are Euclidean in CIE Lab, where about 2.3 is just noticeable.
"""

import re
from importlib import resources
from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("altair")

from mdrr.plots.style import COLOURS

VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip
SERIES = ("estimate", "second", "third", "fourth", "truth")
TOGETHER = [
    *combinations(SERIES, 2),
    *((role, "muted") for role in ("estimate", "second", "truth")),
]
"""Roles that one chart can hold."""
LEAST = 15.0
"""Six times what is just noticeable: marks are small."""

CSS = resources.files("mdrr.reporting").joinpath("page.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)[:2]
)


def linear(colour: str) -> np.ndarray:
    """Linear RGB of #rrggbb."""
    value = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: str) -> np.ndarray:
    """CIE Lab (D65) of a colour as somebody sees it."""
    seen = np.clip(VISIONS[vision] @ linear(colour), 0, 1)
    ratio = TO_XYZ @ seen / (TO_XYZ @ np.ones(3))
    root = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def distance(first: str, second: str, vision: str) -> float:
    return float(np.linalg.norm(lab(first, vision) - lab(second, vision)))


def contrast(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (first, second))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("palette", [COLOURS, DARK], ids=["light", "dark"])
def test_colours_of_one_chart_are_told_apart(palette, vision):
    apart = {(a, b): distance(palette[a], palette[b], vision) for a, b in TOGETHER}
    assert {pair: round(found) for pair, found in apart.items() if found < LEAST} == {}


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_marks_stand_out_from_the_page(palette):
    """WCAG 2 asks for 3:1."""
    assert [role for role in SERIES if contrast(palette[role], palette["paper"]) < 3] == []


def test_the_report_knows_every_colour_of_the_charts():
    for role, colour in COLOURS.items():
        assert LIGHT[role] == colour
        assert f'svg [fill="{colour}"] {{ fill: var(--{role}); }}' in CSS


def test_colours_that_look_alike_are_found():
    assert distance("#ffffff", "#000000", "normal") == pytest.approx(100, abs=0.1)
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert distance("#d55e00", "#857400", "normal") > LEAST
    assert distance("#d55e00", "#857400", "protanopia") < 2.3
    assert distance("#a65487", "#5f6b7a", "deuteranopia") < LEAST
    assert distance("#1f77b4", "#17807e", "tritanopia") < LEAST
