"""Faults between real processes, aggregators: the exact total, or an abort that names the step.

The runs of a test go on side by side. With MDRR_KILLS=n relay and aggregators are killed n times.
"""

import os
import random
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdrr.securesum.opening import MISSING, REFUSALS, SEALED
from mdrr.securesum.transport.remote import RemotePost
from tests.faults.aggregating import Stage, never_wrong

KINDS = ("key", "job", "verify", "ready", "result")
KILLS = int(os.environ.get("MDRR_KILLS", "3"))


def is_exact(endings: list[dict[str, Any]], truth: Any) -> bool:
    never_wrong(endings, truth)
    return all("totals" in ending for ending in endings)


@pytest.mark.parametrize("who", [0, 1])
def test_an_aggregator_killed_before_or_after_whatever_it_says(tmp_path: Path, who: int) -> None:
    said = KINDS if who == 0 else KINDS[2:]  # the second leads nothing
    cases = [(kind, after) for kind in said for after in (False, True)]
    with ExitStack() as stack:
        stages = {}
        for kind, after in cases:
            stage = stack.enter_context(Stage(tmp_path / f"{kind} {after}"))
            first = stage.aggregator(who, die=(kind, after))
            stages[kind, after] = stage, first, stage.aggregator(1 - who)
            stage.report(*range(12))
        for stage, first, other in stages.values():
            first.join(120)
            assert first.exitcode == -9, "it was to be killed"
            assert is_exact(stage.endings(stage.aggregator(who), other), stage.truth())


def test_the_relay_killed_before_or_after_it_stores_whatever_it_is_given(tmp_path: Path) -> None:
    kinds = ("report", *KINDS, "abort")
    cases = [(kind, when) for kind in kinds for when in ("before", "after")]
    with ExitStack() as stack:
        stages = []
        for kind, when in cases:
            stage = stack.enter_context(Stage(tmp_path / f"{kind} {when}", dies=(kind, when)))
            first, least = stage.person(0), 13 if kind == "abort" else 3
            if kind != "report":  # there they come below, when the relay is back
                stage.report(*range(1, 12))
            stages.append((stage, first, [stage.aggregator(0), stage.aggregator(1, minimum=least)]))
        for (kind, _), (stage, first, servers) in zip(cases, stages, strict=True):
            stage.revive()
            first.join(120)
            assert first.exitcode == 0
            if kind == "report":
                assert stage.arrived() == 1
                stage.report(*range(1, 12))
            endings = stage.endings(*servers)
            if kind == "abort":
                assert [(one["kind"], one["body"]["step"]) for one in endings] == [
                    ("abort", "ready")
                ] * 2
            else:
                assert is_exact(endings, stage.truth())


def test_a_person_killed_while_she_reports_counts_once_when_she_sends_again(tmp_path: Path) -> None:
    with Stage(tmp_path / "stage") as stage:
        servers = [stage.aggregator(0), stage.aggregator(1)]
        for k, (when, there) in enumerate((("before", 0), ("middle", 0), ("after", 1))):
            killed = stage.person(k, when)
            killed.join(60)
            assert killed.exitcode == -9, "she was to be killed"
            assert stage.arrived() == there
        for k in range(3):
            again = stage.person(k)
            again.join(60)
            assert (again.exitcode, stage.arrived()) == (0, [2, 3, 3][k])
        stage.report(*range(3, 12))
        endings = stage.endings(*servers)
        assert is_exact(endings, stage.truth())
        assert endings[0]["refused"] == {}


def test_relay_and_aggregators_killed_at_any_moment(tmp_path: Path) -> None:
    """While people report and aggregators work; everything acknowledged is in the total."""
    chance = random.Random(1)
    people, killed = 40, 0
    while killed < KILLS:
        with Stage(tmp_path / str(killed), people=people) as stage:
            servers = [stage.aggregator(0), stage.aggregator(1)]
            for k in range(people):
                stage.report(k)
                if chance.random() < 3 / people:
                    stage.restart_relay()
                    killed += 1
                if chance.random() < 2 / people:
                    who = chance.randrange(2)
                    servers[who].kill()
                    servers[who].join(10)
                    servers[who] = stage.aggregator(who)
                    killed += 1
            time.sleep(chance.random())
            if any(server.is_alive() for server in servers):
                stage.restart_relay()
                killed += 1
            assert is_exact(stage.endings(*servers), stage.truth())


def test_messages_withheld_or_changed_end_in_an_abort_that_names_the_step(tmp_path: Path) -> None:
    with ExitStack() as stack:
        stages = {}
        for kind in KINDS:
            for fault in ("drop", "tamper"):
                stage = Stage(tmp_path / f"{fault} {kind}", patience=12.0, fault=(fault, kind))
                stack.enter_context(stage)
                stage.report(*range(12))
                stages[fault, kind] = stage, [stage.aggregator(0), stage.aggregator(1)]
        for (fault, kind), (stage, servers) in stages.items():
            endings = stage.endings(*servers)
            never_wrong(endings, stage.truth())
            assert not any("totals" in ending for ending in endings), (fault, kind)
            steps = {ending["body"].get("step") for ending in endings}
            if kind == "result":  # both have opened; only who adds up waits
                assert {ending["kind"] for ending in endings} == {"result"}
            else:  # without a key the second never verifies, and the first waits for that
                assert {ending["kind"] for ending in endings} == {"abort"}
                assert steps <= {kind, "verify"}, (fault, kind, steps)


def test_reports_withheld_or_changed_are_refused_and_the_others_counted(tmp_path: Path) -> None:
    reasons = {"drop": MISSING, "tamper": SEALED, "replay": SEALED}
    with ExitStack() as stack:
        stages = {}
        for fault in reasons:
            stage = stack.enter_context(Stage(tmp_path / fault, fault=(fault, "part")))
            stage.report(*range(12))
            stages[fault] = stage, [stage.aggregator(0), stage.aggregator(1)]
        for fault, (stage, servers) in stages.items():
            endings = stage.endings(*servers)
            never = [np.array_equal(endings[0]["totals"], stage.truth(k)) for k in range(12)]
            assert any(never), "the total is that of all but one"
            assert endings[0]["refused"] == {REFUSALS[reasons[fault]]: 1}
            assert endings[0]["totals"] == endings[1]["totals"]


def test_messages_of_another_batch_and_repeated_ones_change_nothing(tmp_path: Path) -> None:
    with Stage(tmp_path / "old") as stage:
        stage.report(*range(12))
        servers = [stage.aggregator(0), stage.aggregator(1)]
        assert is_exact(stage.endings(*servers), stage.truth())
        post = RemotePost(stage.url)
        topics = ("key", "job 0", "verify 0", "ready", "result")
        old = [message.to_json() for topic in topics for message in post.hear(topic)]
        post.close()
    assert len(old) >= 5
    with ExitStack() as stack:
        stages = []
        for kind in KINDS:
            stage = Stage(tmp_path / kind, fault=("replay", kind), old=old)
            stack.enter_context(stage)
            stage.report(*range(12))
            stages.append((stage, [stage.aggregator(0), stage.aggregator(1)]))
        for stage, servers in stages:
            assert is_exact(stage.endings(*servers), stage.truth())
