"""Real processes for the fault tests: a relay that misbehaves, parties, aggregators.

Children come from a fork server that has the modules loaded, so each starts in milliseconds; they
share nothing but the relay's HTTP and, for a restarted aggregator, its files.
"""

import json
import multiprocessing
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from mdrr.errors import ProtocolError
from mdrr.securesum.history import FileHistory
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.organiser import Organiser
from mdrr.securesum.paper import Party
from mdrr.securesum.terms import Terms
from mdrr.securesum.transport import roles
from mdrr.securesum.transport.client import RelayClient
from mdrr.securesum.transport.listening import listen, serve
from mdrr.securesum.transport.mailbox import Mailbox
from mdrr.securesum.transport.relay import Relay
from mdrr.source import SystemSource
from tests.faults import mischief
from tests.securesum.group import QUESTION, Group, organiser

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.faults.cast"])
PATIENCE = 6.0
"""How long a participant waits at a step; an abort by absence takes this long, on a busy machine
too. Runs that end in aborts therefore wait side by side: see the tests."""

Recipe = tuple[str, tuple[Any, ...]]


@dataclass
class Cast:
    """Everybody in one run.

    Arguments:
        group: the people and their records.
        mode: `paper` or `aggregators`.
        folder: for files.
        mischief: name and arguments of what the relay does.
        patience: see PATIENCE.
    """

    group: Group
    mode: str
    folder: Path
    mischief: Recipe | None = None
    patience: float = PATIENCE
    close_after: float = 600.0
    children: list[BaseProcess] = field(default_factory=list)
    url: str = ""

    @property
    def terms(self) -> Terms:
        return (self.group.roster if self.mode == "paper" else self.group.batch).terms

    def __enter__(self) -> "Cast":
        bound = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        self.start(run_relay, bound, self.terms, len(self.group.operators), self.mischief,
                   self.close_after)  # fmt: skip
        bound.close()
        return self

    def __exit__(self, *error: object) -> None:
        for child in self.children:
            if child.is_alive():
                child.kill()
        for child in self.children:
            child.join(10)

    def start(self, target: Callable[..., None], *args: Any) -> BaseProcess:
        child = PROCESSES.Process(target=target, args=args, daemon=True)
        child.start()
        self.children.append(child)
        return child

    def party(self, k: int, stop_before: str | None = None) -> BaseProcess:
        """Party k; `stop_before` makes her die before she sends a message of that kind."""
        who = keys(self.group.identities[k])
        return self.start(run_party, self.url, who, self.group.vectors[k],
                          self.folder / f"party{k}", self.patience, stop_before)  # fmt: skip

    def aggregator(self, k: int, die_after: int | None = None) -> BaseProcess:
        """Aggregator k; `die_after` kills it (SIGKILL) after so many messages it has taken in."""
        return self.start(run_aggregator, self.url, keys(self.group.aggregators[k]),
                          self.folder / f"aggregator{k}", self.patience, die_after)  # fmt: skip

    def endings(self, name: str, count: int, timeout: float = 60.0) -> list[dict[str, Any]]:
        """How the participants of a role ended, once they have."""
        for child in self.children[1:]:
            child.join(timeout)
            assert not child.is_alive(), "a participant hangs"
        paths = [self.folder / f"{name}{k}" / "ending.json" for k in range(count)]
        return [json.loads(path.read_text()) if path.exists() else {} for path in paths]


def keys(identity: Identity) -> tuple[bytes, bytes, str]:
    """What crosses to another process."""
    return identity.signing_secret, identity.sealing_secret, identity.operator


def run_relay(
    bound: Any, terms: Terms, aggregators: int, recipe: Recipe | None, late: float
) -> None:
    meddle = getattr(mischief, recipe[0])(*recipe[1]) if recipe else mischief.drop("", "")
    relay = Relay(
        Organiser(organiser(), terms, aggregators=aggregators), Mailbox(meddle), patience=late
    )
    serve(relay, bound)


def run_party(
    url: str,
    secrets: tuple[bytes, bytes, str],
    vector: Any,
    folder: Path,
    patience: float,
    stop: str | None,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    identity = Identity(*secrets)
    client = RelayClient(url, identity.id, patience=patience)
    if stop is not None:
        post = client.post

        def until(*messages: Any) -> None:
            if any(message.kind == stop for message in messages):
                _die()
            post(*messages)

        client.post = until  # type: ignore[method-assign]
    with _ending(folder) as ending:
        terms = Terms.read(client.terms(), organiser().id)
        history = FileHistory(folder / "history.json")
        if terms.mode == "aggregators":
            roles.run_person(client, identity, lambda _: vector, SystemSource(), terms)
            ending["reported"] = True
            return
        outcome = roles.run_party(
            client, identity, lambda _: vector, SystemSource(), terms, history=history
        )
        ending["totals"] = outcome.totals.tolist()


def run_aggregator(
    url: str,
    secrets: tuple[bytes, bytes, str],
    folder: Path,
    patience: float,
    die_after: int | None,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    identity = Identity(*secrets)
    client = RelayClient(url, identity.id, patience=patience)
    if die_after is not None:
        fetch, taken = client.fetch, [0]

        def counted(wait: float, **options: Any) -> Any:
            arrived = fetch(wait, **{**options, "least": 1})  # as they come, to die among them
            if taken[0] >= die_after:
                _die()
            taken[0] += len(arrived)
            return arrived

        client.fetch = counted  # type: ignore[method-assign]
    with _ending(folder) as ending:
        terms = Terms.read(client.terms(), organiser().id)
        ledger = SqliteLedger(folder / "ledger.sqlite")
        outcome = roles.run_aggregator(client, identity, ledger, terms)
        ending["totals"], ending["people"] = outcome.totals.tolist(), outcome.people


class _ending:
    """Writes how a participant ended, unless it was killed."""

    def __init__(self, folder: Path) -> None:
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


def _die() -> None:
    import os

    os.kill(os.getpid(), signal.SIGKILL)


def never_wrong(endings: list[dict[str, Any]], truth: Any) -> list[str]:
    """Every ending is the exact total, a clean stop, or a death; returns the stops."""
    for ending in endings:
        assert "crashed" not in ending, ending
        if "totals" in ending:
            assert np.array_equal(ending["totals"], truth)
    return [ending["stopped"] for ending in endings if "stopped" in ending]


__all__ = ["QUESTION", "Cast", "Party", "never_wrong"]
