"""A whole run between real processes on this machine: relay, parties, aggregators.

Every participant is `mdrr …` in a process of its own; they meet only through the relay's HTTP.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mdrr.domain import Domain
from mdrr.errors import AbortedError, ProtocolError
from mdrr.securesum.transport.keyfile import load_or_make
from mdrr.source import SystemSource

Say = Callable[[str], None]


def run_demo(
    domain: Domain,
    codes: Sequence[npt.NDArray[Any]],
    folder: Path,
    *,
    mode: str = "paper",
    minimum: int = 3,
    epsilon: float | None = None,
    patience: float = 120.0,
    say: Say = lambda text: None,
) -> dict[str, Any]:
    """Start everybody, wait for the totals, stop everybody.

    Arguments:
        domain: what is asked.
        codes: the records, one code column per attribute; one process per record.
        folder: for keys, records and ledgers.
        mode: `paper`, or `aggregators` with two of them.
        minimum: the fewest people a total opens for.
        epsilon: what one person spends in all with randomized pairs; None for exact tables.
        patience: seconds each participant waits for others.
        say: told what happens.

    Returns:
        What the participants printed: `totals`, `n`, `question`, and `note`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "domain.json").write_text(json.dumps(domain.to_dict()))
    organiser = load_or_make(folder / "organiser.key", SystemSource()).id
    for k in range(len(codes[0])):
        (folder / f"record{k}.json").write_text(json.dumps(_labels(domain, codes, k)))
    cast = _Cast(folder, organiser, len(codes[0]), minimum, epsilon, patience, say)
    try:
        return _paper(cast) if mode == "paper" else _batch(cast)
    finally:
        for process in cast.started:
            if process.poll() is None:
                process.terminate()
        for process in cast.started:
            process.communicate()


@dataclass
class _Cast:
    folder: Path
    organiser: str
    n: int
    minimum: int
    epsilon: float | None
    patience: float
    say: Say
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def common(self) -> list[str]:
        return ["--organiser", self.organiser, "--patience", str(self.patience), "--json"]

    @property
    def asked(self) -> list[str]:
        spent = () if self.epsilon is None else ("--epsilon", str(self.epsilon))
        survey, key = self.folder / "domain.json", self.folder / "organiser.key"
        return ["--survey", str(survey), "--key", str(key), "--minimum", str(self.minimum), *spent]

    def start(self, *args: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "mdrr", "securesum", *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def finish(self, *processes: subprocess.Popen[str]) -> list[str]:
        """What they printed, once all have ended well."""
        deadline = time.monotonic() + 3 * self.patience
        said = []
        for process in processes:
            try:
                left = max(deadline - time.monotonic(), 1.0)
                out, err = process.communicate(timeout=left)
            except subprocess.TimeoutExpired:
                raise AbortedError("a participant did not finish in time") from None
            if process.returncode:
                raise AbortedError(_last(err) or "a participant failed")
            said.append(out)
        return said


def _paper(cast: _Cast) -> dict[str, Any]:
    out = cast.folder / "group"
    cast.finish(cast.start("group", "--invite", cast.n, "--out", out, *cast.asked))
    cast.say(f"{cast.n} invitations made, terms signed")
    url = _serve(cast, out)
    files = ("--key", cast.folder / "organiser.key", "--invitations", out / "invitations.txt")
    leader = cast.start("organise", "--relay", url, *files)
    people = []
    for k, token in enumerate((out / "invitations.txt").read_text().split()):
        mine = ("--record", cast.folder / f"record{k}.json", "--state", cast.folder / f"party{k}")
        shown = ("--relay", url, "--invitation", token)
        people.append(cast.start("party", *shown, *mine, *cast.common, "--yes"))
    cast.say(f"{cast.n} parties started")
    cast.finish(leader)
    return {**_agreed(cast.finish(*people)), "note": ""}


def _serve(cast: _Cast, out: Path) -> str:
    database = ("--database", f"sqlite:///{cast.folder / 'relay.db'}")
    url = _address(cast.start("relay", "--batch", out / "relay", *database, "--port", 0))
    cast.say(f"relay at {url}")
    return url


def _batch(cast: _Cast) -> dict[str, Any]:
    states = [cast.folder / f"aggregator{k}" for k in range(2)]
    files = [cast.folder / f"offer{k}.json" for k in range(2)]
    offers = [
        cast.start("offer", "--state", state, "--operator", "this demo", "--out", file)
        for state, file in zip(states, files, strict=True)
    ]
    cast.finish(*offers)
    named = [word for file in files for word in ("--offer", file)]
    out = cast.folder / "batch"
    cast.finish(cast.start("batch", "--invite", cast.n, *named, "--out", out, *cast.asked))
    cast.say(f"{cast.n} invitations made, batch signed")
    url = _serve(cast, out)
    servers = [
        cast.start("aggregate", "--relay", url, "--state", state, *cast.common) for state in states
    ]
    tokens = (out / "invitations.txt").read_text().split()
    for at in range(0, cast.n, 4):  # as many at once as a small machine likes
        some = []
        for k, token in enumerate(tokens[at : at + 4], at):
            mine = ("--record", cast.folder / f"record{k}.json", "--invitation", token)
            state = ("--state", cast.folder / f"person{k}")
            some.append(cast.start("report", "--relay", url, *mine, *state, *cast.common))
        cast.finish(*some)
    cast.say(f"{cast.n} people reported, one process each")
    return _agreed(cast.finish(*servers))


def _address(relay: subprocess.Popen[str]) -> str:
    assert relay.stdout is not None
    line = relay.stdout.readline()
    if not line:
        raise ProtocolError(f"the relay did not start: {_last(relay.communicate()[1])}")
    return str(json.loads(line)["url"])


def _last(err: str) -> str:
    """What went wrong; before it stands what was told."""
    return err.strip().rpartition("\n")[2].removeprefix("mdrr: ")


def _agreed(said: list[str]) -> dict[str, Any]:
    answers: list[dict[str, Any]] = [json.loads(out) for out in said]
    first = answers[0]
    if any(answer["totals"] != first["totals"] for answer in answers):
        raise ProtocolError("the participants ended with different totals")
    return first


def _labels(domain: Domain, codes: Sequence[npt.NDArray[Any]], k: int) -> dict[str, Any]:
    return {
        attribute.name: attribute.categories[int(np.asarray(column)[k])]
        for attribute, column in zip(domain.attributes, codes, strict=True)
    }
