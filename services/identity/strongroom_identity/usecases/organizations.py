"""Organizations: how one begins."""

from strongroom_common.access.roles import ORGANIZATION_ROLES
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.clock import Clock
from strongroom_identity.domain.identities import Identity
from strongroom_identity.domain.memberships import Membership, MembershipRole
from strongroom_identity.domain.organizations import Organization
from strongroom_identity.domain.users import User
from strongroom_identity.store import identities, memberships, organizations


async def create(work: UnitOfWork, clock: Clock, name: str, administrator: User | None = None) -> Organization:
    """Begin an organization; a user who exists already may become its administrator."""
    organization = Organization.new(name, clock.now())
    await organizations.add(work, organization)
    if administrator is not None:
        membership = Membership.new(
            "user", administrator.id, [_admin()], organization.created_at, organization_id=organization.id
        )
        await memberships.add(work, membership)
    return organization


async def add_admin_identity(work: UnitOfWork, identity: Identity) -> None:
    """Keep a new identity with all rights in its organization. For beginnings: nobody's own rights are looked at."""
    await identities.add(work, identity)
    membership = Membership.new(
        "identity", identity.id, [_admin()], identity.created_at, organization_id=identity.organization_id
    )
    await memberships.add(work, membership)


def _admin() -> MembershipRole:
    return MembershipRole.of(ORGANIZATION_ROLES["admin"])
