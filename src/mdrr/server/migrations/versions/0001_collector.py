"""The first tables. Steps are for old databases: new ones are made as `mdrr.server.schema` says."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing is older."""
