"""The service's database: one engine for work, one lean pool for reads.

A read is one statement and one round trip on the lean pool: acquiring a connection there sends nothing. Work goes
through a `UnitOfWork`: what it changes, says and records becomes true in one commit.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

import asyncpg
import orjson
from sqlalchemy import Executable, text
from sqlalchemy.engine import Row, make_url
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.envelopes import Origin, Postmaster
from strongroom_common.contracts.messages import Command, Event
from strongroom_common.db.errors import as_ours
from strongroom_common.kernel import faults
from strongroom_common.kernel.errors import StrongroomError, Unavailable
from strongroom_common.kernel.secret import Secret

BeforeCommit = Callable[[AsyncConnection], Awaitable[None]]

# What the request at hand wants to become true with the first commit of its work (its idempotency claim).
BEFORE_COMMIT: ContextVar[BeforeCommit | None] = ContextVar("before_commit", default=None)

_WRITE_OUTBOX = text("INSERT INTO outbox (id, aggregate, envelope) VALUES (:id, :aggregate, :envelope)")
_WRITE_SPOOL = text("INSERT INTO audit_spool (records) VALUES (:records)")
_ONCE = text("INSERT INTO inbox (consumer, message_id) VALUES (:consumer, :message_id) ON CONFLICT DO NOTHING")


def encode_records(records: Sequence[AuditRecord]) -> bytes:
    """Write audit records as one JSON array."""
    return orjson.dumps([record.model_dump(mode="json") for record in records])


class UnitOfWork:
    """One transaction: its rows, the messages that follow from them and the audit records of them.

    Leaving without `commit` undoes everything.
    """

    def __init__(
        self, connection: AsyncConnection, origin: Origin, postmaster: Postmaster, after_commit: Callable[[], None]
    ) -> None:
        self.connection = connection
        self.origin = origin
        self._postmaster = postmaster
        self._after_commit = after_commit
        self._messages: list[dict[str, Any]] = []
        self._records: list[AuditRecord] = []

    async def execute(self, statement: Executable, parameters: Any = None) -> int:
        """Run a statement that answers no rows; return how many it touched."""
        result = await self.connection.execute(statement, parameters)
        count: int = getattr(result, "rowcount", -1)
        return count

    async def row(self, statement: Executable, parameters: Any = None) -> Row[Any] | None:
        """Return the first row, or None."""
        return (await self.connection.execute(statement, parameters)).first()

    async def rows(self, statement: Executable, parameters: Any = None) -> Sequence[Row[Any]]:
        """Return all rows."""
        return (await self.connection.execute(statement, parameters)).all()

    def send(self, message: Event | Command, origin: Origin | None = None) -> None:
        """Say something when this work commits. Its secret fields are sealed here and now."""
        envelope = self._postmaster.enclose(message, origin or self.origin)
        self._messages.append({"id": envelope.id, "aggregate": envelope.aggregate, "envelope": envelope.encode()})

    def record(self, record: AuditRecord) -> None:
        """Add to the audit trail when this work commits."""
        self._records.append(record)

    async def is_first_time(self, consumer: str, message_id: Any) -> bool:
        """Note a message as handled by this work; False when an earlier work has done it."""
        return await self.execute(_ONCE, {"consumer": consumer, "message_id": message_id}) == 1

    async def commit(self) -> None:
        """Make all of it true at once."""
        if self._messages:
            await self.connection.execute(_WRITE_OUTBOX, self._messages)
        if self._records:
            await self.connection.execute(_WRITE_SPOOL, {"records": encode_records(self._records)})
        before_commit = BEFORE_COMMIT.get()
        if before_commit is not None:
            await before_commit(self.connection)
        faults.reach("work.before_commit")
        await self.connection.commit()
        faults.reach("work.after_commit")
        if self._messages or self._records:
            self._messages = []
            self._records = []
            self._after_commit()


class Database:
    """Opens with `async with`; closed, it holds nothing."""

    def __init__(
        self,
        url: Secret,
        postmaster: Postmaster,
        *,
        work_connections: int = 10,
        read_connections: int = 10,
        patience: float = 5.0,
    ) -> None:
        """`url` is `postgresql://...`; `patience` is how many seconds to wait for a free connection."""
        self._url = url
        self._postmaster = postmaster
        self._work_connections = work_connections
        self._read_connections = read_connections
        self._patience = patience
        self._engine: AsyncEngine | None = None
        self._reads: asyncpg.Pool[asyncpg.Record] | None = None
        self.after_commit: Callable[[], None] = lambda: None
        """Rung after each commit that left something for the relay."""

    async def __aenter__(self) -> Self:
        engine_url = make_url(self._url.reveal()).set(drivername="postgresql+asyncpg")
        self._engine = create_async_engine(
            engine_url,
            pool_size=self._work_connections,
            max_overflow=0,
            pool_timeout=self._patience,
            pool_pre_ping=True,
            # An error text with parameters in it would carry values of secrets into the log.
            hide_parameters=True,
            json_serializer=lambda value: orjson.dumps(value).decode(),
            json_deserializer=orjson.loads,
            connect_args={"timeout": self._patience, "server_settings": {"application_name": "strongroom"}},
        )
        try:
            self._reads = await asyncpg.create_pool(
                self._url.reveal(),
                min_size=1,
                max_size=self._read_connections,
                timeout=self._patience,
                command_timeout=30,
                # Reads here are single statements that leave nothing behind, so there is nothing to reset.
                reset=_leave_as_is,
                init=_prepare_connection,
                server_settings={"application_name": "strongroom-reads"},
            )
        except (OSError, asyncpg.PostgresError, TimeoutError) as error:
            await self._engine.dispose()
            raise Unavailable("the database cannot be reached") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reads is not None:
            self._reads.terminate()
            self._reads = None
        if self._engine is not None:
            await self._engine.dispose()
            self._engine = None

    @property
    def engine(self) -> AsyncEngine:
        """The engine, for migrations and housekeeping."""
        if self._engine is None:
            raise RuntimeError("the database is not open")
        return self._engine

    @property
    def reads(self) -> "asyncpg.Pool[asyncpg.Record]":
        """The lean pool."""
        if self._reads is None:
            raise RuntimeError("the database is not open")
        return self._reads

    @asynccontextmanager
    async def begin(self, origin: Origin) -> AsyncIterator[UnitOfWork]:
        """Begin a unit of work. Errors of the database come out as ours where a caller can act on them."""
        try:
            async with self.engine.connect() as connection:
                yield UnitOfWork(connection, origin, self._postmaster, lambda: self.after_commit())
        except StrongroomError:
            raise
        except Exception as error:
            ours = as_ours(error)
            if ours is None:
                raise
            raise ours from error

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """Read all rows of one statement, `$1`-style, in one round trip."""
        try:
            async with self.reads.acquire(timeout=self._patience) as connection:
                return await connection.fetch(statement, *arguments)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            raise _translated(error) from error

    async def fetch_row(self, statement: str, *arguments: Any) -> asyncpg.Record | None:
        """Read the first row of one statement in one round trip."""
        rows = await self.fetch(statement, *arguments)
        return rows[0] if rows else None

    async def execute(self, statement: str, *arguments: Any) -> str:
        """Run one statement that commits by itself, and return its command tag."""
        try:
            async with self.reads.acquire(timeout=self._patience) as connection:
                return await connection.execute(statement, *arguments)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            raise _translated(error) from error


def _translated(error: Exception) -> Exception:
    if isinstance(error, TimeoutError):
        return Unavailable("the database does not answer right now; try again in a few seconds")
    return as_ours(error) or error


async def _leave_as_is(connection: Any) -> None:
    return None


async def _prepare_connection(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    await connection.set_type_codec(
        "jsonb", encoder=_encode_jsonb, decoder=_decode_jsonb, schema="pg_catalog", format="binary"
    )


def _encode_jsonb(value: Any) -> bytes:
    # The binary form of jsonb is a version byte and the text.
    return b"\x01" + orjson.dumps(value)


def _decode_jsonb(raw: bytes) -> Any:
    return orjson.loads(raw[1:])
