"""Secure sums: what a relay stores of them."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the tables of a relay."""
    op.create_table(
        "runs",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("reports", sa.BigInteger, nullable=False),
        sa.Column("messages", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rolls",
        _run(),
        sa.Column("reader", sa.Integer, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "admissions",
        _run(),
        sa.Column("hash", sa.LargeBinary(32), primary_key=True),
        sa.Column("used", sa.LargeBinary(32)),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sealed_reports",
        _run(),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("id", sa.LargeBinary(16), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("run", "id", name="one_report_of_an_id"),
    )
    op.create_table(
        "members",
        _run(),
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("messages", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "messages",
        _run(),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("topic", sa.String(40), nullable=False),
        sa.Column("sender", sa.String(64), nullable=False),
        sa.Column("recipient", sa.String(64), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("run", "topic", "sender", "recipient", name="one_message_of_a_topic"),
    )


def _run() -> sa.Column[str]:
    return sa.Column("run", sa.String(64), sa.ForeignKey("runs.id"), primary_key=True)
