"""Puts the identity service together: the only file that names concrete classes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from strongroom_common.bus.port import Bus
from strongroom_common.contracts.audit import IdentityAudited
from strongroom_common.contracts.identity import IdentityTokensUsed
from strongroom_common.crypto.passwords import Passwords
from strongroom_common.http.endpoints import Endpoint
from strongroom_common.kernel.clock import Clock, SystemClock
from strongroom_common.runtime.jobs import Jobs
from strongroom_common.runtime.listening import Listeners
from strongroom_common.runtime.services import Foundations, Service
from strongroom_identity.api import audit_records as audit_records_api
from strongroom_identity.api import (
    auth_methods,
    decisions,
    environments,
    group_memberships,
    groups,
    identities,
    identity_templates,
    instance,
    instance_admins,
    instance_configuration,
    invitations,
    memberships,
    organization_identities,
    organization_members,
    organization_roles,
    organizations,
    passwords,
    project_identities,
    project_roles,
    project_templates,
    projects,
    second_factors,
    sessions,
    sign_ups,
    sub_organizations,
    token_auth,
    universal_auth,
    user_memberships,
    users,
)
from strongroom_identity.api import tokens as tokens_api
from strongroom_identity.consumers import access, audit_records
from strongroom_identity.consumers import projects as projects_consumer
from strongroom_identity.consumers import signing_keys as signing_keys_consumer
from strongroom_identity.consumers import tokens as tokens_consumer
from strongroom_identity.jobs import audit_records as audit_records_jobs
from strongroom_identity.jobs import decisions as decisions_jobs
from strongroom_identity.jobs import lockouts as lockouts_jobs
from strongroom_identity.jobs import mails as mails_jobs
from strongroom_identity.jobs import sessions as sessions_jobs
from strongroom_identity.jobs import signing_keys as signing_keys_jobs
from strongroom_identity.jobs import tokens as tokens_jobs
from strongroom_identity.settings import IdentitySettings
from strongroom_identity.usecases import audit_keys
from strongroom_identity.usecases.access import LocalAccess
from strongroom_identity.usecases.context import IdentityContext
from strongroom_identity.usecases.instance import begin

MIGRATIONS = "strongroom_identity.migrations"


class IdentityService(Service):
    """A service that has, before anyone is answered, what it hashes and signs with."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Begin the instance, the first time; then run. Not in `prepared`: a check of the service changes nothing."""
        await begin(self.context)
        await audit_keys.begin(self.context)
        try:
            async with super().running():
                yield
        finally:
            self.context.passwords.close()


def endpoints() -> list[Endpoint]:
    """All routes of the service."""
    rooms = (
        instance,
        identities,
        projects,
        environments,
        project_templates,
        memberships,
        tokens_api,
        universal_auth,
        identity_templates,
        token_auth,
        auth_methods,
        project_identities,
        instance_configuration,
        instance_admins,
        organizations,
        organization_members,
        organization_identities,
        organization_roles,
        sub_organizations,
        sessions,
        second_factors,
        passwords,
        users,
        sign_ups,
        invitations,
        audit_records_api,
        project_roles,
        user_memberships,
        groups,
        group_memberships,
        decisions,
    )
    return [endpoint for room in rooms for endpoint in room.routes]


def build(settings: IdentitySettings, bus: Bus, *, clock: Clock | None = None) -> Service:
    """Return the service, ready to be prepared and run."""
    clock = clock or SystemClock()
    foundations = Foundations.lay(
        "identity", settings, bus, clock=clock, source=lambda database: LocalAccess(database, clock)
    )
    context = IdentityContext(
        database=foundations.database,
        clock=clock,
        trail=foundations.trail,
        doorkeeper=foundations.doorkeeper,
        keys=foundations.keys,
        keyring=foundations.keyring,
        data_keys=foundations.data_keys,
        guard=foundations.guard,
        client_certificate_header=settings.client_certificate_header,
        passwords=Passwords(settings.password_hashes_at_once),
        access=foundations.source,
        mailer=settings.mailer(),
        site_url=settings.site_url.rstrip("/"),
        audit_retention_days=settings.audit_retention_days,
    )
    listeners: Listeners[IdentityContext] = Listeners()
    for heard in (access, projects_consumer, tokens_consumer, signing_keys_consumer, audit_records):
        listeners.include(heard.listeners)
    jobs = Jobs()
    jobs.include(tokens_jobs.jobs)
    jobs.include(lockouts_jobs.jobs)
    jobs.include(signing_keys_jobs.jobs)
    jobs.include(mails_jobs.jobs)
    jobs.include(sessions_jobs.jobs)
    jobs.include(audit_records_jobs.jobs)
    jobs.include(decisions_jobs.jobs)
    return IdentityService(
        foundations,
        context=context,
        endpoints=endpoints(),
        listeners=listeners,
        jobs=jobs,
        migrations=MIGRATIONS,
        audited=IdentityAudited,
        tokens_used=IdentityTokensUsed,
    )
