"""The collector over HTTP: what people and owners may do, and its limits."""

import io
import json
import logging
import re
import socket
import sys
import time
from urllib.parse import parse_qs

import httpx
import polars as pl
import pytest

from mdrr.estimation import METHODS, Estimate, estimate
from mdrr.frames import tally
from mdrr.frozen import FrozenSurvey
from mdrr.planning import main_survey, pool
from mdrr.response import Report
from mdrr.server import findings
from mdrr.server.blind import key_hash, new_signing_key, verifying_key
from mdrr.server.findings import Findings
from mdrr.server.limits import Buckets, JsonLines, Limits, address_key
from mdrr.server.schema import StoreError
from mdrr.tallies import Tally, tally_responses
from tests.server.cases import DESIGN, PERSON, SAMPLED, body, frozen, report, running


class Place:
    """A running collector with one survey."""

    def __init__(self, address, store, client, **options):
        self.store, self.client, self.frozen = store, client, frozen()
        self.token = store.create(self.frozen, **options)
        self.path = f"/api/surveys/{self.frozen.id}"
        self.owner = {"authorization": f"Bearer {self.token}"}
        self.address = address

    def open(self):
        self.store.open(self.frozen.id)
        self.length = self.client.get(self.path).json()["answer_bytes"]
        return self

    def send(self, made, invitation=None):
        sent = body(made, self.length, invitation)
        return self.client.post(f"{self.path}/answers", content=sent)

    def ask(self, what, **options):
        return self.client.get(f"{self.path}/owner/{what}", headers=self.owner, **options)

    def do(self, what, fields=None):
        return self.client.post(f"{self.path}/owner/{what}", headers=self.owner, json=fields)


@pytest.fixture
def served(url):
    with running(url) as (address, store), httpx.Client(base_url=address, timeout=120) as client:
        yield lambda **options: Place(address, store, client, **options)


@pytest.fixture
def sqlite_served(tmp_path):
    with (
        running(f"sqlite:///{tmp_path}/answers.db") as (address, store),
        httpx.Client(base_url=address, timeout=120) as client,
    ):
        yield lambda **options: Place(address, store, client, **options)


def test_from_link_to_published_results(served):
    place = served(invitations="required")
    assert place.client.get("/healthz").json() == {"status": "ok"}
    assert place.client.get(place.path).status_code == 404  # a draft is nobody's business
    assert place.do("open").json()["state"] == "open"
    shown = place.client.get(place.path).json()
    assert shown["design"] == DESIGN.to_dict()
    assert shown["fingerprint"] == DESIGN.fingerprint
    place.length = shown["answer_bytes"]
    tokens = place.do("invitations", {"count": 40}).json()["invitations"]
    made = [report() for _ in tokens]
    for each, token in zip(made, tokens, strict=True):
        assert place.send(each, token).json() == {"received": each.id}
    counted = tally_responses(made, DESIGN)
    assert Tally.from_json(place.ask("tally").text, DESIGN) == counted
    status = place.ask("status").json()
    assert status["answers"] == sum(hour["count"] for hour in status["arrivals"]) == 40
    assert status["invitations"] == {"kind": "required", "made": 40, "used": 40}
    assert status["epsilon"] == DESIGN.epsilon

    expected = estimate(counted, DESIGN, "product")
    found = place.ask("estimate", params={"method": "product", "level": 0.9}).json()
    for shares in found["attributes"]:
        table = expected.table(shares["name"], level=0.9)
        assert shares["shares"] == pytest.approx(table.values, abs=1e-12)
        assert shares["low"] == pytest.approx(table.low, abs=1e-12)
        assert shares["raw"] == pytest.approx(
            counted.groups[0].marginal(DESIGN.domain.index(shares["name"])) / 40
        )
    assert found["dependences"]["names"] == list(DESIGN.domain.names)
    assert sorted(name for group in found["clusters"] for name in group) == sorted(
        DESIGN.domain.names
    )
    count = place.ask("count", params={"where": "smokes == 'yes'", "method": "product"}).json()
    assert count["value"] == pytest.approx(expected.count("smokes == 'yes'").value)

    data = pl.read_parquet(io.BytesIO(place.ask("reports.parquet").content))
    assert tally(data, DESIGN) == counted
    drawn = pl.read_csv(place.ask("synthetic.csv", params={"n": 7, "method": "product"}).content)
    assert (drawn.columns, len(drawn)) == (list(DESIGN.domain.names), 7)
    assert "Health" in place.ask("report.html", params={"method": "product"}).text
    kept = Estimate.from_bytes(place.ask("estimate.npz", params={"method": "product"}).content)
    assert kept.table("town").values == pytest.approx(expected.table("town").values)

    assert place.client.get(f"{place.path}/results").status_code == 404
    assert place.do("publish", {}).status_code == 409  # it is open
    assert place.do("close").json()["state"] == "closed"
    assert place.send(report(), tokens[0]).status_code == 410
    assert place.send(made[0], tokens[0]).status_code == 201  # its reply was lost
    assert place.do("publish", {"method": "product"}).json()["state"] == "published"
    results = place.client.get(f"{place.path}/results").json()
    assert results["attributes"][0]["shares"] == found["attributes"][0]["shares"]
    assert place.client.get(f"{place.path}/results/reports.parquet").status_code == 404


def test_open_data_is_there_if_the_owner_says_so(sqlite_served):
    place = sqlite_served().open()
    made = [report() for _ in range(20)]
    assert {place.send(each).status_code for each in made} == {201}
    place.do("close")
    place.do("publish", {"method": "product", "open_data": True})
    content = place.client.get(f"{place.path}/results/reports.parquet").content
    data = pl.read_parquet(io.BytesIO(content))
    assert tally(data, DESIGN) == tally_responses(made, DESIGN)
    assert set(data.columns) == set(DESIGN.domain.names)  # and no id


def test_the_second_phase(sqlite_served):
    place = sqlite_served(invitations="required").open()
    first, second = place.store.invite(place.frozen.id, 2)
    assert place.send(report(), first).status_code == 201
    shown = place.do("phase", {"design": SAMPLED.to_dict()}).json()
    assert (shown["phase"], shown["fingerprint"]) == (2, SAMPLED.fingerprint)
    place.length = place.client.get(place.path).json()["answer_bytes"]
    assert place.send(report(SAMPLED), first).status_code == 403
    assert place.send(report(SAMPLED), second).status_code == 201
    assert Tally.from_json(place.ask("tally", params={"phase": 1}).text, DESIGN).n == 1
    assert Tally.from_json(place.ask("tally").text, SAMPLED).n == 1
    assert place.do("phase", {"design": {"mdrr": 1}}).status_code == 422
    written = FrozenSurvey.from_json(place.ask("survey.json").content)
    assert written.phases == (DESIGN, SAMPLED)


def test_estimates_are_of_both_phases_and_of_each(sqlite_served):
    place = sqlite_served().open()
    first, second = [report() for _ in range(30)], [report(SAMPLED) for _ in range(20)]
    for each in first:
        place.send(each)
    assert place.do("phase", {"design": SAMPLED.to_dict(), "people": 500}).status_code == 200
    place.length = place.client.get(place.path).json()["answer_bytes"]
    for each in second:
        place.send(each)
    status = place.ask("status").json()
    assert status["answers"] == 50
    assert [phase["answers"] for phase in status["phases"]] == [30, 20]
    tallies = (tally_responses(first, DESIGN), DESIGN), (tally_responses(second, SAMPLED), SAMPLED)
    for phase, parts in ((None, tallies), (1, tallies[:1]), (2, tallies[1:])):
        params = {"method": "product", **({"phase": phase} if phase else {})}
        found = place.ask("estimate", params=params).json()
        counted, design = pool(parts) if len(parts) > 1 else parts[0]
        expected = estimate(counted, design, "product")
        assert (found["phase"], found["answers"]) == (phase, counted.n)
        assert found["epsilon"] == design.epsilon
        for shares in found["attributes"]:
            table = expected.table(shares["name"])
            assert shares["shares"] == pytest.approx(table.values, abs=1e-12)
            assert shares["high"] == pytest.approx(table.high, abs=1e-12)
        count = place.ask("count", params={"where": "smokes == 'yes'", **params}).json()
        assert count["n"] == counted.n
        kept = Estimate.from_bytes(place.ask("estimate.npz", params=params).content)
        assert kept.n == counted.n
        page = place.ask("report.html", params=params).text
        assert f"<strong>{counted.n}</strong>" in page
        asked = [design.fingerprint for _, design in parts]
        assert re.findall("<code>([0-9a-f]{64})</code>", page) == asked
        assert ("Pilot, 30 people" in page) is ("Main survey, 20 people" in page) is (phase is None)
        arrived = place.ask("charts/arrivals.svg", params=params).text
        assert f"When {counted.n} answers came." in arrived
    place.do("close")
    assert place.client.get(f"{place.path}/results/survey.json").status_code == 404
    place.do("publish", {"method": "product", "open_data": True})
    published = FrozenSurvey.from_json(
        place.client.get(f"{place.path}/results/survey.json").content
    )
    for number, (counted, design) in enumerate(tallies, start=1):
        reply = place.client.get(f"{place.path}/results/reports.parquet", params={"phase": number})
        assert published.phases[number - 1] == design
        assert tally(pl.read_parquet(io.BytesIO(reply.content)), design) == counted
        page = place.client.get(f"/r/{place.frozen.id}").text
        assert f"results/reports.parquet?phase={number}" in page
    assert "from 50 randomized answers" in page
    results = place.client.get(f"{place.path}/results").json()
    assert (results["phase"], results["answers"]) == (None, 50)
    apart = [(each["phase"], each["answers"]) for each in results["phases"]]
    assert apart == [(1, 30), (2, 20)]


def test_the_pilot_suggests_a_main_survey(sqlite_served):
    place = sqlite_served().open()
    assert place.ask("phase", params={"people": 900}).status_code == 409
    for _ in range(40):
        place.send(report())
    suggested = place.ask("phase", params={"people": 900, "epsilon": 2.0}).json()
    expected = main_survey(
        place.store.tally(place.store.need(place.frozen.id).phase(1)),
        DESIGN,
        people=900,
        epsilon=2.0,
    )
    assert suggested["fingerprint"] == expected.design.fingerprint
    assert suggested["clusters"] == [list(names) for names in expected.clusters]
    assert (suggested["pilot"], suggested["epsilon"]) == (40, expected.design.epsilon)
    assert place.ask("status").json()["phase"] == 1  # nothing was started
    started = place.do("phase", {"design": suggested["design"], "people": 900}).json()
    assert (started["phase"], started["fingerprint"]) == (2, suggested["fingerprint"])
    predicted = place.store.need(place.frozen.id).frozen.predicted
    assert predicted["people"] == 900


def test_links_of_blind_invitations_promise_the_key(sqlite_served):
    key = new_signing_key()
    place = sqlite_served(invitations="blind", signing_key=key).open()
    made = place.do("invitations", {"count": 3}).json()
    promised = {
        "design": [DESIGN.fingerprint],
        "words": [place.frozen.words],
        "key": [key_hash(verifying_key(key))],
    }
    for token, link in zip(made["invitations"], made["links"], strict=True):
        path, _, fragment = link.partition("#")
        assert path == f"s/{place.frozen.id}"
        assert parse_qs(fragment) == {**promised, "invitation": [token]}
    assert parse_qs(place.ask("status").json()["link"].partition("#")[2]) == promised


def test_resending(served):
    place = served(invitations="required").open()
    token, other = place.store.invite(place.frozen.id, 2)
    made = report()
    changed = Report(made.fingerprint, 0, (1 - made.codes[0], *made.codes[1:]), made.id)
    first = place.send(made, token)
    assert (first.status_code, first.json()) == (201, {"received": made.id})
    again = place.send(made, token)
    assert (again.status_code, again.content) == (201, first.content)
    assert place.send(changed, token).status_code == 409
    assert place.send(changed, other).status_code == 409
    assert place.send(report(), token).status_code == 403
    assert place.ask("status").json()["answers"] == 1


def short(fields):
    """JSON without blanks."""
    return json.dumps(fields, separators=(",", ":"))


def wrong_bodies(length):
    made = report()
    good = {"report": made.to_dict(), "invitation": None}

    def but(**changes):
        return {"report": made.to_dict() | changes, "invitation": None}

    texts = {
        "no JSON": "x",
        "a list": "[]",
        "too deep": "[" * 150,
        "no report": short({"invitation": None}),
        "something more": short(good | {"name": "Eve"}),
        "a report with a name": short(but(name="Eve")),
        "no id": short(but(id=None)),
        "a short id": short(but(id="ab")),
        "an id in capitals": short(but(id="A" * 32)),
        "another questionnaire": short(but(questionnaire=1)),
        "a negative one": short(but(questionnaire=-1)),
        "a code too large": short(but(codes=[0, 0, 4])),
        "a negative code": short(but(codes=[0, 0, -1])),
        "a true code": short(but(codes=[0, 0, True])),
        "a broken code": short(but(codes=[0, 0, 1.0])),
        "a code too few": short(but(codes=[0, 0])),
        "codes as text": short(but(codes="0,0,0")),
        "another design": short(but(design="0" * 64)),
        "a design that is a list": short(but(design=[])),
        "an invitation": short(good | {"invitation": "x"}),
        "an invitation that is a number": short(good | {"invitation": 1}),
        "half a letter": short(good | {"invitation": "\ud800"}),
        "a code of 5000 digits": '{"report": ' + "9" * 240,
    }
    bodies = {name: text.encode().ljust(length) for name, text in texts.items()}
    bodies["no UTF-8"] = b"\xff" * length
    bodies["too short"] = short(good).encode()
    return bodies


def test_bad_answers_are_refused_and_never_repeated(sqlite_served):
    place = sqlite_served().open()
    for name, sent in wrong_bodies(place.length).items():
        reply = place.client.post(f"{place.path}/answers", content=sent)
        assert reply.status_code == (422 if len(sent) <= place.length else 413), name
        assert set(reply.json()) == {"error"}, name
        assert "Eve" not in reply.text, name
        assert report().fingerprint[13:] not in reply.text, name
    long = b" " * (place.length + 1)
    assert place.client.post(f"{place.path}/answers", content=long).status_code == 413
    assert place.store.tally(place.store.need(place.frozen.id).phase()).n == 0


def test_unknown_places(sqlite_served):
    place = sqlite_served()
    for path in ("/api/surveys/nothere2", "/api/surveys/nothere2/owner/status", "/nowhere",
                 "/static/../app.py", "/static/nothing.js"):  # fmt: skip
        reply = place.client.get(path, headers=place.owner)
        assert (reply.status_code, set(reply.json())) == (404, {"error"}), path
    sent = place.client.post("/api/surveys/nothere2/answers", content=b"{}")
    assert sent.status_code == 404
    assert place.client.post(f"{place.path}/answers", content=b"{}").status_code == 404  # a draft
    assert place.client.delete(place.path).status_code == 405


def test_everything_comes_with_strict_headers_and_no_cookie(sqlite_served):
    place = sqlite_served().open()
    for reply in (
        place.client.get(f"/s/{place.frozen.id}"),
        place.client.get(place.path),
        place.send(report()),
        place.client.get("/nowhere"),
    ):
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in reply.headers
        assert "server" not in reply.headers


def test_the_page_may_come_from_elsewhere_but_not_the_dashboard(sqlite_served):
    place = sqlite_served().open()
    asked = place.client.options(f"{place.path}/answers")
    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (204, "*")
    assert place.send(report()).headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in place.ask("status").headers


def test_all_answers_have_one_length(sqlite_served):
    """Also with the largest codes, a questionnaire of two digits, and blanks between."""
    place = sqlite_served(invitations="required").open()
    (token,) = place.store.invite(place.frozen.id, 1)
    largest = Report(
        DESIGN.fingerprint, 0, tuple(size - 1 for size in DESIGN.outcomes[0]), "f" * 32
    )
    sent = body(largest, place.length, token)
    assert len(sent) == place.length
    assert place.send(largest, token).status_code == 201


def test_events_tell_of_news(sqlite_served):
    place = sqlite_served().open()
    with place.client.stream("GET", f"{place.path}/owner/events", headers=place.owner) as stream:
        lines = (line for line in stream.iter_lines() if line.startswith("data: "))
        assert json.loads(next(lines)[6:])["answers"] == 0
        assert place.send(report()).status_code == 201
        assert json.loads(next(lines)[6:])["answers"] == 1


def test_metrics_count_and_logs_are_silent(sqlite_served, caplog):
    caplog.set_level("INFO", logger="mdrr.server")
    place = sqlite_served(invitations="required").open()
    (token,) = place.store.invite(place.frozen.id, 1)
    made = report()
    assert place.send(made, token).status_code == 201
    assert place.send(report(), "unknown-invitation").status_code == 403
    assert (
        place.ask("count", params={"where": "smokes == 'yes'", "method": "product"}).status_code
        == 200
    )
    text = place.client.get("/metrics").text
    line = 'mdrr_responses_total{route="/api/surveys/{survey}/answers",status="201"} 1'
    assert line in text
    logged = "\n".join(JsonLines().format(each) for each in caplog.records)
    assert '"status": 403' in logged
    assert '"status": 201' not in logged  # the time of an answer is nobody's business
    secrets = (made.id, token, place.token, "127.0.0.1", "where", "unknown-invitation", "codes")
    for secret in (*secrets, place.frozen.id):
        assert secret not in logged + text, secret
    assert [set(json.loads(line)) for line in logged.splitlines()]


def test_requests_are_not_written_unless_wanted_and_then_by_the_hour(monkeypatch, capsys):
    from mdrr.server import app as collector

    log = logging.getLogger("mdrr.server")
    monkeypatch.setattr(log, "handlers", []), monkeypatch.setattr(log, "propagate", True)
    before, interval = log.level, sys.getswitchinterval()

    def stop(*_, **__):
        raise SystemExit

    monkeypatch.setattr(collector, "create_app", stop)
    try:
        for wanted in (False, True):
            with pytest.raises(SystemExit):
                collector.serve("sqlite:///none.db", log=wanted)
            assert log.isEnabledFor(logging.INFO) == wanted
            assert log.isEnabledFor(logging.WARNING)
    finally:
        log.setLevel(before)
        sys.setswitchinterval(interval)
    shown = {}
    for level in (logging.INFO, logging.ERROR):
        record = logging.LogRecord("mdrr.server", level, "", 0, "request", (), None)
        record.created = 1_800_000_000 + 61.0
        shown[level] = json.loads(JsonLines().format(record))["time"]
    assert shown == {
        logging.INFO: "2027-01-15T08+00:00",
        logging.ERROR: "2027-01-15T08:01:01+00:00",
    }


def test_a_fault_of_ours_is_logged_without_its_message(sqlite_served, caplog, monkeypatch):
    place = sqlite_served().open()

    def broken(*_):
        raise RuntimeError("a secret")

    monkeypatch.setattr(place.store, "status", broken)
    reply = place.ask("status")
    assert (reply.status_code, set(reply.json())) == (500, {"error"})
    logged = "\n".join(JsonLines().format(each) for each in caplog.records)
    assert "RuntimeError" in logged
    assert "a secret" not in logged + reply.text


def test_a_published_survey_has_a_page_and_its_link_leads_there(sqlite_served):
    place = sqlite_served().open()
    address = f"/r/{place.frozen.id}"
    for _ in range(5):
        assert place.send(report()).status_code == 201
    assert place.client.get(f"/s/{place.frozen.id}").status_code == 200
    assert place.client.get(address).status_code == 404
    place.store.close(place.frozen.id)
    held = place.store.need(place.frozen.id)
    found = Findings(place.store).published(held.begun(), "product")
    place.store.publish(held.id, found, open_data=True)
    time.sleep(1.1)  # the server shows a survey as it was at most a second ago
    led = place.client.get(f"/s/{place.frozen.id}")
    assert (led.status_code, led.headers["location"]) == (303, f"../r/{place.frozen.id}")
    page = place.client.get(f"/s/{place.frozen.id}", follow_redirects=True)
    assert page.url.path == address
    assert "5 randomized answers" in page.text
    for each in found["attributes"]:
        for category, share in zip(each["categories"], each["shares"], strict=True):
            assert f'<th scope="row">{category}</th><td>{share:.1%}</td>' in page.text
    for link in re.findall(r'href="\.\.(/[^"]+)"', page.text):
        assert place.client.get(link).status_code == 200, link
    assert place.client.get("/r/abcdefgh").status_code == 404


# Limits


@pytest.fixture
def tight(tmp_path):
    limits = Limits(body=5_000, seconds=1.0, rate=0.001, burst=3, events=1)
    with (
        running(f"sqlite:///{tmp_path}/answers.db", limits) as (address, store),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        yield Place(address, store, client).open()


def test_too_many_answers_at_once(tight):
    assert [tight.send(report()).status_code for _ in range(5)] == [201] * 3 + [429] * 2


def test_a_large_body_is_refused_before_it_is_sent(tight):
    """The head alone says so, and a body of unknown length is cut off while it comes."""
    with connected(tight) as line:
        line.sendall(head(tight, "owner/phase", f"content-length: {10**9}"))
        assert line.recv(100).startswith(b"HTTP/1.1 413")
    with connected(tight) as line:
        line.sendall(head(tight, "owner/phase", "transfer-encoding: chunked"))
        chunk = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
        for _ in range(6):
            line.sendall(chunk)
        assert line.recv(100).startswith(b"HTTP/1.1 413")
    with connected(tight) as line:
        line.sendall(head(tight, "answers", "transfer-encoding: chunked"))
        line.sendall(b"3e8\r\n" + b"x" * 1000 + b"\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 413")


def test_slow_clients_are_cut_off_and_half_an_answer_is_not_stored(tight):
    made = report()
    sent = body(made, tight.length)
    whole = head(tight, "answers", f"content-length: {len(sent)}") + sent
    with connected(tight) as nothing, connected(tight) as half_head, connected(tight) as half_body:
        half_head.sendall(whole[:30])
        half_body.sendall(whole[:-20])
        began = time.monotonic()
        for line in (nothing, half_head, half_body):
            assert line.recv(1000) == b""
        assert time.monotonic() - began > 0.5
    with connected(tight) as line:
        line.sendall(whole[:-20])  # and goes away
    time.sleep(0.2)
    assert tight.ask("status").json()["answers"] == 0
    with connected(tight) as line:
        for k in range(0, len(whole), 100):  # in pieces, but in time
            line.sendall(whole[k : k + 100])
            time.sleep(0.01)
        assert line.recv(1000).startswith(b"HTTP/1.1 201")


def test_only_so_many_dashboards_watch(tight):
    with tight.client.stream("GET", f"{tight.path}/owner/events", headers=tight.owner) as stream:
        lines = stream.iter_lines()  # kept: without it the connection ends
        assert next(lines) == "event: status"
        assert tight.ask("events").status_code == 429


def test_only_so_many_connections_are_served(tmp_path):
    ask = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    url = f"sqlite:///{tmp_path}/answers.db"
    with running(url, Limits(connections=3)) as (address, store), httpx.Client() as client:
        place = Place(address, store, client)
        lines = [connected(place) for _ in range(3)]
        try:
            for line in lines:
                line.sendall(ask)
                assert line.recv(1000).startswith(b"HTTP/1.1 200")
            refused = client.get(f"{address}{place.path}")
            assert refused.status_code == 503
            assert refused.json() == {
                "error": "Too many people are connected; send it again in a moment."
            }
            assert refused.headers["connection"] == "close"
            assert refused.headers["retry-after"] == "5"
            assert refused.headers["access-control-allow-origin"] == "*"  # so the page can say it
            lines.pop().close()
            until = time.monotonic() + 30
            while client.get(f"{address}/healthz").status_code == 503:
                assert time.monotonic() < until  # the server notices that one has gone
                time.sleep(0.01)
        finally:
            for line in lines:
                line.close()


def connected(place):
    host, port = place.address.removeprefix("http://").split(":")
    line = socket.create_connection((host, int(port)))
    line.settimeout(30)
    return line


def head(place, what, *lines):
    first = f"POST {place.path}/{what} HTTP/1.1"
    owner = f"authorization: Bearer {place.token}"
    return "\r\n".join([first, "host: localhost", owner, *lines, "", ""]).encode()


def test_turns_come_back_with_time_and_the_oldest_are_forgotten():
    buckets = Buckets(rate=2.0, burst=3, most=2)
    assert [buckets.take("a", now=0.0) for _ in range(4)] == [True, True, True, False]
    assert [buckets.take("a", now=1.0) for _ in range(3)] == [True, True, False]
    assert buckets.take("b", now=1.0)
    assert buckets.take("c", now=1.0)
    assert [buckets.take("a", now=1.0) for _ in range(4)] == [True, True, True, False]


def test_turns_are_by_address_but_not_of_the_proxy_beside_the_server():
    assert address_key("192.0.2.7") == "192.0.2.7"
    assert address_key("2001:db8::1") == address_key("2001:db8::2") != address_key("2001:db8:1::1")
    assert address_key("127.0.0.1") is address_key("::1") is address_key("testclient") is None


def test_limits_are_positive():
    with pytest.raises(StoreError, match="'rate' must be more than 0"):
        Limits(rate=0)


def test_the_methods_are_those_of_the_library():
    assert set(findings.METHODS) == set(METHODS)


def test_no_true_answer_is_in_what_is_sent():
    """The tests' own client: a report holds codes, never labels."""
    sent = body(report(), 400).decode()
    assert not any(str(label) in sent for label in PERSON.values() if len(str(label)) > 1)
