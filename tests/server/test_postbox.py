"""A relay of secure sums: its database on SQLite and PostgreSQL, and its routes."""

import asyncio
import http.client
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa
import uvicorn

from mdrr.errors import ProtocolError
from mdrr.securesum.keys import Identity
from mdrr.securesum.message import write
from mdrr.securesum.opening import JOB
from mdrr.securesum.person import SealedReport
from mdrr.securesum.transport.postbox import Postbox, quotas
from mdrr.securesum.transport.remote import RemotePost
from mdrr.securesum.transport.service import create_service, listen
from mdrr.securesum.wire import encode64
from mdrr.server.app import run_server, server_config
from mdrr.source import SeededSource
from tests.securesum.group import Gathering, Group
from tests.securesum.scene import CLOSES, Scene


@pytest.fixture
def scene(url: str, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path, url=url, minimum=5)
    yield made
    made.box.dispose()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Scene]:
    """A scene whose roles speak HTTP with the relay."""
    scene = Scene(tmp_path, minimum=5)
    app, bound = create_service(scene.box), listen("127.0.0.1", 0)
    server = uvicorn.Server(server_config(app, "", 0))
    thread = Thread(target=lambda: asyncio.run(run_server(server, app, [bound])))
    thread.start()
    url = f"http://127.0.0.1:{bound.getsockname()[1]}/b/{scene.batch.digest}"
    remote = RemotePost(url, patience=5.0)
    scene.post = remote
    scene.machines = [scene.aggregator(k) for k in (0, 1)]
    yield scene
    remote.close()
    server.should_exit = True
    thread.join()


def test_a_batch_on_either_database(scene: Scene) -> None:
    scene.report(*range(11))
    outcome = scene.finish()
    assert np.array_equal(outcome.totals, scene.truth(*range(11)))


def test_a_batch_over_http(served: Scene) -> None:
    served.report(*range(11))
    outcome = served.finish()
    assert np.array_equal(outcome.totals, served.truth(*range(11)))
    assert isinstance(served.post, RemotePost)
    assert served.post.sent >= 11 * served.batch.report_bytes


def test_one_report_for_an_invitation_and_the_same_again_is_fine(scene: Scene) -> None:
    first, other = scene.reports([0])[0], scene.reports([0])[0]
    scene.post.upload(first)
    scene.post.upload(first)
    with pytest.raises(ProtocolError, match="used already, with another report"):
        scene.post.upload(other)
    with pytest.raises(ProtocolError, match="another report has this id"):
        scene.post.upload(replace(scene.reports([1])[0], id=first.id))
    with pytest.raises(ProtocolError, match="not on the relay's roll"):
        scene.post.upload(replace(other, credential=bytes(32)))
    with pytest.raises(ProtocolError, match=f"has {scene.batch.report_bytes} bytes"):
        scene.post.upload(replace(scene.reports([1])[0], data=first.data + b"x"))
    assert scene.post.arrivals(0, 100) == [first.id]


def test_after_the_closing_time_only_what_is_there_is_acknowledged(scene: Scene) -> None:
    [made] = scene.report(0)
    scene.now = CLOSES
    scene.post.upload(made)  # again: its sender did not hear that it arrived
    with pytest.raises(ProtocolError, match="this batch closed on 2033-05-18 03:33 UTC"):
        scene.report(1)


def test_a_small_group_on_either_database(url: str, tmp_path: Path) -> None:
    """Joins, the roster, shares for one member each and messages for all; restarted midway."""
    there = Gathering(tmp_path, Group(5), url=url)
    members = [there.member(k) for k in range(5)]
    for one in members:
        one.advance()
    stranger = write(Identity.generate(SeededSource("s")), "accept", there.terms.digest, {})
    with pytest.raises(ProtocolError, match="nobody in this run signed"):
        there.post.say(stranger)
    there.box.dispose()
    there.restart()  # the relay; the members keep their line to the one before
    there.run(*members)
    there.box.dispose()
    for one in members:
        assert np.array_equal(one.result(), there.group.truth)
        one._post._engine.dispose()  # type: ignore[attr-defined]


def test_many_at_once_come_in_one_order_without_gaps(url: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path, 60, url=url)
    made = scene.reports(range(60))

    def upload(some: list[SealedReport]) -> None:
        for one in some:
            scene.post.upload(one)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(upload, [made[k::6] for k in range(6)]))
    found = scene.post.arrivals(0, 100)
    assert set(found) == {one.id for one in made}
    assert [one for k in range(0, 60, 7) for one in scene.post.arrivals(k, 7)] == found
    scene.box.dispose()


def test_what_was_acknowledged_is_there_after_a_restart(url: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path, url=url)
    scene.report(*range(5))
    scene.box.dispose()
    scene.box = Postbox(url, clock=lambda: scene.now)
    scene.box.open(scene.rolls)  # as the relay does when it is started
    scene.post = scene.box.at(scene.batch.digest)
    scene.machines = [scene.aggregator(k) for k in (0, 1)]
    scene.report(*range(5, 12))
    outcome = scene.finish()
    assert np.array_equal(outcome.totals, scene.truth(*range(12)))
    scene.box.dispose()


def test_the_work_for_a_report_does_not_grow_with_the_reports(tmp_path: Path) -> None:
    scene = Scene(tmp_path, 400)
    counts: list[int] = []

    def count(*_: Any) -> None:
        counts[-1] += 1

    scene.report(0)  # now the batch is read
    sa.event.listen(scene.box.engine, "before_cursor_execute", count)
    counts.append(0)
    scene.report(1)
    counts.append(0)
    assert not any(scene.box.at(scene.batch.digest).upload_all(scene.reports(range(2, 398))))
    counts.append(0)
    scene.report(398)
    assert counts[0] == counts[2] <= 8  # a lock, two look-ups, three changes, begin and commit


def test_messages_are_taken_from_members_once_a_topic_within_quotas(scene: Scene) -> None:
    one, run = scene.identities[0], scene.batch.digest
    stranger = Identity.generate(SeededSource("nobody"))
    scene.post.say(write(one, "ready", run, {"people": 1}))
    scene.post.say(write(one, "ready", run, {"people": 1}))
    for message, reason in (
        (write(stranger, "ready", run, {}), "nobody in this run signed"),
        (replace(write(one, "abort", run, {}), signature=bytes(64)), "nobody in this run signed"),
        (write(one, "abort", "0" * 64, {}), "nobody in this run signed"),
        (write(one, "ready", run, {"people": 2}), "a second, different message on 'ready'"),
    ):
        with pytest.raises(ProtocolError, match=reason):
            scene.post.say(message)
    count, _, size = quotas(scene.batch)
    for number in range(count - 1):
        scene.post.say(write(one, "job", run, {"number": number}))
    with pytest.raises(ProtocolError, match="exceed what this run needs"):
        scene.post.say(write(one, "job", run, {"number": count}))
    with pytest.raises(ProtocolError, match="exceed what this run needs"):
        scene.post.say(write(scene.identities[1], "job", run, {"number": 0, "x": "y" * size}))
    scene.post.say(write(scene.identities[1], "ready", run, {}))  # others go on


def test_parts_are_handed_to_their_aggregator_alone(scene: Scene) -> None:
    made = scene.report(*range(3))
    run, ids = scene.batch.digest, encode64(b"".join(one.id for one in made))
    public = scene.batch.prio3.sizes.public_share
    for k, identity in enumerate(scene.identities):
        found = scene.post.parts(write(identity, "fetch", run, {"ids": ids}))
        for one in made:
            data = found[one.id]
            assert data[:public] == one.data[:public]
            assert len(data) == public + scene.batch.part_bytes[k]
            assert data[public:] in one.data
    stranger = Identity.generate(SeededSource("nobody"))
    request = write(scene.identities[0], "fetch", run, {"ids": ids})
    for wrong, reason in (
        (write(stranger, "fetch", run, {"ids": ids}), "aggregators of their batch alone"),
        (replace(request, signature=bytes(64)), "did not sign"),
        (write(scene.identities[0], "fetch", run, {"ids": encode64(bytes(16 * (JOB + 1)))}),
         "more than 256"),
    ):  # fmt: skip
        with pytest.raises(ProtocolError, match=reason):
            scene.post.parts(wrong)


def test_a_body_is_refused_before_it_is_read(served: Scene) -> None:
    """Only heads are sent: an answer comes although no byte of the body ever does."""
    assert isinstance(served.post, RemotePost)
    url = httpx.URL(served.post._url)
    good = served.reports([0])[0]
    shown = {"authorization": f"Bearer {good.credential.hex()}"}
    strange = {"authorization": f"Bearer {'00' * 32}"}
    report, said = f"{url.path}/reports/{good.id.hex()}", f"{url.path}/messages"
    size = str(served.batch.report_bytes)
    for method, path, headers, status in (
        ("PUT", report, {"content-length": size}, 400),
        ("PUT", report, {"authorization": "Bearer xyz", "content-length": size}, 400),
        ("PUT", report, {**strange, "content-length": "400000000"}, 413),
        ("PUT", report, {**strange, "content-length": size}, 400),
        ("PUT", report, {**shown, "content-length": "400000000"}, 413),
        ("PUT", report, {**shown, "content-length": "5"}, 413),
        ("PUT", report, {**shown, "transfer-encoding": "chunked"}, 413),
        ("POST", said, {"content-length": "9000000"}, 413),
    ):
        line = http.client.HTTPConnection(url.host, url.port, timeout=20)
        line.putrequest(method, path)
        for name, value in headers.items():
            line.putheader(name, value)
        line.endheaders()
        assert line.getresponse().status == status, headers
        line.close()
    assert served.post.arrivals(0, 10) == []
    served.post.upload(good)
    assert served.post.arrivals(0, 10) == [good.id]


def test_a_message_of_too_many_parts_is_refused_before_it_is_read_as_json(
    served: Scene,
) -> None:
    """A megabyte of brackets takes fifty times as long to read as one of text."""
    assert isinstance(served.post, RemotePost)
    laden = b'{"a":[' + b"[]," * 20_000 + b"[]]}"
    for body in (laden, b"\n" * 5_000):
        answer = httpx.post(f"{served.post._url}/messages", content=body)
        assert answer.status_code == 400
        assert "than anybody has to say" in answer.text


def test_a_stranger_does_not_bring_the_relay_into_disorder(scene: Scene) -> None:
    """Numbers that no database holds and letters that PostgreSQL refuses: never a 500."""
    paths = [
        *(f"/rolls/{number}" for number in (10**30, -1, 6)),
        *(f"/reports?{name}={n}" for name in ("after", "limit") for n in (10**30, 2**63, -1)),
        *(f"/messages?to={'0' * 64}&after={n}" for n in (10**30, -1)),
        *("/messages/%00", "/messages/ready%0A", "/messages/job%20%00", "/messages?to=%00"),
    ]

    async def ask() -> set[int]:
        transport = httpx.ASGITransport(create_service(scene.box), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://relay") as client:
            found = [await client.get(f"/b/{scene.batch.digest}{path}") for path in paths]
            return {answer.status_code for answer in found}

    assert asyncio.run(ask()) == {422}


def test_what_is_not_there_is_said(served: Scene) -> None:
    assert isinstance(served.post, RemotePost)
    relay = httpx.URL(served.post._url).copy_with(path="/b/")
    answer = httpx.get(f"{relay}{'0' * 64}")
    assert (answer.status_code, "no such run" in answer.text) == (400, True)
    assert httpx.get(f"{relay}short").status_code == 422
    for wrong in (str(relay.copy_with(path="/")), f"{relay}short"):
        post = RemotePost(wrong)
        with pytest.raises(ProtocolError, match="Give the whole address that the relay printed"):
            post.document()
        post.close()
    with pytest.raises(ProtocolError, match="the relay refused: this relay has no such roll"):
        served.post.roll(5)
    assert served.post.hear("nothing") == []
