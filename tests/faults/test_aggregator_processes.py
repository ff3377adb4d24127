"""Faults between real processes, aggregators: the exact total over who is left, or a clean stop.

The runs of a test go on side by side, as in the paper's mode.
"""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.faults.cast import Cast, Recipe, never_wrong
from tests.securesum.group import QUESTION, Group, organiser

GROUP = Group(6, minimum=4)
IDS = [one.id for one in GROUP.identities]
SERVERS = [one.id for one in GROUP.aggregators]


def without(*gone: int) -> Any:
    stay = [k for k in range(6) if k not in gone]
    return QUESTION.sums([column[stay] for column in GROUP.codes])


@dataclass
class Fault:
    """What goes wrong: a relay's mischief, people who die unreported, an aggregator killed."""

    recipe: Recipe | None = None
    silent: tuple[int, ...] = ()
    kill: int | None = None


def run(folder: Path, faults: dict[str, Fault]) -> dict[str, list[dict[str, Any]]]:
    """Six people and two aggregators per fault."""
    with ExitStack() as stack:
        casts, killed = {}, {}
        for name, fault in faults.items():
            late = 2.0 if fault.silent else 600.0
            patience = 30.0 if fault.kill is not None else 8.0
            cast = Cast(GROUP, "aggregators", folder / name, fault.recipe, patience, late)
            casts[name] = stack.enter_context(cast)
            first = cast.aggregator(0, die_after=fault.kill)
            if fault.kill is not None:
                killed[name] = first
            cast.aggregator(1)
            for k in range(6):
                cast.party(k, stop_before="report" if k in fault.silent else None)
        for name, first in killed.items():
            first.join(60)
            assert first.exitcode == -9, "it was to be killed"
            time.sleep(0.2)
            casts[name].aggregator(0)
        return {name: cast.endings("aggregator", 2) for name, cast in casts.items()}


def counted(endings: list[dict[str, Any]]) -> list[int]:
    return [ending.get("people", 0) for ending in endings]


def test_two_aggregators_agree_on_the_exact_totals(tmp_path: Path) -> None:
    endings = run(tmp_path, {"honest": Fault()})["honest"]
    assert never_wrong(endings, GROUP.truth) == []
    assert counted(endings) == [6, 6]


def test_people_who_drop_out_are_not_counted_and_too_few_open_nothing(tmp_path: Path) -> None:
    runs = run(tmp_path, {"two": Fault(silent=(0, 3)), "three": Fault(silent=(0, 3, 4))})
    assert never_wrong(runs["two"], without(0, 3)) == []
    assert counted(runs["two"]) == [4, 4]
    stops = never_wrong(runs["three"], GROUP.truth)
    assert len(stops) == 2
    assert all("3 reports are fewer than 4" in stop for stop in stops)


def test_an_aggregator_killed_and_brought_back(tmp_path: Path) -> None:
    """SIGKILL before the batch (0), after it (1), amid reports (5), at the close (7), after (8)."""
    faults = {str(taken): Fault(kill=taken) for taken in (0, 1, 5, 7, 8)}
    for endings in run(tmp_path, faults).values():
        assert never_wrong(endings, GROUP.truth) == []
        assert counted(endings) == [6, 6]


def test_a_report_withheld_or_changed_does_not_count(tmp_path: Path) -> None:
    faults = {
        f"{fault}{k}": Fault((fault, ("report", IDS[2], SERVERS[k])))
        for fault in ("withhold", "tamper")
        for k in (0, 1)
    }
    for endings in run(tmp_path, faults).values():
        assert never_wrong(endings, without(2)) == []
        assert counted(endings) == [5, 5]


def test_what_aggregators_and_organiser_say_withheld_or_changed(tmp_path: Path) -> None:
    faults = {
        f"{fault} {kind}": Fault((fault, (kind, sender, SERVERS[1])))
        for fault in ("withhold", "tamper")
        for kind, sender in (
            ("accepted", SERVERS[0]),
            ("opening", SERVERS[0]),
            ("batch", organiser().id),
            ("close", organiser().id),
        )
    }
    for name, endings in run(tmp_path, faults).items():
        never_wrong(endings, GROUP.truth)
        assert "stopped" in endings[1], (name, endings)


def test_repeated_and_reordered_reports_change_nothing(tmp_path: Path) -> None:
    faults = {
        "twice": Fault(("replay", ("report", []))),
        "mixed": Fault(("reorder", ("report",))),
    }
    runs = run(tmp_path, faults)
    assert never_wrong(runs["twice"], GROUP.truth) == []
    assert counted(runs["twice"]) == [6, 6]
    # A report that is held back may miss the close: both then count the same people.
    totals = [ending.get("totals") for ending in runs["mixed"]]
    assert counted(runs["mixed"])[0] == counted(runs["mixed"])[1]
    assert totals[0] == totals[1]
    assert totals[0] is None or np.sum(totals[0]) == 3 * counted(runs["mixed"])[0]
