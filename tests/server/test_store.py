"""The store on both databases: what is stored, what is refused, and what is never kept."""

import os
import stat

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations

from mdrr.protocols import joint
from mdrr.server import schema
from mdrr.server.accept import Outcome
from mdrr.server.held import token_hash
from mdrr.server.published import shuffled
from mdrr.server.schema import StoreError, masked, metadata, migrate, open_engine
from mdrr.server.store import Store
from mdrr.tallies import tally_codes, tally_responses
from tests.server.cases import DESIGN, SAMPLED, SURVEY, answer, frozen, report


def opened(store, design=DESIGN, **options):
    survey = frozen(design)
    store.create(survey, **options)
    store.open(survey.id)
    return store.need(survey.id)


def test_answers_come_back_as_the_tally_of_their_reports(store):
    held = opened(store, SAMPLED)
    made = [report(SAMPLED) for _ in range(300)]
    assert set(store.accept([answer(held, each) for each in made])) == {Outcome.STORED}
    found = store.tally(held.phase())
    assert found == tally_responses(made, SAMPLED)
    assert store.answers(held.phase()) == 300
    assert tally_codes(shuffled(found), SAMPLED) == found


def test_an_empty_survey_has_an_empty_tally(store):
    assert store.tally(opened(store, SAMPLED).phase()).n == 0


def test_the_same_answer_again_is_acknowledged_and_another_is_refused(store):
    held = opened(store, invitations="required")
    token, other = store.invite(held.id, 2)
    first = report()
    changed = type(first)(first.fingerprint, 0, (1 - first.codes[0], *first.codes[1:]), first.id)
    assert store.accept([answer(held, first, token)]) == [Outcome.STORED]
    assert store.accept([answer(held, first, token)]) == [Outcome.AGAIN]
    assert store.accept([answer(held, changed, token)]) == [Outcome.OTHER]
    assert store.accept([answer(held, changed, other)]) == [Outcome.OTHER]
    assert store.status(held.id)["invitations"] == {"kind": "required", "made": 2, "used": 1}
    assert store.tally(held.phase()) == tally_responses([first], DESIGN)


def test_twice_in_one_batch(store):
    held = opened(store, invitations="required")
    token, other = store.invite(held.id, 2)
    first = report()
    changed = type(first)(first.fingerprint, 0, (1 - first.codes[0], *first.codes[1:]), first.id)
    batch = [answer(held, first, token), answer(held, changed, other), answer(held, first, token)]
    assert store.accept(batch) == [Outcome.STORED, Outcome.OTHER, Outcome.AGAIN]
    assert store.status(held.id)["invitations"]["used"] == 1


def test_a_mixed_batch_comes_out_as_its_answers_would_alone(store):
    """One bad answer among many costs nobody else hers, and no survey another's."""
    free, asked = opened(store), opened(store, invitations="required")
    closed = opened(store)
    store.close(closed.id)
    tokens = iter(store.invite(asked.id, 42))
    old, used = report(), next(tokens)
    assert store.accept([answer(asked, old, used)]) == [Outcome.STORED]
    changed = type(old)(old.fingerprint, 0, (1 - old.codes[0], *old.codes[1:]), old.id)
    bad = [
        (answer(asked, old, used), Outcome.AGAIN),
        (answer(asked, changed, next(tokens)), Outcome.OTHER),
        (answer(asked, report(), used), Outcome.UNINVITED),
        (answer(asked, report(), None), Outcome.UNINVITED),
        (answer(closed, report()), Outcome.CLOSED),
    ]
    good = [(answer(free, report()), Outcome.STORED) for _ in range(5)]
    good += [(answer(asked, report(), next(tokens)), Outcome.STORED) for _ in range(5)]
    for one in bad:
        batch = [*good[:3], one, *good[3:]]
        assert store.accept([each for each, _ in batch]) == [outcome for _, outcome in batch]
        good = [(each, Outcome.AGAIN) for each, _ in good[:5]]
        good += [(answer(asked, report(), next(tokens)), Outcome.STORED) for _ in range(5)]
    counts = {held.id: store.tally(held.phase()).n for held in (free, asked, closed)}
    assert counts == {free.id: 5, asked.id: 26, closed.id: 0}
    assert store.status(asked.id)["invitations"]["used"] == 26


def test_an_invitation_is_used_once_even_within_a_batch(store):
    held = opened(store, invitations="required")
    (token,) = store.invite(held.id, 1)
    batch = [answer(held, report(), each) for each in (None, "unknown", token, token)]
    uninvited = Outcome.UNINVITED
    assert store.accept(batch) == [uninvited, uninvited, Outcome.STORED, uninvited]
    assert store.accept([answer(held, report(), token)]) == [uninvited]
    assert store.answers(held.phase()) == 1


def test_an_invitation_to_another_survey_is_neither_taken_nor_used(store):
    mine, theirs = (opened(store, invitations="required") for _ in range(2))
    (token,) = store.invite(theirs.id, 1)
    (good,) = store.invite(mine.id, 1)
    outcomes = store.accept([answer(mine, report(), token), answer(mine, report(), good)])
    assert outcomes == [Outcome.UNINVITED, Outcome.STORED]
    assert store.status(theirs.id)["invitations"]["used"] == 0
    assert store.accept([answer(theirs, report(), token)]) == [Outcome.STORED]


def test_a_survey_takes_no_more_answers_than_its_owner_wants(store):
    held = opened(store, most=3, invitations="required")
    tokens = store.invite(held.id, 5)
    batch = [answer(held, report(), each) for each in ("unknown", *tokens)]
    outcomes = store.accept(batch)
    assert outcomes == [Outcome.UNINVITED, *3 * [Outcome.STORED], *2 * [Outcome.FULL]]
    assert store.status(held.id)["invitations"]["used"] == 3
    assert store.accept(batch[1:2]) == [Outcome.AGAIN]


def test_states_follow_one_another(store):
    survey = frozen()
    store.create(survey)
    held = store.need(survey.id)
    one = answer(held, report())
    assert store.accept([one]) == [Outcome.CLOSED]
    with pytest.raises(StoreError, match="is draft and cannot become closed"):
        store.close(held.id)
    store.open(held.id)
    assert store.accept([one]) == [Outcome.STORED]
    with pytest.raises(StoreError, match="is open and cannot become published"):
        store.publish(held.id, {})
    store.close(held.id)
    assert store.accept([one, answer(held, report())]) == [Outcome.AGAIN, Outcome.CLOSED]
    store.open(held.id)
    store.close(held.id)
    store.publish(held.id, {"shares": [0.5]}, open_data=True)
    with pytest.raises(StoreError, match="is published and cannot become open"):
        store.open(held.id)
    with pytest.raises(StoreError, match="second phase"):
        store.start_phase(held.id, SAMPLED)
    assert store.states() == {held.id: "published"}
    with pytest.raises(StoreError, match="no survey"):
        store.open("nothere2")
    with pytest.raises(StoreError, match="already"):
        store.create(survey)


def test_nobody_answers_both_phases(store):
    held = opened(store, invitations="required")
    first, second = store.invite(held.id, 2)
    pilot = report()
    assert store.accept([answer(held, pilot, first)]) == [Outcome.STORED]
    with pytest.raises(StoreError, match="of its own"):
        store.start_phase(held.id, DESIGN)
    store.start_phase(held.id, SAMPLED)
    held = store.need(held.id)
    assert (held.number, held.state, held.phase().design) == (2, "open", SAMPLED)
    batch = [
        answer(held, pilot, first),  # its reply was lost
        answer(held, report(), second),  # the pilot is over
        answer(held, report(SAMPLED), first),
        answer(held, report(SAMPLED), second),
    ]
    expected = [Outcome.AGAIN, Outcome.CLOSED, Outcome.UNINVITED, Outcome.STORED]
    assert store.accept(batch) == expected
    assert [phase["answers"] for phase in store.status(held.id)["phases"]] == [1, 1]
    with pytest.raises(StoreError, match="first phase"):
        store.start_phase(held.id, SAMPLED)


def test_a_second_phase_asks_what_the_survey_asks(store):
    held = opened(store)
    other = joint(type(SURVEY.domain)(SURVEY.domain.attributes[:2]), p=0.5)
    with pytest.raises(StoreError, match="does not ask what the survey asks"):
        store.start_phase(held.id, other)


def test_tables_hold_no_address_no_time_and_no_token(store):
    """Columns are listed, so that a new one is a decision; times are whole hours."""
    held = opened(store, invitations="required")
    tokens = store.invite(held.id, 3)
    store.accept([answer(held, report(), token) for token in tokens])
    with store.engine.connect() as connection:
        names = {
            table: {column["name"] for column in sa.inspect(connection).get_columns(table)}
            for table in ("answers", "invitations", "arrivals")
        }
        hours = connection.execute(sa.select(schema.arrivals.c.hour)).scalars().all()
        hashes = connection.execute(sa.select(schema.invitations.c.hash)).scalars().all()
    assert names == {
        "answers": {"phase", "id", "questionnaire", "codes"},
        "invitations": {"survey", "hash", "used"},
        "arrivals": {"phase", "hour", "count"},
    }
    assert all(len(hour) == len("2026-11-16T07") for hour in hours)
    assert {bytes(each) for each in hashes} == set(map(token_hash, tokens))


def test_an_owner_token_has_256_bits_and_only_its_hash_is_kept(store):
    survey = frozen()
    token = store.create(survey)
    assert len(token) == 43
    assert store.need(survey.id).owner == token_hash(token)


def make_oldest(engine):
    """A database as the first version made it."""
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('0001')")
        op = Operations(MigrationContext.configure(connection))
        op.create_table(
            "surveys",
            sa.Column("id", sa.String(32), primary_key=True),
            sa.Column("frozen", sa.Text, nullable=False),
            sa.Column("state", sa.String(9), nullable=False),
            sa.Column("phase", sa.Integer, nullable=False),
            sa.Column("invitations", sa.String(8), nullable=False),
            sa.Column("owner", sa.LargeBinary(32), nullable=False),
            sa.Column("most", sa.BigInteger, nullable=False),
            sa.Column("results", sa.Text),
            sa.Column("open_data", sa.Boolean, nullable=False),
            sqlite_with_rowid=False,
        )
        op.create_table(
            "phases",
            sa.Column("key", sa.Integer, primary_key=True),
            sa.Column("survey", sa.String(32), sa.ForeignKey("surveys.id"), nullable=False),
            sa.Column("number", sa.Integer, nullable=False),
            sa.Column("design", sa.Text, nullable=False),
            sa.Column("fingerprint", sa.String(64), nullable=False),
            sa.UniqueConstraint("survey", "number", name="one_phase_of_a_number"),
        )
        op.create_table(
            "answers",
            sa.Column("phase", sa.Integer, sa.ForeignKey("phases.key"), primary_key=True),
            sa.Column("id", sa.LargeBinary(16), primary_key=True),
            sa.Column("questionnaire", sa.Integer, nullable=False),
            sa.Column("codes", sa.Text, nullable=False),
            sqlite_with_rowid=False,
        )
        op.create_table(
            "invitations",
            sa.Column("survey", sa.String(32), sa.ForeignKey("surveys.id"), primary_key=True),
            sa.Column("hash", sa.LargeBinary(32), primary_key=True),
            sa.Column("used", sa.Boolean, nullable=False),
            sqlite_with_rowid=False,
        )
        op.create_table(
            "arrivals",
            sa.Column("phase", sa.Integer, sa.ForeignKey("phases.key"), primary_key=True),
            sa.Column("hour", sa.String(13), primary_key=True),
            sa.Column("count", sa.BigInteger, nullable=False),
            sqlite_with_rowid=False,
        )


@pytest.mark.parametrize("old", [False, True])
def test_an_empty_database_and_an_old_one_come_out_alike(url, old):
    engine = open_engine(url)
    if old:
        make_oldest(engine)
    migrate(engine)
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == "0004"
        if engine.dialect.name == "sqlite":
            query = "SELECT sql FROM sqlite_master WHERE name = 'answers'"
            made = connection.exec_driver_sql(query).scalar_one()
            assert "WITHOUT ROWID" in made
    engine.dispose()


def test_an_old_database_keeps_its_answers(url):
    engine = open_engine(url)
    make_oldest(engine)
    survey = frozen()
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                "INSERT INTO surveys"
                " (id, frozen, state, phase, invitations, owner, most, open_data)"
                " VALUES (:id, :frozen, 'open', 1, 'none', :owner, 10, :no)"
            ),
            {"id": survey.id, "frozen": survey.to_json(), "owner": b"0" * 32, "no": False},
        )
        connection.execute(
            sa.insert(schema.phases),
            {
                "survey": survey.id,
                "number": 1,
                "design": DESIGN.to_json(),
                "fingerprint": DESIGN.fingerprint,
            },
        )
        row = {"phase": 1, "id": b"1" * 16, "questionnaire": 0, "codes": "1,2,3"}
        connection.execute(sa.insert(schema.answers), row)
    engine.dispose()
    store = Store(url)
    assert store.tally(store.need(survey.id).phase()).groups[0].codes[2].tolist() == [3]
    store.dispose()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("mysql://host/name", "SQLite or PostgreSQL"),
        ("sqlite://", "not durable"),
        ("sqlite:///:memory:", "not durable"),
        ("sqlite:////nowhere/at/all.db", "cannot be opened"),
        ("postgresql://mdrr@127.0.0.1:1/none", "cannot be opened"),
        ("://", "a URL such as"),
    ],
)
def test_databases_that_cannot_be_used(text, wrong):
    with pytest.raises(StoreError, match=wrong):
        Store(text)


def test_bad_requests_of_an_owner(store):
    with pytest.raises(StoreError, match="one of none"):
        store.create(frozen(), invitations="some")
    with pytest.raises(StoreError, match="signing key"):
        store.create(frozen(), invitations="blind")
    with pytest.raises(StoreError, match="at least 1"):
        store.create(frozen(), most=0)
    held = opened(store)
    with pytest.raises(StoreError, match="without invitations"):
        store.invite(held.id, 1)
    with pytest.raises(StoreError, match="between 1 and"):
        store.invite(held.id, 0)
    with pytest.raises(StoreError, match="no phase 2"):
        held.phase(2)


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_a_new_file_and_those_beside_it_are_its_owners_alone(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/answers.db")
    store.create(frozen())
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert files == dict.fromkeys(("answers.db", "answers.db-shm", "answers.db-wal"), 0o600)
    store.dispose()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (
            "postgresql://ann:se/c:ret@db.example.org:5432/x",
            "postgresql://ann:***@db.example.org:5432/x",
        ),
        (
            "postgres://db.example.org/x?user=ann&password=secret",
            "postgres://db.example.org/x?user=ann&password=***",
        ),
        ("postgresql://ann@db.example.org/x", "postgresql://ann@db.example.org/x"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
        ("mdrr.db", "mdrr.db"),
    ],
)
def test_a_database_is_shown_as_given_without_its_password(given, shown):
    assert masked(given) == shown
