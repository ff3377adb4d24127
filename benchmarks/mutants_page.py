"""The page on mutants: the score of each module and group, and why some mutants survive."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks import pages

EQUIVALENT = Path("tests/mutants.toml")

Known: TypeAlias = dict[tuple[str, str, str], str]

HEAD = """# Tests that notice faults

A test is worth what it notices. Here [mutmut](https://mutmut.readthedocs.io) changes the code that
privacy rests on, in one small way at a time: `<` to `<=`, `+` to `-`, a number to the next, an
argument to `None`. Then it runs the tests that reach the changed function. A change, called a
mutant, is *killed* if a test fails, or takes many times as long as it should. `make mutants` made
this page.

"""

RULES = """
- **Equivalent** mutants behave as the code does, as far as a test could tell. `tests/mutants.toml`
  lists them with reasons.
- **Score**: killed mutants, as a share of all that are not equivalent. The aim is 95 %.
- What stands in a `raise` statement is not changed: whether an error is raised counts, not its
  words.
- mutmut changes neither code outside functions, nor properties and other decorated functions, such
  as those that Numba compiles.
- Of `securesum` these modules are in no group: `aggregator.py`, which joins the steps that are
  measured; the relay, which nobody trusts, and its programs (`transport`); the simulations
  (`rehearse.py`, `ways.py`, `statement.py`) and what reads files (`belongings.py`). Tests that
  start processes or servers, and slow statistical ones, are left out too.
- Each group is tried with the tests of its own modules, which are named in `benchmarks/mutants.py`.
- The page's randomizer is JavaScript, which mutmut cannot change. `tests/browser/test_mutants.py`
  changes it in {page} ways, and fails unless the test vectors show every one.
"""


def reasons(path: Path = EQUIVALENT) -> Known:
    """Why a mutant changes nothing, by module, function and the line after the change."""
    if not path.exists():
        return {}
    listed = tomllib.loads(path.read_text()).get("equivalent", [])
    return {
        (entry["module"], entry["function"], after): " ".join(entry["reason"].split())
        for entry in listed
        for after in entry["after"]
    }


def reason(module: str, one: dict[str, str], known: Known, default: str = "") -> str:
    """Why a survivor changes nothing; the default if that is not known.

    For a module's `zip(…, strict=True)` one entry, of any function, says that the lengths agree.
    """
    found = known.get((module, one["function"], one["after"]))
    if found is None and "strict=True" in one["before"]:
        before, after = (re.sub(r", (strict=\w+)?\)", ")", one[k]) for k in ("before", "after"))
        found = known.get((module, "*", "strict")) if before == after else None
    return default if found is None else found


def document(results: dict[str, Any], known: Known, groups: Iterable[str]) -> str:
    """The page: the score of each module and group, then every mutant that was not killed."""
    table: list[Any] = []
    listed: list[str] = []
    names = list(groups)
    for name in names:
        some = [row for row in results["rows"] if row["group"] == name]
        parts = [counted(row, known) for row in some]
        for row, part in zip(some, parts, strict=True):
            table.append((name, f"`{row['module']}`", *cells(part)))
            listed += told(row, known)
        if len(some) > 1:
            total = {key: sum(part[key] for part in parts) for key in parts[0]}
            table.append((f"**{name}**", "all", *cells(total)))
    missing = [name for name in names if not any(row["group"] == name for row in results["rows"])]
    heads = ["group", "module", "mutants", "equivalent", "killed", "survived", "score"]
    text = (
        HEAD + pages.table(heads, table, texts=(0, 1)) + "\n" + RULES.format(page=results["page"])
    )
    if missing:
        text += f"- Groups that were not measured: {', '.join(missing)}.\n"
    return text + "\n## Not killed\n\n" + ("\n".join(listed) or "Every mutant was killed.") + "\n"


def counted(row: dict[str, Any], known: Known) -> dict[str, int]:
    lived = row["survivors"]
    same = sum(bool(reason(row["module"], one, known)) for one in lived)
    return {
        "mutants": row["mutants"],
        "equivalent": same,
        "killed": row["killed"],
        "survived": len(lived) - same,
    }


def cells(part: dict[str, int]) -> list[str]:
    count = part["killed"] + part["survived"]
    score = f"{100 * part['killed'] / count:.1f} %" if count else "–"
    return [*(f"{value:,}" for value in part.values()), score]


def told(row: dict[str, Any], known: Known) -> list[str]:
    """A module's mutants that were not killed, each with the reason if one is known."""
    if not row["survivors"]:
        return []
    found = [f"### `{row['module']}`", ""]
    for one in row["survivors"]:
        why = reason(row["module"], one, known, "**survives**")
        found.append(
            f"- `{one['function']}`: {why}\n\n"
            + textwrap.indent(f"```diff\n- {one['before']}\n+ {one['after']}\n```\n", "    ")
        )
    return found
