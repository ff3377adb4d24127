"""Faults between real processes, the paper's protocol: an exact total or a clean, named abort.

The runs of a test go on side by side, one relay and four parties each: most of the time all wait.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mdrr.securesum.paper import STEPS
from mdrr.securesum.roster import Roster
from mdrr.securesum.simulate import run_paper
from mdrr.source import SeededSource
from tests.faults.cast import Cast, Recipe, never_wrong
from tests.securesum.group import Group, organiser, people, terms

GROUP = Group(4)
IDS = [one.id for one in GROUP.identities]
SENT = STEPS[:-1]


def run(
    folder: Path, recipes: dict[str, Recipe | None], *, dying: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """One run per recipe; with `dying`, the first party dies before it sends what names the run."""
    with ExitStack() as stack:
        casts = {}
        for name, recipe in recipes.items():
            casts[name] = stack.enter_context(Cast(GROUP, "paper", folder / name, recipe))
            for k in range(4):
                casts[name].party(k, stop_before=name if dying and k == 0 else None)
        endings = {name: cast.endings("party", 4) for name, cast in casts.items()}
    for ending in endings.values():
        never_wrong(ending, GROUP.truth)
    return endings


def stops(endings: list[dict[str, Any]]) -> list[str]:
    return [ending["stopped"] for ending in endings if "stopped" in ending]


def test_four_processes_agree_on_the_exact_totals(tmp_path: Path) -> None:
    endings = run(tmp_path, {"honest": None})["honest"]
    assert sum("totals" in ending for ending in endings) == 4


def test_a_party_that_dies_stops_the_others_at_that_step(tmp_path: Path) -> None:
    for kind, endings in run(tmp_path, dict.fromkeys(("join", *SENT)), dying=True).items():
        assert endings[0] == {}
        step = "roster" if kind == "join" else kind
        said = stops(endings)
        assert len(said) == 3
        assert all(f"stopped at step '{step}'" in stop for stop in said), said
        assert kind == "join" or all(IDS[0][:12] in stop for stop in said)


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
    earlier = Roster.of(terms("paper", 4, seed=99), [one.public for one in GROUP.identities])
    old: list[bytes] = []

    def record(data: bytes, to: str) -> list[bytes]:
        old.append(data)
        return [data]

    run_paper(earlier, GROUP.identities, GROUP.vectors, SeededSource(9), meddle=record)
    recipes: dict[str, Recipe | None] = {kind: ("replay", (kind, old[:40:3])) for kind in SENT}
    for endings in run(tmp_path, recipes).values():
        assert sum("totals" in ending for ending in endings) == 4


def test_reordered_messages_end_in_the_total_or_an_abort(tmp_path: Path) -> None:
    for endings in run(tmp_path, {kind: ("reorder", (kind,)) for kind in SENT}).values():
        assert all("totals" in ending or "stopped" in ending for ending in endings)


def test_another_roster_for_one_party_stops_all(tmp_path: Path) -> None:
    """Even with the organiser's signature: a puppet stands in the first party's place."""
    puppet = people(1, seed=7)[0].public
    others = [one.public for one in GROUP.identities[1:]]
    other = Roster.of(GROUP.roster.terms, [puppet, *others]).message(organiser())
    endings = run(tmp_path, {"swap": ("swap", ("roster", IDS[1], other.to_json()))})["swap"]
    assert len(stops(endings)) == 4


def test_a_second_run_of_the_same_people_is_refused(tmp_path: Path) -> None:
    """The files of the first run remember who was in it."""
    run(tmp_path, {"run": None})
    again = Group(4)
    again.seed = 1  # other terms, the same people
    with Cast(again, "paper", tmp_path / "run") as cast:
        for k in range(4):
            cast.party(k)
        said = never_wrong(cast.endings("party", 4), GROUP.truth)
    assert len(said) == 4
    assert all("differs by 0" in stop for stop in said)
