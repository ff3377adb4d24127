"""Real processes of the aggregators' mode: a relay on a database, aggregators, and what goes wrong.

Children come from a fork server; they share nothing but the relay's HTTP and their own files.
"""

import json
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from mdrr.errors import ProtocolError
from mdrr.securesum.aggregator import Aggregator, offer, run
from mdrr.securesum.batch import Batch, Folder, make_batch
from mdrr.securesum.device import Device
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import Ledger
from mdrr.securesum.message import Message
from mdrr.securesum.opening import read_outcome
from mdrr.securesum.person import make_reports
from mdrr.securesum.transport.postbox import Postbox, Run
from mdrr.securesum.transport.remote import RemotePost
from mdrr.securesum.transport.service import listen, serve
from mdrr.server.held import new_tokens
from mdrr.source import SystemSource
from tests.faults.cast import deadly, die
from tests.processes import PROCESSES
from tests.securesum.group import QUESTION, codes, organiser


class Meddler:
    """A run at a relay that does something else than it should.

    Arguments:
        run: the honest one.
        fault: `drop`, `tamper`, `replay` or nothing.
        kind: of the messages that are meddled with; `part` for reports.
        old: messages of another batch, which are replayed.
    """

    def __init__(self, run: Run, fault: str, kind: str, old: Sequence[bytes]) -> None:
        self._run, self._fault, self._kind, self._old = run, fault, kind, old

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)

    def hear_bytes(self, topic: str) -> list[bytes]:
        found = self._run.hear_bytes(topic)
        if topic.partition(" ")[0] != self._kind:
            return found
        if self._fault == "drop":
            return []
        if self._fault == "tamper":
            return [_spoil(data) for data in found]
        return [*self._old, *found, *found]

    def parts(self, request: Message) -> dict[bytes, bytes]:
        found = self._run.parts(request)
        if self._kind != "part" or not found:
            return found
        first, *others = sorted(found)
        if self._fault == "drop":
            return {one: found[one] for one in others}
        data = bytearray(found[first])
        data[-1] ^= 1
        other = found[others[0]] if self._fault == "replay" else bytes(data)
        return {**found, first: other}


def _spoil(data: bytes) -> bytes:
    fields = json.loads(data)
    fields["body"]["number"] = fields["body"].get("number", 0)
    fields["body"]["extra"] = 1
    return json.dumps(fields).encode()


class Stage:
    """One batch of twelve people between real processes.

    Arguments:
        folder: for databases, ledgers and endings.
        patience: seconds an aggregator waits at a step.
        fault: see `Meddler`.
        dies: the relay kills itself when it is given this kind of message, `before` or `after`
            it is stored.
    """

    def __init__(
        self,
        folder: Path,
        *,
        people: int = 12,
        patience: float = 60.0,
        fault: tuple[str, str] = ("", ""),
        old: Sequence[bytes] = (),
        dies: tuple[str, str] | None = None,
    ) -> None:
        folder.mkdir(parents=True)
        source = SystemSource()
        self.folder, self.patience, self.fault, self.old = folder, patience, fault, old
        self.keys = [source.read(32) for _ in range(2)]
        offers = []
        for k in (0, 1):
            ledger = Ledger(folder / f"agg{k}.sqlite")
            identity = Identity(self.keys[k], bytes(31) + b"\x01", f"Office {k}")
            offers.append(offer(identity, ledger, source))
            ledger.close()
        self.tokens = new_tokens(people)
        self.codes = codes(people)
        self.batch, self.papers = make_batch(
            organiser(), QUESTION, offers, self.tokens, source, closes=int(time.time()) + 3600
        )
        self.papers.save(folder / "relay")
        bound = listen("127.0.0.1", 0)
        self.port = bound.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/b/{self.batch.digest}"
        self.children: list[BaseProcess] = []
        self.relay = self._start(_relay, bound, folder, fault, old, dies)
        bound.close()

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *error: object) -> None:
        for child in self.children:
            if child.is_alive():
                child.kill()
            child.join(10)

    def _start(self, target: Any, *args: Any) -> BaseProcess:
        child = PROCESSES.Process(target=target, args=args, daemon=True)
        child.start()
        self.children.append(child)
        return child

    def restart_relay(self) -> None:
        """Kill the relay, and start it again on what is on its disk."""
        self.relay.kill()
        self.revive()

    def revive(self, timeout: float = 90.0) -> None:
        """Once the relay is dead, start it again."""
        self.relay.join(timeout)
        assert self.relay.exitcode == -signal.SIGKILL
        bound = listen("127.0.0.1", self.port)
        self.relay = self._start(_relay, bound, self.folder, self.fault, self.old)
        bound.close()

    def aggregator(
        self, k: int, die: tuple[str, bool] | None = None, minimum: int = 3
    ) -> BaseProcess:
        """Aggregator k; `die` kills it (SIGKILL) before or after it says something of a kind."""
        return self._start(
            _aggregator, self.url, self.keys[k], self.folder, k, self.patience, die, minimum
        )

    def person(self, k: int, die: str | None = None) -> BaseProcess:
        """Person k; she is killed `before` she sends, in the `middle`, or `after` it arrived."""
        codes = [int(column[k]) for column in self.codes]
        state = self.folder / f"person{k}"
        return self._start(_person, self.url, self.tokens[k], codes, state, die)

    def arrived(self) -> int:
        """How many reports the relay has."""
        post = RemotePost(self.url, patience=60.0)
        found = post.arrivals(0, 100)
        post.close()
        return len(found)

    def report(self, *people: int) -> None:
        post, source = RemotePost(self.url, patience=60.0), SystemSource()
        places = QUESTION.positions([column[list(people)] for column in self.codes])
        for one in make_reports(self.batch, [self.tokens[k] for k in people], places, source):
            post.upload(one)
        post.close()

    def truth(self, *gone: int) -> Any:
        stay = [k for k in range(len(self.tokens)) if k not in gone]
        return QUESTION.sums([column[stay] for column in self.codes])

    def endings(self, *processes: BaseProcess, timeout: float = 120.0) -> list[dict[str, Any]]:
        """How both aggregators ended, once they have."""
        for process in processes:
            process.join(timeout)
            assert not process.is_alive(), "an aggregator hangs"
        paths = [self.folder / f"ending{k}.json" for k in (0, 1)]
        return [json.loads(path.read_text()) for path in paths]


def _relay(
    bound: socket.socket,
    folder: Path,
    fault: tuple[str, str],
    old: Any,
    dies: tuple[str, str] | None = None,
) -> None:
    box = Postbox(f"sqlite:///{folder / 'relay.db'}")
    box.open(shown := Folder.load(folder / "relay"))
    run = box.at(shown.message.run)
    if dies is not None:
        run.say = deadly(run.say, *dies)  # type: ignore[method-assign]
        run.upload_all = deadly(run.upload_all, *dies)  # type: ignore[method-assign]
    if fault[0]:
        box.kept[run.id] = Meddler(run, *fault, old)  # type: ignore[assignment]
    serve(box, bound)


class Mortal:
    """A relay as an aggregator sees it that is killed while it speaks."""

    def __init__(self, post: RemotePost, kind: str, after: bool) -> None:
        self._post, self._kind, self._after = post, kind, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._post, name)

    def say(self, message: Message) -> None:
        if message.kind == self._kind and not self._after:
            die()
        self._post.say(message)
        if message.kind == self._kind:
            die()


def _person(url: str, token: str, codes: list[int], state: Path, when: str | None) -> None:
    """What `mdrr securesum report` does."""
    post, source, device = RemotePost(url, patience=60.0), SystemSource(), Device(state)
    batch = Batch.read(post.document(), organiser().id)
    places = QUESTION.positions([[code] for code in codes])
    made = device.prepare(
        batch, url, lambda: make_reports(batch, [token], places, source)[0], lambda url: post
    )
    if made is None:
        return
    if when == "before":
        die()
    if when == "middle":
        half, said = made.data[: len(made.data) // 2], f"Bearer {made.credential.hex()}"

        def body() -> Iterator[bytes]:
            yield half
            time.sleep(0.5)  # the relay has begun to read
            die()

        headers = {"authorization": said, "content-length": str(len(made.data))}
        httpx.put(f"{url}/reports/{made.id.hex()}", content=body(), headers=headers)
    post.upload(made)
    if when == "after":
        die()
    device.arrived(batch)


def _aggregator(
    url: str,
    key: bytes,
    folder: Path,
    k: int,
    patience: float,
    die: tuple[str, bool] | None,
    minimum: int,
) -> None:
    ending: dict[str, Any] = {}
    try:
        remote = RemotePost(url, patience=60.0)
        post: Any = remote if die is None else Mortal(remote, *die)
        batch = Batch.read(post.document(), organiser().id)
        identity = Identity(key, bytes(31) + b"\x01", f"Office {k}")
        ledger = Ledger(folder / f"agg{k}.sqlite")
        machine = Aggregator(identity, batch, ledger, post, SystemSource(), minimum=minimum)
        last = run(machine, patience=patience)
        ending = {"kind": last.kind, "body": {**last.body, "ids": "", "share": ""}}
        deadline = time.monotonic() + patience
        while last.kind == "result" and time.monotonic() < deadline:
            outcome = read_outcome(post, batch)
            if outcome is not None:
                ending["totals"] = outcome.totals.tolist()
                ending["refused"] = dict(outcome.refused)
                break
            time.sleep(0.1)
    except ProtocolError as error:
        ending["stopped"] = str(error)
    except Exception as error:
        ending["crashed"] = repr(error)
    (folder / f"ending{k}.json").write_text(json.dumps(ending))


def never_wrong(endings: list[dict[str, Any]], truth: Any) -> None:
    """Every ending is the exact total, or an abort that names its step."""
    for ending in endings:
        assert "crashed" not in ending, ending
        if "totals" in ending:
            assert np.array_equal(ending["totals"], truth)
        else:
            assert ending["kind"] == "result" or ending["body"]["step"], ending
