"""Which runs a party opened before: two exact totals of close groups reveal single people.

If the totals of A and B are open, anyone can subtract, and learns the (signed) totals of the people
in just one of them; puppets in both groups hide from everybody how close the groups are. So a party
helps to open exact tables about an attribute only once. A run counts from the moment her sum may
leave.

She may do so again if she saw no usable total: somebody kept her sum back, or a vector that is no
record made the total impossible. Somebody may have learnt that total all the same, so the second
group must be one whose total tells them nothing new: the very same people, nobody new. Two kinds of
members may be missing.

- Who *signed* that she left before she revealed her sum. If that is true, nothing was opened: her
  own share hides the rest. If it is a lie, she is a cheat, as below.
- Who *signed* something false: a sum that is not the one she committed to or that is ill-formed, or
  two different messages of one step. Honest devices never do that, so honest members never go
  missing this way, however many cheats leave one after the other. A coalition that knows the total
  of the first run knows its own vectors too, hence the total of the honest members; and every group
  that an honest device accepts afterwards has all honest members of the first. The second total
  tells the coalition what it knew. Whoever saw the first total and is in no coalition with the
  cheat learns the cheat's own vector, and nobody else's. A device that saw the first total takes
  no part in a second. The minimum of the terms and of every device holds for the second group too.

Nothing less may count. A member whose sum merely did not arrive must be there again: the relay
could have kept it from this party alone, and then a total without her would be her answers. The
same holds for a member who says that she was shown other commitments: the relay and another member
together could have shown her those. So who stays silent at the end keeps the others from a rerun.
Randomized pairs may be asked at any time, and their ε adds up.

A person may take part in several runs at once, so looking at earlier runs and noting a new one is
one step, under a lock between processes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from mdrr.errors import ProtocolError
from mdrr.securesum.private import locked, write_atomically
from mdrr.securesum.question import Question, asked_again, spent_on
from mdrr.securesum.signed import Roster


@dataclass(frozen=True)
class Revealed:
    """A run in which this party's sum left, or was about to.

    Arguments:
        run: digest of the roster.
        attributes: what was asked, by name.
        epsilon: what randomized pairs spend in all; None for exact tables.
        group: ids of all members.
        seen: whether she saw the total.
        left: ids of members who may be missing from a rerun, by what they signed themselves.
    """

    run: str
    attributes: tuple[str, ...]
    epsilon: float | None
    group: tuple[str, ...]
    seen: bool = False
    left: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("attributes", "group", "left"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def allows(self, group: frozenset[str]) -> bool:
        """Whether the total of a group tells nobody more than this run may have."""
        missing = {*self.group} - group
        return not self.seen and group <= {*self.group} and missing <= {*self.left}

    @property
    def rerun(self) -> str:
        """Who may run it again, in words."""
        if self.seen:
            return "It has seen that total, so there is nothing to run again"
        names = ", ".join(name[:12] for name in self.left)
        without = f", with or without {names}, who left early or broke the rules" if names else ""
        return f"It saw no total then, so exactly the same people may run it again{without}"


class History:
    """What a party must not forget; it names ids and runs and no answers.

    Processes that share the file change it one at a time, so that none forgets what another noted.

    Arguments:
        path: the file, which need not exist yet; without one it lasts as long as the process, for
            simulation and tests.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._begun: list[str] = []
        self._revealed: list[Revealed] = []

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with nullcontext() if self._path is None else locked(self._path):
            self._read()
            yield
            if self._path is not None:
                fields = {"begun": self._begun, "revealed": [asdict(o) for o in self._revealed]}
                write_atomically(self._path, json.dumps(fields).encode())

    def _read(self) -> None:
        if self._path is None or not self._path.exists():
            return
        try:
            fields = json.loads(self._path.read_bytes())
            self._begun = [str(run) for run in fields["begun"]]
            self._revealed = [Revealed(**row) for row in fields["revealed"]]
        except (ValueError, TypeError, KeyError):
            raise ProtocolError(
                f"{self._path} is not the list of runs you took part in; without it a run that "
                "would single you out cannot be recognised. Restore it, or do not take part"
            ) from None

    def revealed(self) -> tuple[Revealed, ...]:
        """Every run in which her sum may have left."""
        self._read()
        return tuple(self._revealed)

    def begin(self, run: str) -> None:
        """Note, durably, that shares of a run are about to leave; refuse the same run again."""
        with self._changing():
            if run in self._begun:  # with a fresh share in place of the lost one the sum is wrong
                raise ProtocolError(
                    "this party dealt shares in this run before and has lost her own since; "
                    "ask for a new run"
                )
            self._begun.append(run)

    def check(self, question: Question, group: frozenset[str] = frozenset()) -> None:
        """Refuse to open exact tables about an attribute twice, but for a rerun of one group."""
        for earlier in self.revealed():
            common = asked_again(earlier.attributes, question)
            if question.matrices or earlier.epsilon is not None or not common:
                continue
            if not earlier.allows(group):
                raise ProtocolError(
                    f"this device answered {', '.join(common)} exactly in run {earlier.run[:16]}… "
                    f"among {len(earlier.group)} people. The difference of two totals can give "
                    f"away a single person. {earlier.rerun}"
                )

    def remember(self, roster: Roster) -> None:
        """Note a run, durably, before the first piece of its total leaves; refuses as `check`."""
        question = roster.terms.question
        with self._changing():
            self.check(question, frozenset(roster.ids))
            names = question.domain.names
            self._revealed.append(Revealed(roster.digest, names, spent_on(question), roster.ids))

    def finish(self, run: str) -> None:
        """Note that she saw the total of a run."""
        with self._changing():
            self._revealed = [
                replace(one, seen=True) if one.run == run else one for one in self._revealed
            ]

    def note_left(self, run: str, who: str) -> None:
        """Note that a member signed to have left a run before she revealed her sum."""
        self._let_go(who, lambda one: one.run == run)

    def note_false(self, run: str, who: str) -> None:
        """Note that a member signed something false in a run.

        It holds for the runs of which this one is a rerun too: in a rerun whoever signs for her
        chooses her vector anew, so a run without her tells nobody more.
        """
        groups = [frozenset(one.group) for one in self.revealed() if one.run == run]
        self._let_go(who, lambda one: any(map(one.allows, groups)))

    def _let_go(self, who: str, where: Callable[[Revealed], bool]) -> None:
        with self._changing():
            self._revealed = [
                replace(one, left=(*one.left, who)) if where(one) and who not in one.left else one
                for one in self._revealed
            ]

    def spent(self) -> float:
        """ε of all runs together; ∞ once one of them was exact."""
        spent = [one.epsilon for one in self.revealed()]
        return math.fsum(math.inf if each is None else each for each in spent)
