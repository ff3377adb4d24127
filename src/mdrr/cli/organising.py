"""`mdrr securesum batch`, `group`, `relay`, `organise`: who asks, who delivers; what all share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from mdrr.cli.options import AsJson, PairEpsilon, Patience, PlainHttp, RunUrl
from mdrr.cli.screen import print_answer, print_json, print_table, print_text, step
from mdrr.errors import ProtocolError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mdrr.securesum.batch import Batch
    from mdrr.securesum.ledger import Ledger
    from mdrr.securesum.question import Question
    from mdrr.securesum.signed import Signed, Terms
    from mdrr.securesum.transport.remote import RemotePost
    from mdrr.securesum.ways import Assessment

Invited = Annotated[int, Option(help="How many people to invite.")]
OrganiserKey = Annotated[
    Path, Option(help="File of the organiser's keys; it is made if there is none.")
]
NewFolder = Annotated[Path, Option("--out", "-o", help="Folder to write to; it must not exist.")]
SurveyName = Annotated[
    str, Option("--survey", "-s", help="What is asked: a survey file, a design or adult.")
]
MinimumOfInvited = Annotated[
    int | None,
    Option(help="Open no total of fewer people. Default: half of those invited, at least 10."),
]
Closes = Annotated[
    str | None, Option(help="Until when to come, as 2030-12-01T12:00Z. Default: a week.")
]
Purpose = Annotated[str, Option(help="What the answers are for; everyone sees it.")]
_OTHER = {
    "terms": "a small group, which has no aggregators: see 'mdrr securesum party' and 'mdrr "
    "securesum organise'",
    "batch": "a batch, which has aggregators: see 'mdrr securesum report' and 'mdrr securesum "
    "result'",
}


def batch(
    invite: Invited,
    offer: Annotated[list[Path], Option(help="An aggregator's offer, two to five times.")],
    key: OrganiserKey,
    out: NewFolder,
    survey: SurveyName = "adult",
    epsilon: PairEpsilon = None,
    minimum: MinimumOfInvited = None,
    closes: Closes = None,
    purpose: Purpose = "",
) -> None:
    """Sign a batch, without a network: who aggregates, what is asked, who is invited."""
    from mdrr.securesum.batch import make_batch, make_group
    from mdrr.securesum.belongings import load_or_make, read_domain
    from mdrr.securesum.message import Message
    from mdrr.securesum.private import write_atomically
    from mdrr.securesum.question import Question, randomized_in_all
    from mdrr.server.held import new_tokens
    from mdrr.source import SystemSource

    if out.exists():
        raise ProtocolError(f"{out} exists; name a new folder, so that no invitations are lost")
    asked, source = read_domain(survey), SystemSource()
    question = Question(asked) if epsilon is None else randomized_in_all(asked, epsilon)
    leader, tokens = load_or_make(key, source), new_tokens(invite)
    said: dict[str, Any] = {"minimum": minimum, "purpose": purpose}
    said["closes"] = _closing_time(closes)
    made: Batch | Terms
    if offer:
        offers = [Message.from_json(path.read_bytes()) for path in offer]
        made, folder = make_batch(leader, question, offers, tokens, source, **said)
    else:
        made, folder = make_group(leader, question, tokens, source, **said)
    invitations = out / "invitations.txt"
    write_atomically(invitations, "".join(f"{one}\n" for one in tokens).encode())
    folder.save(out / "relay")
    step(f"Organiser {leader.id}: tell people this id in a way they can trust.")
    step(f"Give {out / 'relay'} to the relay, and each line of {invitations} to one person.")
    show_aggregators(made)
    step(f"Nothing opens for fewer than {made.minimum} of {made.people}. Closes {made.closing}.")
    print_json({"batch" if offer else "group": made.digest, "organiser": leader.id})


def group(
    invite: Invited,
    key: OrganiserKey,
    out: NewFolder,
    survey: SurveyName = "adult",
    epsilon: PairEpsilon = None,
    minimum: MinimumOfInvited = None,
    closes: Closes = None,
    purpose: Purpose = "",
) -> None:
    """Sign what a small group is asked, without a network, and make its invitations."""
    batch(invite, [], key, out, survey, epsilon, minimum, closes, purpose)  # nobody aggregates


def show_aggregators(found: Batch | Terms) -> None:
    """Say who aggregates a batch; a group needs nobody."""
    for one in getattr(found, "aggregators", ()):
        step(f"Aggregator {one.id}, which calls its operator {one.operator or '(unnamed)'!r}")


def _closing_time(text: str | None) -> int:
    """The time in an option, in seconds since 1970; in a week if there is none."""
    if text is None:
        return int((datetime.now(UTC) + timedelta(days=7)).timestamp())
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        when = None
    if when is None or when.tzinfo is None:
        raise ProtocolError(f"--closes {text!r} is not a time such as 2030-12-01T12:00Z")
    if when <= datetime.now(UTC):
        raise ProtocolError(f"--closes {text!r} is over. Give a time to come")
    return int(when.timestamp())


def relay(
    batch: Annotated[
        list[Path] | None, Option(help="Folder 'relay' of a batch or group to add; repeatable.")
    ] = None,
    database: Annotated[
        str, Option(help="SQLite file or PostgreSQL URL; it is made ready if it is new.")
    ] = "sqlite:///relay.db",
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen on; 0 takes a free one.")] = 8765,
) -> None:
    """Store sealed reports and signed messages, and hand them out. It cannot read an answer."""
    from mdrr.securesum.batch import Batch, Folder
    from mdrr.securesum.keys import name_of
    from mdrr.securesum.transport.postbox import Postbox
    from mdrr.securesum.transport.service import listen, serve

    folders = [Folder.load(path) for path in batch or ()]
    box = Postbox(database)
    for folder in folders:
        box.open(folder)
    bound = listen(host, port)
    held = box.runs()
    for signed in held:
        line = {
            "url": f"http://{host}:{bound.getsockname()[1]}/b/{signed.digest}",
            "organiser": name_of(signed.organiser),
            "kind": "batch" if isinstance(signed, Batch) else "group",
            "purpose": signed.purpose,
            "asked": signed.question.domain.names,
        }
        print(json.dumps(line), flush=True)
    if not held:
        step("There is no batch yet. Add one with --batch FOLDER.")
    serve(box, bound)


def organise(
    relay: RunUrl,
    key: Annotated[Path, Option(help="File of the organiser's keys, as given to 'group'.")],
    invitations: Annotated[Path, Option(help="File of the invitations that 'group' made.")],
    patience: Patience = 600.0,
    plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Check who joins a small group, and sign the list when all are there or it closes."""
    from mdrr.securesum.belongings import load_or_make
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


@contextmanager
def at_relay(
    what: type[Signed],
    url: str,
    organiser: str,
    patience: float,
    plain: bool,
    ledger: Ledger | None = None,
) -> Iterator[tuple[RemotePost, Signed]]:
    """The relay of a batch or a group, and what its organiser signed.

    A ledger keeps the batch, so that its aggregator can end it when the relay is gone.
    """
    from mdrr.securesum.message import Message
    from mdrr.securesum.transport.remote import RemotePost

    named = url.rstrip("/").rpartition("/")[2]
    kept = None if ledger is None else ledger.noted(named, "batch")
    with closing(RemotePost(url, patience=patience, plain=plain)) as post:
        document = post.document() if kept is None else Message.from_json(kept)
        if document.kind in _OTHER and document.kind != what.KIND:
            raise ProtocolError(f"{url} is the address of {_OTHER[document.kind]}")
        found = what.read(document, organiser)
        if named != found.digest:
            asked = "batch" if what.KIND == "batch" else "group"
            raise ProtocolError(f"the {asked} at {url} is not the one its address names")
        if ledger is not None and kept is None:
            ledger.note(named, "batch", document.to_json())
        yield post, found


def opened_fields(
    question: Question, totals: npt.NDArray[np.int64], people: int
) -> dict[str, object]:
    """What a secure sum opened, JSON-ready, with what it reveals."""
    from mdrr.securesum.statement import of_opened

    return {"n": people, "question": question.to_dict(), "totals": totals.tolist(),
            "privacy": of_opened(question.matrices, people).to_dict()}  # fmt: skip


def show_opened(question: Question, totals: npt.NDArray[np.int64], people: int) -> None:
    """Print what a secure sum opened, as dependences for people."""
    from mdrr.securesum.ways import assess  # late: SciPy stands behind it

    found = assess(question, totals, people)
    show_assessment(found, found.cluster(max_cells=100, min_dependence=0.1))
    print_text("For other thresholds, save the output of --json and give it to 'mdrr cluster'.")


def show_assessment(found: Assessment, clusters: Sequence[Sequence[str]]) -> None:
    """Print the dependence matrix, the clusters of Algorithm 1, and the privacy statement."""
    names, values = found.domain.names, found.dependences.values.tolist()
    if found.caution:
        values = [["–"] * len(names) for _ in names]
    rows = [[name, *row] for name, row in zip(names, values, strict=True)]
    print_table(["", *names], rows, f"Dependences of {found.people} people")
    print_text(found.caution)
    print_text("Clusters: " + "; ".join(" + ".join(one) for one in clusters))
    print_text(str(found.privacy))
