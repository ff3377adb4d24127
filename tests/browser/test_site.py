"""The documentation site builds strictly, opens from a folder, and searches there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    for package in ("mkdocs", "material", "mkdocstrings_handlers.python"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_nothing_is_loaded_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 25
    loaded = re.compile(r"<(?:script|img|iframe|link)\b[^>]*(?:src|href)=[\"']?(https?:)?//")
    assert [page.name for page in pages if loaded.search(page.read_text("utf-8"))] == []


def test_the_search_works_from_a_folder(site, page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "howto" / "plan.html").as_uri())
    page.locator("input.md-search__input").focus()
    page.wait_for_function("document.querySelector('iframe') !== null")
    page.keyboard.type("forged report", delay=50)
    page.wait_for_selector(".md-search-result__item", state="attached", timeout=60_000)
    found = page.locator(".md-search-result__item").all_inner_texts()
    assert any("forged report" in text for text in found)
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
