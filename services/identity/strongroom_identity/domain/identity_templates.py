"""Identity templates: what many identities' logins have in common, kept in one place (wire-identity 6.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from strongroom_common.kernel.ids import new_id

LDAP = "ldap"
"""The one kind of template, for `ldap-auth`."""

MOST_TEMPLATES = 1000
"""How many an organization may have: all of them are listed at once."""


@dataclass(frozen=True)
class IdentityTemplate:
    """A template. Its fields lie sealed: some of them are secret, and all are read together."""

    id: UUID
    organization_id: UUID
    name: str
    method: str
    sealed_fields: bytes
    created_at: datetime
    updated_at: datetime

    @classmethod
    def new(cls, organization_id: UUID, name: str, now: datetime) -> "IdentityTemplate":
        """A new template, whose fields are still to be sealed."""
        return cls(new_id(), organization_id, name, LDAP, b"", now, now)

    def changed(self, name: str | None, now: datetime) -> "IdentityTemplate":
        """The template with another name, where one is given."""
        return replace(self, name=self.name if name is None else name, updated_at=now)


@dataclass(frozen=True)
class OpenTemplate:
    """A template with its fields by their wire names."""

    template: IdentityTemplate
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class TemplateUse:
    """An identity that logs in by a template."""

    configuration_id: UUID
    identity_id: UUID
    identity_name: str
