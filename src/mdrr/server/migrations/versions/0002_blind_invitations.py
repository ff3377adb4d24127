"""Blind invitations: the signing key, what was signed, and the tokens that were spent."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add what blind invitations need."""
    op.add_column("surveys", sa.Column("signing_key", sa.LargeBinary))
    op.add_column("surveys", sa.Column("blind_key", sa.LargeBinary))
    op.create_table(
        "signed",
        sa.Column("survey", sa.String(32), primary_key=True),
        sa.Column("invitation", sa.LargeBinary(32), primary_key=True),
        sa.Column("blinded", sa.LargeBinary(32), nullable=False),
        sa.ForeignKeyConstraint(
            ["survey", "invitation"], ["invitations.survey", "invitations.hash"]
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "spent",
        sa.Column("survey", sa.String(32), sa.ForeignKey("surveys.id"), primary_key=True),
        sa.Column("hash", sa.LargeBinary(32), primary_key=True),
        sqlite_with_rowid=False,
    )
