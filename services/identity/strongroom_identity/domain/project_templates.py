"""Project templates: what a new project begins with (wire-identity 13).

The parts of a template are kept as clients read them: roles with `name`, `slug` and `permissions`, environments with
`name`, `slug` and `position`, users with `username` and `roles`, groups with `groupSlug` and `roles`.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from strongroom_common.access.roles import PROJECT_ROLES, RESERVED_SLUGS, PredefinedRole
from strongroom_common.kernel.errors import Conflict, InvalidInput, Issue
from strongroom_common.kernel.ids import new_id
from strongroom_identity.domain.projects import DEFAULT_ENVIRONMENTS, DEFAULT_TEMPLATE, PROJECT_TYPES
from strongroom_identity.domain.roles import predefined

BUILT_IN_ID = UUID("b11b49a9-09a9-4443-916a-4246f9ff2c69")
"""Under which the built-in templates, which are no rows, are listed."""
WITH_ENVIRONMENTS = "secret-manager"
"""The only type of project whose templates have environments."""
MOST_TEMPLATES = 100
"""Of one organization."""
RESERVED_ROLE_NAMES = frozenset({"custom", "admin", "viewer", "developer", "no access"})
PARTS = ("roles", "environments", "users", "groups")

Part = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class ProjectTemplate:
    """A template of an organization for projects of one type."""

    id: UUID
    organization_id: UUID
    name: str
    description: str | None
    type: str
    roles: Part
    environments: Part | None
    users: Part
    groups: Part
    created_at: datetime
    updated_at: datetime

    @classmethod
    def new(
        cls,
        organization_id: UUID,
        project_type: str,
        now: datetime,
        *,
        name: str,
        description: str | None = None,
        roles: Part = (),
        environments: Part | None = None,
        users: Part = (),
        groups: Part = (),
    ) -> "ProjectTemplate":
        """A new template; one whose projects have environments begins with the usual ones."""
        if environments is None and project_type == WITH_ENVIRONMENTS:
            environments = usual_environments()
        return cls(
            id=new_id(),
            organization_id=organization_id,
            name=name,
            description=description,
            type=project_type,
            roles=roles,
            environments=environments,
            users=users,
            groups=groups,
            created_at=now,
            updated_at=now,
        )

    def changed(self, changes: Mapping[str, Any], now: datetime) -> "ProjectTemplate":
        """The template with other values in the fields that `changes` names."""
        return replace(self, **changes, updated_at=now)

    def stages(self) -> list[tuple[str, str]]:
        """Name and slug of each environment of a new project, in their order."""
        ordered = sorted(self.environments or (), key=lambda one: int(one["position"]))
        return [(one["name"], one["slug"]) for one in ordered]

    def predefined_roles(self) -> Iterator[PredefinedRole]:
        """The roles that every project of this type has."""
        return (role for role in PROJECT_ROLES.values() if role.project_type in {None, self.type})

    def verify(self) -> None:
        """Raise `InvalidInput` with an issue for each limit that is not kept, `Conflict` for misplaced environments."""
        if (self.environments is None) is (self.type == WITH_ENVIRONMENTS):
            raise Conflict(f"Environments are for templates of type {WITH_ENVIRONMENTS}, and such a one must have them")
        issues = [
            *self._roles(),
            *_repeated("environments", self.environments or (), "slug"),
            *_repeated("environments", self.environments or (), "name"),
            *self._positions(),
            *_repeated("users", self.users, "username"),
            *_repeated("groups", self.groups, "groupSlug"),
            *self._given("users", self.users),
            *self._given("groups", self.groups),
        ]
        if issues:
            raise InvalidInput("the template is not valid", issues=issues[:100])

    def _roles(self) -> Iterator[Issue]:
        for place, role in enumerate(self.roles):
            if role["slug"] in RESERVED_SLUGS:
                yield Issue(code="custom", path=["roles", place, "slug"], message="This slug is reserved")
            if _folded(role["name"]) in RESERVED_ROLE_NAMES:
                yield Issue(code="custom", path=["roles", place, "name"], message="This name is reserved")
        yield from _repeated("roles", self.roles, "slug")
        yield from _repeated("roles", self.roles, "name")

    def _positions(self) -> Iterator[Issue]:
        positions = sorted(one["position"] for one in self.environments or ())
        if positions != list(range(1, len(positions) + 1)):
            yield Issue(code="custom", path=["environments"], message="Positions must be 1, 2, 3 and so on")

    def _given(self, part: str, members: Part) -> Iterator[Issue]:
        own = {role["slug"] for role in self.roles}
        for place, member in enumerate(members):
            for index, slug in enumerate(member["roles"]):
                if slug not in own and predefined(slug, self.type) is None:
                    message = "Neither predefined nor a role of this template"
                    yield Issue(code="custom", path=[part, place, "roles", index], message=message)


def usual_environments() -> Part:
    """The environments of a project that was made without a template."""
    return [
        {"name": name, "slug": slug, "position": position}
        for position, (name, slug) in enumerate(DEFAULT_ENVIRONMENTS, 1)
    ]


def built_in(organization_id: UUID, types: Iterable[str] | None, now: datetime) -> Iterator[ProjectTemplate]:
    """The built-in template of each of these types; of all but `ssh`, which has none, if no type is named."""
    for project_type in PROJECT_TYPES if types is None else types:
        if project_type != "ssh":
            template = ProjectTemplate.new(organization_id, project_type, now, name=DEFAULT_TEMPLATE)
            yield replace(template, id=BUILT_IN_ID, description="What a project begins with where nothing is chosen")


def _repeated(part: str, entries: Part, name: str) -> Iterator[Issue]:
    seen: set[str] = set()
    for place, entry in enumerate(entries):
        if entry[name] in seen:
            yield Issue(code="custom", path=[part, place, name], message="Must be unique")
        seen.add(entry[name])


def _folded(name: str) -> str:
    """One form for all spellings that look the same to a person in a hurry."""
    visible = (one for one in unicodedata.normalize("NFKC", name) if unicodedata.category(one) != "Cf")
    return " ".join("".join(visible).casefold().split())
