"""The house has one direction: a module imports only what stands before it in ORDER.

Read from the source, so that imports inside functions and `import_module("mdrr.…")` count too. Only
imports for type checkers are free. A new module must be given its place here before it passes.
"""

import ast
import graphlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "mdrr"

# First what is asked and how it is randomized, then the seam (tallies), the mathematics that eats
# tallies, the edge (frames and files), and last what people see.
ORDER = (
    "errors",
    "display",
    "columns",
    "response",
    "respondent",
    "domain",
    "source",
    "matrix",
    "design",
    "protocols",
    "query",
    "cores",
    "increments",
    "randomizer",
    "counting",
    "sums",
    "groups",
    "tallies",
    "plausibility",
    "estimation",
    "dependence",
    "clustering",
    "privacy",
    "theory",
    "planning",
    "numeric",
    "synthesis",
    "labels",
    "batches",
    "report_frames",
    "spark",
    "frames",
    "weighting",
    "settings",
    "survey",
    "frozen",
    "draft",
    "misfits",
    "files",
    "datasets",
    "plots",
    "reporting",
    "server",
    "auditing",
    "securesum",
    "collector",
    "cli",
    "__main__",
)
# The one way up: `.plot()` of a noun, loaded when a chart is asked for.
DOOR = ("display", "plots")
CORE = ORDER[: ORDER.index("labels")]
CORE_NEEDS = {"numpy", "scipy", "cryptography", "numba"}  # [project.dependencies]


class Import(NamedTuple):
    target: str  # dotted, absolute
    line: int
    deferred: bool  # inside a function, or by name


def room(module: str) -> str:
    """'mdrr.estimation.latent' → 'estimation'; the package itself → 'mdrr'."""
    return module.split(".")[1] if "." in module else module


def modules(package: Path) -> dict[str, Path]:
    """Dotted name → file, for every module under the package."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def is_type_checking(node: ast.AST) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)
    return name == "TYPE_CHECKING"


def imports(module: str, path: Path, known: set[str]) -> Iterator[Import]:
    """Every import of a module, those for type checkers excepted."""
    home = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]

    def visit(node: ast.AST, deferred: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, deferred)
        elif isinstance(node, ast.ImportFrom):
            up = home[: len(home) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield Import(full if full in known else base, node.lineno, deferred)
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            by_name = getattr(called, "id", called) in ("import_module", "__import__")
            if by_name and node.args and isinstance(node.args[0], ast.Constant):
                yield Import(str(node.args[0].value), node.lineno, True)
        inner = deferred or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        children = node.orelse if is_type_checking(node) else ast.iter_child_nodes(node)
        for child in children:
            yield from visit(child, inner)

    return visit(ast.parse(path.read_text(encoding="utf-8")), False)


def wrong_directions(package: Path) -> list[str]:
    """One line for every import that goes up, or around, the order."""
    found = modules(package)
    wrong = []
    for module, path in found.items():
        here = room(module)
        if here == "mdrr":
            continue  # the public list: it may name everything, lazily
        if here not in ORDER:
            wrong.append(f"{module} has no place: add {here!r} to ORDER")
            continue
        for target, line, deferred in imports(module, path, set(found)):
            there = room(target)
            if deferred and (here, there) == DOOR:
                continue
            if target == "mdrr":
                wrong.append(f"{module}:{line} imports the public list: import the module itself")
            elif target.startswith("mdrr.") and there not in ORDER:
                wrong.append(f"{module}:{line} imports {target}, which has no place in ORDER")
            elif target.startswith("mdrr.") and ORDER.index(there) > ORDER.index(here):
                wrong.append(f"{module}:{line} imports {target}, which stands after it")
    return wrong


def outsiders(package: Path, rooms: tuple[str, ...]) -> set[tuple[str, str]]:
    """(module, third-party package) for what these rooms need merely to be imported."""
    found = modules(package)
    return {
        (module, target.partition(".")[0])
        for module, path in found.items()
        if room(module) in rooms
        for target, _, deferred in imports(module, path, set(found))
        if not deferred and target.partition(".")[0] not in {*sys.stdlib_module_names, "mdrr"}
    }


def reachable(start: str, found: dict[str, Path]) -> set[str]:
    """The modules a module imports, directly or through others."""
    seen, todo = set(), [start]
    while todo:
        module = todo.pop()
        if module in found and module not in seen:
            seen.add(module)
            todo += [entry.target for entry in imports(module, found[module], set(found))]
    return seen


def test_imports_go_one_way():
    assert wrong_directions(PACKAGE) == []


def test_a_name_stands_for_one_thing():
    """Only a command may carry the name of what it commands."""
    files = [p for p in PACKAGE.rglob("*.py") if p.name != "__init__.py"]
    nouns = Counter(path.name for path in files if path.parent.name != "cli")
    assert [name for name, times in nouns.items() if times > 1] == []


def test_no_module_needs_itself():
    found = modules(PACKAGE)
    graph = {
        module: {
            e.target
            for e in imports(module, path, set(found))
            if e.target in found and not (e.deferred and (room(module), room(e.target)) == DOOR)
        }
        for module, path in found.items()
        if module != "mdrr"
    }
    assert set(graphlib.TopologicalSorter(graph).static_order()) >= set(graph)


def test_core_needs_only_the_core_dependencies():
    extra = {pair for pair in outsiders(PACKAGE, CORE) if pair[1] not in CORE_NEEDS}
    assert extra == set()


def test_importing_the_package_needs_nothing():
    assert outsiders(PACKAGE, ("mdrr", "errors", "domain")) == set()


def test_single_record_randomizer_needs_only_the_standard_library():
    found = modules(PACKAGE)
    needed = reachable("mdrr.respondent", found)
    third_party = {
        (module, entry.target)
        for module in needed
        for entry in imports(module, found[module], set(found))
        if entry.target.partition(".")[0] not in {*sys.stdlib_module_names, "mdrr"}
    }
    assert "mdrr.respondent" in needed
    assert third_party == set()


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        (
            "domain.py",
            "from mdrr.tallies import Tally",
            "domain:1 imports mdrr.tallies, which stands",
        ),
        ("domain.py", "def f():\n    import mdrr.tallies", "mdrr.domain:2 imports mdrr.tallies"),
        ("domain.py", "from mdrr import tallies", "mdrr.domain:1 imports mdrr.tallies"),
        ("domain.py", "from .tallies import Tally", "mdrr.domain:1 imports mdrr.tallies"),
        ("domain.py", "from . import tallies", "mdrr.domain:1 imports mdrr.tallies"),
        (
            "matrix/dense.py",
            "from ..tallies import Tally",
            "mdrr.matrix.dense:1 imports mdrr.tallies",
        ),
        ("matrix/__init__.py", "from ..tallies import T", "mdrr.matrix:1 imports mdrr.tallies"),
        ("domain.py", "import_module('mdrr.tallies')", "mdrr.domain:1 imports mdrr.tallies"),
        (
            "domain.py",
            "importlib.import_module('mdrr.tallies')",
            "mdrr.domain:1 imports mdrr.tallies",
        ),
        ("domain.py", "if TYPE_CHECKING:\n    pass\nelse:\n    import mdrr.tallies", "domain:4"),
        ("domain.py", "from mdrr import Tally", "mdrr.domain:1 imports the public list"),
        ("tallies.py", "import mdrr.helpers", "mdrr.tallies:1 imports mdrr.helpers, which has no"),
        ("helpers.py", "import os", "mdrr.helpers has no place"),
        ("display.py", "import mdrr.plots", "mdrr.display:1 imports mdrr.plots, which stands"),
        ("domain.py", "def f():\n    import mdrr.plots", "mdrr.domain:2 imports mdrr.plots"),
    ],
)
def test_a_wrong_import_is_found(tmp_path, file, text, complaint):
    write(tmp_path, "tallies.py", "class Tally: ...")
    write(tmp_path, file, text)
    [found] = wrong_directions(tmp_path / "mdrr")
    assert complaint in found


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("tallies.py", "from mdrr.domain import Domain\nimport numpy"),
        ("tallies.py", "from .domain import Domain"),
        ("domain.py", "if TYPE_CHECKING:\n    from mdrr.tallies import Tally"),
        ("domain.py", "if typing.TYPE_CHECKING:\n    from mdrr.tallies import Tally"),
        ("__init__.py", "from mdrr.tallies import Tally"),
        ("display.py", "def f():\n    import mdrr.plots"),
        ("estimation/latent.py", "from mdrr.estimation.product import product"),
    ],
)
def test_a_right_import_passes(tmp_path, file, text):
    write(tmp_path, "tallies.py", "class Tally: ...")
    write(tmp_path, file, text)
    assert wrong_directions(tmp_path / "mdrr") == []


def test_a_needless_dependency_is_found(tmp_path):
    write(tmp_path, "domain.py", "import os\nimport numpy as np\ndef f():\n    import polars")
    assert outsiders(tmp_path / "mdrr", CORE) == {("mdrr.domain", "numpy")}


def write(folder: Path, file: str, text: str) -> None:
    path = folder / "mdrr" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
