"""What a collector's database may hold, whatever was asked of it."""

import json
import re

import sqlalchemy as sa

from mdrr.server import schema
from mdrr.server.store import Store

HOUR = re.compile(r"\d{4}-\d\d-\d\dT\d\d")


def check_stored(store: Store, survey: str | None = None) -> dict[str, int]:
    """Fails if a row is not valid, of one survey or of all; how many rows each table has."""
    with store.engine.connect() as connection:
        rows = {
            table.name: connection.execute(sa.select(table)).all()
            for table in schema.metadata.sorted_tables
        }
    for row in rows["surveys"]:
        if survey not in (None, row.id):
            continue
        held = store.need(row.id)  # the survey and its designs are read and validated again
        assert held.state in ("draft", "open", "closed", "published")
        assert (row.results is not None) == (held.state == "published")
        assert row.results is None or isinstance(json.loads(row.results), dict)
        assert held.open_data is False or held.state == "published"
        assert len(held.owner) == 32
        assert (row.signing_key is not None) <= (held.invitations == "blind")
        assert 1 <= held.number <= len(held.phases) <= 2
        assert [phase.number for phase in held.phases] == list(range(1, len(held.phases) + 1))
        for phase in held.phases:
            counted = store.tally(phase)  # every report is checked against the design
            hours = [each for each in rows["arrivals"] if each.phase == phase.key]
            assert all(HOUR.fullmatch(each.hour) and each.count > 0 for each in hours)
            assert sum(each.count for each in hours) == counted.n
            assert counted.n <= held.most
    for row in rows["answers"]:
        assert len(row.id) == 16
    for row in (*rows["invitations"], *rows["spent"]):
        assert len(row.hash) == 32
    used = {(row.survey, bytes(row.hash)) for row in rows["invitations"] if row.used}
    assert {(row.survey, bytes(row.invitation)) for row in rows["signed"]} <= used
    assert all(len(row.blinded) == 32 for row in rows["signed"])
    return {name: len(each) for name, each in rows.items()}
