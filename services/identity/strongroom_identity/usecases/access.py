"""Who may what, answered from the database: for this service's own door and, over the bus, for all others."""

from strongroom_common.access.roles import ORGANIZATION_ROLES, PROJECT_ROLES
from strongroom_common.contracts.identity import (
    CallerAccess,
    ProjectAccess,
    PublicKeys,
    ResolveCaller,
    ResolveProjectAccess,
    SpendToken,
)
from strongroom_common.db.database import Database
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import Forbidden
from strongroom_identity.domain.errors import ProjectNotFound, SessionOver, TokenNotAlive
from strongroom_identity.domain.facts import facts_of_user
from strongroom_identity.domain.roles import rules_together
from strongroom_identity.domain.trusted_ips import networks_of
from strongroom_identity.store import access, signing_keys, tokens


class LocalAccess:
    """The truth behind every `AccessSource`: one statement per question."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def resolve_caller(self, question: ResolveCaller) -> CallerAccess:
        """Say whom a token speaks for; raises `Unauthenticated` for one that is dead.

        Trusted addresses are those of the current configuration, so that a change meets tokens already issued.
        """
        if question.kind == "user":
            return await self._resolve_user(question)
        holder = await access.find_token_holder(self._database, question.token_id)
        if holder is None or holder.is_revoked or question.organization_id not in {None, holder.organization_id}:
            raise TokenNotAlive("The token is unknown or was revoked: log in again")
        if not holder.is_member:
            raise TokenNotAlive("The identity is no longer a member of the organization")
        if holder.uses_limit and holder.uses >= holder.uses_limit:
            raise TokenNotAlive("The token has reached its usage limit")
        if holder.expires_at is not None and holder.expires_at <= self._clock.now():
            raise TokenNotAlive("The token has expired: log in again")
        return CallerAccess(
            token_id=question.token_id,
            kind="identity",
            subject_id=holder.identity_id,
            name=holder.name,
            auth_method=holder.auth_method,
            organization_id=holder.organization_id,
            is_instance_admin=holder.is_instance_admin,
            trusted_networks=networks_of(holder.trusted_ips),
            are_uses_counted=holder.uses_limit > 0,
            expires_at=holder.expires_at,
            rules=rules_together(holder.roles, ORGANIZATION_ROLES),
            facts=holder.facts,
        )

    async def _resolve_user(self, question: ResolveCaller) -> CallerAccess:
        session_id, organization_id = question.token_id, question.organization_id
        holder = await access.find_session_holder(self._database, session_id, organization_id)
        if holder is None or holder.expires_at <= self._clock.now():
            raise SessionOver
        # What a password alone may do: nothing in an organization, and nothing to the instance.
        is_half = holder.has_second_factor and not holder.is_mfa_verified
        if organization_id is not None:
            if not holder.is_member:
                raise TokenNotAlive("You are not a member of the organization, or not any more")
            if is_half or (holder.is_second_factor_wanted and not holder.is_mfa_verified):
                raise TokenNotAlive("This organization wants your second factor: select it again")
        return CallerAccess(
            token_id=session_id,
            kind="user",
            subject_id=holder.user_id,
            name=holder.username,
            email=holder.email,
            auth_method=holder.auth_method,
            organization_id=organization_id,
            is_instance_admin=holder.is_instance_admin and not is_half,
            expires_at=holder.expires_at,
            rules=rules_together(holder.roles, ORGANIZATION_ROLES),
            facts=facts_of_user(holder.user_id, holder.username),
        )

    async def resolve_project_access(self, question: ResolveProjectAccess) -> ProjectAccess:
        """Say what a subject may do in a project of its organization; raises `NotFound`, `Forbidden`."""
        standing = await access.find_standing(
            self._database,
            question.project_id,
            question.organization_id,
            question.kind,
            question.subject_id,
            self._clock.now(),
        )
        if standing is None:
            raise ProjectNotFound
        if not standing.is_member:
            raise Forbidden("You are not a member of this project")
        return ProjectAccess(
            project_id=standing.project_id,
            organization_id=standing.organization_id,
            name=standing.name,
            slug=standing.slug,
            type=standing.type,
            roles=[role for role, _ in standing.roles],
            rules=rules_together(standing.roles, PROJECT_ROLES),
            valid_until=standing.valid_until,
        )

    async def spend(self, question: SpendToken) -> None:
        """Count one use of a token; raises `Unauthenticated` when none is left."""
        if not await tokens.spend(self._database, question.token_id, self._clock.now()):
            raise TokenNotAlive("The token has reached its usage limit, or was revoked")

    async def list_signing_keys(self) -> PublicKeys:
        """Return the keys that verify tokens."""
        return PublicKeys(keys=await signing_keys.list_public(self._database))
