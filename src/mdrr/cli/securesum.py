"""`mdrr securesum`: dependences without trust, by secure sums between real processes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Option

from mdrr.cli.batch import (
    Invitation,
    OrganiserId,
    Patience,
    PlainHttp,
    aggregate,
    at_relay,
    batch,
    offer,
    relay,
    report,
    result,
)
from mdrr.cli.guard import Listed
from mdrr.cli.inviting import (
    Closes,
    MinimumOfInvited,
    PairEpsilon,
    Purpose,
    SurveyName,
    begin,
    closing_time,
    hand_out,
    needs,
)
from mdrr.cli.opened import opened_fields, show_assessment, show_opened
from mdrr.cli.options import AsJson
from mdrr.cli.screen import note, print_answer, print_json, print_text, step
from mdrr.errors import ProtocolError

if TYPE_CHECKING:
    from mdrr.securesum.signed import Roster, Terms

EXAMPLE = "mdrr securesum demo --n 30 --mode aggregators"
_RELAY = "--relay http://127.0.0.1:8765/b/DIGEST"
_BATCH = f"{_RELAY} --organiser ID"
EXAMPLES = {
    "demo": EXAMPLE,
    "offer": "mdrr securesum offer --state agg1 --operator INE --out agg1.json",
    "batch": "mdrr securesum batch --survey adult --invite 200 --offer agg1.json --offer agg2.json "
    "--key organiser.key --out batch",
    "relay": "mdrr securesum relay --batch batch/relay --database sqlite:///relay.db",
    "report": f"mdrr securesum report {_BATCH} --invitation TOKEN --record me.json --state me",
    "aggregate": f"mdrr securesum aggregate {_BATCH} --state agg1",
    "result": f"mdrr securesum result {_BATCH} --state me",
    "group": "mdrr securesum group --survey adult --invite 12 --key organiser.key --out group",
    "organise": f"mdrr securesum organise {_RELAY} --key organiser.key "
    "--invitations group/invitations.txt",
    "party": f"mdrr securesum party {_BATCH} --invitation TOKEN --record me.json --state me",
}

Mode = Annotated[
    Literal["paper", "aggregators"],
    Option(help="paper: people send shares to each other; aggregators: to two or three servers."),
]
Minimum = Annotated[int, Option(help="Reveal no total of fewer people.")]
RunUrl = Annotated[
    str, Option("--relay", help="Address of the group, as 'mdrr securesum relay' prints it.")
]
securesum = typer.Typer(
    cls=Listed, help="Measure dependences by secure sums: nobody sees another's answers."
)


def demo(
    n: Annotated[int, Option("--n", "-n", help="How many people, one process each.")] = 30,
    mode: Mode = "aggregators",
    epsilon: PairEpsilon = None,
    minimum: Minimum = 3,
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

    needs("uvicorn", "fastapi", "httpx")
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


def group(
    invite: Annotated[int, Option(help="How many people to invite.")],
    key: Annotated[Path, Option(help="File of the organiser's keys; it is made if there is none.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder to write to; it must not exist.")],
    survey: SurveyName = "adult",
    epsilon: PairEpsilon = None,
    minimum: MinimumOfInvited = None,
    closes: Closes = None,
    purpose: Purpose = "",
) -> None:
    """Sign what a small group is asked, without a network, and make its invitations."""
    from mdrr.securesum.batch import make_group

    leader, question, tokens, source = begin(survey, epsilon, key, invite, out)
    terms, folder = make_group(
        leader, question, tokens, source,
        closes=closing_time(closes), minimum=minimum, purpose=purpose,
    )  # fmt: skip
    hand_out(folder, tokens, out, leader.id)
    step(f"Nothing opens for fewer than {terms.minimum} of {terms.people}. Closes {terms.closing}.")
    print_json({"group": terms.digest, "organiser": leader.id})


def organise(
    relay: RunUrl,
    key: Annotated[Path, Option(help="File of the organiser's keys, as given to 'group'.")],
    invitations: Annotated[Path, Option(help="File of the invitations that 'group' made.")],
    patience: Patience = 600.0,
    plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Check who joins a small group, and sign the list when all are there or it closes."""
    needs("httpx")
    from mdrr.securesum.inputs import load_or_make
    from mdrr.securesum.members import Organiser, attend
    from mdrr.securesum.signed import Terms
    from mdrr.source import SystemSource

    if not key.exists():
        raise ProtocolError(f"there is no key file {key}. Give the one of 'mdrr securesum group'")
    leader = load_or_make(key, SystemSource())
    with at_relay(Terms, relay, leader.id, min(patience, 60.0), plain_http) as (post, terms):
        post.patience = patience  # it was there, so it is waited for if it is started again
        machine = Organiser(leader, terms, invitations.read_text().split(), post)
        step(f"{terms.people} people are invited. The list is signed when all have come, or at "
             f"{terms.closing} if {terms.minimum} have.")  # fmt: skip
        attend(machine, patience=patience)
    for why in machine.refused:
        step(f"Refused: {why}.")
    if machine.absent:
        step(f"Not here: invitations {', '.join(map(str, machine.absent))} of {invitations}.")
    if machine.aborted is not None:
        raise machine.aborted.error
    roster = machine.frozen
    assert roster is not None
    came = {name: machine.invitation_of(name) for name in roster.ids}
    fields = {"roster": roster.digest, "members": came, "absent": list(machine.absent)}
    rows = "\n".join(f"{name[:12]}  invitation {number}" for name, number in came.items())
    print_answer(fields, f"Roster of {len(came)} parties: {roster.spoken}\n{rows}", as_json=as_json)


def party(
    relay: RunUrl,
    organiser: OrganiserId,
    invitation: Invitation,
    record: Annotated[Path, Option(help="Your answers: a JSON object, attribute to label.")],
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
    needs("httpx")
    from mdrr.securesum.admission import RELAY, credential
    from mdrr.securesum.history import History
    from mdrr.securesum.inputs import load_or_make, read_record, record_codes
    from mdrr.securesum.members import Member, attend
    from mdrr.securesum.private import refuse_if_others_look
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
        if terms.minimum < minimum:
            raise ProtocolError(f"the terms open for {terms.minimum} people; you ask for {minimum}")
        step(f"Purpose: {' '.join(terms.purpose.split()) or 'not stated'}.")
        step(f"Asked: {', '.join(terms.question.domain.names)}. {terms.question.promise}")
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


for _command in (demo, offer, batch, relay, report, aggregate, result, group, organise, party):
    securesum.command(epilog=f"\b\nExample: {EXAMPLES[_command.__name__]}")(_command)
