"""Surveys with phases, answers, invitations, and arrivals by the hour."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
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
