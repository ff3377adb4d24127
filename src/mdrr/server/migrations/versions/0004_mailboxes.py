"""Secure sums: a party's mailbox is read from a mark on, however many messages others have."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the index of mailboxes."""
    op.create_index("mailboxes", "messages", ["run", "recipient", "number"])
