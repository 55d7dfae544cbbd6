"""What all kinds of login share: attached to an identity, changed, looked at, detached (wire-identity 3.1)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from uuid import UUID

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.contracts.identity import AccessChanged, TokensRevoked
from strongroom_common.kernel.errors import Conflict, NotFound, Stale
from strongroom_identity.domain.auth_configurations import AuthConfiguration
from strongroom_identity.domain.identities import Identity
from strongroom_identity.store import auth_configurations, lockouts, tokens
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import identities
from strongroom_identity.usecases.context import IdentityContext

MOST_TOKENS = 1000
"""How many dead tokens one message names."""

Make = Callable[[Identity], Awaitable[AuthConfiguration]]
Change = Callable[[AuthConfiguration], Awaitable[AuthConfiguration]]


async def attach(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, method: str, make: Make
) -> AuthConfiguration:
    """Let an identity log in this way; raises `Conflict` when it can already."""
    identity = await identities.get_changeable(context, caller, identity_id, "create")
    identities.verify_owned(caller, identity)
    configuration = await make(identity)
    origin = origin_at(origin, identity)
    already = Conflict(f"{_title(method)} is attached to this identity already")
    with refusing({auth_configurations.ALREADY_ATTACHED: already}):
        async with context.database.begin(origin) as work:
            await auth_configurations.add(work, configuration)
            metadata = {"identityId": str(identity.id)}
            if configuration.client_id is not None:
                metadata["clientId"] = str(configuration.client_id)
            work.record(audit_record(origin, context.clock, f"add-identity-{method}", metadata))
            await work.commit()
    return configuration


async def change(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    identity_id: UUID,
    method: str,
    change_it: Change,
    *,
    absent: type[NotFound] | type[Conflict] = NotFound,
) -> AuthConfiguration:
    """Change how an identity logs in. Trusted addresses meet the tokens that are out already.

    Raises `absent` when it has no such login, `Stale` when somebody else changed it meanwhile. What `change_it` does
    it does without a transaction, for it may have to ask somebody outside.
    """
    identity = await identities.get_changeable(context, caller, identity_id, "edit")
    identities.verify_owned(caller, identity)
    before = await auth_configurations.find(context.database, identity.id, method)
    if before is None:
        raise absent(f"{_title(method)} is not attached to this identity")
    changed = replace(await change_it(before), updated_at=context.clock.now())
    origin = origin_at(origin, identity)
    heard = AccessChanged(organization_id=identity.organization_id, subject_ids=[identity.id])
    async with context.database.begin(origin) as work:
        if await auth_configurations.lock(work, identity.id, method) != before:
            raise Stale("Somebody else changed this configuration at the same moment: look and try again")
        await auth_configurations.save(work, changed)
        work.send(heard)
        work.record(audit_record(origin, context.clock, f"update-identity-{method}", {"identityId": str(identity.id)}))
        await work.commit()
    context.doorkeeper.hear_access_changed(heard)
    return changed


async def get(
    context: IdentityContext,
    caller: Caller,
    origin: Origin,
    identity_id: UUID,
    method: str,
    *,
    absent: type[NotFound] | type[Conflict] = NotFound,
) -> AuthConfiguration:
    """Return an identity's configuration; raises `absent` when it has none."""
    identity = await identities.get_visible(context, caller, identity_id, "read")
    identities.verify_owned(caller, identity)
    configuration = await auth_configurations.find(context.database, identity.id, method)
    if configuration is None:
        raise absent(f"{_title(method)} is not attached to this identity")
    origin, metadata = origin_at(origin, identity), {"identityId": str(identity.id)}
    await context.trail.note(audit_record(origin, context.clock, f"get-identity-{method}", metadata))
    return configuration


async def detach(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, method: str
) -> AuthConfiguration:
    """Take a kind of login from an identity, with the tokens that it got by it and its client secrets and lockouts.

    Raises `Conflict` when it has no such login.
    """
    identity = await identities.get_changeable(context, caller, identity_id, "edit", "revoke-auth")
    identities.verify_owned(caller, identity)
    origin = origin_at(origin, identity)
    async with context.database.begin(origin) as work:
        configuration = await auth_configurations.lock(work, identity.id, method)
        if configuration is None:
            raise not_attached(method)
        dead = await tokens.drop_of_method(work, identity.id, method)
        await auth_configurations.remove(work, configuration.id)
        await lockouts.drop_all(work, identity.id, method)
        revoked = revocations(dead)
        for event in revoked:
            work.send(event)
        work.record(audit_record(origin, context.clock, f"revoke-identity-{method}", {"identityId": str(identity.id)}))
        await work.commit()
    for event in revoked:
        context.doorkeeper.hear_tokens_revoked(event)
    return configuration


async def get_attached(context: IdentityContext, caller: Caller, identity: Identity, method: str) -> AuthConfiguration:
    """Return the configuration that something else hangs on; raises `Conflict` when there is none."""
    identities.verify_owned(caller, identity)
    configuration = await auth_configurations.find(context.database, identity.id, method)
    if configuration is None:
        raise not_attached(method)
    return configuration


async def clear_lockouts(
    context: IdentityContext, caller: Caller, origin: Origin, identity_id: UUID, method: str
) -> int:
    """Forget the failures and locks of an identity's logins of one kind; return how many there were."""
    identity = await identities.get_changeable(context, caller, identity_id, "edit")
    await get_attached(context, caller, identity, method)
    origin = origin_at(origin, identity)
    async with context.database.begin(origin) as work:
        cleared = await lockouts.drop_all(work, identity.id, method)
        metadata = {"identityId": str(identity.id)}
        work.record(audit_record(origin, context.clock, f"clear-identity-{method}-lockouts", metadata))
        await work.commit()
    return cleared


def not_attached(method: str) -> Conflict:
    """What is said where something needs a kind of login that the identity has not."""
    return Conflict(f"{_title(method)} is not attached to this identity")


def revocations(dead: Sequence[UUID]) -> list[TokensRevoked]:
    """The messages that name these dead tokens."""
    return [TokensRevoked(token_ids=dead[start : start + MOST_TOKENS]) for start in range(0, len(dead), MOST_TOKENS)]


def origin_at(origin: Origin, identity: Identity) -> Origin:
    """The cause of what happens to an identity: in its project, where a project owns it."""
    return origin.in_project(identity.project_id) if identity.project_id else origin


def _title(method: str) -> str:
    return method.replace("-", " ").capitalize()
