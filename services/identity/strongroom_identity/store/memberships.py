"""The queries about memberships."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import insert, select, update

from strongroom_common.db.database import UnitOfWork
from strongroom_identity.domain.memberships import Membership, MembershipRole
from strongroom_identity.store.rows import columns_of
from strongroom_identity.store.tables import IDENTITIES, MEMBERSHIP_ROLES, MEMBERSHIPS

ALREADY_IN_PROJECT = "memberships_project_id_identity_id_key"
ALREADY_IN_ORGANIZATION = "memberships_organization_user_idx"
USER_ALREADY_IN_PROJECT = "memberships_project_id_user_id_key"
GROUP_ALREADY_IN_PROJECT = "memberships_project_id_group_id_key"


async def add(work: UnitOfWork, membership: Membership) -> None:
    """Keep a new membership with its roles."""
    await work.execute(insert(MEMBERSHIPS).values(columns_of(MEMBERSHIPS, membership)))
    await add_roles(work, membership)


async def add_roles(work: UnitOfWork, membership: Membership) -> None:
    """Keep the roles of a membership that has none."""
    if membership.roles:
        rows = [_role_row(membership, role, position) for position, role in enumerate(membership.roles)]
        await work.execute(insert(MEMBERSHIP_ROLES), rows)


async def note_login(work: UnitOfWork, organization_id: UUID, identity_id: UUID, method: str, now: datetime) -> None:
    """Remember an identity's last login, in its membership here: the organization's, or that of its own project."""
    own = select(IDENTITIES.c.project_id).where(IDENTITIES.c.id == identity_id).scalar_subquery()
    await work.execute(
        update(MEMBERSHIPS)
        .where(
            MEMBERSHIPS.c.organization_id == organization_id,
            MEMBERSHIPS.c.identity_id == identity_id,
            MEMBERSHIPS.c.project_id.is_not_distinct_from(own),
        )
        .values(last_login_method=method, last_login_at=now)
    )


def _role_row(membership: Membership, role: MembershipRole, position: int) -> Mapping[str, Any]:
    temporary = role.temporary
    return {
        "id": role.id,
        "organization_id": membership.organization_id,
        "membership_id": membership.id,
        "position": position,
        "role": role.role,
        "custom_role_id": role.custom_role_id,
        "is_temporary": temporary is not None,
        "temporary_mode": temporary.mode if temporary else None,
        "temporary_range": temporary.range if temporary else None,
        "starts_at": temporary.starts_at if temporary else None,
        "ends_at": temporary.ends_at if temporary else None,
        "created_at": membership.created_at,
        "updated_at": membership.updated_at,
    }
