"""The predefined roles as rules: those of a project (wire-identity 12.5) and of an organization (12.6).

They are listed like custom roles, but nobody can change them. Later releases may only add rights here with care: every
holder of the role gains them at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from strongroom_common.access.catalogue import CRUD, LEGACY, ORGANIZATION, PROJECT, Catalogue
from strongroom_common.access.rules import Rule

RESERVED_SLUGS: Final = frozenset(
    {"admin", "member", "custom", "viewer", "no-access", "ssh-host-bootstrapper", "cryptographic-operator"}
)
"""Slugs that no custom role may take."""


@dataclass(frozen=True)
class PredefinedRole:
    """A role that every project, or every organization, has. `project_type` is set where only one type has it."""

    slug: str
    name: str
    description: str
    rules: tuple[Rule, ...]
    project_type: str | None = None


def _rules(rights: Mapping[str, Sequence[str]]) -> tuple[Rule, ...]:
    return tuple(Rule(subject, tuple(actions)) for subject, actions in rights.items() if actions)


def _everything(catalogue: Catalogue) -> tuple[Rule, ...]:
    # Old actions are left out: what they stand for is granted, and the two must not be mixed.
    return _rules(
        {
            name: [action for action in subject.actions if (name, action) not in LEGACY]
            for name, subject in catalogue.items()
        }
    )


_SECRETS: Final = ("describeSecret", "readValue", "create", "edit", "delete", "subscribe")
_EVENTS: Final = PROJECT["secret-events"].actions

_DEVELOPER: Final[Mapping[str, Sequence[str]]] = {
    "secrets": _SECRETS,
    "secret-events": _EVENTS,
    **{
        name: PROJECT[name].actions
        for name in (
            "secret-folders",
            "secret-imports",
            "dynamic-secrets",
            "secret-syncs",
            "tags",
            "environments",
            "integrations",
            "webhooks",
            "service-tokens",
            "settings",
            "commits",
        )
    },
    "cmek": (*CRUD, "encrypt", "decrypt", "sign", "verify"),
    "identity": CRUD,
    **dict.fromkeys(
        (
            "secret-rotation",
            "secret-approval",
            "role",
            "audit-logs",
            "ip-allowlist",
            "certificate-authorities",
            "certificate-policies",
            "certificate-profiles",
        ),
        ("read",),
    ),
    "member": ("read", "create"),
    "secret-rollback": ("read", "create"),
    "ssh-certificates": ("read", "create"),
    "app-connections": ("connect-app-connections",),
}

_VIEWER: Final[Mapping[str, Sequence[str]]] = {
    **{name: ("read",) for name, subject in PROJECT.items() if "read" in subject.actions},
    "secrets": ("describeSecret", "readValue"),
    "dynamic-secrets": ("read-root-credential",),
    "secret-events": _EVENTS,
}

_MEMBER: Final[Mapping[str, Sequence[str]]] = {
    "workspace": ("create",),
    "project": ("create",),
    **dict.fromkeys(("member", "groups", "role", "settings", "billing", "incident-contact", "audit-logs"), ("read",)),
    "secret-scanning": CRUD,
    "identity": CRUD,
    "app-connections": ("connect",),
    "gateway": ("list-gateways", "create-gateways", "attach-gateways"),
    "relay": ("list-relays", "create-relays", "edit-relays"),
    "machine-identity-auth-template": ("list-templates", "unlink-templates", "attach-templates"),
}

PROJECT_ROLES: Final[Mapping[str, PredefinedRole]] = {
    role.slug: role
    for role in (
        PredefinedRole("admin", "Admin", "Everything in the project", _everything(PROJECT)),
        PredefinedRole("member", "Developer", "Daily work with the project's secrets", _rules(_DEVELOPER)),
        PredefinedRole("viewer", "Viewer", "Reading only", _rules(_VIEWER)),
        PredefinedRole("no-access", "No Access", "Nothing", ()),
        PredefinedRole(
            "ssh-host-bootstrapper",
            "SSH Host Bootstrapper",
            "Registers SSH hosts",
            _rules({"ssh-hosts": ("create", "issue-host-cert")}),
            project_type="ssh",
        ),
        PredefinedRole(
            "cryptographic-operator",
            "Cryptographic Operator",
            "Uses keys without managing them",
            _rules({"cmek": ("encrypt", "decrypt", "sign", "verify")}),
            project_type="kms",
        ),
    )
}

ORGANIZATION_ROLES: Final[Mapping[str, PredefinedRole]] = {
    role.slug: role
    for role in (
        PredefinedRole("admin", "Admin", "Everything in the organization", _everything(ORGANIZATION)),
        PredefinedRole("member", "Member", "Takes part and creates projects", _rules(_MEMBER)),
        PredefinedRole("no-access", "No Access", "Nothing", ()),
    )
}
