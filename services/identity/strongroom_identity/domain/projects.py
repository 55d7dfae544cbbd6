"""Projects and their environments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

from strongroom_common.contracts.identity import EnvironmentState, ProjectState
from strongroom_common.kernel.ids import new_id
from strongroom_identity.domain.environments import Environment, Environments
from strongroom_identity.domain.organizations import slug_for
from strongroom_identity.domain.roles import CustomRole

ProjectType = Literal["secret-manager", "cert-manager", "kms", "ssh", "secret-scanning", "pam"]
PROJECT_TYPES: tuple[str, ...] = get_args(ProjectType)

DEFAULT_TEMPLATE = "default"
DEFAULT_ENVIRONMENTS = (("Development", "dev"), ("Staging", "staging"), ("Production", "prod"))
VERSION = 3
PIT_VERSION_LIMIT = 10


@dataclass(frozen=True)
class NewProject:
    """What a caller wants. Without a slug one is made from the name."""

    name: str
    slug: str | None
    description: str | None
    type: str
    template: str
    has_default_environments: bool
    has_delete_protection: bool


@dataclass(frozen=True)
class Project:
    """A project as its members see it."""

    id: UUID
    organization_id: UUID
    name: str
    slug: str
    description: str | None
    type: str
    default_product: str | None
    auto_capitalization: bool
    has_delete_protection: bool
    secret_sharing: bool
    show_snapshots_legacy: bool
    version: int
    upgrade_status: str | None
    pit_version_limit: int
    audit_logs_retention_days: int | None
    kms_certificate_key_id: UUID | None
    secret_detection_ignore_values: list[str]
    enforce_encrypted_secret_manager_secret_metadata: bool
    revision: int
    created_at: datetime
    updated_at: datetime
    environments: Environments = ()
    roles: tuple[CustomRole, ...] | None = None

    @classmethod
    def new(
        cls,
        wish: NewProject,
        organization_id: UUID,
        now: datetime,
        stages: Sequence[tuple[str, str]] | None = None,
    ) -> "Project":
        """The project that a caller wants, in its first revision.

        `stages` are the names and slugs of a template's environments, in their order: they replace the usual ones.
        """
        if stages is None:
            stages = DEFAULT_ENVIRONMENTS if wish.has_default_environments else ()
        project_id = new_id()
        return cls(
            id=project_id,
            organization_id=organization_id,
            name=wish.name,
            slug=wish.slug or slug_for(wish.name, "project"),
            description=wish.description,
            type=wish.type,
            default_product=wish.type,
            auto_capitalization=False,
            has_delete_protection=wish.has_delete_protection,
            secret_sharing=True,
            show_snapshots_legacy=False,
            version=VERSION,
            upgrade_status=None,
            pit_version_limit=PIT_VERSION_LIMIT,
            audit_logs_retention_days=None,
            kms_certificate_key_id=None,
            secret_detection_ignore_values=[],
            enforce_encrypted_secret_manager_secret_metadata=False,
            revision=1,
            created_at=now,
            updated_at=now,
            environments=tuple(
                Environment.new(project_id, name, slug, position, now)
                for position, (name, slug) in enumerate(stages, 1)
            ),
        )

    def changed(self, changes: Mapping[str, Any], now: datetime) -> "Project":
        """The next revision, with other values in the fields that `changes` names."""
        return replace(self, **changes, revision=self.revision + 1, updated_at=now)

    def with_environments(self, environments: Environments) -> "Project":
        """The next revision, with these environments."""
        return replace(self, environments=environments, revision=self.revision + 1)

    def state(self) -> ProjectState:
        """What the other services need to know."""
        return ProjectState(
            id=self.id,
            organization_id=self.organization_id,
            name=self.name,
            slug=self.slug,
            type=self.type,
            auto_capitalization=self.auto_capitalization,
            pit_version_limit=self.pit_version_limit,
            enforce_encrypted_metadata=self.enforce_encrypted_secret_manager_secret_metadata,
            environments=[
                EnvironmentState(id=one.id, name=one.name, slug=one.slug, position=one.position)
                for one in self.environments
            ],
            revision=self.revision,
        )
