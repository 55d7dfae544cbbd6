"""The identity service with leave to reach this machine, where the servers of these tests are; and such servers."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from strongroom_common.testing.authorities import Authority
from strongroom_common.testing.clock import FakeClock
from strongroom_common.testing.ldap import LdapServer
from strongroom_common.testing.waiting import eventually

HERE = ("127.0.0.0/8", "localhost")
CERTIFICATE_HEADER = "X-Ssl-Client-Cert"


@pytest.fixture
async def fresh(start) -> AsyncIterator[Any]:
    async with start(egress_allow=HERE, client_certificate_header=CERTIFICATE_HEADER) as actions:
        yield actions


@pytest.fixture
async def identity_id(world) -> str:
    body = {"name": "robot", "organizationId": world.tenants[0].organization_id, "role": "no-access"}
    made = await world.http.post("/api/v1/identities", token=world.token, json=body)
    assert made.status == 200, made.text
    return made.json["identity"]["id"]


@pytest.fixture
def directory(ldap_server: LdapServer) -> dict[str, str]:
    """What a caller says of the directory."""
    return ldap_server.settings


@dataclass
class OutsideServer:
    """An HTTPS server of somebody else: `pages` by path, each a JSON value, an exception to the rule as a function."""

    authority: Authority
    base: str = ""
    pages: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request.path)
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404)
        if callable(page):
            return await page(request)
        return web.Response(body=page if isinstance(page, bytes) else json.dumps(page).encode())


@asynccontextmanager
async def serving(server: OutsideServer) -> AsyncIterator[OutsideServer]:
    issued = server.authority.issue("localhost", names=["localhost"])
    runner = web.ServerRunner(web.Server(server.answer), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=issued.server_context())
    await site.start()
    server.base = f"https://localhost:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


@pytest.fixture
async def outside() -> AsyncIterator[OutsideServer]:
    async with serving(OutsideServer(Authority("Somebody else"))) as server:
        yield server


class Issuer:
    """Signs tokens and publishes its keys, at an address of its own."""

    def __init__(self, server: OutsideServer, clock: FakeClock) -> None:
        self.server = server
        self.clock = clock
        self.private: dict[str, Any] = {}
        self.add_key("first", rsa.generate_private_key(public_exponent=65537, key_size=2048))

    @property
    def url(self) -> str:
        """Who it says it is."""
        return self.server.base

    @property
    def jwks_url(self) -> str:
        return f"{self.server.base}/keys"

    @property
    def ca(self) -> str:
        return self.server.authority.certificate

    def add_key(self, name: str, private: Any) -> None:
        """Publish one more key."""
        self.private[name] = private
        self.publish()

    def forget(self, name: str) -> None:
        del self.private[name]
        self.publish()

    def publish(self, **more: Any) -> None:
        keys = [public_jwk(private, kid=name) for name, private in self.private.items()]
        self.server.pages["/keys"] = {"keys": keys}
        self.server.pages["/.well-known/openid-configuration"] = {
            "issuer": self.url,
            "jwks_uri": self.jwks_url,
            **more,
        }

    def token(self, key: str = "first", algorithm: str = "RS256", *, life: int = 300, **claims: Any) -> str:
        """Sign a token; a claim that is None is left out."""
        now = int(self.clock.now().timestamp())
        payload = {"iss": self.url, "sub": "robot", "aud": "strongroom", "iat": now, "exp": now + life, **claims}
        payload = {name: value for name, value in payload.items() if value is not None}
        return jwt.encode(payload, self.private[key], algorithm=algorithm, headers={"kid": key})


def public_jwk(private: Any, **more: str) -> dict[str, Any]:
    """A key's public half as a JSON Web Key."""
    algorithm: Any = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    kind = next(kind for base, kind in algorithm.items() if isinstance(private, base))
    return {**json.loads(kind.to_jwk(private.public_key())), **more}


def public_pem(private: Any) -> str:
    """A key's public half as PEM."""
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


@pytest.fixture
def issuer(outside: OutsideServer, clock: FakeClock) -> Issuer:
    return Issuer(outside, clock)


class Logins:
    """What the tests of a kind do on their way."""

    def __init__(self, world: Any, kind: str, key: str) -> None:
        self.world = world
        self.base = f"/api/v1/auth/{kind}"
        self.key = key

    def path(self, identity_id: str) -> str:
        return f"{self.base}/identities/{identity_id}"

    async def try_attach(self, identity_id: str, **body: Any) -> Any:
        return await self.world.http.post(self.path(identity_id), token=self.world.token, json=body)

    async def attach(self, identity_id: str, **body: Any) -> dict[str, Any]:
        answer = await self.try_attach(identity_id, **body)
        assert answer.status == 200, answer.text
        found: dict[str, Any] = answer.json[self.key]
        return found

    async def change(self, identity_id: str, **body: Any) -> Any:
        return await self.world.http.patch(self.path(identity_id), token=self.world.token, json=body)

    async def get(self, identity_id: str) -> Any:
        return await self.world.http.get(self.path(identity_id), token=self.world.token)

    async def detach(self, identity_id: str) -> Any:
        return await self.world.http.delete(self.path(identity_id), token=self.world.token)

    async def login(self, identity_id: str, **body: Any) -> Any:
        headers = body.pop("headers", None)
        return await self.world.http.post(
            f"{self.base}/login", json={"identityId": identity_id, **body}, headers=headers
        )

    async def reasons(self) -> list[str]:
        """Why logins failed, oldest first."""

        async def noted() -> list[str] | None:
            rows = await self.world.rows("SELECT * FROM audit_spool")
            found = await self.world.audited(f"login-identity-{self.base.rsplit('/', 1)[1]}-failed")
            return None if rows else [row["metadata"]["reason"] for row in found]

        return await eventually(noted)


@pytest.fixture
def logins(world) -> Callable[[str, str], Logins]:
    return lambda kind, key: Logins(world, kind, key)


@pytest.fixture
def signing() -> Any:
    """Makers of keys and their public halves, for tests that publish them in odd ways."""

    class Signing:
        jwk = staticmethod(public_jwk)
        pem = staticmethod(public_pem)

    return Signing
