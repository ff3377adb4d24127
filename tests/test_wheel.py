"""The built wheel is whole, and the README's first program runs from it without dev tools."""

import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]

# Run after the README's program, in the same process: it did what it says.
AFTERWARDS = """
import importlib.util
assert importlib.util.find_spec("pytest") is None, "dev tools are installed: this shows nothing"
assert people.shape == (32_561, 3)
assert type(reports) is type(people) and len(reports) == len(people)
assert design.epsilon <= 2
assert tally.n == len(people)
values = estimate.table("sex", "income").values
assert values.shape == (2, 2) and values.min() >= 0 and abs(values.sum() - 1) < 1e-9
count = estimate.count({"sex": ["Female"], "income": [">50K"]})
assert count.low <= count.value <= count.high
assert estimate.sample(10_000).shape == (10_000, 3)
assert mdrr.Design.from_json(design.to_json()) == design
print("quick start: done")
"""

# Without extras: the core is there, and what is missing says how to get it.
CORE_ONLY = """
import mdrr
design = mdrr.independent(mdrr.datasets.adult_domain(), p=0.7)
assert design.epsilon > 0
try:
    mdrr.datasets.adult()
except ImportError as error:
    print(error)
"""


def run(*command: object, cwd: Path) -> str:
    """What a command prints, in an environment that knows nothing of this checkout."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation")
    run(*build, "--outdir", folder, ROOT, cwd=folder)
    [built] = folder.glob("*.whl")
    return built


def first_program(markdown: str) -> str:
    """The first ```python block."""
    match = re.search(r"^```python\n(.*?)^```$", markdown, re.MULTILINE | re.DOTALL)
    assert match, "no ```python block"
    return match.group(1)


def test_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "mdrr").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    package = {name for name in names if ".dist-info/" not in name}
    assert package == sources
    assert {
        "mdrr/py.typed",
        "mdrr/datasets/adult-train.parquet",
        "mdrr/datasets/adult-test.parquet",
        "mdrr/datasets/ATTRIBUTION.md",
    } <= package
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def link_needs(package: Distribution, extras: set[str], folder: Path) -> None:
    """Put all that a package declares to need into an environment.

    As links to what is installed here: to copy what pip would unpack takes half a minute.
    """
    for need in map(Requirement, package.requires or ()):
        if need.marker and not any(need.marker.evaluate({"extra": e}) for e in extras or {""}):
            continue
        found = package if need.name == package.name else distribution(need.name)
        assert found.version in need.specifier
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(found.locate_file(top))
        link_needs(found, need.extras, folder)


@pytest.mark.slow
def test_quick_start_runs_from_the_installed_wheel(wheel, tmp_path):
    """Beside the wheel there is only what it declares to need."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--quiet", "--no-compile", "--no-deps", wheel, cwd=tmp_path)
    [packages] = (tmp_path / "venv").rglob("site-packages")
    [installed] = distributions(path=[str(packages)])
    assert installed.name == "mdrr"

    link_needs(installed, set(), packages)
    run(*pip, "check", cwd=tmp_path)
    advice = run(python, "-W", "error", "-c", CORE_ONLY, cwd=tmp_path)
    assert "pip install 'mdrr[frames]'" in advice

    link_needs(installed, {"frames"}, packages)
    program = tmp_path / "quick_start.py"
    program.write_text(first_program((ROOT / "README.md").read_text("utf-8")) + AFTERWARDS, "utf-8")
    assert "quick start: done" in run(python, "-W", "error", program, cwd=tmp_path)
