"""The instance: its first start, and how its first administrator gets in."""

from dataclasses import dataclass, replace
from uuid import UUID

from strongroom_common.audit.trail import audit_record
from strongroom_common.contracts.envelopes import Actor, Origin
from strongroom_common.crypto.data_keys import bind
from strongroom_common.crypto.tokens import Pepper
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.errors import Conflict
from strongroom_common.kernel.ids import new_id
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.auth_configurations import TOKEN_AUTH, AuthConfiguration, TokenSettings
from strongroom_identity.domain.errors import AlreadySetUp
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.domain.users import User
from strongroom_identity.store import auth_configurations, instance, users
from strongroom_identity.store.violations import refusing
from strongroom_identity.usecases import organizations, signing_keys, tokens
from strongroom_identity.usecases.context import IdentityContext

_INSTANCE = UUID(int=0)
"""The scope of what is sealed for the instance and not for a tenant."""
_PEPPER = bind("instance", _INSTANCE, "pepper", _INSTANCE)


@dataclass(frozen=True)
class Bootstrap:
    """Who the first administrator is, and what the first organization is called."""

    email: str
    password: Secret
    organization: str


@dataclass(frozen=True)
class Bootstrapped:
    """What an instance begins with. `token` is shown this once."""

    user: User
    organization: Organization
    identity: Identity
    token: Secret


async def begin(context: IdentityContext) -> None:
    """Read what the instance hashes and signs with; the first time, make it."""
    async with context.database.begin(Origin()) as work:
        # Replicas may start together: the second one finds what the first one made.
        await instance.lock_first_start(work)
        pepper = await _pepper(work, context)
        keys = await signing_keys.begin(context, work)
        await work.commit()
    context.secrets.take(pepper, keys, context.clock)


async def bootstrap(context: IdentityContext, origin: Origin, wish: Bootstrap) -> Bootstrapped:
    """Set the instance up, once. Raises `AlreadySetUp` ever after.

    The first look is cheap, so that a stranger cannot make us hash passwords; the one that counts is under a lock.
    """
    if await instance.is_set_up(context.database):
        raise AlreadySetUp
    password_hash = await context.passwords.hash(wish.password)
    taken = Conflict("Somebody already has this e-mail address", label="Instance initialization")
    with refusing({users.EMAIL_TAKEN: taken, users.USERNAME_TAKEN: taken}):
        async with context.database.begin(origin) as work:
            now = context.clock.now()
            if not await instance.mark_set_up(work, now):
                raise AlreadySetUp
            user = User.first(wish.email, password_hash, now)
            await users.add(work, user)
            organization = await organizations.create(work, context.clock, wish.organization, user)
            identity = Identity.new(organization.id, "Instance Admin Identity", now, is_instance_admin=True)
            await organizations.add_admin_identity(work, identity)
            token = await _endless_token(context, work, identity)
            metadata = {"userId": str(user.id), "organizationId": str(organization.id), "identityId": str(identity.id)}
            founder = Actor(kind="user", id=user.id, name=user.username, metadata={"email": user.email})
            origin = replace(origin, actor=founder, organization_id=organization.id)
            work.record(audit_record(origin, context.clock, "bootstrap-instance", metadata))
            await work.commit()
    return Bootstrapped(user, organization, identity, token)


async def _endless_token(context: IdentityContext, work: UnitOfWork, identity: Identity) -> Secret:
    settings = TokenSettings(ttl=0, max_ttl=0)
    now = context.clock.now()
    configuration = AuthConfiguration.new(TOKEN_AUTH, identity.organization_id, identity.id, settings, now)
    await auth_configurations.add(work, configuration)
    return (await tokens.issue(context, work, configuration, name="Instance Admin Token")).access_token


async def _pepper(work: UnitOfWork, context: IdentityContext) -> Pepper:
    sealed = await instance.find_sealed_pepper(work)
    if sealed is not None:
        return Pepper(context.keyring.open(sealed, _PEPPER))
    pepper = Pepper.generate()
    await instance.add(work, new_id(), context.keyring.seal(pepper.key(), _PEPPER), context.clock.now())
    return pepper
