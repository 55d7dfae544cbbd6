"""What holds for the whole instance: read by anybody, changed by its administrators."""

from collections.abc import Mapping
from typing import Any

from strongroom_common.access.callers import Caller
from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Origin
from strongroom_common.db.database import Database
from strongroom_common.kernel.errors import Conflict
from strongroom_identity.domain.errors import OrganizationNotFound
from strongroom_identity.domain.instance_configuration import OWN_LOGIN_METHOD, InstanceConfiguration
from strongroom_identity.store import instance_configuration, organizations
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import instance_admins
from strongroom_identity.usecases.context import IdentityContext


async def sign_up_allowed(database: Database, email: str) -> bool:
    """Say whether somebody with this mailbox may make an account of his own accord."""
    return (await instance_configuration.get(database)).is_sign_up_allowed(email)


async def get(context: IdentityContext) -> InstanceConfiguration:
    """Return what holds now."""
    return await instance_configuration.get(context.database)


async def change(
    context: IdentityContext, caller: Caller, origin: Origin, changes: Mapping[str, Any]
) -> InstanceConfiguration:
    """Change some of it; raises `Conflict` for a choice after which no administrator could log in any more."""
    await instance_admins.verify(context, caller)
    methods = changes.get("enabled_login_methods")
    if methods is not None and OWN_LOGIN_METHOD not in methods:
        raise Conflict("You could not log in any more: keep the login method that you use yourself")
    default = changes.get("default_auth_organization_id")
    if default is not None and await organizations.find(context.database, default) is None:
        raise OrganizationNotFound
    if changes:
        # An organization may go between the look and the change.
        with refusing({instance_configuration.DEFAULT_ORGANIZATION: OrganizationNotFound()}):
            async with context.database.begin(origin) as work:
                await instance_configuration.save(work, changes)
                metadata = {"fields": sorted(changes)}
                work.record(audit_record(origin, context.clock, "update-instance-configuration", metadata))
                await work.commit()
    return await instance_configuration.get(context.database)
