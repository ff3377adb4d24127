"""`mdrr securesum`: dependences without trust, by secure sums between real processes."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Option

from mdrr.cli import guard
from mdrr.cli.aggregating import aggregate, offer, result
from mdrr.cli.options import AsJson, OrganiserId, PairEpsilon, Patience, PlainHttp, RunUrl
from mdrr.cli.organising import (
    at_relay,
    batch,
    group,
    opened_fields,
    organise,
    relay,
    show_aggregators,
    show_assessment,
    show_opened,
)
from mdrr.cli.screen import note, print_answer, print_json, print_text, step
from mdrr.errors import ProtocolError
from mdrr.securesum.belongings import read_record, record_codes
from mdrr.securesum.private import refuse_if_others_look

if TYPE_CHECKING:
    from mdrr.securesum.batch import Batch
    from mdrr.securesum.signed import Roster, Terms

Invitation = Annotated[str, Option(help="Your invitation, 43 characters.")]
Record = Annotated[Path, Option(help="Your answers: a JSON object, attribute to label.")]


def demo(
    n: Annotated[int, Option("--n", "-n", help="How many people, one process each.")] = 30,
    mode: Annotated[
        Literal["paper", "aggregators"],
        Option(
            help="paper: people send shares to each other; aggregators: to two or three servers."
        ),
    ] = "aggregators",
    epsilon: PairEpsilon = None,
    minimum: Annotated[int, Option(help="Reveal no total of fewer people.")] = 3,
    max_cells: Annotated[int, Option(help="T_v: most combinations a cluster may have.")] = 100,
    min_dependence: Annotated[
        float, Option(help="T_d: least dependence of attributes to merge.")
    ] = 0.1,
    patience: Patience = 120.0,
    as_json: AsJson = False,
) -> None:
    """Run a whole secure sum here: a relay and one process per person, on rows of Adult."""
    import tempfile

    import numpy as np

    from mdrr.datasets import adult, adult_domain
    from mdrr.frames import encode
    from mdrr.securesum.question import Question
    from mdrr.securesum.signed import FLOOR
    from mdrr.securesum.transport.processes import run_demo
    from mdrr.securesum.ways import assess

    if n < FLOOR or minimum < FLOOR:
        few = f"--n {n}" if n < FLOOR else f"--minimum {minimum}"
        raise ProtocolError(
            f"{few} is too few: of two people each learns the other's answers from the total and "
            f"her own. Give {few.split()[0]} {FLOOR} or more"
        )
    if n < minimum:
        raise ProtocolError(
            f"--n {n} is fewer than --minimum {minimum}, so nothing would open. Give --n {minimum} "
            f"or more, or --minimum {n}"
        )
    domain = adult_domain()
    codes = [np.asarray(column)[:n] for column in encode(adult(), domain)]
    with tempfile.TemporaryDirectory(prefix="mdrr-securesum-") as folder:
        answer = run_demo(
            domain, codes, Path(folder),
            mode=mode, minimum=minimum, epsilon=epsilon, patience=patience, say=note,
        )  # fmt: skip
    question = Question.from_dict(answer["question"])
    totals = np.asarray(answer["totals"], np.int64)
    if not question.matrices and not np.array_equal(totals, question.sums(codes)):
        raise AssertionError("the opened totals are not those of the records")
    note(answer["note"])
    found = assess(question, totals, answer["n"])
    clusters = found.cluster(max_cells=max_cells, min_dependence=min_dependence)
    if not as_json:
        show_assessment(found, clusters)
        return
    note(found.caution)
    print_json(
        {
            **opened_fields(question, totals, found.people),
            **found.dependences.to_dict(),
            "clusters": [list(names) for names in clusters],
        }
    )


def report(
    relay: RunUrl,
    organiser: OrganiserId,
    invitation: Invitation,
    record: Record,
    state: Annotated[Path, Option(help="Folder where this device keeps what it answered before.")],
    minimum: Annotated[int, Option(help="Report only if no total of fewer people opens.")] = 3,
    aggregator: Annotated[
        list[str] | None,
        Option(metavar="ID", help="Report only to these, by the ids their operators publish."),
    ] = None,
    patience: Patience = 60.0,
    plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Send your answers, split and sealed for the aggregators, once. Nobody waits for anybody."""
    from mdrr.securesum.admission import RELAY, credential
    from mdrr.securesum.batch import Batch
    from mdrr.securesum.device import Device
    from mdrr.securesum.person import make_reports
    from mdrr.securesum.transport.remote import RemotePost
    from mdrr.source import SystemSource

    refuse_if_others_look(state)
    answers, source, device = read_record(record), SystemSource(), Device(state)
    credential(invitation, RELAY)  # before anybody hears of her
    with at_relay(Batch, relay, organiser, patience, plain_http) as (post, found):
        if aggregator:
            found.check_ids(aggregator)
        if time.time() >= found.closes:
            raise ProtocolError(f"this batch closed on {found.closing}; nothing was reported")
        _introduce(found, minimum)
        step(f"A total opens for at least {found.minimum} of {found.people} people invited.")
        show_aggregators(found)
        step(found.trust)
        codes = record_codes(answers, found.question.domain, record)
        made = device.prepare(
            found,
            relay,
            lambda: make_reports(
                found, [invitation], found.question.positions([[c] for c in codes], source), source
            )[0],
            lambda url: RemotePost(url, patience=5.0, plain=plain_http),
        )
        if made is not None:
            post.upload(made)
            device.arrived(found)
        what = (
            "You had reported already" if made is None else f"Reported ({post.sent:,} bytes sent)"
        )
        spent = device.spent()
        words = (
            f"All you reported from here spends ε = {spent:.2f}." if spent < float("inf") else ""
        )
        number = device.report_in(found)
        print_answer(
            {"reported": made is not None, "report": number.hex() if number else "",
             "trust": found.trust, "epsilon": spent if words else None, "bytes_sent": post.sent},
            f"{what}. {words}".strip(),
            as_json=as_json,
        )  # fmt: skip


def party(
    relay: RunUrl,
    organiser: OrganiserId,
    invitation: Invitation,
    record: Record,
    state: Annotated[Path, Option(help="Folder for your keys and the runs you were in.")],
    roster: Annotated[
        str | None, Option(help="Accept only the roster with this digest, and do not ask.")
    ] = None,
    yes: Annotated[
        bool, Option("--yes", "-y", help="Accept the roster without asking, whoever is on it.")
    ] = False,
    minimum: Annotated[int, Option(help="Take part only among this many people or more.")] = 3,
    patience: Patience = 1800.0,
    plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Take part in the paper's own protocol among a small group, and see the total."""
    from mdrr.securesum.admission import RELAY, credential
    from mdrr.securesum.belongings import load_or_make
    from mdrr.securesum.history import History
    from mdrr.securesum.members import Member, attend
    from mdrr.securesum.signed import Terms
    from mdrr.source import SystemSource

    refuse_if_others_look(state)
    answers, source = read_record(record), SystemSource()
    history = History(state / "history.json")
    credential(invitation, RELAY)  # before anybody hears of her
    if roster is not None and not re.fullmatch("[0-9a-f]{64}", "".join(roster.split())):
        raise ProtocolError(
            "--roster needs the digest of a roster, 64 digits and letters, as 'mdrr securesum "
            "organise' prints it"
        )
    if roster is None and not yes and not sys.stdin.isatty():
        raise ProtocolError(
            "nobody can confirm the list of members here. Give the command on a terminal, or add "
            "--yes to take part whoever is on the list"
        )
    with at_relay(Terms, relay, organiser, min(patience, 60.0), plain_http) as (post, terms):
        post.patience = patience  # it was there, so it is waited for if it is started again
        _introduce(terms, minimum)
        history.revealed()  # before anybody waits for her
        _check_batches(state, terms, plain_http)
        codes = record_codes(answers, terms.question.domain, record)
        identity = load_or_make(state / "keys.json", source)
        step(f"You are {identity.id[:12]}. The list is signed by {terms.closing}.")

        def confirm(listed: Roster) -> None:
            if any(one.allows(frozenset(listed.ids)) for one in history.revealed()):
                step(
                    "You took part in this group before and saw no total. Others may have seen "
                    "one: give the same answers again, since a change could show."
                )
            _confirm(listed, identity.id, roster, yes)

        machine = Member(
            identity, terms, invitation, terms.question.encode(codes, source), post,
            source=source, history=history, minimum=minimum, confirm=confirm,
        )  # fmt: skip
        attend(machine, patience=patience)
    totals = machine.result()
    assert machine.party is not None
    if as_json:
        print_json(opened_fields(terms.question, totals, machine.party.people))
        return
    show_opened(terms.question, totals, machine.party.people)
    if (spent := history.spent()) < float("inf"):
        print_text(f"All you answered in small groups from here spends ε = {spent:.2f}.")


def _confirm(listed: Roster, me: str, agreed: str | None, yes: bool) -> None:
    """Show the roster, and refuse it unless the person confirms it or has done so before."""
    names = (f"{one[:12]}{' (you)' if one == me else ''}" for one in listed.ids)
    step(f"Roster of {len(listed.ids)} parties: {', '.join(names)}.\nIts digest: {listed.spoken}")
    if agreed is not None:
        if listed.digest != "".join(agreed.split()):
            raise ProtocolError("the roster is not the one that was agreed on")
    elif not yes:
        step("Read the digest to somebody you know in the group, by telephone. The others wait.")
        if not typer.confirm("Does the other person have the same digest?", err=True):
            raise ProtocolError("the roster was not confirmed")


def _check_batches(state: Path, terms: Terms, plain: bool) -> None:
    """Refuse what was answered exactly in a batch before."""
    if not (state / "answered.json").exists():  # the rest loads slowly
        return
    from mdrr.securesum.device import Device
    from mdrr.securesum.transport.remote import RemotePost

    Device(state).check(terms.question, lambda url: RemotePost(url, patience=5.0, plain=plain))


def _introduce(found: Batch | Terms, minimum: int) -> None:
    """Say what is asked and what for; refuse what opens for fewer people than she wants."""
    if found.minimum < minimum:
        raise ProtocolError(f"a total opens for {found.minimum} people; you ask for {minimum}")
    step(f"Purpose: {' '.join(found.purpose.split()) or 'not stated'}.")
    step(f"Asked: {', '.join(found.question.domain.names)}. {found.question.promise}")


_RELAY = "--relay http://127.0.0.1:8765/b/DIGEST"
_BATCH = f"{_RELAY} --organiser ID"
securesum, EXAMPLES = guard.group(
    "securesum",
    {
        "demo": (demo, "--n 30 --mode aggregators"),
        "offer": (offer, "--state agg1 --operator INE --out agg1.json"),
        "batch": (
            batch,
            "--survey adult --invite 200 --offer agg1.json --offer agg2.json --key organiser.key "
            "--out batch",
        ),
        "relay": (relay, "--batch batch/relay --database sqlite:///relay.db"),
        "report": (report, f"{_BATCH} --invitation TOKEN --record me.json --state me"),
        "aggregate": (aggregate, f"{_BATCH} --state agg1"),
        "result": (result, f"{_BATCH} --state me"),
        "group": (group, "--survey adult --invite 12 --key organiser.key --out group"),
        "organise": (organise, f"{_RELAY} --key organiser.key --invitations group/invitations.txt"),
        "party": (party, f"{_BATCH} --invitation TOKEN --record me.json --state me"),
    },
)
