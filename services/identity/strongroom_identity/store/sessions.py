"""The queries about sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, insert, select, text, true, update

from strongroom_common.contracts.identity import TokenUses
from strongroom_common.db.database import Database, UnitOfWork
from strongroom_identity.domain.sessions import Session
from strongroom_identity.store.rows import columns_of, value_of
from strongroom_identity.store.tables import MEMBERSHIPS
from strongroom_identity.store.user_tables import SESSIONS

MOST_LISTED = 100
"""How many of a user's sessions are kept and shown: one more ends the oldest."""

_LIST = "SELECT * FROM sessions WHERE user_id = $1 AND expires_at > $2 ORDER BY last_used_at DESC, id DESC LIMIT $3"
_FROM = """
SELECT 1 FROM users u JOIN sessions s ON s.user_id = u.id
WHERE u.email = $1 AND s.client_address = $2 AND s.expires_at > $3 LIMIT 1
"""
_DROP_BEYOND = text("""
DELETE FROM sessions WHERE id IN (
    SELECT id FROM sessions WHERE user_id = :user_id ORDER BY last_used_at DESC, id DESC OFFSET :most
) RETURNING id
""")
# In the order of ids, as every such statement, so that two of them cannot wait for each other.
_NOTE_USES = text("""
WITH used AS (
    SELECT s.id, u.last_used_at
    FROM unnest(CAST(:ids AS uuid[]), CAST(:moments AS timestamptz[])) AS u (id, last_used_at)
    JOIN sessions s USING (id)
    ORDER BY s.id FOR UPDATE OF s
)
UPDATE sessions s SET last_used_at = greatest(s.last_used_at, used.last_used_at) FROM used WHERE s.id = used.id
""")
_DROP_EXPIRED = """
DELETE FROM sessions WHERE id IN (
    SELECT id FROM sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""
_WORKPLACE = """
SELECT o.id, o.name, o.slug, o.parent_id, o.enforce_mfa, o.user_token_expiration,
    EXISTS (SELECT FROM totps t WHERE t.user_id = $2 AND t.confirmed_at IS NOT NULL) AS has_second_factor
FROM organizations o
JOIN memberships m ON m.organization_id = o.id AND m.project_id IS NULL
WHERE o.id = $1 AND m.user_id = $2 AND m.status = 'accepted' AND m.is_active
"""


@dataclass(frozen=True)
class Workplace:
    """An organization that a user may work in, and what it asks for."""

    id: UUID
    name: str
    slug: str
    parent_id: UUID | None
    enforce_mfa: bool
    user_token_expiration: str | None
    has_second_factor: bool


async def add(work: UnitOfWork, session: Session) -> Sequence[UUID]:
    """Keep a new session; return those that had to make room for it."""
    await work.execute(insert(SESSIONS).values(columns_of(SESSIONS, session)))
    rows = await work.rows(_DROP_BEYOND, {"user_id": session.user_id, "most": MOST_LISTED})
    return [row.id for row in rows]


async def lock(work: UnitOfWork, session_id: UUID, now: datetime) -> Session | None:
    """Return a session that goes on, and keep it from changing until the work ends."""
    statement = select(SESSIONS).where(SESSIONS.c.id == session_id, SESSIONS.c.expires_at > now).with_for_update()
    row = await work.row(statement)
    return None if row is None else value_of(Session, row._mapping)


async def save(work: UnitOfWork, session: Session) -> None:
    """Keep what changed of a session."""
    await work.execute(update(SESSIONS).where(SESSIONS.c.id == session.id).values(columns_of(SESSIONS, session)))


async def list_of(database: Database, user_id: UUID, now: datetime) -> list[Session]:
    """List a user's sessions, the one used last first."""
    return [value_of(Session, row) for row in await database.fetch(_LIST, user_id, now, MOST_LISTED)]


async def has_one_from(database: Database, mailbox: str, address: str, now: datetime) -> bool:
    """Say whether the user of a mailbox has a session that began at an address."""
    return await database.fetch_row(_FROM, mailbox, address, now) is not None


async def end(work: UnitOfWork, session_id: UUID, user_id: UUID) -> bool:
    """End one session of a user; False when there is none."""
    statement = delete(SESSIONS).where(SESSIONS.c.id == session_id, SESSIONS.c.user_id == user_id)
    return await work.execute(statement) == 1


async def end_all(work: UnitOfWork, user_id: UUID, *, but: UUID | None = None) -> list[UUID]:
    """End all sessions of a user, or all but one; return those that ended."""
    statement = delete(SESSIONS).where(SESSIONS.c.user_id == user_id, SESSIONS.c.id != but if but else true())
    return [row.id for row in await work.rows(statement.returning(SESSIONS.c.id))]


async def note_uses(work: UnitOfWork, uses: Sequence[TokenUses]) -> None:
    """Note when sessions were used; what names no session is of no account."""
    ids, moments = [use.token_id for use in uses], [use.last_used_at for use in uses]
    await work.execute(_NOTE_USES, {"ids": ids, "moments": moments})


async def drop_expired(database: Database, now: datetime, most: int = 1000) -> bool:
    """Forget some of the sessions that are over; say whether there may be more."""
    done = await database.execute(_DROP_EXPIRED, now, most)
    return int(done.rpartition(" ")[2]) == most


async def find_workplace(database: Database, organization_id: UUID, user_id: UUID) -> Workplace | None:
    """Return an organization to one of its active members, or None."""
    row = await database.fetch_row(_WORKPLACE, organization_id, user_id)
    return None if row is None else value_of(Workplace, row)


async def note_login(work: UnitOfWork, organization_id: UUID, user_id: UUID, method: str, now: datetime) -> None:
    """Remember that a user began to work in an organization."""
    table = MEMBERSHIPS.c
    await work.execute(
        update(MEMBERSHIPS)
        .where(table.organization_id == organization_id, table.user_id == user_id, table.project_id.is_(None))
        .values(last_login_method=method, last_login_at=now)
    )
