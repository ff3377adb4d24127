"""Debian's Chromium, driven by Playwright, and a collector for it to talk to."""

import os
import shutil
from pathlib import Path

import pytest

from tests.browser.collector import PLAIN, Collector, info, serving

OUT = Path(__file__).resolve().parents[2] / "out" / "browser"


def program(name: str) -> str:
    """The path of a program; without it the test is skipped, in CI it fails."""
    found = shutil.which(name)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail(f"{name} is missing: apt-get install {name}")
    if found is None:
        pytest.skip(f"{name} is missing: apt-get install {name}")
    return found


@pytest.fixture(scope="session")
def node() -> str:
    return program("node")


@pytest.fixture(scope="package")
def browser():
    """Closed after this folder: its event loop runs in this thread, and other tests run theirs."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as run:
        # Chromium without windows, where it is installed, draws pages in half the time.
        path = shutil.which("chromium-headless-shell") or program("chromium")
        opened = run.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def context(browser):
    """A browser that has never been here."""
    opened = browser.new_context(viewport={"width": 1000, "height": 900}, locale="en-GB")
    opened.set_default_timeout(10_000)
    yield opened
    opened.close()


@pytest.fixture
def page(context):
    """A page whose errors fail the test: exceptions, refused requests, messages of the policy."""
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    opened.problems = problems
    yield opened
    expected = ("net::ERR_", "the server responded with a status of")
    assert [text for text in problems if not any(part in text for part in expected)] == []


@pytest.fixture
def collector():
    with serving(Collector(info(PLAIN))) as started:
        yield started
