"""Knows who may come in: verifies tokens locally, asks identity once, remembers, and forgets when told.

Remembered answers live at most `max_age` seconds and are dropped by event within milliseconds. When identity cannot be
asked and nothing valid is remembered, the answer is `Unavailable` (503), never "allowed".
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from strongroom_common.access.callers import Caller, Standing
from strongroom_common.access.keys import VerificationKeys
from strongroom_common.access.networks import is_within
from strongroom_common.access.rules import Ruleset
from strongroom_common.contracts.envelopes import Actor
from strongroom_common.contracts.identity import (
    AccessChanged,
    CallerAccess,
    ProjectAccess,
    ResolveCaller,
    ResolveProjectAccess,
    SigningKeysChanged,
    SpendToken,
    TokensRevoked,
    TokenUses,
)
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import Forbidden, StrongroomError, TokenRefused, Unauthenticated
from strongroom_common.observability.metrics import ACCESS_LOOKUPS

V = TypeVar("V")

KINDS = {"accessToken": "user", "identityAccessToken": "identity"}


class AccessSource(Protocol):
    """Who answers about tokens and access: identity over the bus, or identity itself."""

    async def resolve_caller(self, question: ResolveCaller) -> CallerAccess:
        """Answer, or raise `Unauthenticated` or `Unavailable`."""
        ...

    async def resolve_project_access(self, question: ResolveProjectAccess) -> ProjectAccess:
        """Answer, or raise `NotFound`, `Forbidden` or `Unavailable`."""
        ...

    async def spend(self, question: SpendToken) -> None:
        """Count one use, or raise `Unauthenticated` or `Unavailable`."""
        ...


class _Memory(Generic[V]):
    """A bounded memory with age, which answers a crowd of equal questions by asking once."""

    def __init__(self, clock: Clock, max_age: float, most: int, end_of: Callable[[V], datetime | None]) -> None:
        """`end_of` says when an answer ends by itself, before its age: it is asked anew then."""
        self._clock = clock
        self._max_age = max_age
        self._end_of = end_of
        self._most = most
        self._entries: OrderedDict[Hashable, tuple[float, V]] = OrderedDict()
        self._asked: dict[Hashable, asyncio.Future[V]] = {}
        # What was asked before something was forgotten must not be remembered after it.
        self._generation = 0

    def recall(self, key: Hashable) -> V | None:
        entry = self._entries.get(key)
        if entry is None or self._clock.monotonic() - entry[0] > self._max_age:
            return None
        end = self._end_of(entry[1])
        return entry[1] if end is None or end > self._clock.now() else None

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[V]]) -> V:
        value = self.recall(key)
        if value is not None:
            return value
        while (asked := self._asked.get(key)) is not None:
            try:
                return await asyncio.shield(asked)
            except asyncio.CancelledError:
                if not asked.cancelled():
                    raise
        answer: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._asked[key] = answer
        generation, started = self._generation, self._clock.monotonic()
        ACCESS_LOOKUPS.labels("asked").inc()
        try:
            value = await ask()
        except BaseException as error:
            if isinstance(error, StrongroomError):
                answer.set_exception(error)
                answer.exception()
            else:
                answer.cancel()
            raise
        else:
            if generation == self._generation:
                self._entries[key] = (started, value)
                if len(self._entries) > self._most:
                    self._entries.popitem(last=False)
            answer.set_result(value)
            return value
        finally:
            self._asked.pop(key, None)

    def forget(self, is_stale: Callable[[V], bool]) -> None:
        self._generation += 1
        # Those who ask from now on must not be answered by a question that was put before.
        self._asked.clear()
        for key in [key for key, (_, value) in self._entries.items() if is_stale(value)]:
            del self._entries[key]


@dataclass(frozen=True, slots=True)
class _Claims:
    kind: Any
    token_id: UUID
    organization_id: UUID | None
    expires_at: float | None


@dataclass(slots=True)
class _Uses:
    count: int
    last: datetime


class Doorkeeper:
    """One per service."""

    def __init__(
        self, source: AccessSource, keys: VerificationKeys, clock: Clock, *, max_age: float = 60.0, most: int = 20_000
    ) -> None:
        self._source = source
        self._keys = keys
        self._clock = clock
        self._verified: OrderedDict[bytes, _Claims] = OrderedDict()
        self._most = most
        self._callers: _Memory[tuple[CallerAccess, Ruleset, Actor]] = _Memory(
            clock, max_age, most, lambda entry: entry[0].expires_at
        )
        self._standings: _Memory[tuple[UUID, ProjectAccess, Ruleset]] = _Memory(
            clock, max_age, most, lambda entry: entry[1].valid_until
        )
        self._uses: dict[UUID, _Uses] = {}

    async def admit(self, bearer: str, client_address: str) -> Caller:
        """Say who bears this token, in the order of wire-identity 3.2.

        Raises `TokenRefused` (bad, expired), `Unauthenticated` (unknown, revoked, used up), `Forbidden` (address).
        """
        claims = await self._verify(bearer)
        remembered = await self._callers.get(
            (claims.kind, claims.token_id, claims.organization_id), lambda: self._resolve_caller(claims)
        )
        access, rules, actor = remembered
        if access.trusted_networks and not is_within(client_address, access.trusted_networks):
            raise Forbidden("this token may not be used from your address")
        if access.expires_at is not None and access.expires_at <= self._clock.now():
            raise Unauthenticated("the token has expired: log in again")
        if access.are_uses_counted:
            await self._source.spend(SpendToken(token_id=claims.token_id))
        else:
            self._note_use(claims.token_id)
        return Caller(access=access, rules=rules, client_address=client_address, actor=actor)

    async def verify(self, bearer: str) -> None:
        """Raise `TokenRefused` unless the token is well-formed, signed by identity and not expired."""
        await self._verify(bearer)

    async def standing(self, caller: Caller, project_id: UUID) -> Standing:
        """Say what the caller may do in a project. Raises `NotFound`, `Forbidden`."""
        access = caller.access
        # The facts fill templates of the rules: what was compiled with those of one token is not for another one.
        key = (access.kind, access.subject_id, caller.organization_id, project_id, access.facts)
        _, project, rules = await self._standings.get(key, lambda: self._resolve_standing(caller, project_id))
        return Standing(caller=caller, project=project, rules=rules)

    def hear_access_changed(self, event: AccessChanged) -> None:
        """Drop what the change may have touched."""
        subjects = None if event.subject_ids is None else set(event.subject_ids)

        def touches(organization_id: UUID | None, subject_id: UUID) -> bool:
            return organization_id == event.organization_id and (subjects is None or subject_id in subjects)

        self._callers.forget(lambda entry: touches(entry[0].organization_id, entry[0].subject_id))
        self._standings.forget(
            lambda entry: (
                touches(entry[1].organization_id, entry[0])
                and (event.project_id is None or event.project_id == entry[1].project_id)
            )
        )

    def hear_tokens_revoked(self, event: TokensRevoked) -> None:
        """Drop the dead tokens."""
        tokens, subjects = set(event.token_ids), set(event.subject_ids)
        self._callers.forget(lambda entry: entry[0].token_id in tokens or entry[0].subject_id in subjects)

    async def forget_all(self) -> None:
        """Drop everything remembered: events may have been missed."""
        self._callers.forget(lambda _: True)
        self._standings.forget(lambda _: True)

    async def hear_signing_keys_changed(self, event: SigningKeysChanged) -> None:
        """Take the new set of keys; tokens signed with a retired one are verified again, and refused."""
        await self._keys.replace(event.keys)
        self._verified.clear()

    def take_uses(self) -> list[TokenUses]:
        """Hand over the uses counted since the last call."""
        uses, self._uses = self._uses, {}
        return [TokenUses(token_id=token, uses=use.count, last_used_at=use.last) for token, use in uses.items()]

    def _note_use(self, token_id: UUID) -> None:
        use = self._uses.get(token_id)
        if use is None:
            self._uses[token_id] = _Uses(1, self._clock.now())
        else:
            use.count += 1
            use.last = self._clock.now()

    async def _verify(self, bearer: str) -> _Claims:
        fingerprint = sha256(bearer.encode()).digest()
        claims = self._verified.get(fingerprint)
        if claims is not None:
            if claims.expires_at is not None and claims.expires_at <= self._clock.now().timestamp():
                del self._verified[fingerprint]
                raise TokenRefused("the token has expired: log in again")
            return claims
        claims = _read_claims(await self._keys.verify(bearer))
        self._verified[fingerprint] = claims
        if len(self._verified) > self._most:
            self._verified.popitem(last=False)
        return claims

    async def _resolve_caller(self, claims: _Claims) -> tuple[CallerAccess, Ruleset, Actor]:
        access = await self._source.resolve_caller(
            ResolveCaller(token_id=claims.token_id, kind=claims.kind, organization_id=claims.organization_id)
        )
        return access, Ruleset.from_wire(access.rules, dict(access.facts)), _actor(access)

    async def _resolve_standing(self, caller: Caller, project_id: UUID) -> tuple[UUID, ProjectAccess, Ruleset]:
        project = await self._source.resolve_project_access(
            ResolveProjectAccess(
                kind=caller.access.kind,
                subject_id=caller.access.subject_id,
                organization_id=caller.organization_id,
                project_id=project_id,
            )
        )
        return caller.access.subject_id, project, Ruleset.from_wire(project.rules, dict(caller.access.facts))


def _read_claims(claims: dict[str, Any]) -> _Claims:
    kind = KINDS.get(claims.get("authTokenType", ""))
    if kind is None:
        raise Unauthenticated("this kind of token does not identify a caller")
    try:
        organization = claims.get("organizationId")
        return _Claims(
            kind=kind,
            token_id=UUID(claims["identityAccessTokenId" if kind == "identity" else "tokenVersionId"]),
            organization_id=UUID(organization) if organization else None,
            expires_at=claims.get("exp"),
        )
    except (KeyError, ValueError, TypeError, AttributeError):
        raise TokenRefused("the token lacks a claim that it must have") from None


def _actor(access: CallerAccess) -> Actor:
    if access.kind == "user":
        return Actor(
            kind="user",
            id=access.subject_id,
            name=access.name,
            metadata={"userId": str(access.subject_id), "email": access.email or "", "username": access.email or ""},
        )
    return Actor(
        kind="identity",
        id=access.subject_id,
        name=access.name,
        metadata={"identityId": str(access.subject_id), "name": access.name},
    )
