"""Every dependency is pinned, by name and version alone, within what pyproject.toml allows."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LINES = [
    line
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def declared() -> list[Requirement]:
    texts = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    return [r for r in map(Requirement, texts) if r.name != "mdrr"]


def test_lines_are_names_and_versions_only():
    assert [line for line in LINES if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


@pytest.mark.parametrize("requirement", declared(), ids=str)
def test_dependency_is_pinned_within_its_bounds(requirement):
    pins = {canonicalize_name(n): v for n, v in (line.split("==") for line in LINES)}
    assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)])


def test_all_holds_every_extra_but_those_of_developers():
    extras = PROJECT["optional-dependencies"]

    def reach(extra: str) -> set[str]:
        inner = {e for r in map(Requirement, extras[extra]) if r.name == "mdrr" for e in r.extras}
        return {extra}.union(*map(reach, inner))

    assert reach("all") == set(extras) - {"bench", "dev", "docs"}
