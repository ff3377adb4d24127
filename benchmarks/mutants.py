"""Do the tests notice faults in the code that privacy rests on? Mutation testing with mutmut.

    make mutants                        # every group; can be stopped and resumed
    make mutants ARGS='matrix source'   # these groups
    make mutants ARGS=--page            # the page from benchmarks/results alone

mutmut makes small changes (mutants) to the code, one at a time, and runs the tests that reach the
changed function. A mutant is killed if a test fails. Every group works in a copy of the repository
in out/mutants, with the tests named here. tests/mutants.toml lists the mutants that change nothing
a test could observe, each with the reason.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.mutants_page import document, reasons

from benchmarks import runner
from tests.browser.test_mutants import CHECKING, DRAWING

RESULTS = Path("benchmarks/results/mutants.json")
PAGE = Path("docs/benchmarks/mutants.md")
COPIES = Path("out/mutants")

KILLED = {1, 3}  # mutmut's exit codes: a test failed, or pytest did
ENDLESS = {36, 24, -24, 152, 255}  # the tests took many times as long as they should


class Group(NamedTuple):
    """Modules to change, below src/mdrr, and the tests that should notice."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


def _securesum(modules: str, tests: str) -> Group:
    """Modules and tests of secure sums, by their names alone."""
    return Group(
        tuple(f"securesum/{name}.py" for name in modules.split()),
        tuple(f"tests/securesum/{name}.py" for name in tests.split()),
    )


GROUPS = {
    "source": Group(("source.py",), ("tests/test_source.py", "tests/test_vectors.py")),
    "matrix": Group(
        (
            "matrix/__init__.py",
            "matrix/constant.py",
            "matrix/protocol.py",
            "matrix/public.py",
            "matrix/through.py",
        ),
        ("tests/matrix", "tests/test_randomizer.py"),
    ),
    "respondent": Group(("respondent.py",), ("tests/test_respondent.py", "tests/test_vectors.py")),
    "randomizer": Group(("randomizer.py",), ("tests/test_randomizer.py", "tests/test_vectors.py")),
    "design": Group(("design.py",), ("tests/test_design.py", "tests/test_respondent.py")),
    "weights": Group(
        (
            "matrix/banded.py",
            "matrix/dense.py",
            "matrix/differences.py",
            "matrix/subset.py",
            "matrix/written.py",
        ),
        ("tests/matrix",),
    ),
    "protocols": Group(("protocols.py",), ("tests/test_protocols.py", "tests/test_design.py")),
    "privacy": Group(("privacy/*",), ("tests/privacy",)),
    "tallies": Group(("tallies.py",), ("tests/test_tallies.py", "tests/test_sums.py")),
    "securesum-messages": _securesum(
        "keys message ring wire",
        "test_ring test_vectors test_wire",
    ),
    "securesum-terms": _securesum(
        "admission batch question signed",
        "attacks/test_02_aggregators test_batch test_question test_vectors",
    ),
    "securesum-people": _securesum(
        "device person",
        "test_device test_vectors",
    ),
    "securesum-aggregators": _securesum(
        "ledger verifying",
        "test_ledger test_opening test_vectors",
    ),
    "securesum-opening": _securesum(
        "opening",
        "test_opening test_vectors",
    ),
    "securesum-groups": _securesum(
        "history private shares",
        "test_history test_private test_reruns test_shares test_vectors",
    ),
    "securesum-paper": _securesum(
        "paper",
        "test_paper test_reruns",
    ),
    "securesum-members": _securesum(
        "members post",
        "attacks/test_small_groups test_members test_vectors",
    ),
    "securesum-proofs": _securesum(
        "prio3/field prio3/flp prio3/modular prio3/pairs prio3/scheme prio3/vdaf prio3/xof",
        "prio3/test_field prio3/test_pairs prio3/test_vdaf",
    ),
}

# Text of errors is not changed: that an error is raised matters here, not its wording.
SETTINGS = """[mutmut]
source_paths = src/
only_mutate =
{modules}
do_not_mutate_patterns = ^\\s*raise\\b
timeout_multiplier = 5
also_copy =
{copies}
pytest_add_cli_args_test_selection =
{tests}
pytest_add_cli_args =
    -p
    no:cacheprovider
    -p
    no:threadexception
    -p
    no:unraisableexception
    -W
    ignore
    --deselect=tests/test_source.py::test_only_these_modules_may_draw
    --deselect=tests/test_respondent.py::test_it_runs_on_the_standard_library_alone
    --deselect=tests/test_sums.py::test_every_method_estimates_from_sums_and_a_sample
    --deselect=tests/test_sums.py::test_everybody_is_as_likely_in_the_sample_and_in_either_half
    --deselect=tests/test_sums.py::test_sums_alone_are_enough_or_the_method_says_what_it_needs
    --deselect=tests/test_sums.py::test_the_default_reads_the_sample_of_joint_answers
    --deselect=tests/securesum/prio3/test_pairs.py::test_a_cheat_passes_with_the_stated_probability
    --deselect=tests/securesum/prio3/test_pairs.py::test_no_proof_at_all_does_better
    --deselect=tests/securesum/prio3/test_pairs.py::test_of_all_vectors_only_records_satisfy_the_circuit
    --deselect=tests/securesum/test_history.py::test_of_processes_that_reveal_somebody_together_one_goes_on
    --deselect=tests/securesum/test_history.py::test_processes_started_at_once_have_the_same_keys
    --deselect=tests/securesum/test_history.py::test_what_several_processes_note_at_once_is_all_kept
"""


def lines(items: Iterable[str]) -> str:
    return "\n".join(f"    {item}" for item in items)


def copied(name: str) -> Path:
    """A copy of the repository for a group, with mutmut's settings."""
    folder = COPIES / name
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], check=True, capture_output=True
    )
    for path in filter(None, listed.stdout.decode().split("\0")):
        target = folder / path
        if Path(path).is_file() and not (
            target.exists() and target.read_bytes() == Path(path).read_bytes()
        ):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    group = GROUPS[name]
    tops = {path.split("/")[0] for path in listed.stdout.decode().split("\0") if path}
    (folder / "setup.cfg").write_text(
        SETTINGS.format(
            modules=lines(f"src/mdrr/{module}" for module in group.modules),
            copies=lines(sorted(tops - {"src", "tests", "pyproject.toml"})),
            tests=lines(group.tests),
        )
    )
    return folder


def run(name: str) -> None:
    """Run mutmut on a group: what an earlier run killed stands, what survived is tried again."""
    folder = copied(name)
    for meta in (folder / "mutants").rglob("*.py.meta"):
        try:
            found = json.loads(meta.read_text())
        except ValueError:  # half written when it was stopped: this module begins again
            meta.unlink()
            meta.with_suffix("").unlink()
            continue
        codes = found["exit_code_by_key"]
        found["exit_code_by_key"] = {
            key: code if code in KILLED | ENDLESS else None for key, code in codes.items()
        }
        meta.write_text(json.dumps(found))
    # Which tests reach which function is observed anew: the tests may have changed.
    (folder / "mutants/mutmut-stats.json").unlink(missing_ok=True)
    print(f"{name}: {', '.join(GROUPS[name].modules)}", flush=True)
    subprocess.run([mutmut(), "run", "--max-children", "1"], cwd=folder, check=True, env=alone())
    findable(folder / "mutants")


def findable(folder: Path) -> None:
    """Refuse results if pytest cannot find a test by its id: all its mutants would seem killed."""
    tests = json.loads((folder / "mutmut-stats.json").read_text())["duration_by_test"]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-qqq", "-W", "ignore", *tests],
        cwd=folder,
        env=alone() | {"MUTANT_UNDER_TEST": "", "PYTHONPATH": "src"},
        capture_output=True,
        text=True,
    )
    if found.returncode:
        raise SystemExit(f"{found.stdout}{found.stderr}\nGive these tests ids of ASCII letters.")


def mutmut() -> str:
    return str(Path(sys.executable).with_name("mutmut"))


def alone() -> dict[str, str]:
    """The environment without a PYTHONPATH, which would lead to code that is not changed.

    pytest starts anew for every mutant: plugins and searches for garbage would take most time.
    """
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def rows(name: str) -> list[dict[str, Any]]:
    """What became of a group's mutants, by module."""
    found, folder = [], COPIES / name
    for meta in sorted((folder / "mutants/src").rglob("*.py.meta")):
        codes = json.loads(meta.read_text())["exit_code_by_key"]
        if not codes or {None, 2} & set(codes.values()):
            continue  # not every mutant was tried
        functions = functions_of(meta.with_suffix(""))
        lived = [k for k, c in codes.items() if c not in KILLED | ENDLESS]
        found.append(
            {
                "group": name,
                "module": str(meta.relative_to(folder / "mutants/src/mdrr")).removesuffix(".meta"),
                "mutants": len(codes),
                "killed": sum(code in KILLED | ENDLESS for code in codes.values()),
                "survivors": [survivor(functions, key) for key in lived],
            }
        )
    return found


def survivor(functions: dict[str, list[str]], key: str) -> dict[str, str]:
    """The changed function, and its lines before and after."""
    name = key.rpartition(".")[2]
    before, after = functions[name.rpartition("_")[0] + "_orig"], functions[name]
    shown = [line for line in difflib.ndiff(before[1:], after[1:]) if line[0] in "+-"]
    return {
        "function": function(key),
        "before": " ".join(line[1:].strip() for line in shown if line[0] == "-"),
        "after": " ".join(line[1:].strip() for line in shown if line[0] == "+"),
    }


def functions_of(path: Path) -> dict[str, list[str]]:
    """The lines of every function in a file that mutmut wrote, which holds all mutants."""
    text = path.read_text()
    written = text.splitlines()
    return {
        node.name: textwrap.dedent(
            "\n".join(written[node.lineno - 1 : node.end_lineno])
        ).splitlines()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }


def function(key: str) -> str:
    """A function's name in mutmut's name of a mutant.

    >>> function("mdrr.source.xǁSystemSourceǁread__mutmut_7")
    'SystemSource.read'
    >>> function("mdrr.source.x__zeros__mutmut_1")
    '_zeros'
    """
    name = key.rpartition(".")[2].rpartition("__mutmut_")[0]
    return name[2:].replace("ǁ", ".")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", help=f"default: all of {', '.join(GROUPS)}")
    parser.add_argument("--page", action="store_true", help="write the page from kept results")
    options = parser.parse_args()
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    kept = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    page = len(DRAWING) + len(CHECKING)
    for name in [] if options.page else options.groups or GROUPS:
        run(name)
        kept = [row for row in kept if row["group"] != name] + rows(name)
        RESULTS.write_text(runner.written({"page": page, "rows": kept}))
    PAGE.write_text(document({"page": page, "rows": kept}, reasons(), GROUPS))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
