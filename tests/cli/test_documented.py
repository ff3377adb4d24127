"""Every command is documented, shows an example, and its examples run as printed."""

import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from mdrr.cli import COMMANDS
from mdrr.frozen import FrozenSurvey
from tests.cli.run import done

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
NAMES = [name for name, *_ in COMMANDS]
SECTIONS = dict(re.findall(r"^## mdrr ([\w-]+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))


def undocumented(names, sections) -> list[str]:
    return [name for name in names if f"mdrr {name} " not in sections.get(name, "")]


def test_every_command_has_a_section_with_an_example():
    assert undocumented(NAMES, SECTIONS) == []
    assert [name for name in SECTIONS if name not in NAMES] == []


def test_a_command_without_a_section_or_an_example_is_found():
    assert undocumented([*NAMES, "new"], SECTIONS) == ["new"]
    assert undocumented(["new"], {"new": "Does something."}) == ["new"]


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, _, line in COMMANDS])
def test_the_list_of_commands_says_what_each_says_first(name, line):
    about = " ".join(done(f"{name} --help").partition("\n\n")[2].split())
    assert about.startswith(line)
    assert " ".join(line.split()) in " ".join(done("--help").split())


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_the_example_that_the_documentation_shows(name):
    module = import_module(f"mdrr.cli.{name}")
    group = getattr(module, "EXAMPLES", {"": module.EXAMPLE})
    for command, shown in group.items():
        words = f"{name} {command}".strip()
        assert shown.startswith(f"mdrr {words} ")
        assert shown in SECTIONS[name]
        assert f"Example: {shown}" in " ".join(done(f"{words} --help").split())


def commands_run(text: str, folder: Path) -> set[str]:
    """Run the commands of a page in a folder, one after the other, and name those of mdrr."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    ran = set()
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        if program in ("pip", "make", ".") or arguments[:2] == ["-m", "venv"]:
            continue
        if program in ("python", "python3"):
            subprocess.run([sys.executable, *arguments], check=True)
            continue
        assert program == "mdrr"
        ran.add(arguments[0])
        stdin = "1\n" * 8 if arguments[0] == "respond" else None
        assert done(*arguments, stdin=stdin), line
    return ran


def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = commands_run(TEXT, tmp_path)
    # What needs other processes, or minutes, stands in a plain block and has tests of its own.
    assert ran == {name for name, section in SECTIONS.items() if "```sh\n" in section}
    assert len(ran) >= 13


def test_the_readme_runs_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = commands_run((ROOT / "README.md").read_text(encoding="utf-8"), tmp_path)
    assert {"plan", "randomize", "tally", "estimate", "query", "report"} <= ran
    assert (tmp_path / "report.html").exists()


def test_the_page_on_collecting_runs_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "collecting.md").read_text(encoding="utf-8")
    assert commands_run(text, tmp_path) == {"survey"}
    planned = FrozenSurvey.from_json((tmp_path / "survey.json").read_bytes()).predicted["people"]
    assert len((tmp_path / "invitations.txt").read_text(encoding="utf-8").split()) == planned
