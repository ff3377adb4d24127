"""Runs the steps on the connection that `mdrr.server.schema.migrate` gives."""

from alembic import context

from mdrr.server.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
