"""The tutorial runs as printed, in a folder of its own, and prints what the page shows."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.cli.run import done
from tests.server.cases import free_port

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def masked(text: str) -> list[str]:
    """Lines without what chance decides: numbers, tokens, fingerprints, ids, widths of columns."""
    text = re.sub(
        r"\b[0-9a-f]{64}\b|(?<=once: )\S+|(?<=survey )\w{8}\b|(?<=Survey )\w{8}\b", "#", text
    )
    text = re.sub(r"(?<=/r/)\w{8}\b|(?<=/surveys/)\w{8}\b|(?<=/d/)\w{8}#token=\S+", "#", text)
    text = re.sub(r"[\d,.]*\d", "#", text)
    return whole(text)


FIXED = ("Wrote survey.toml", "The plan, for", "0.1967")
"""How outputs begin in which chance decides nothing, so that all of their numbers are compared."""


COMPLETE = ("One person spends", "6,000 simulated people answered in 4.4 s")
"""How outputs begin that are shown to the last line: of `freeze` and `open`, and of `status`."""


def whole(text: str) -> list[str]:
    """Lines as they are, but for the widths of columns."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def test_the_page_has_the_outputs_that_stay_the_same():
    blocks = [block for language, _, block in BLOCK.findall(TEXT) if language == "text"]
    for start in FIXED + COMPLETE:
        assert any(block.startswith(start) for block in blocks)


def test_masking_keeps_the_words():
    assert masked("Survey jk6wrrd6:  1,684 of 6,000 people\n") == ["Survey #: # of # people"]
    assert masked("440 people\n") != masked("440 answers\n")


def wait_until_served(url: str, server: subprocess.Popen) -> None:
    for _ in range(1200):
        assert server.poll() is None, server.communicate()
        try:
            httpx.get(f"{url}/healthz")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


@pytest.mark.slow
def test_the_tutorial_runs_as_printed(tmp_path, monkeypatch):
    """Servers, crowds and Python are processes; the other commands run here, for speed."""
    programs = tmp_path / "programs"
    folder = tmp_path / "exhaustion"
    programs.mkdir()
    folder.mkdir()
    for name, words in (("mdrr", "-m mdrr"), ("python3", "")):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        script.chmod(0o755)
    ports = {"8000": str(free_port()), "8001": str(free_port())}
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("MDRR_DATABASE", "sqlite:///mdrr.db")
    monkeypatch.chdir(folder)
    servers, printed, ran = [], "", []
    try:
        for language, title, block in BLOCK.findall(TEXT):
            if title in ("invent.py", "survey.toml"):
                (folder / title).write_text(block, encoding="utf-8")
            elif language == "text":
                same = whole if block.startswith(FIXED) else masked
                shown, said = same(block), same(printed.replace(" --port 8000", ""))
                assert [line for line in shown if line not in said] == []
                assert said[-len(shown) :] == shown or not block.startswith(COMPLETE)
                printed = ""
            elif language == "sh":
                for line in block.splitlines():
                    command = line.replace("127.0.0.1:8001", f"127.0.0.1:{ports['8001']}")
                    command = command.replace("--port 8001", f"--port {ports['8001']}")
                    if command == "mdrr serve":
                        command += f" --port {ports['8000']}"
                    elif "survey open survey.json" in command or "publish" in command:
                        command += f" --url http://127.0.0.1:{ports['8000']}"
                    ran.append(command.split()[1])
                    if title:
                        server = subprocess.Popen(
                            ["sh", "-c", f"exec {command}"],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        )  # fmt: skip
                        servers.append(server)
                        wait_until_served(f"http://127.0.0.1:{command.split()[-1]}", server)
                        continue
                    if command.startswith("mdrr ") and "$" not in command:
                        printed += done(*shlex.split(command)[1:])
                    else:
                        result = subprocess.run(
                            ["sh", "-c", command], text=True, capture_output=True, check=False
                        )
                        assert result.returncode == 0, (line, result.stderr)
                        printed += result.stdout
                    for real in ports.items():
                        printed = printed.replace(real[1], real[0])
    finally:
        for server in servers:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
    assert ran.count("crowd") == 2
    assert {"survey", "serve", "query", "report"} <= set(ran)
    assert (folder / "report.html").exists()
    people = (folder / "invented.csv").read_text(encoding="utf-8").split()
    night = [person for person in people if person.startswith("night,")]
    often = [person for person in night if ",often," in person]
    assert f"The true number is {len(often)} of {len(night):,}" in " ".join(TEXT.split())
