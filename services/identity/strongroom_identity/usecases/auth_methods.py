"""The kinds of login that have a file each (wire-identity 6 and 7): attached, changed, shown, logged in with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import orjson
from pydantic import ValidationError

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.audit import AuditRecord
from strongroom_common.contracts.envelopes import Actor, Origin
from strongroom_common.crypto.data_keys import bind
from strongroom_common.http.errors import invalid
from strongroom_common.http.models import Body
from strongroom_common.kernel.errors import Conflict, NotFound, StrongroomError
from strongroom_common.kernel.kinds import Kinds
from strongroom_identity.domain.auth_configurations import AuthConfiguration, TokenSettings
from strongroom_identity.domain.auth_methods import AuthMethod, Proof, Tools
from strongroom_identity.domain.errors import BadCredentials, LoginUndecided
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.lockouts import Attempt, Lockout
from strongroom_identity.domain.tokens import IssuedToken
from strongroom_identity.providers import auth_methods as family
from strongroom_identity.store import auth_configurations, memberships
from strongroom_identity.usecases import auth_configurations as attached
from strongroom_identity.usecases import lockouts, tokens
from strongroom_identity.usecases.context import IdentityContext

AnyMethod = AuthMethod[Any, Any]

METHODS: Kinds[AnyMethod] = Kinds.found_in(family, AuthMethod)  # type: ignore[type-abstract]  # kinds are made from it
"""The kinds that are here, by name."""

Completion = Callable[[IdentityContext, Caller, UUID, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]

COMPLETIONS: dict[str, Completion] = {}
"""By kind: fills in, before a configuration is accepted and kept, what stands elsewhere (templates).

It gets who asks for it, the organization, and the settings by their wire names.
"""


@dataclass(frozen=True)
class Settings:
    """What a caller wants of a configuration: the token settings, the lockout, and what only this kind has."""

    tokens: Mapping[str, Any]
    lockout: Mapping[str, Any]
    own: Mapping[str, Any]


@dataclass(frozen=True)
class Shown:
    """A configuration with its own settings, opened."""

    configuration: AuthConfiguration
    settings: Body


@dataclass(frozen=True)
class Login:
    """What a machine presents. `sub_organization` is the slug of the one it wants to work in, if any."""

    identity_id: UUID
    presented: Body
    sub_organization: str | None
    headers: Mapping[str, str]


async def attach(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, name: str, wish: Settings
) -> Shown:
    """Let an identity log in this way; raises `Conflict` when it can already."""
    method = METHODS[name]

    async def make(identity: Identity) -> AuthConfiguration:
        fresh = AuthConfiguration.new(
            name,
            identity.organization_id,
            identity.id,
            TokenSettings(**wish.tokens),
            context.clock.now(),
            lockout=Lockout(**wish.lockout) if method.has_lockout else None,
        )
        return await _accepted(context, caller, method, fresh, wish.own)

    configuration = await attached.attach(context, caller, origin, identity_id, name, make)
    return await _show(context, method, configuration)


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, name: str, wish: Settings
) -> Shown:
    """Change how an identity logs in; what is not given stays. Raises `NotFound` when it has no such login."""
    method = METHODS[name]

    async def change_it(before: AuthConfiguration) -> AuthConfiguration:
        stored = await _open(context, before)
        changed = replace(
            before,
            tokens=before.tokens.changed(wish.tokens),
            lockout=replace(before.lockout, **wish.lockout) if before.lockout else None,
        )
        return await _accepted(context, caller, method, changed, method.changed(stored, wish.own))

    configuration = await attached.change(context, caller, origin, identity_id, name, change_it)
    return await _show(context, method, configuration)


async def get(context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, name: str) -> Shown:
    """Return an identity's configuration; raises `NotFound` or `Conflict`, as the kind has it, when there is none."""
    method = METHODS[name]
    absent = Conflict if method.is_absence_a_conflict else NotFound
    configuration = await attached.get(context, caller, origin, identity_id, name, absent=absent)
    return await _show(context, method, configuration)


async def detach(context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, name: str) -> Shown:
    """Take this kind of login from an identity, and the tokens that it got by it; raises `Conflict` without one."""
    configuration = await attached.detach(context, caller, origin, identity_id, name)
    return await _show(context, METHODS[name], configuration)


async def login(context: IdentityContext, origin: Origin, name: str, login: Login) -> IssuedToken:
    """Exchange what a machine presents for a token."""
    method = METHODS[name]
    target = await auth_configurations.find_for_login(context.database, login.identity_id, name)
    if target is None:
        await context.trail.note(_failure(context, origin, name, login, "unknown identity"))
        if method.is_absence_told:
            raise NotFound("There is no such identity that can log in this way")
        raise BadCredentials
    configuration = target.configuration
    metadata = {"identityId": str(configuration.identity_id), "name": target.identity_name}
    actor = Actor(kind="identity", id=configuration.identity_id, name=target.identity_name, metadata=metadata)
    origin = replace(origin, actor=actor, organization_id=configuration.organization_id)
    try:
        proof = await _prove(context, origin, method, configuration, login)
        scope = await tokens.choose_scope(
            context, configuration, login.sub_organization, is_of_sub_organization=target.is_of_sub_organization
        )
    except StrongroomError as refusal:
        reason = refusal.reason if isinstance(refusal, BadCredentials | LoginUndecided) else refusal.message
        await context.trail.note(_failure(context, origin, name, login, reason))
        raise
    now = context.clock.now()
    async with context.database.begin(origin) as work:
        issued = await tokens.issue(
            context, work, configuration, identity_auth=dict(proof.identity_auth) or None, scope=scope
        )
        await memberships.note_login(work, configuration.organization_id, configuration.identity_id, name, now)
        metadata = {"identityId": str(configuration.identity_id), "configurationId": str(configuration.id)}
        work.record(audit_record(origin, context.clock, f"login-identity-{name}", metadata))
        await work.commit()
    return issued


async def _prove(
    context: IdentityContext, origin: Origin, method: AnyMethod, configuration: AuthConfiguration, login: Login
) -> Proof:
    settings = await _settings(context, method, configuration)
    tools = _tools(context)
    attempt = Attempt(configuration.method, configuration.identity_id, method.name_of(login.presented))
    async with lockouts.guarded(context, origin, attempt, configuration.lockout):
        return await method.prove(settings, login.presented, tools, login.headers)


async def _accepted(
    context: IdentityContext,
    caller: Caller,
    method: AnyMethod,
    configuration: AuthConfiguration,
    own: Mapping[str, Any],
) -> AuthConfiguration:
    """The configuration with its own settings judged, accepted by the kind and, in part, sealed."""
    completion = COMPLETIONS.get(configuration.method)
    if completion is not None:
        own = await completion(context, caller, configuration.organization_id, own)
    settings = await method.accept(_validated(method, own), _tools(context))
    plain = settings.model_dump(mode="json", by_alias=True, exclude=set(method.sealed))
    sealed = settings.model_dump(mode="json", by_alias=True, include=set(method.sealed))
    return replace(configuration, settings=plain, sealed_settings=await _seal(context, configuration, sealed))


async def _settings(context: IdentityContext, method: AnyMethod, configuration: AuthConfiguration) -> Body:
    settings: Body = method.settings.model_validate(await _open(context, configuration))
    return settings


async def _show(context: IdentityContext, method: AnyMethod, configuration: AuthConfiguration) -> Shown:
    return Shown(configuration, await _settings(context, method, configuration))


def _validated(method: AnyMethod, own: Mapping[str, Any]) -> Body:
    try:
        settings: Body = method.settings.model_validate(own)
    except ValidationError as error:
        raise invalid(error, "the body") from None
    return settings


async def _seal(context: IdentityContext, configuration: AuthConfiguration, values: Mapping[str, Any]) -> bytes | None:
    if not values:
        return None
    async with context.database.begin(Origin()) as work:
        key = await context.data_keys.active(work, configuration.organization_id)
        await work.commit()
    return key.seal(orjson.dumps(values), place_of(configuration))


async def _open(context: IdentityContext, configuration: AuthConfiguration) -> dict[str, Any]:
    if configuration.sealed_settings is None:
        return dict(configuration.settings)
    keys = await context.data_keys.opening([configuration.sealed_settings])
    (key,) = keys.values()
    return {**configuration.settings, **orjson.loads(key.open(configuration.sealed_settings, place_of(configuration)))}


def place_of(configuration: AuthConfiguration) -> bytes:
    """Where the sealed settings of a configuration lie: they open nowhere else."""
    return bind("auth_configurations", configuration.id, "settings", configuration.organization_id)


def _tools(context: IdentityContext) -> Tools:
    return Tools(context.clock, context.guard, context.client_certificate_header)


def _failure(context: IdentityContext, origin: Origin, name: str, login: Login, reason: str) -> AuditRecord:
    metadata = {"identityId": str(login.identity_id), "reason": reason}
    return audit_record(origin, context.clock, f"login-identity-{name}-failed", metadata)
