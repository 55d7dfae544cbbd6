"""A small house with a doorkeeper: a clock moved by hand, a registry that answers as identity would, signed tokens."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson

from strongroom_common.access.callers import Caller
from strongroom_common.access.doorkeeper import Doorkeeper
from strongroom_common.access.keys import VerificationKeys
from strongroom_common.contracts.identity import (
    CallerAccess,
    ProjectAccess,
    PublicKey,
    PublicKeys,
    ResolveCaller,
    ResolveProjectAccess,
    SpendToken,
)
from strongroom_common.crypto.jwts import SigningKey
from strongroom_common.db.database import Database
from strongroom_common.kernel.errors import NotFound, Unauthenticated, Unavailable
from strongroom_common.kernel.ids import new_id


class HandClock:
    """Time that moves only when told."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds


class Registry:
    """Answers as identity would, from a table; counts how often it is asked, and can be away."""

    def __init__(self, key: SigningKey) -> None:
        self.keys = [key]
        self.callers: dict[UUID, CallerAccess] = {}
        self.projects: dict[UUID, ProjectAccess] = {}
        self.asked = 0
        self.uses_left = 0
        self.is_away = False
        self.gate: asyncio.Event | None = None

    async def _ask(self) -> None:
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.is_away:
            raise Unavailable("identity does not answer")

    async def resolve_caller(self, question: ResolveCaller) -> CallerAccess:
        await self._ask()
        found = self.callers.get(question.token_id)
        if found is None:
            raise Unauthenticated("unknown token")
        return found

    async def resolve_project_access(self, question: ResolveProjectAccess) -> ProjectAccess:
        await self._ask()
        found = self.projects.get(question.project_id)
        if found is None or found.organization_id != question.organization_id:
            raise NotFound("no such project")
        return found

    async def spend(self, question: SpendToken) -> None:
        await self._ask()
        if self.uses_left < 1:
            raise Unauthenticated("used up")
        self.uses_left -= 1

    async def list_signing_keys(self) -> PublicKeys:
        await self._ask()
        return PublicKeys(keys=[public(key) for key in self.keys])


def public(key: SigningKey, **more: Any) -> PublicKey:
    """The public half, as identity sends it."""
    return PublicKey(kid=key.id, key=orjson.dumps(key.verification_key.to_json()).decode(), **more)


class House:
    """Everything put together; `caller` and `project` add to what the registry knows."""

    def __init__(self, database: Database) -> None:
        self.clock = HandClock()
        self.key = SigningKey.generate()
        self.registry = Registry(self.key)
        self.keys = VerificationKeys(database, self.registry.list_signing_keys, self.clock)
        self.doorkeeper = Doorkeeper(self.registry, self.keys, self.clock, max_age=60)
        self.organization_id = new_id()

    def caller(self, **more: Any) -> str:
        """Register a caller; return its token."""
        facts: dict[str, Any] = {
            "token_id": new_id(),
            "kind": "identity",
            "subject_id": new_id(),
            "name": "robot",
            "auth_method": "universal-auth",
            "organization_id": self.organization_id,
        }
        access = CallerAccess(**(facts | more))
        self.registry.callers[access.token_id] = access
        self.access = access
        return self.sign(access)

    def sign(self, access: CallerAccess, **claims: Any) -> str:
        """Write a token of this caller."""
        return self.key.sign(
            {
                "authTokenType": "identityAccessToken",
                "identityAccessTokenId": str(access.token_id),
                "organizationId": str(access.organization_id),
                **claims,
            }
        )

    def project(self, rules: list[dict[str, Any]], organization_id: UUID | None = None) -> UUID:
        """Register a project in which everyone has these rules."""
        project_id = new_id()
        self.registry.projects[project_id] = ProjectAccess(
            project_id=project_id,
            organization_id=organization_id or self.organization_id,
            name="p",
            slug="p",
            type="secret-manager",
            rules=rules,
        )
        return project_id

    async def admit(self, token: str, address: str = "192.0.2.1") -> Caller:
        """Let the bearer of a token in."""
        return await self.doorkeeper.admit(token, address)
