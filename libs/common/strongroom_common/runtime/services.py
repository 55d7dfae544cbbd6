"""One service as a value: what it stands on, its rooms put together, and the order in which it starts and stops.

The process runner, the tests and `standalone` all start services from here and from nowhere else.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from strongroom_common.access.bus_source import BusAccessSource
from strongroom_common.access.doorkeeper import AccessSource, Doorkeeper
from strongroom_common.access.keys import VerificationKeys
from strongroom_common.audit.trail import ReadTrail, forward_spool
from strongroom_common.bus.asking import Asker
from strongroom_common.bus.port import Bus
from strongroom_common.contracts.audit import AuditRecorded
from strongroom_common.contracts.envelopes import Origin, Postmaster
from strongroom_common.contracts.identity import (
    AccessChanged,
    PublicKeys,
    SigningKeysChanged,
    TokensRevoked,
    TokensUsed,
)
from strongroom_common.crypto.keyring import Keyring
from strongroom_common.db.data_keys import DataKeys
from strongroom_common.db.database import Database
from strongroom_common.db.migrations import Migrations
from strongroom_common.egress.guard import Guard
from strongroom_common.http.door import Door
from strongroom_common.http.endpoints import Endpoint
from strongroom_common.http.replays import Replays
from strongroom_common.kernel.clock import Clock, SystemClock
from strongroom_common.runtime import jobs as job_runner
from strongroom_common.runtime.jobs import Job, Jobs
from strongroom_common.runtime.listening import Listeners
from strongroom_common.runtime.relay import Relay, prune
from strongroom_common.runtime.settings import ServiceSettings


class IdentitySource(AccessSource, Protocol):
    """Who answers about access and signing keys."""

    async def list_signing_keys(self) -> PublicKeys:
        """Return the keys that verify tokens."""
        ...


@dataclass(frozen=True)
class Foundations:
    """What every service stands on, made from its settings."""

    name: str
    settings: ServiceSettings
    clock: Clock
    bus: Bus
    postmaster: Postmaster
    database: Database
    keyring: Keyring
    data_keys: DataKeys
    asker: Asker
    source: IdentitySource
    keys: VerificationKeys
    doorkeeper: Doorkeeper
    trail: ReadTrail
    guard: Guard
    replays: Replays

    @classmethod
    def lay(
        cls,
        name: str,
        settings: ServiceSettings,
        bus: Bus,
        *,
        clock: Clock | None = None,
        source: Callable[[Database], IdentitySource] | None = None,
    ) -> "Foundations":
        """Lay them; nothing is opened yet. Identity brings its own `source`, everyone else asks over the bus.

        Raises `BadKeyring` when a key setting cannot be read.
        """
        clock = clock or SystemClock()
        bus_keyring = Keyring.parse(settings.bus_keys)
        keyring = Keyring.parse(settings.master_keys)
        postmaster = Postmaster(clock, bus_keyring.seal, bus_keyring.open)
        database = Database(
            settings.database_url,
            postmaster,
            work_connections=settings.database_connections,
            read_connections=settings.database_connections,
        )
        asker = Asker(bus, postmaster)
        who: IdentitySource = source(database) if source else BusAccessSource(asker)
        keys = VerificationKeys(database, who.list_signing_keys, clock)
        return cls(
            name=name,
            settings=settings,
            clock=clock,
            bus=bus,
            postmaster=postmaster,
            database=database,
            keyring=keyring,
            data_keys=DataKeys(database, keyring),
            asker=asker,
            source=who,
            keys=keys,
            doorkeeper=Doorkeeper(who, keys, clock, max_age=settings.access_max_age),
            trail=ReadTrail(database, settings.audit_reads),
            guard=Guard(settings.egress_allow),
            replays=Replays(database, keyring, clock),
        )


class Service:
    """A service that can be prepared, run and asked how it is."""

    def __init__(
        self,
        foundations: Foundations,
        *,
        context: Any,
        endpoints: Iterable[Endpoint],
        listeners: Listeners[Any],
        jobs: Jobs,
        migrations: str,
        audited: type[AuditRecorded],
        tokens_used: type[TokensUsed],
    ) -> None:
        self.foundations = foundations
        self.name = foundations.name
        self.context = context
        settings = foundations.settings
        self.door: Door[Any] = Door(
            name=foundations.name,
            service=context,
            endpoints=endpoints,
            clock=foundations.clock,
            doorkeeper=foundations.doorkeeper,
            replays=foundations.replays,
            trail=foundations.trail,
            most_body_bytes=settings.most_body_bytes,
            patience=settings.request_seconds,
        )
        self.migrations = Migrations(migrations, settings.database_url)
        self._relay = Relay(settings.database_url, foundations.bus, foundations.name)
        foundations.database.after_commit = self._relay.ring
        self._jobs = [*jobs.jobs, *self._housekeeping(audited, tokens_used)]
        listeners.attach(foundations.bus, foundations.name, context, foundations.database, foundations.postmaster)
        self._overhear()

    @asynccontextmanager
    async def prepared(self) -> AsyncIterator[None]:
        """Open the database, see that its schema fits, read the keys. Raises `Unavailable`, `SchemaTooOld`, ..."""
        await self.migrations.verify()
        async with self.foundations.database:
            await self.foundations.keys.load()
            yield

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen, relay and do the jobs. On the way out take nothing new, finish or hand back what is in hand."""
        bus = self.foundations.bus
        async with self.foundations.trail.running():
            await bus.open()
            try:
                async with (
                    self._relay.running(),
                    job_runner.running(self._jobs, self.context, self.name),
                ):
                    yield
            finally:
                await bus.close(timedelta(seconds=3))

    async def is_ready(self) -> bool:
        """Say whether requests have a chance: the database answers and the bus is connected."""
        try:
            await self.foundations.database.fetch_row("SELECT 1")
        except Exception:  # noqa: BLE001 - whatever is wrong, we are not ready
            return False
        return self.foundations.bus.is_connected()

    def _housekeeping(self, audited: type[AuditRecorded], tokens_used: type[TokensUsed]) -> list[Job]:
        foundations = self.foundations
        database = foundations.database

        async def forward_audit(_: Any) -> None:
            while await forward_spool(database, audited):
                pass

        async def report_token_uses(_: Any) -> None:
            uses = foundations.doorkeeper.take_uses()
            if uses:
                async with database.begin(Origin()) as work:
                    work.send(tokens_used(uses=uses))
                    await work.commit()

        async def forget_the_old(_: Any) -> None:
            await foundations.replays.expire()
            await prune(foundations.settings.database_url)

        return [
            Job("forward_audit", timedelta(milliseconds=500), forward_audit),
            Job("report_token_uses", timedelta(seconds=10), report_token_uses),
            Job("forget_the_old", timedelta(hours=1), forget_the_old),
        ]

    def _overhear(self) -> None:
        foundations = self.foundations
        doorkeeper, postmaster = foundations.doorkeeper, foundations.postmaster

        async def access_changed(envelope: Any) -> None:
            doorkeeper.hear_access_changed(postmaster.disclose(envelope, AccessChanged))

        async def tokens_revoked(envelope: Any) -> None:
            doorkeeper.hear_tokens_revoked(postmaster.disclose(envelope, TokensRevoked))

        async def signing_keys_changed(envelope: Any) -> None:
            await doorkeeper.hear_signing_keys_changed(postmaster.disclose(envelope, SigningKeysChanged))

        foundations.bus.overhear([AccessChanged.type], access_changed)
        foundations.bus.overhear([TokensRevoked.type], tokens_revoked)
        foundations.bus.overhear([SigningKeysChanged.type], signing_keys_changed)
        foundations.bus.after_gap(doorkeeper.forget_all)
