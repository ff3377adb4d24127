"""Every command is documented, shows an example, and its examples run as printed."""

import contextlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from mdrr.cli.commands import COMMANDS
from mdrr.frozen import FrozenSurvey
from tests.cli.run import done
from tests.server.cases import running

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
NAMES = list(COMMANDS)
SECTIONS = dict(re.findall(r"^## mdrr ([\w-]+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))


def undocumented(names, sections) -> list[str]:
    return [name for name in names if f"mdrr {name} " not in sections.get(name, "")]


def test_every_command_has_a_section_with_an_example():
    assert undocumented(NAMES, SECTIONS) == []
    assert [name for name in SECTIONS if name not in NAMES] == []


def test_a_command_without_a_section_or_an_example_is_found():
    assert undocumented([*NAMES, "new"], SECTIONS) == ["new"]
    assert undocumented(["new"], {"new": "Does something."}) == ["new"]


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, (_, line) in COMMANDS.items()])
def test_the_list_of_commands_says_what_each_says_first(name, line):
    about = " ".join(done(f"{name} --help").partition("\n\n")[2].split())
    assert about.startswith(line)
    assert " ".join(line.split()) in " ".join(done("--help").split())


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_the_example_that_the_documentation_shows(name):
    module = import_module(f"mdrr.cli.{COMMANDS[name][0]}")
    examples = {f"{name} {command}": shown for command, shown in module.EXAMPLES.items()}
    if name in module.EXAMPLES:
        examples = {name: module.EXAMPLES[name]}
    for words, shown in examples.items():
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
        if program == "mkdir":
            Path(arguments[-1]).mkdir()
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
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    ran = commands_run(text, tmp_path)
    assert {"plan", "randomize", "tally", "estimate", "query", "report"} <= ran
    assert (tmp_path / "out" / "report.html").exists()
    # In the repository they leave nothing that git does not ignore.
    assert {path.name for path in tmp_path.iterdir()} == {"examples", "out"}
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"out/", *(f"{name}/" for name in re.findall(r"-m venv (\S+)", text))} <= set(ignored)


def test_the_page_on_collecting_runs_one_after_the_other(tmp_path, monkeypatch):
    """300 simulated people rehearse, and 300 answer the pilot.

    The tutorial's test runs `mdrr serve` as a process. Here servers are threads: they start faster.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MDRR_DATABASE", "sqlite:///mdrr.db")
    text = (ROOT / "docs" / "collecting.md").read_text(encoding="utf-8")
    ran, link = [], ""
    with contextlib.ExitStack() as servers:
        for title, block in re.findall(r"^```sh( [^\n]*)?\n(.*?)^```$", text, re.M | re.DOTALL):
            for line in block.splitlines():
                program, *words = shlex.split(line)
                if title:
                    assert [words[0], *words[1::2]] == ["serve", "--database", "--port"]
                    url, _ = servers.enter_context(running(words[2]))
                    if words[4] == "8000":
                        file = invitations_at(url)
                        crowd = ("--data", "people.csv", "--invitations", file, "--n", 300)
                        done("crowd", file.read_text(encoding="utf-8").split()[0], *crowd)
                elif program == "python":
                    subprocess.run([sys.executable, *words], check=True)
                elif words[0] == "crowd":
                    assert words[1] == "http://127.0.0.1:8001/s/…#design=…"
                    link = link.replace("http://127.0.0.1:8001", url)
                    done("crowd", link, *words[2:], "--n", 300)
                else:
                    assert (program, words[0]) == ("mdrr", "survey")
                    ran.append(words[1])
                    said = done(*words)
                    link = next(iter(re.findall(r"http://127.0.0.1:8001/s/\S+", said)), link)
    steps = "init check preview freeze open page status phase close results publish"
    assert set(ran) == set(steps.split())
    planned = FrozenSurvey.from_json(Path("survey.json").read_bytes()).predicted["people"]
    for links in ("invitations.txt", "main.txt", "trusted.txt"):
        assert len(Path(links).read_text(encoding="utf-8").split()) == planned
    assert json.loads(Path("results.json").read_bytes())["answers"] == 300


def invitations_at(url: str) -> Path:
    """The invitations of the page for a server of ours."""
    file = Path("here.txt")
    text = Path("invitations.txt").read_text(encoding="utf-8")
    file.write_text(text.replace("https://survey.example.org", url), encoding="utf-8")
    return file


def test_the_page_on_pilots_runs_once_people_have_answered(folder, monkeypatch):
    monkeypatch.setenv("MDRR_DATABASE", "sqlite:///mdrr.db")
    text = (ROOT / "docs" / "howto" / "pilot.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.DOTALL)
    [first, phase] = block.splitlines()
    done("survey freeze survey.toml --design design.json -o survey.json")
    with running("sqlite:///mdrr.db") as (url, _):
        done(f"{first.removeprefix('mdrr ')} --url {url}")
        link = Path("invitations.txt").read_text(encoding="utf-8").split()[0]
        done("crowd", link, "--data", "people.csv", "--invitations", "invitations.txt", "--n", 200)
        assert "200" in done(phase.removeprefix("mdrr "))
    assert len(Path("main.txt").read_text(encoding="utf-8").split()) == 6_000
