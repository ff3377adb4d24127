"""The page with the real collector, and served by somebody else."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import sqlalchemy as sa

from mdrr.frozen import freeze
from mdrr.server import schema
from mdrr.server.blind import key_hash, new_signing_key
from mdrr.server.held import token_hash
from mdrr.server.standalone import write_page
from mdrr.survey import Survey
from tests.browser.walk import forward, heading
from tests.server.cases import running

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
        fragments = [f"#design={frozen.design.fingerprint}&invitation={token}" for token in tokens]
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
    page.wait_for_selector(".received")
    counted = store.tally(store.survey(frozen.id).phase())
    assert counted.n == 1


def test_a_blind_invitation_is_signed_at_the_start_and_spent_at_the_end(page, survey):
    _, store, address, _ = survey
    other = freeze(Survey.from_toml(TEXT))
    store.create(other, invitations="blind", signing_key=new_signing_key())
    store.open(other.id)
    (token,) = store.invite(other.id, 1)
    key = key_hash(store.need(other.id).blind_key)
    design = other.design.fingerprint
    page.goto(f"{address}/s/{other.id}#design={design}&key={key}&invitation={token}")
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
    other.goto(link)
    answer(other)
    assert heading(other) == "Your answers were not counted"
    context.close()
    assert store.tally(store.survey(frozen.id).phase()).n == 1


def test_a_page_served_by_somebody_else_sends_to_the_collector(page, survey, tmp_path):
    frozen, store, address, fragments = survey
    write_page(tmp_path / "page", frozen.id, address)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "page"))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        page.goto(f"http://localhost:{server.server_port}/{fragments[1]}")
        answer(page)
        assert heading(page) == "Thank you. Your answers were received."
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert store.tally(store.survey(frozen.id).phase()).n == 1
