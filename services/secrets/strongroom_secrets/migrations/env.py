"""Run by alembic."""

from strongroom_common.db.alembic_environment import run_migrations

run_migrations()
