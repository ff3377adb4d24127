"""What an owner sees of her survey: estimates with intervals beside the raw randomized shares.

Estimates are computed one at a time in a thread of their own, from the tally that the database
counts, and kept until more answers come.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial, wraps
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from mdrr.design import Design
from mdrr.errors import MdrrError
from mdrr.protocols import MAX_CELLS, MIN_DEPENDENCE
from mdrr.server.held import Phase, finite
from mdrr.server.schema import StoreError
from mdrr.server.store import Store
from mdrr.tallies import Tally

if TYPE_CHECKING:
    from mdrr.dependence import Dependences
    from mdrr.estimation import Estimate

METHODS = ("product", "adjust", "pairwise", "latent", "correspondence", "auto")
"""`mdrr.estimation.METHODS`, which is loaded with the first estimate: a server starts at once."""
KEPT = 32
DEPENDENCES = ("measure", "names", "values", "low", "high", "level")
"""What is said of the dependences."""

T = TypeVar("T")
Phases = Sequence[Phase]


class Findings:
    """Estimates of the surveys in a store, kept by the number of answers when they were made."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._asked: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        # A daemon: a server that is stopped does not wait for an estimate.
        Thread(target=self._work, name="mdrr-estimate", daemon=True).start()

    def _work(self) -> None:
        while (asked := self._asked.get()) is not None:
            future, work = asked
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # whoever asked is told
                    future.set_exception(error)

    def stop(self) -> None:
        """Compute no more. What is being computed is given up: it can be asked for again."""
        with suppress(Empty):
            while (asked := self._asked.get_nowait()) is not None:
                asked[0].cancel()
        self._asked.put(None)

    async def compute(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Run work in the thread of estimates."""
        future: Future[T] = Future()
        self._asked.put((future, partial(work, *arguments, **named)))
        return await asyncio.wrap_future(future)

    def computed(self, route: Callable[..., T]) -> Callable[..., Awaitable[T]]:
        """A route that runs in the thread of estimates."""

        @wraps(route)
        async def asked(**named: Any) -> T:
            return await self.compute(route, **named)

        return asked

    def estimate(self, phases: Phases, method: str) -> Estimate:
        """The estimate of one phase or of several as one; call it in the thread of estimates."""

        def made(tally: Tally, design: Design) -> Estimate:
            from mdrr.estimation import estimate

            return estimate(tally, design, method)

        return self._keep(("estimate", method), phases, made)

    def dependences(self, phases: Phases) -> Dependences | None:
        """The dependences of all pairs, or None if some pair was reported by nobody."""

        def made(tally: Tally, design: Design) -> Dependences | None:
            from mdrr.dependence import dependences

            try:
                return dependences(tally, design)
            except MdrrError:
                return None

        return self._keep(("dependences",), phases, made)

    def _keep(self, what: tuple[Any, ...], phases: Phases, make: Callable[[Tally, Design], T]) -> T:
        key = (*what, *((phase.key, self._store.answers(phase)) for phase in phases))
        if key not in self._kept:
            # Answers that come just now are in it too; the next who asks finds another number.
            tallies = [(self._store.tally(phase), phase.design) for phase in phases]
            self._kept[key] = make(*pooled(tallies))
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        kept: T = self._kept[key]
        return kept

    def described(
        self,
        phases: Phases,
        method: str = "auto",
        level: float = 0.95,
        max_cells: int = MAX_CELLS,
        min_dependence: float = MIN_DEPENDENCE,
    ) -> dict[str, Any]:
        """An estimate as JSON-ready values: shares, dependences, clusters and notes.

        Its `phase` is None where it is of two phases.
        """
        from mdrr.clustering import cluster
        from mdrr.estimation.result import plain

        found, related = self.estimate(phases, method), self.dependences(phases)
        design, groups, shown = found.evidence.design, None, None
        if related is not None:
            shown = related.to_dict()
            shown = {key: shown[key] for key in DEPENDENCES}
            groups = cluster(
                related, design.domain, max_cells=max_cells, min_dependence=min_dependence
            )
        return {
            "phase": phases[0].number if len(phases) == 1 else None,
            "fingerprint": design.fingerprint,
            "epsilon": finite(design.epsilon),
            "answers": found.n,
            "method": found.method,
            "level": level,
            "attributes": _attributes(found, design, level),
            "dependences": shown,
            "clusters": groups,
            "notes": _json(plain(found.notes)),
        }

    def published(self, phases: Phases, method: str = "auto") -> dict[str, Any]:
        """What is published: the estimate of all phases as one, and of each where there are two."""
        asked = [phase for phase in phases if self._store.answers(phase)]
        apart = [self.described((phase,), method) for phase in asked] if len(asked) > 1 else []
        return {**self.described(phases, method), "phases": apart}


def pooled(tallies: Sequence[tuple[Tally, Design]]) -> tuple[Tally, Design]:
    """The answers of all phases as one tally, and the design to estimate with."""
    from mdrr.planning import pool

    answered = [each for each in tallies if each[0].n]
    if not answered:
        raise StoreError("there are no answers yet, so there is nothing to estimate")
    return answered[0] if len(answered) == 1 else pool(answered)


def _attributes(found: Estimate, design: Design, level: float) -> list[dict[str, Any]]:
    raw = raw_shares(found.evidence.tally, design)
    shown = []
    for attribute in design.domain.attributes:
        table = found.table(attribute.name, level=level)
        shown.append(
            {
                "name": attribute.name,
                "kind": attribute.kind,
                "public": attribute.public,
                "categories": list(attribute.categories),
                "missing": attribute.missing,
                "shares": table.values.tolist(),
                "low": table.low.tolist(),
                "high": table.high.tolist(),
                "raw": raw[attribute.name],
            }
        )
    return shown


def raw_shares(tally: Tally, design: Design) -> dict[str, list[float] | None]:
    """How often each category was reported; None where reports are no categories."""
    counts: dict[str, Any] = {}
    for group, questionnaire in zip(tally.groups, design.questionnaires, strict=True):
        for j, each in enumerate(questionnaire.clusters):
            if not each.matrix.reports_cells:
                continue
            table = group.marginal(j).reshape(design.shape(each))
            for axis, name in enumerate(each.attributes):
                others = tuple(a for a in range(table.ndim) if a != axis)
                counts[name] = counts.get(name, 0) + table.sum(axis=others)
    return {
        name: (counts[name] / counts[name].sum()).tolist()
        if name in counts and counts[name].sum()
        else None
        for name in design.domain.names
    }


def _json(value: Any) -> Any:
    """Values that JSON can hold: a number that is not finite is left out, what is none is text."""
    return json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
