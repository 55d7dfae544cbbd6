"""What identity says and answers: projects, access, tokens, signing keys."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from strongroom_common.contracts.messages import Event, Payload, Query

# --- organizations ----------------------------------------------------------------------------------------------------


class OrganizationDeleted(Event):
    """The organization is gone with all that hangs on it. Each of its projects has an event of its own."""

    type = "identity.organization.deleted.v1"
    organization_id: UUID

    def aggregate(self) -> str:
        return f"organization:{self.organization_id}"


# --- projects ---------------------------------------------------------------------------------------------------------


class EnvironmentState(Payload):
    """One environment of a project."""

    id: UUID
    name: str
    slug: str
    position: int


class ProjectState(Payload):
    """A project as the other services need to know it. `revision` grows with each change: the higher one is newer."""

    id: UUID
    organization_id: UUID
    name: str
    slug: str
    type: str
    auto_capitalization: bool = False
    pit_version_limit: int = 10
    enforce_encrypted_metadata: bool = False
    """Plain metadata of secrets is refused."""
    environments: Sequence[EnvironmentState] = ()
    revision: int


class ProjectEvent(Event):
    """An event that carries the project as it now is."""

    project: ProjectState

    def aggregate(self) -> str:
        return f"project:{self.project.id}"


class ProjectCreated(ProjectEvent):
    type = "identity.project.created.v1"


class ProjectUpdated(ProjectEvent):
    type = "identity.project.updated.v1"


class ProjectDeleted(Event):
    """The project and all that hangs on it is gone."""

    type = "identity.project.deleted.v1"
    project_id: UUID
    organization_id: UUID

    def aggregate(self) -> str:
        return f"project:{self.project_id}"


class DescribeProject(Query[ProjectState]):
    """Ask for one project by id, or by slug within an organization. Answers `NotFound` when there is none."""

    type = "identity.project.describe.v1"
    project_id: UUID | None = None
    organization_id: UUID | None = None
    slug: str | None = None


# --- access -----------------------------------------------------------------------------------------------------------


class CallerAccess(Payload):
    """Who a token speaks for and what it may do in its organization, as long as nothing changes."""

    token_id: UUID
    kind: Literal["user", "identity"]
    subject_id: UUID
    name: str
    email: str | None = None
    auth_method: str
    organization_id: UUID | None
    is_instance_admin: bool = False
    trusted_networks: Sequence[str] = ()
    """CIDRs from which the token may be used; none means anywhere."""
    are_uses_counted: bool = False
    """The token has a use limit: each use must be spent at identity."""
    expires_at: datetime | None = None
    rules: Sequence[Mapping[str, Any]] = ()
    facts: tuple[tuple[str, str], ...] = ()
    """What templates of conditions stand for, such as (`identity.metadata.team`, `blue`)."""


class ResolveCaller(Query[CallerAccess]):
    """Ask about a token on first sight. Answers `Unauthenticated` when it is unknown, revoked, expired or used up."""

    type = "identity.access.resolve.v1"
    token_id: UUID
    kind: Literal["user", "identity"]
    organization_id: UUID | None = None


class ProjectAccess(Payload):
    """What a caller may do in one project."""

    project_id: UUID
    organization_id: UUID
    name: str
    slug: str
    type: str
    roles: Sequence[str] = ()
    rules: Sequence[Mapping[str, Any]] = ()
    valid_until: datetime | None = None
    """When a temporary role begins or ends: the answer must be asked anew then."""


class ResolveProjectAccess(Query[ProjectAccess]):
    """Ask about a caller in a project. `NotFound` outside its organization, `Forbidden` for a non-member."""

    type = "identity.project-access.resolve.v1"
    kind: Literal["user", "identity"]
    subject_id: UUID
    organization_id: UUID
    project_id: UUID


class AccessChanged(Event):
    """Rules, roles or memberships changed: drop what is remembered. Each absent field means all of them."""

    type = "identity.access.changed.v1"
    organization_id: UUID
    project_id: UUID | None = None
    subject_ids: Sequence[UUID] | None = None

    def aggregate(self) -> str:
        return f"access:{self.organization_id}"


class IdentityDeleted(Event):
    """A machine identity is gone, and its tokens with it: let go of all that hangs on it."""

    type = "identity.identity.deleted.v1"
    id: UUID
    organization_id: UUID

    def aggregate(self) -> str:
        return f"identity:{self.id}"


# --- tokens -----------------------------------------------------------------------------------------------------------


class TokensRevoked(Event):
    """These tokens are dead from now on, or all tokens of these subjects."""

    type = "identity.tokens.revoked.v1"
    token_ids: Sequence[UUID] = ()
    subject_ids: Sequence[UUID] = ()

    def aggregate(self) -> str:
        return "tokens"


class TokenSpent(Payload):
    """The use was counted and is within the limit."""


class SpendToken(Query[TokenSpent]):
    """Count one use of a limited token. `Unauthenticated` when none is left."""

    type = "identity.token.spend.v1"
    token_id: UUID


class TokenUses(Payload):
    """How often one token was used since the last report."""

    token_id: UUID
    uses: int
    last_used_at: datetime


class TokensUsed(Event):
    """Uses of unlimited tokens, counted where they happened and reported in batches."""

    uses: Sequence[TokenUses]

    def aggregate(self) -> str:
        return "token-uses"


TOKENS_USED_TYPES = "*.tokens.used.v1"


class IdentityTokensUsed(TokensUsed):
    type = "identity.tokens.used.v1"


class SecretsTokensUsed(TokensUsed):
    type = "secrets.tokens.used.v1"


class PkiTokensUsed(TokensUsed):
    type = "pki.tokens.used.v1"


class AutomationTokensUsed(TokensUsed):
    type = "automation.tokens.used.v1"


# --- signing keys -----------------------------------------------------------------------------------------------------


class PublicKey(Payload):
    """A key that verifies tokens: `key` is its JSON Web Key (RFC 8037), as text."""

    kid: str
    key: str
    is_retired: bool = False


class PublicKeys(Payload):
    """All keys that tokens may be signed with now."""

    keys: Sequence[PublicKey]


class SigningKeysChanged(Event):
    """A key was added or retired; the list is complete."""

    type = "identity.signing-keys.changed.v1"
    keys: Sequence[PublicKey]

    def aggregate(self) -> str:
        return "signing-keys"


class ListSigningKeys(Query[PublicKeys]):
    """Ask for the keys, after meeting one that is not known here."""

    type = "identity.signing-keys.list.v1"
