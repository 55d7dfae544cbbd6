"""The body of every service's `migrations/env.py`: run the versions on the connection that `Migrations` hands over."""

from alembic import context


def run_migrations() -> None:
    """Apply what is missing, inside the caller's transaction: a failed migration leaves nothing behind."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, transactional_ddl=True)
    context.run_migrations()
