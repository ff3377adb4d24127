"""The page with the real collector, and served by somebody else."""

import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from mdrr.frozen import freeze
from mdrr.server import schema
from mdrr.server.blind import new_signing_key
from mdrr.server.held import token_hash
from mdrr.survey import Survey
from tests.browser.walk import Traffic, forward, heading
from tests.cli.run import done
from tests.server.cases import free_port, running

TEXT = """
title = { en = "Health", ar = "الصحة" }
languages = ["en", "ar"]
consent = { en = "It is up to you.", ar = "الأمر لك." }
[design]
epsilon = 2.0
[[attributes]]
name = "region"
public = true
categories = ["north", "south"]
[[attributes]]
name = "smokes"
question = { en = "Do you smoke?", ar = "هل تدخن؟" }
categories = ["no", "yes", "sometimes"]
"""


@pytest.fixture
def survey(tmp_path):
    """An open survey by invitation on a running collector: its id, link and invitations."""
    url = f"sqlite:///{tmp_path}/answers.db"
    frozen = freeze(Survey.from_toml(TEXT))
    with running(url) as (address, store):
        store.create(frozen, invitations="required")
        store.open(frozen.id)
        tokens = store.invite(frozen.id, 2)
        links = [store.need(frozen.id).link(token) for token in tokens]
        fragments = [f"#{link.partition('#')[2]}" for link in links]
        yield frozen, store, address, fragments


def answer(page) -> None:
    page.wait_for_selector("form")
    forward(page)
    for _ in range(2):
        page.wait_for_selector("fieldset")
        page.locator(".choice label").nth(1).click()
        forward(page)
    page.wait_for_selector(".summary")
    forward(page)
    page.wait_for_selector("#agree")
    page.check("#agree")
    forward(page)
    page.wait_for_selector(".panel:not(.sending)")


def test_an_answer_is_stored_once(page, context, survey):
    frozen, store, address, fragments = survey
    page.goto(f"{address}/s/{frozen.id}{fragments[0]}")
    answer(page)
    assert heading(page) == "Thank you. Your answers were received."
    page.reload()
    page.wait_for_selector(".panel p")
    assert heading(page) == "An answer was already made on this device"
    counted = store.tally(store.survey(frozen.id).phase())
    assert counted.n == 1


def test_a_blind_invitation_is_signed_at_the_start_and_spent_at_the_end(page, survey):
    _, store, address, _ = survey
    other = freeze(Survey.from_toml(TEXT))
    store.create(other, invitations="blind", signing_key=new_signing_key())
    store.open(other.id)
    (token,) = store.invite(other.id, 1)
    page.goto(f"{address}/{store.need(other.id).link(token)}")
    page.wait_for_selector("form")
    assert store.status(other.id)["invitations"]["used"] == 0
    forward(page)
    page.wait_for_selector("fieldset")
    assert store.status(other.id)["invitations"]["used"] == 1
    page.reload()
    answer(page)
    assert heading(page) == "Thank you. Your answers were received."
    assert store.tally(store.need(other.id).phase()).n == 1
    with store.engine.connect() as connection:
        spent = connection.execute(sa.select(schema.spent.c.hash)).scalars().all()
    assert len(spent) == 1
    assert bytes(spent[0]) != token_hash(token)


def test_a_used_invitation_is_refused(page, browser, survey):
    frozen, store, address, fragments = survey
    link = f"{address}/s/{frozen.id}{fragments[0]}"
    page.goto(link)
    answer(page)
    context = browser.new_context(locale="en-GB")
    other = context.new_page()
    posts = Traffic(other)
    other.goto(link)
    other.wait_for_selector("form")
    forward(other)
    other.wait_for_selector(".panel p")
    assert "unknown or was used before" in other.inner_text("main")
    assert posts.answers == []
    context.close()
    assert store.tally(store.survey(frozen.id).phase()).n == 1


@pytest.mark.parametrize("kind", ["required", "blind"])
def test_a_page_served_by_somebody_else_sends_to_the_collector(page, kind, tmp_path, monkeypatch):
    """The exported page on another origin, as its command says; requests cross the origins."""
    monkeypatch.chdir(tmp_path)
    frozen = freeze(Survey.from_toml(TEXT))
    Path("survey.json").write_text(frozen.to_json(), "utf-8")
    with running("sqlite:///mdrr.db") as (address, store), serving_folder("page") as elsewhere:
        key = new_signing_key() if kind == "blind" else None
        store.create(frozen, invitations=kind, signing_key=key)
        store.open(frozen.id)
        (token,) = store.invite(frozen.id, 1)
        said = done("survey", "page", "survey.json", "--collector", address, "-o", "page")
        (end,) = re.findall(r"Links end in (index.html#\S+),", " ".join(said.split()))
        posted = []
        page.on("request", lambda sent: posted.append(sent.url) if sent.method == "POST" else None)
        page.goto(f"{elsewhere}/{end}&invitation={token}")
        answer(page)
        assert heading(page) == "Thank you. Your answers were received."
        assert page.url.startswith(elsewhere)
        assert posted
        assert all(url.startswith(f"{address}/api/surveys/{frozen.id}/") for url in posted)
        assert store.tally(store.survey(frozen.id).phase()).n == 1


@contextmanager
def serving_folder(name):
    """`python -m http.server` on an origin of its own, of a folder that is made later."""
    port = free_port()
    words = ["-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", name]
    server = subprocess.Popen([sys.executable, *words], stderr=subprocess.DEVNULL)
    try:
        while True:
            assert server.poll() is None
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://localhost:{port}"
    finally:
        server.terminate()
        server.wait()
