"""An organization: the tenant."""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from strongroom_common.kernel.ids import new_id, random_text
from strongroom_common.kernel.names import slug_from

SUFFIX = string.ascii_lowercase + string.digits


def slug_for(name: str, otherwise: str) -> str:
    """Make a slug that hardly anyone has taken: the name's, or another word, and four random characters."""
    return f"{slug_from(name) or otherwise}-{random_text(4, SUFFIX)}"


@dataclass(frozen=True)
class Organization:
    """A root has no parent; a sub-organization has a parent, which is its root."""

    id: UUID
    name: str
    slug: str
    parent_id: UUID | None
    root_id: UUID | None
    created_at: datetime
    updated_at: datetime
    auth_enforced: bool = False
    bypass_org_auth_enabled: bool = False
    scim_enabled: bool = False
    default_membership_role: str = "member"
    enforce_mfa: bool = False
    selected_mfa_method: str | None = None
    user_token_expiration: str | None = None
    secrets_product_enabled: bool = True
    pki_product_enabled: bool = True
    kms_product_enabled: bool = True
    ssh_product_enabled: bool = True
    scanner_product_enabled: bool = True
    share_secrets_product_enabled: bool = True
    should_use_new_privilege_system: bool = True
    allow_secret_sharing_outside_organization: bool = True
    max_shared_secret_lifetime: int = 2_592_000
    max_shared_secret_view_limit: int | None = None

    @classmethod
    def new(
        cls, name: str, now: datetime, *, slug: str | None = None, parent: "Organization | None" = None
    ) -> "Organization":
        """A new organization; beneath another one, if there is a parent."""
        parent_id = parent.id if parent else None
        return cls(new_id(), name, slug or slug_for(name, "organization"), parent_id, parent_id, now, now)


@dataclass(frozen=True)
class OwnOrganization:
    """An organization as one of its members sees it in a list of his own."""

    organization: Organization
    role: str
    joined_at: datetime


@dataclass(frozen=True)
class Member:
    """A user in an organization, with one role of his own. `metadata` is a list of {id, key, value}.

    `held` are all roles that count, those of his groups too, as (slug, rules of a custom role).
    """

    id: UUID
    organization_id: UUID
    user_id: UUID
    username: str
    email: str
    first_name: str
    last_name: str
    is_email_verified: bool
    role: str
    custom_role_id: UUID | None
    custom_role_slug: str | None
    custom_role_name: str | None
    held: Sequence[tuple[str, Sequence[Mapping[str, Any]] | None]]
    status: str
    is_active: bool
    metadata: Sequence[dict[str, str]]
    last_login_method: str | None
    last_login_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def is_working_admin(self) -> bool:
        """Can do everything in the organization, now."""
        return self.role == "admin" and self.is_active and self.status == "accepted"


@dataclass(frozen=True)
class ProjectMembership:
    """Where in an organization's projects a member is; `roles` are {role, customRoleName, ...} in their order."""

    id: UUID
    project_id: UUID
    project_name: str
    project_slug: str
    project_type: str
    roles: Sequence[dict[str, Any]]
    created_at: datetime
