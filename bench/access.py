"""Identity's answers about access, asked in this process on the database of a running `standalone`: no HTTP, no bus."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from time import perf_counter

import orjson
import uvloop
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from jwt.utils import base64url_decode

from bench.product import Product
from strongroom_common.access.doorkeeper import Doorkeeper
from strongroom_common.access.keys import VerificationKeys
from strongroom_common.contracts.envelopes import Postmaster
from strongroom_common.contracts.identity import ResolveCaller, ResolveProjectAccess
from strongroom_common.crypto.jwts import VerificationKey
from strongroom_common.db.database import Database
from strongroom_common.kernel.clock import SystemClock
from strongroom_common.runtime.postgres import EmbeddedPostgres
from strongroom_identity.usecases.access import LocalAccess

_ADDRESS = "127.0.0.1"
_TOKEN_ROW = "SELECT * FROM access_tokens WHERE id = $1"
_PROJECT_ROW = "SELECT * FROM projects WHERE id = $1"


class Access:
    """What is asked about one token and one project, and the floors of the questions, all through the same pool."""

    def __init__(self, runner: asyncio.Runner, database: Database, product: Product) -> None:
        self._runner = runner
        self._database = database
        self._clock = SystemClock()
        self._access = LocalAccess(database, self._clock)
        self._keys = VerificationKeys(database, self._access.list_signing_keys, self._clock)
        self._doorkeeper = self._new_doorkeeper()
        self._token = product.token
        self._remembered = {sha256(product.token.encode()).digest(): product.identity}
        message, _, signature = product.token.rpartition(".")
        head, payload = (orjson.loads(base64url_decode(part)) for part in message.split("."))
        self._message, self._signature = message.encode(), base64url_decode(signature)
        self._key_id = head["kid"]
        self._caller = ResolveCaller(
            token_id=payload["identityAccessTokenId"], kind="identity", organization_id=payload["organizationId"]
        )
        self._standing = ResolveProjectAccess(
            kind="identity",
            subject_id=product.identity,
            organization_id=payload["organizationId"],
            project_id=product.project,
        )
        self._public = runner.run(self._find_public())

    def repeat(self, question: "Question", seconds: float) -> tuple[int, float]:
        """Ask this again and again, one after the other; return how often, and in how many seconds."""

        async def go() -> tuple[int, float]:
            count, started = 0, perf_counter()
            while (elapsed := perf_counter() - started) < seconds:
                for _ in range(10):
                    await question(self)
                count += 10
            return count, elapsed

        return self._runner.run(go())

    async def admit(self) -> None:
        """Let in the bearer of a token that is remembered."""
        await self._doorkeeper.admit(self._token, _ADDRESS)

    async def admit_new(self) -> None:
        """Let in the bearer of a token that was never seen; identity's answer comes from its database."""
        await self._new_doorkeeper().admit(self._token, _ADDRESS)

    async def resolve_caller(self) -> None:
        """Say whom a token speaks for."""
        await self._access.resolve_caller(self._caller)

    async def resolve_standing(self) -> None:
        """Say what an identity may do in a project."""
        await self._access.resolve_project_access(self._standing)

    async def recall(self) -> None:
        """Know a token again: the least that is possible without keeping the token itself."""
        self._remembered[sha256(self._token.encode()).digest()]

    async def check_and_select(self) -> None:
        """The signature, and the token's row."""
        self._public.verify(self._signature, self._message)
        await self._database.reads.fetchrow(_TOKEN_ROW, self._caller.token_id)

    async def select_token(self) -> None:
        """The token's row, nothing joined."""
        await self._database.reads.fetchrow(_TOKEN_ROW, self._caller.token_id)

    async def select_project(self) -> None:
        """The project's row, nothing joined."""
        await self._database.reads.fetchrow(_PROJECT_ROW, self._standing.project_id)

    def _new_doorkeeper(self) -> Doorkeeper:
        return Doorkeeper(self._access, self._keys, self._clock)

    async def _find_public(self) -> Ed25519PublicKey:
        keys = (await self._access.list_signing_keys()).keys
        # The doorkeepers know the keys from here on, as a service does that has run for a while.
        await self._keys.load()
        return next(VerificationKey.of_json(orjson.loads(key.key)).public for key in keys if key.kid == self._key_id)


Question = Callable[[Access], Awaitable[object]]


@contextmanager
def access_in_process(product: Product) -> Iterator[Access]:
    """Open identity's database a second time, beside the running product."""
    url = EmbeddedPostgres.url_of_running(product.data / "postgres", "identity")
    database = Database(url, Postmaster(SystemClock(), _refuse, _refuse))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(database.__aenter__())
        try:
            yield Access(runner, database, product)
        finally:
            runner.run(database.__aexit__(None, None, None))


def _refuse(_: bytes, __: bytes) -> bytes:
    raise AssertionError("nothing is sent from here")
