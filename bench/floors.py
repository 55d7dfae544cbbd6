"""The floors: the least that anything built on the same libraries could do, each as a server in a process of its own.

`python -m bench.floors wire|constant|proxy|rows|login` prints `ready: http://127.0.0.1:port` and serves until it is
told to stop. Nothing here authenticates, decides, records or validates; that is what the product's ratio to it pays
for.
"""

import asyncio
import hmac
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import asyncpg
import orjson
import typer
from aiohttp import ClientSession, DummyCookieJar, TCPConnector, hdrs, web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from jwt.utils import base64url_encode
from yarl import URL

from strongroom_common.kernel.ids import new_id
from strongroom_common.runtime.postgres import EmbeddedPostgres
from strongroom_common.runtime.process import run

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

app = typer.Typer(help="The floors, as servers.", no_args_is_help=True, add_completion=False)

CONSTANT = orjson.dumps({"projects": [{"id": str(UUID(int=n)), "name": f"project {n}"} for n in range(5)]})
_JSON = {"Content-Type": "application/json"}


@app.command()
def wire() -> None:
    """No HTTP library at all: what the load generator is measured with."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(CONSTANT)}\r\n\r\n"
    answer = head.encode() + CONSTANT

    class Wire(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self._transport: Any = transport

        def data_received(self, data: bytes) -> None:
            self._transport.write(answer)

    async def serve(stop: asyncio.Event) -> None:
        server = await asyncio.get_running_loop().create_server(Wire, "127.0.0.1", 0)
        typer.echo(f"ready: http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await stop.wait()
        server.close()

    run(serve)


@app.command()
def constant() -> None:
    """(a) Bare aiohttp that answers the same JSON to everything."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=CONSTANT, headers=_JSON)

    async def serve(stop: asyncio.Event) -> None:
        async with _serving(answer):
            await stop.wait()

    run(serve)


@app.command()
def proxy(upstream: Annotated[str, typer.Option(help="Where to forward to, such as http://127.0.0.1:8080.")]) -> None:
    """(b) Bare aiohttp that forwards everything to another server, bodies as they come."""

    async def serve(stop: asyncio.Event) -> None:
        session = ClientSession(connector=TCPConnector(limit=0), cookie_jar=DummyCookieJar(), auto_decompress=False)

        async def forward(request: web.BaseRequest) -> web.StreamResponse:
            headers = request.headers.copy()
            del headers[hdrs.HOST]
            body = request.content if request.body_exists else None
            url = URL(upstream + request.raw_path, encoded=True)
            async with session.request(request.method, url, headers=headers, data=body) as answer:
                response = web.StreamResponse(status=answer.status, headers=answer.headers)
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
                return response

        async with session, _serving(forward):
            await stop.wait()

    run(serve)


@app.command()
def rows(data: Annotated[Path, typer.Option(help="The data folder of a running `standalone`.")]) -> None:
    """(c), (d), (e) Bare aiohttp, asyncpg, AES-GCM and orjson, on copies of the product's own rows beside them.

    GET /one/{name} reads one secret of the largest folder, GET /list/{count} all secrets of the folder that holds so
    many, POST /batch adds the rows of the largest folder once more, in one transaction, as another folder's.
    """

    async def serve(stop: asyncio.Event) -> None:
        url = EmbeddedPostgres.url_of_running(data / "postgres", "secrets")
        async with asyncpg.create_pool(url.reveal(), min_size=10, max_size=10, reset=_leave_as_is) as pool:
            rows = await _Rows.copied(pool)
            async with _serving(rows.answer):
                await stop.wait()

    run(serve)


@app.command()
def login(data: Annotated[Path, typer.Option(help="The data folder of a running `standalone`.")]) -> None:
    """(f) Bare aiohttp, asyncpg, HMAC, Ed25519 and orjson, on copies of identity's tables beside them.

    POST with a client id and a client secret selects the client, hashes the secret, adds the row of a token in a
    transaction of its own, and answers with a signed token.
    """

    async def serve(stop: asyncio.Event) -> None:
        url = EmbeddedPostgres.url_of_running(data / "postgres", "identity")
        async with asyncpg.create_pool(url.reveal(), min_size=10, max_size=10, reset=_leave_as_is) as pool:
            login = await _Login.copied(pool)
            async with _serving(login.answer):
                await stop.wait()

    run(serve)


async def _leave_as_is(connection: Any) -> None:
    """Forget nothing between two uses of a connection: there is nothing to forget, and asking costs a round trip."""


# ANALYZE is for the product's tables as well: neither side is to plan by guess.
_COPY = """
DROP SCHEMA IF EXISTS floor CASCADE;
CREATE SCHEMA floor;
CREATE TABLE floor.secrets (LIKE public.secrets INCLUDING ALL);
CREATE TABLE floor.secret_versions (LIKE public.secret_versions INCLUDING ALL);
INSERT INTO floor.secrets SELECT * FROM public.secrets;
INSERT INTO floor.secret_versions SELECT * FROM public.secret_versions;
ANALYZE;
"""
_SEALED = "SELECT id, sealed_value FROM floor.secrets"
_RESEAL = """
UPDATE floor.secrets s SET sealed_value = t.sealed_value
FROM unnest($1::uuid[], $2::bytea[]) AS t (id, sealed_value) WHERE s.id = t.id
"""
_FOLDERS = "SELECT count(*), folder_id, project_id FROM floor.secrets GROUP BY 2, 3 ORDER BY 1"
_LIST = """
SELECT id, name, version, sealed_value, sealed_comment, metadata, skip_multiline_encoding, reminder_note,
    reminder_repeat_days, rotation_id, created_at, updated_at
FROM floor.secrets WHERE project_id = $1 AND folder_id = $2
"""
_ONE = f"{_LIST} AND name = $3"
_COLUMNS = """
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_NONCE = 12
_KEY = AESGCM(os.urandom(32))


class _Rows:
    """The three floors of one table."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._pool = pool
        self._folders: dict[str, tuple[UUID, UUID]] = {}
        self._largest: tuple[UUID, UUID] = (UUID(int=0), UUID(int=0))
        self._inserts: list[tuple[str, list[str], list[list[Any]]]] = []

    @classmethod
    async def copied(cls, pool: "asyncpg.Pool[asyncpg.Record]") -> "_Rows":
        """Copy what the product has stored, each value sealed anew, at the same length, under a key of the floor's."""
        rows = cls(pool)
        await pool.execute(_COPY)
        sealed = [(row["id"], _seal(len(row["sealed_value"]))) for row in await pool.fetch(_SEALED)]
        await pool.execute(_RESEAL, [secret_id for secret_id, _ in sealed], [value for _, value in sealed])
        for count, folder_id, project_id in await pool.fetch(_FOLDERS):
            rows._folders[f"/list/{count}"] = rows._largest = (project_id, folder_id)
        for table in ("floor.secrets", "floor.secret_versions"):
            await rows._prepare_insert(table)
        return rows

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        body: dict[str, Any]
        if path.startswith("/one/"):
            row = await self._pool.fetchrow(_ONE, *self._largest, path[5:])
            body = {"secret": _render(row)}
        elif path == "/batch":
            body = {"secrets": await self._insert(orjson.loads(await request.read()))}
        else:
            found = await self._pool.fetch(_LIST, *self._folders[path])
            body = {"secrets": [_render(row) for row in found]}
        return web.Response(body=orjson.dumps(body, option=orjson.OPT_UTC_Z), headers=_JSON)

    async def _prepare_insert(self, table: str) -> None:
        columns = await self._pool.fetch(_COLUMNS, table)
        names = [name for name, _ in columns]
        arrays = ", ".join(f"${number}::{kind}[]" for number, (_, kind) in enumerate(columns, 1))
        found = await self._pool.fetch(
            f"SELECT * FROM {table} WHERE project_id = $1 AND folder_id = $2",  # noqa: S608 - constants of this module
            *self._largest,
        )
        statement = f"INSERT INTO {table} ({', '.join(names)}) SELECT * FROM unnest({arrays})"  # noqa: S608 - likewise
        self._inserts.append((statement, names, [[row[name] for row in found] for name in names]))

    async def _insert(self, body: Any) -> list[dict[str, Any]]:
        """Insert ready rows, only ids being new: what the product parses and seals is not part of the floor."""
        ids = [new_id() for _ in body["secrets"]]
        folder_id = new_id()
        async with self._pool.acquire() as connection, connection.transaction():
            for statement, names, values in self._inserts:
                fresh = {"id": ids, "secret_id": ids, "folder_id": [folder_id] * len(ids)}
                await connection.execute(
                    statement, *(fresh.get(name, old) for name, old in zip(names, values, strict=True))
                )
        _, names, values = self._inserts[0]
        created_at = values[names.index("created_at")][0]
        return [
            _shape(str(secret_id), secret["secretKey"], secret["secretValue"], 1, created_at, created_at)
            for secret_id, secret in zip(ids, body["secrets"], strict=True)
        ]


_COPY_OF_IDENTITY = """
DROP SCHEMA IF EXISTS floor CASCADE;
CREATE SCHEMA floor;
CREATE TABLE floor.auth_configurations (LIKE public.auth_configurations INCLUDING ALL);
CREATE TABLE floor.access_tokens (LIKE public.access_tokens INCLUDING ALL);
INSERT INTO floor.auth_configurations SELECT * FROM public.auth_configurations;
INSERT INTO floor.access_tokens SELECT * FROM public.access_tokens;
ANALYZE;
"""
_CLIENT = "SELECT * FROM floor.auth_configurations WHERE client_id = $1"
# One that a login gave: only such a row is in the index by client secret.
_TOKEN = "SELECT * FROM floor.access_tokens WHERE client_secret_id IS NOT NULL LIMIT 1"
_HEAD = {"typ": "JWT", "alg": "EdDSA", "kid": "0" * 32}


class _Login:
    """The floor of a login."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", token: "asyncpg.Record") -> None:
        self._pool = pool
        self._token = dict(token)
        places = ", ".join(f"${number}" for number in range(1, len(self._token) + 1))
        self._insert = f"INSERT INTO floor.access_tokens ({', '.join(self._token)}) VALUES ({places})"  # noqa: S608
        self._pepper = os.urandom(32)
        self._key = Ed25519PrivateKey.generate()
        self._head = base64url_encode(orjson.dumps(_HEAD))

    @classmethod
    async def copied(cls, pool: "asyncpg.Pool[asyncpg.Record]") -> "_Login":
        """Copy who may log in, and the tokens there are: one login at least must have been answered."""
        await pool.execute(_COPY_OF_IDENTITY)
        token = await pool.fetchrow(_TOKEN)
        assert token is not None
        return cls(pool, token)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        presented = orjson.loads(await request.read())
        client = await self._pool.fetchrow(_CLIENT, UUID(presented["clientId"]))
        assert client is not None
        hmac.digest(self._pepper, presented["clientSecret"].encode(), "sha256")
        token_id = new_id()
        # One statement is one transaction, without the round trips of BEGIN and COMMIT.
        await self._pool.execute(self._insert, *{**self._token, "id": token_id}.values())
        body = {
            "accessToken": self._sign(token_id, client),
            "expiresIn": client["access_token_ttl"],
            "accessTokenMaxTTL": client["access_token_max_ttl"],
            "tokenType": "Bearer",
        }
        return web.Response(body=orjson.dumps(body), headers=_JSON)

    def _sign(self, token_id: UUID, client: "asyncpg.Record") -> str:
        claims = {
            "authTokenType": "identityAccessToken",
            "identityAccessTokenId": str(token_id),
            "identityId": str(client["identity_id"]),
            "organizationId": str(client["organization_id"]),
            "clientSecretId": str(self._token["client_secret_id"]),
            "iat": 1_700_000_000,
            "exp": 4_000_000_000,
        }
        message = self._head + b"." + base64url_encode(orjson.dumps(claims))
        return (message + b"." + base64url_encode(self._key.sign(message))).decode()


def _seal(length: int) -> bytes:
    """Seal some value so that it is as long as the product's, whose salt and key id only make it longer."""
    nonce = os.urandom(_NONCE)
    return nonce + _KEY.encrypt(nonce, b"v" * (length - _NONCE - 16), b"associated")


def _render(row: Any) -> dict[str, Any]:
    sealed = row["sealed_value"]
    value = _KEY.decrypt(sealed[:_NONCE], sealed[_NONCE:], b"associated").decode()
    return _shape(str(row["id"]), row["name"], value, row["version"], row["created_at"], row["updated_at"])


def _shape(secret_id: str, name: str, value: str, version: int, created_at: Any, updated_at: Any) -> dict[str, Any]:
    """Show a secret as the product does, field by field."""
    return {
        "id": secret_id,
        "_id": secret_id,
        "workspace": secret_id,
        "environment": "staging",
        "version": version,
        "type": "shared",
        "secretKey": name,
        "secretValue": value,
        "secretComment": "",
        "secretReminderNote": None,
        "secretReminderRepeatDays": None,
        "skipMultilineEncoding": False,
        "createdAt": created_at,
        "updatedAt": updated_at,
        "isRotatedSecret": False,
        "rotationId": None,
        "secretPath": "/",
        "secretValueHidden": False,
        "secretMetadata": [],
        "tags": [],
    }


@asynccontextmanager
async def _serving(handler: Handler) -> AsyncIterator[None]:
    runner = web.ServerRunner(web.Server(handler, access_log=None))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=512).start()
        typer.echo(f"ready: http://127.0.0.1:{runner.addresses[0][1]}")
        yield
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    app()
