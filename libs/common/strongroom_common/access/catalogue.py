"""What rules may speak of: subjects, their actions, and the fields and operators of their conditions.

`PROJECT` is the table of wire-identity 12.4, `ORGANIZATION` that of 12.6. Where the neighbouring contracts name more
(`subscribe` on secrets, `issue-ca-certificate`, `connectionId` of rotations and syncs), it is here as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

Operators = frozenset[str]

EQ: Final = "$eq"
NE: Final = "$ne"
IN: Final = "$in"
GLOB: Final = "$glob"
ALL: Final = "$all"
ELEMENT: Final = "$elemMatch"

PATHS: Final = frozenset({"secretPath"})
"""Fields whose values are folder paths."""

SLUGS: Final = frozenset({"environment"})
"""Fields whose values are slugs: they compare in lower case."""

LISTS: Final = frozenset({"secretTags", "altNames", "metadata"})
"""Fields with several values at once: a condition holds when it holds for any of them."""

LEGACY: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {("secrets", "read"): ("describeSecret", "readValue")}
"""(subject, old action) -> the actions that it stands for."""

_EXACT: Final[Operators] = frozenset({EQ, NE, IN})
_TEXT: Final[Operators] = frozenset({EQ, NE, IN, GLOB})

ELEMENT_FIELDS: Final[Mapping[str, Mapping[str, Operators]]] = {"metadata": {"key": _EXACT, "value": _EXACT}}
"""What `$elemMatch` may look at in an element of a field."""


@dataclass(frozen=True)
class Subject:
    """One subject's actions, and the operators allowed on each field of its conditions."""

    actions: tuple[str, ...]
    fields: Mapping[str, Operators] = field(default_factory=dict)


Catalogue = Mapping[str, Subject]

CRUD: Final = ("read", "create", "edit", "delete")
_PLACE: Final = {"environment": _TEXT, "secretPath": _TEXT}
_EXACT_PLACE: Final = {"environment": _EXACT, "secretPath": _TEXT}
_NAME: Final = {"name": _TEXT}
_CRUD_ONLY: Final = Subject(CRUD)

PROJECT: Final[Catalogue] = {
    "secrets": Subject(
        ("read", "describeSecret", "readValue", "create", "edit", "delete", "subscribe"),
        {**_PLACE, "secretName": _TEXT, "secretTags": frozenset({IN, ALL}), "eventType": _EXACT},
    ),
    "secret-folders": Subject(CRUD, _EXACT_PLACE),
    "secret-imports": Subject(CRUD, _PLACE),
    "dynamic-secrets": Subject(
        (
            "read-root-credential",
            "create-root-credential",
            "edit-root-credential",
            "delete-root-credential",
            "lease",
        ),
        {**_PLACE, "metadata": frozenset({ELEMENT})},
    ),
    "secret-rotation": Subject(
        ("read", "read-generated-credentials", "create", "edit", "delete", "rotate-secrets"),
        {**_EXACT_PLACE, "connectionId": _EXACT},
    ),
    "secret-syncs": Subject(
        (*CRUD, "sync-secrets", "import-secrets", "remove-secrets"), {**_PLACE, "connectionId": _EXACT}
    ),
    "secret-rollback": Subject(("read", "create")),
    "secret-approval": _CRUD_ONLY,
    "secret-events": Subject(
        (
            "subscribe-on-created",
            "subscribe-on-updated",
            "subscribe-on-deleted",
            "subscribe-on-import-mutations",
        ),
        _PLACE,
    ),
    "commits": Subject(("read", "perform-rollback")),
    "environments": _CRUD_ONLY,
    "tags": _CRUD_ONLY,
    "role": _CRUD_ONLY,
    "integrations": _CRUD_ONLY,
    "webhooks": _CRUD_ONLY,
    "service-tokens": _CRUD_ONLY,
    "settings": _CRUD_ONLY,
    "ip-allowlist": _CRUD_ONLY,
    "member": Subject((*CRUD, "grant-privileges", "assume-privileges")),
    "groups": Subject((*CRUD, "grant-privileges")),
    "identity": Subject(
        (
            *CRUD,
            "grant-privileges",
            "assume-privileges",
            "revoke-auth",
            "create-token",
            "get-token",
            "delete-token",
        ),
        {"identityId": _EXACT},
    ),
    "audit-logs": Subject(("read",)),
    "workspace": Subject(("edit", "delete")),
    "app-connections": Subject(
        (
            "read-app-connections",
            "create-app-connections",
            "edit-app-connections",
            "delete-app-connections",
            "connect-app-connections",
        ),
        {"connectionId": _EXACT},
    ),
    "certificate-authorities": Subject((*CRUD, "renew", "sign-intermediate", "issue-ca-certificate"), _NAME),
    "certificates": Subject(
        (*CRUD, "read-private-key", "import"),
        {"commonName": _TEXT, "altNames": _TEXT, "serialNumber": _TEXT, "friendlyName": _TEXT, "status": _TEXT},
    ),
    "certificate-templates": Subject((*CRUD, "issue-cert", "list-certs"), _NAME),
    "certificate-profiles": Subject(
        (*CRUD, "issue-cert", "reveal-acme-eab-secret", "rotate-acme-eab-secret"), {"slug": _TEXT}
    ),
    "certificate-policies": Subject(CRUD, _NAME),
    "pki-subscribers": Subject((*CRUD, "issue-cert", "list-certs"), {"name": frozenset({EQ, IN, GLOB})}),
    "pki-alerts": _CRUD_ONLY,
    "pki-collections": _CRUD_ONLY,
    "pki-syncs": Subject(
        (*CRUD, "sync-certificates", "import-certificates", "remove-certificates"),
        {"name": _TEXT, "subscriberName": _TEXT},
    ),
    "ssh-certificate-authorities": _CRUD_ONLY,
    "ssh-certificates": _CRUD_ONLY,
    "ssh-certificate-templates": _CRUD_ONLY,
    "ssh-host-groups": _CRUD_ONLY,
    "ssh-hosts": Subject((*CRUD, "issue-host-cert"), {"hostname": frozenset({EQ, IN, GLOB})}),
    "cmek": Subject((*CRUD, "encrypt", "decrypt", "sign", "verify", "export-private-key")),
    "kms": Subject(("edit",)),
    "kmip": Subject(
        ("create-clients", "update-clients", "delete-clients", "read-clients", "generate-client-certificates")
    ),
    "secret-scanning-data-sources": Subject(
        (
            "read-data-sources",
            "create-data-sources",
            "edit-data-sources",
            "delete-data-sources",
            "trigger-data-source-scans",
            "read-data-source-scans",
            "read-data-source-resources",
        )
    ),
    "secret-scanning-findings": Subject(("read-findings", "update-findings")),
    "secret-scanning-configs": Subject(("read-configs", "update-configs")),
    "pam-folders": _CRUD_ONLY,
    "pam-resources": _CRUD_ONLY,
    "pam-accounts": Subject(("access", *CRUD), {"resourceName": _TEXT, "accountName": _TEXT, "accountPath": _TEXT}),
    "pam-sessions": Subject(("read",)),
    "approval-requests": Subject(("read", "create")),
    "approval-request-grants": Subject(("read", "revoke")),
    "mcp-endpoints": Subject((*CRUD, "connect"), _NAME),
    "mcp-servers": _CRUD_ONLY,
    "mcp-activity-logs": _CRUD_ONLY,
}

ORGANIZATION: Final[Catalogue] = {
    "workspace": Subject(("create",)),
    "project": Subject(("create",)),
    **dict.fromkeys(
        (
            "role",
            "member",
            "settings",
            "incident-contact",
            "sso",
            "scim",
            "github-org-sync",
            "github-org-sync-manual",
            "ldap",
            "secret-scanning",
            "kms",
            "project-templates",
        ),
        _CRUD_ONLY,
    ),
    "identity": Subject((*CRUD, "grant-privileges", "revoke-auth", "create-token", "get-token", "delete-token")),
    "groups": Subject(
        (
            *CRUD,
            "grant-privileges",
            "add-identities",
            "add-members",
            "remove-members",
            "remove-identities",
        )
    ),
    "billing": Subject(("read", "manage-billing")),
    "audit-logs": Subject(("read",)),
    "app-connections": Subject((*CRUD, "connect"), {"connectionId": _EXACT}),
    "organization-admin-console": Subject(("access-all-projects",)),
    "machine-identity-auth-template": Subject(
        (
            "list-templates",
            "edit-templates",
            "create-templates",
            "delete-templates",
            "unlink-templates",
            "attach-templates",
        )
    ),
    "gateway": Subject(("create-gateways", "list-gateways", "edit-gateways", "delete-gateways", "attach-gateways")),
    "relay": Subject(("create-relays", "list-relays", "edit-relays", "delete-relays")),
    "kmip": Subject(("proxy",)),
    "secret-share": Subject(("manage-settings",)),
    "sub-organization": Subject(("create", "direct-access")),
}
