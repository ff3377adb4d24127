"""A whole run between real processes on this machine: relay, parties, aggregators.

Every participant is `mdrr …` in a process of its own; they meet only through the relay's HTTP.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy.typing as npt

from mdrr.domain import Domain
from mdrr.errors import AbortedError, ProtocolError


def run_demo(
    domain: Domain,
    codes: Sequence[npt.NDArray[Any]],
    folder: Path,
    *,
    mode: str,
    minimum: int,
    epsilon: float | None,
    patience: float,
    say: Callable[[str], None],
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
    n, survey, key, out = len(codes[0]), folder / "domain.json", folder / "key", folder / "run"
    survey.write_text(json.dumps(domain.to_dict()))
    for k, record in enumerate(zip(*codes, strict=True)):
        asked = zip(domain.attributes, record, strict=True)
        labels = {attribute.name: attribute.categories[code] for attribute, code in asked}
        (folder / f"record{k}.json").write_text(json.dumps(labels))
    terms: list[object] = ["--survey", survey, "--key", key, "--minimum", minimum, "--out", out]
    terms += [] if epsilon is None else ["--epsilon", epsilon]
    states = [folder / f"aggregator{k}" for k in range(2 if mode == "aggregators" else 0)]
    with _Cast(patience) as cast:
        for state in states:
            file = state.with_suffix(".json")
            cast.start("offer", "--state", state, "--operator", "this demo", "--out", file)
            terms += ["--offer", file]
        cast.finish(*cast.started)
        what = "batch" if states else "group"
        [signed] = cast.finish(cast.start(what, "--invite", n, *terms))
        say(f"{n} invitations made, {what} signed")
        database = f"sqlite:///{folder / 'relay.db'}"
        url = cast.relay("--batch", out / "relay", "--database", database, "--port", 0)
        say(f"relay at {url}")
        common = ("--relay", url, "--organiser", json.loads(signed)["organiser"],
                  "--patience", patience, "--json")  # fmt: skip
        tokens = out / "invitations.txt"
        people = [
            (*common, "--invitation", token, "--state", folder / f"person{k}",
             "--record", folder / f"record{k}.json")
            for k, token in enumerate(tokens.read_text().split())
        ]  # fmt: skip
        if states:
            servers = [cast.start("aggregate", "--state", state, *common) for state in states]
            for at in range(0, n, 4):  # as many at once as a small machine likes
                cast.finish(*[cast.start("report", *mine) for mine in people[at : at + 4]])
            say(f"{n} people reported, one process each")
            said = cast.finish(*servers)
        else:
            leader = cast.start("organise", "--relay", url, "--key", key, "--invitations", tokens)
            parties = [cast.start("party", *mine, "--yes") for mine in people]
            say(f"{n} parties started")
            cast.finish(leader)
            said = cast.finish(*parties)
    answers: list[dict[str, Any]] = [json.loads(one) for one in said]
    if any(answer["totals"] != answers[0]["totals"] for answer in answers):
        raise ProtocolError("the participants ended with different totals")
    return {"note": "", **answers[0]}


class _Cast:
    """The processes of a run; those that still work at the end are ended."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.started:
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            process.communicate()

    def start(self, *args: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "mdrr", "securesum", *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def relay(self, *args: object) -> str:
        """Start a relay; its address."""
        relay = self.start("relay", *args)
        assert relay.stdout is not None
        line = relay.stdout.readline()
        if not line:
            raise ProtocolError(f"the relay did not start: {_last(relay.communicate()[1])}")
        return str(json.loads(line)["url"])

    def finish(self, *processes: subprocess.Popen[str]) -> list[str]:
        """What they printed, once all have ended well."""
        deadline = time.monotonic() + 3 * self._patience
        said = []
        for process in processes:
            try:
                out, err = process.communicate(timeout=max(deadline - time.monotonic(), 1.0))
            except subprocess.TimeoutExpired:
                raise AbortedError("a participant did not finish in time") from None
            if process.returncode:
                raise AbortedError(_last(err) or "a participant failed")
            said.append(out)
        return said


def _last(err: str) -> str:
    """What went wrong; before it stands what was told."""
    return err.strip().rpartition("\n")[2].removeprefix("mdrr: ")
