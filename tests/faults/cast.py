"""Real processes for the fault tests of the paper's mode: relay, organiser, parties.

They share nothing but the relay's HTTP. The relay's database outlives the relay.
"""

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from mdrr.errors import ProtocolError
from mdrr.securesum.batch import Folder
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity
from mdrr.securesum.members import Member, Organiser, attend
from mdrr.securesum.message import Message
from mdrr.securesum.signed import Terms
from mdrr.securesum.transport.postbox import Postbox
from mdrr.securesum.transport.remote import RemotePost
from mdrr.securesum.transport.service import listen, serve
from mdrr.source import SystemSource
from tests.faults import mischief
from tests.processes import PROCESSES
from tests.securesum.group import Group, organiser

PATIENCE = 20.0
"""How long a participant waits at a step; an abort by absence takes this long, on a busy machine
too. Runs that end in aborts therefore wait side by side: see the tests."""

Recipe = tuple[str, tuple[Any, ...]]


@dataclass
class Cast:
    """Everybody in one run.

    Arguments:
        group: the people and their records.
        folder: for files.
        mischief: name and arguments of what the relay does to what it hands out.
        dies: the relay kills itself when it is given this kind of message, `before` or `after`
            it is stored.
        patience: see PATIENCE.
    """

    group: Group
    folder: Path
    mischief: Recipe | None = None
    dies: tuple[str, str] | None = None
    patience: float = PATIENCE
    children: list[BaseProcess] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/b/{self.group.terms.digest}"

    def __enter__(self) -> "Cast":
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in (self._closed, *self._joined()):
            left.unlink(missing_ok=True)
        self.relay = self.serve(self.dies)
        return self

    def __exit__(self, *error: object) -> None:
        for child in (self.relay, *self.children):
            if child.is_alive():
                child.kill()
        for child in (self.relay, *self.children):
            child.join(10)

    def serve(self, dies: tuple[str, str] | None = None) -> BaseProcess:
        """The relay on its database, at the address it had before."""
        bound = listen("127.0.0.1", self.port)
        self.port = bound.getsockname()[1]
        url = f"sqlite:///{self.folder / 'relay.db'}"
        folder = (self.group.folder.message.to_json(), self.group.folder.rolls)
        child = PROCESSES.Process(
            target=run_relay, args=(bound, url, folder, self.mischief, dies), daemon=True
        )
        child.start()
        bound.close()
        return child

    @property
    def _closed(self) -> Path:
        return self.folder / "closed"

    def _joined(self) -> list[Path]:
        return list(self.folder.glob("party*/joined"))

    def close(self, joined: int, timeout: float = 120.0) -> None:
        """Let the closing time come once so many have joined, however long that takes."""
        deadline = time.monotonic() + timeout
        while len(self._joined()) < joined:
            assert time.monotonic() < deadline, "somebody does not join"
            time.sleep(0.05)
        self._closed.touch()

    def revive(self, timeout: float = 90.0) -> None:
        """Once the relay has killed itself, start it again."""
        self.relay.join(timeout)
        assert self.relay.exitcode == -signal.SIGKILL
        self.relay = self.serve()

    def start(self, target: Callable[..., None], *args: Any) -> BaseProcess:
        child = PROCESSES.Process(target=target, args=args, daemon=True)
        child.start()
        self.children.append(child)
        return child

    def organiser(self, stop_before: str | None = None) -> BaseProcess:
        """The organiser; `stop_before` makes her die before she sends a message of that kind."""
        return self.start(run_organiser, self.url, self.group.tokens,
                          self.folder / "organiser0", self.patience, stop_before)  # fmt: skip

    def party(self, k: int, stop_before: str | None = None) -> BaseProcess:
        """Party k; `stop_before` makes her die before she sends a message of that kind."""
        who, token = keys(self.group.identities[k]), self.group.tokens[k]
        return self.start(run_party, self.url, who, token, self.group.vectors[k],
                          self.folder / f"party{k}", self.patience, stop_before)  # fmt: skip

    def endings(self, name: str, count: int, timeout: float = 180.0) -> list[dict[str, Any]]:
        """How the participants of a role ended, once they have."""
        for child in self.children:
            child.join(timeout)
            assert not child.is_alive(), "a participant hangs"
        paths = [self.folder / f"{name}{k}" / "ending.json" for k in range(count)]
        return [json.loads(path.read_text()) if path.exists() else {} for path in paths]


def keys(identity: Identity) -> tuple[bytes, bytes, str]:
    """What crosses to another process."""
    return identity.signing_secret, identity.sealing_secret, identity.operator


def run_relay(
    bound: Any,
    url: str,
    folder: tuple[bytes, tuple[bytes, ...]],
    recipe: Recipe | None,
    dies: tuple[str, str] | None,
) -> None:
    box = Postbox(url)
    box.open(Folder(Message.from_json(folder[0]), folder[1]))
    run = box.at(Message.from_json(folder[0]).run)
    if recipe is not None:
        meddle, mail = getattr(mischief, recipe[0])(*recipe[1]), run.mail_bytes

        def meddled(recipient: str, after: int) -> tuple[list[bytes], int]:
            found, mark = mail(recipient, after)
            return [out for data in found for out in meddle(data, recipient)], mark

        run.mail_bytes = meddled  # type: ignore[method-assign]
    if dies is not None:
        run.join = deadly(run.join, *dies)  # type: ignore[method-assign]
        run.say = deadly(run.say, *dies)  # type: ignore[method-assign]
    serve(box, bound)


def deadly(store: Callable[..., Any], kind: str, when: str) -> Callable[..., Any]:
    """A relay's way to store things that kills it, before or after one of a kind is stored."""

    def until(*given: Any) -> Any:
        kinds = {one.kind if isinstance(one, Message) else "report" for one in given}
        if kind in kinds and when == "before":
            die()
        stored = store(*given)
        if kind in kinds:
            die()
        return stored

    return until


def _clock(terms: Terms, folder: Path) -> Callable[[], float]:
    """A participant's clock, which jumps to the closing time."""
    return lambda: terms.closes if (folder.parent / "closed").exists() else 0.0


def _post(url: str, patience: float, stop: str | None, folder: Path) -> RemotePost:
    """The relay, for somebody who dies before a message of one kind is sent."""
    post = RemotePost(url, patience=5 * patience)
    join, say = post.join, post.say

    def join_or_die(shown: bytes, message: Message) -> None:
        die() if stop == "join" else join(shown, message)
        (folder / "joined").touch()

    def say_or_die(*messages: Message) -> None:
        before = list(takewhile(lambda message: message.kind != stop, messages))
        say(*before)  # what stands before it in the same breath is sent
        if len(before) < len(messages):
            die()

    post.join, post.say = join_or_die, say_or_die  # type: ignore[method-assign]
    return post


def run_organiser(
    url: str, tokens: list[str], folder: Path, patience: float, stop: str | None
) -> None:
    post = _post(url, patience, stop, folder)
    with _ending(folder) as ending:
        terms = Terms.read(post.document(), organiser().id)
        clock = _clock(terms, folder)
        machine = Organiser(organiser(), terms, tokens, post, clock=clock)
        attend(machine, patience=patience, clock=clock)
        if machine.aborted is not None:
            raise machine.aborted.error
        ending["absent"] = list(machine.absent)


def run_party(
    url: str,
    secrets: tuple[bytes, bytes, str],
    token: str,
    vector: Any,
    folder: Path,
    patience: float,
    stop: str | None,
) -> None:
    post = _post(url, patience, stop, folder)
    with _ending(folder) as ending:
        terms = Terms.read(post.document(), organiser().id)
        machine = Member(
            Identity(*secrets), terms, token, vector, post,
            source=SystemSource(), history=History(folder / "history.json"),
        )  # fmt: skip
        attend(machine, patience=patience, clock=_clock(terms, folder))
        ending["totals"] = machine.result().tolist()


class _ending:
    """Writes how a participant ended, unless it was killed."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "ending.json"
        self._fields: dict[str, Any] = {}

    def __enter__(self) -> dict[str, Any]:
        return self._fields

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, ProtocolError):
            self._fields["stopped"] = str(error)
        elif error is not None:
            self._fields["crashed"] = repr(error)
        self._path.write_text(json.dumps(self._fields))
        return True


def die() -> None:
    """As `kill -9` does it."""
    os.kill(os.getpid(), signal.SIGKILL)


def never_wrong(endings: list[dict[str, Any]], truth: Any) -> list[str]:
    """Every ending is the exact total, a clean stop, or a death; returns the stops."""
    for ending in endings:
        assert "crashed" not in ending, ending
        if "totals" in ending:
            assert np.array_equal(ending["totals"], truth)
    return [ending["stopped"] for ending in endings if "stopped" in ending]
