"""The respondent page's files: what they load, their words, and the page as a folder."""

import json
import re
import subprocess
from html.parser import HTMLParser

import pytest

from mdrr.errors import MdrrError
from mdrr.server.standalone import STATIC, modules, write_page
from tests.browser.conftest import program

PAGE = ["form.html", "form.css", *modules()]


def texts() -> dict[str, dict[str, str]]:
    """The page's own words, as Node reads them."""
    source = (STATIC / "texts.js").read_text("utf-8").replace("export ", "")
    run = subprocess.run(
        [program("node"), "-e", f"{source}; process.stdout.write(JSON.stringify(TEXTS))"],
        capture_output=True,
        check=True,
    )
    return json.loads(run.stdout)


def test_all_modules_of_the_page_are_found():
    assert {"form.js", "pages.js", "randomize.js", "risk.js", "sending.js", "texts.js"} <= set(PAGE)


@pytest.mark.parametrize("name", PAGE)
def test_nothing_comes_from_elsewhere(name):
    """No address of another site, no script or style in the page, no chance but the system's."""
    text = (STATIC / name).read_text("utf-8")
    assert re.findall(r"""["'(]\s*(?:https?:)?//\w""", text) == []
    assert not re.search(r"Math\.random|eval\(|innerHTML|insertAdjacentHTML|document\.write", text)
    assert not re.search(r"<style|style=|\son\w+=\"|<script>", text)
    assert not re.search(r"sessionStorage|indexedDB|document\.cookie|sendBeacon", text)


def test_every_language_has_every_text_and_the_same_blanks():
    words = texts()
    assert set(words) == {"en", "de", "es", "fr", "ar"}
    for language, found in words.items():
        assert found.keys() == words["en"].keys(), language
        for key, text in found.items():
            blanks = sorted(set(re.findall(r"\{\w+\}", text)))
            assert blanks == sorted(set(re.findall(r"\{\w+\}", words["en"][key]))), (language, key)
            assert language == "en" or text != words["en"][key], (language, key)


def test_every_text_is_used():
    scripts = "".join((STATIC / name).read_text("utf-8") for name in PAGE if name != "texts.js")
    assert [key for key in texts()["en"] if f'"{key}"' not in scripts] == []


class Head(HTMLParser):
    """The tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def test_the_folder_holds_the_page_and_names_its_collector(tmp_path):
    files = write_page(tmp_path / "page", "abcdefgh", "https://collect.example.org:8443/mdrr")
    assert sorted(path.name for path in files) == sorted(["index.html", *PAGE[1:]])
    head = Head()
    head.feed(files[0].read_text("utf-8"))
    metas = {
        a.get("name") or a.get("http-equiv"): a.get("content") for t, a in head.tags if t == "meta"
    }
    assert metas["mdrr-survey"] == "abcdefgh"
    assert metas["mdrr-collector"] == "https://collect.example.org:8443/mdrr"
    policy = metas["Content-Security-Policy"]
    assert "connect-src https://collect.example.org:8443;" in policy
    assert "script-src 'self';" in policy
    linked = [a.get("src") or a.get("href") for _, a in head.tags if a.get("src") or a.get("href")]
    for name in linked:
        assert name == "data:," or (tmp_path / "page" / name).exists()


@pytest.mark.parametrize(
    "address",
    [
        "collect.example.org",
        "http://collect.example.org",
        "ftp://collect.example.org",
        "https://",
        "https://me:secret@collect.example.org",
        "https://collect.example.org/?a=1",
        "https://collect.example.org/#a",
        "https://collect.example.org;script-src *",
        'https://collect.example.org/"><script>',
    ],
)
def test_an_address_that_browsers_would_not_send_to_is_refused(address, tmp_path):
    with pytest.raises(MdrrError, match="starts with https://"):
        write_page(tmp_path / "page", "abcdefgh", address)
    assert not (tmp_path / "page").exists()


def test_an_id_that_is_none_is_refused(tmp_path):
    with pytest.raises(MdrrError, match="not the id of a survey"):
        write_page(tmp_path, '"><script>', "https://collect.example.org")
