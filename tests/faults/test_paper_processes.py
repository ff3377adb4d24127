"""Faults between real processes, the paper's protocol: an exact total or a clean, named abort.

The runs of a test go on side by side, one relay, one organiser and four parties each: most of the
time all wait.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from mdrr.securesum.paper import STEPS
from mdrr.securesum.signed import Roster
from mdrr.source import SeededSource
from tests.faults.cast import Cast, Recipe, never_wrong
from tests.securesum.group import QUESTION, Group, organiser, people, roster_of, run_paper

IDS = [one.id for one in Group(4).identities]
SENT = STEPS[:-1]


def run(
    folder: Path, recipes: dict[str, Recipe | None], *, dying: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """One run per recipe; with `dying`, the first party dies before it sends what names the run."""
    group = Group(4)
    with ExitStack() as stack:
        casts = {}
        for name, recipe in recipes.items():
            casts[name] = stack.enter_context(Cast(group, folder / name, recipe))
            casts[name].organiser()
            for k in range(4):
                casts[name].party(k, stop_before=name if dying and k == 0 else None)
        for name, cast in casts.items():
            cast.close(joined=3 if dying and name == "join" else 4)
        endings = {name: cast.endings("party", 4) for name, cast in casts.items()}
    for name, ending in endings.items():
        if name != "join":  # there the total is that of three
            never_wrong(ending, group.truth)
    return endings


def stops(endings: list[dict[str, Any]]) -> list[str]:
    return [ending["stopped"] for ending in endings if "stopped" in ending]


def test_a_party_that_dies_stops_the_others_at_that_step(tmp_path: Path) -> None:
    for kind, endings in run(tmp_path, dict.fromkeys(("join", *SENT)), dying=True).items():
        assert endings[0] == {}
        if kind == "join":  # one no-show does not stop the others
            rest = QUESTION.sums([column[1:] for column in Group(4).codes])
            assert all(np.array_equal(ending["totals"], rest) for ending in endings[1:])
            continue
        said = stops(endings)
        assert len(said) == 3
        assert all(f"stopped at step '{kind}'" in stop for stop in said), said
        assert all(IDS[0][:12] in stop for stop in said)


def test_the_relay_is_killed_at_every_step_and_started_again(tmp_path: Path) -> None:
    """Before what it was given is stored, or after and before it has said so."""
    group, kinds = Group(4), ("join", "roster", *SENT)
    with ExitStack() as stack:
        casts = {}
        for k, kind in enumerate(kinds):
            dies = (kind, "before" if k % 2 else "after")
            casts[kind] = stack.enter_context(Cast(group, tmp_path / kind, dies=dies))
            casts[kind].patience = 30.0
            casts[kind].organiser()
            for who in range(4):
                casts[kind].party(who)
        for cast in casts.values():
            cast.revive()
        endings = {kind: cast.endings("party", 4) for kind, cast in casts.items()}
    for kind, ending in endings.items():
        assert never_wrong(ending, group.truth) == [], kind
        assert sum("totals" in one for one in ending) == 4


def test_organiser_and_parties_that_are_killed_start_again(tmp_path: Path) -> None:
    """A party that has dealt shares cannot go on without her own; she says so to everybody."""
    group, kinds = Group(4), ("roster", "join", *SENT)
    with ExitStack() as stack:
        casts = {}
        for kind in kinds:
            casts[kind] = stack.enter_context(Cast(group, tmp_path / kind, patience=30.0))
            casts[kind].organiser("roster" if kind == "roster" else None)
            for k in range(4):
                casts[kind].party(k, kind if k == 0 else None)
        for kind, cast in casts.items():
            killed = cast.children[0 if kind == "roster" else 1]
            killed.join(120)
            cast.organiser() if kind == "roster" else cast.party(0)
        endings = {kind: cast.endings("party", 4) for kind, cast in casts.items()}
    for kind, ending in endings.items():
        said = never_wrong(ending, group.truth)
        if kind in ("roster", "join", "accept"):
            assert said == [], kind
            assert sum("totals" in one for one in ending) == 4
        else:
            assert len(said) == 4
            assert "dealt shares in this run before" in ending[0]["stopped"]
            assert all(f"so says {IDS[0][:12]}" in stop for stop in said[1:])


def one_victim(fault: str, folder: Path) -> dict[str, str]:
    """What the second party says, when one message of each kind does not reach her as sent."""
    recipes: dict[str, Recipe | None] = {
        kind: (fault, (kind, organiser().id if kind == "roster" else IDS[0], IDS[1]))
        for kind in ("roster", *SENT)
    }
    return {kind: endings[1]["stopped"] for kind, endings in run(folder, recipes).items()}


def test_a_message_withheld_by_the_relay(tmp_path: Path) -> None:
    for kind, said in one_victim("withhold", tmp_path).items():
        assert f"stopped at step '{kind}'" in said


def test_a_message_changed_by_the_relay(tmp_path: Path) -> None:
    for kind, said in one_victim("tamper", tmp_path).items():
        assert f"stopped at step '{kind}'" in said


def test_a_message_dropped_for_everybody(tmp_path: Path) -> None:
    recipes: dict[str, Recipe | None] = {kind: ("drop", (kind, IDS[0])) for kind in SENT}
    for kind, endings in run(tmp_path, recipes).items():
        for ending in endings[1:]:
            assert f"stopped at step '{kind}'" in ending["stopped"]


def test_replayed_and_repeated_messages_change_nothing(tmp_path: Path) -> None:
    group, old = Group(4), []

    def record(data: bytes, to: str) -> list[bytes]:
        old.append(data)
        return [data]

    run_paper(
        roster_of(group.identities, 99), group.identities, group.vectors, SeededSource(9),
        meddle=record,
    )  # fmt: skip
    recipes: dict[str, Recipe | None] = {kind: ("replay", (kind, old[:40:3])) for kind in SENT}
    for endings in run(tmp_path, recipes).values():
        assert sum("totals" in ending for ending in endings) == 4


def test_reordered_messages_end_in_the_total_or_an_abort(tmp_path: Path) -> None:
    for endings in run(tmp_path, {kind: ("reorder", (kind,)) for kind in SENT}).values():
        assert all("totals" in ending or "stopped" in ending for ending in endings)


def test_another_roster_for_one_party_stops_all(tmp_path: Path) -> None:
    """Even with the organiser's signature: a puppet stands in the first party's place."""
    group, puppet = Group(4), people(1, seed=7)[0].public
    others = [one.public for one in group.identities[1:]]
    other = Roster.of(group.terms, [puppet, *others]).message(organiser())
    with Cast(group, tmp_path, ("swap", ("roster", IDS[1], other.to_json()))) as cast:
        cast.organiser()
        for k in range(4):
            cast.party(k)
        said = never_wrong(cast.endings("party", 4), group.truth)
    assert len(said) == 4


def test_a_second_run_of_the_same_people_is_refused(tmp_path: Path) -> None:
    """The files of the first run remember what was answered."""
    endings = run(tmp_path, {"run": None})["run"]
    assert sum("totals" in ending for ending in endings) == 4
    again = Group(4, seed=1)
    again.identities = people(4)  # other terms, the same people
    with Cast(again, tmp_path / "run") as cast:
        cast.organiser()
        for k in range(4):
            cast.party(k)
        said = never_wrong(cast.endings("party", 4), again.truth)
    assert len(said) == 4
    assert all("answered smokes, region, age exactly" in stop for stop in said)
