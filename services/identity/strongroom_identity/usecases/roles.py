"""Finding the roles that somebody wants to give, and seeing that he may."""

from collections.abc import Sequence
from uuid import UUID

from strongroom_common.access.rules import Rule, Ruleset, missing
from strongroom_common.db.database import UnitOfWork
from strongroom_identity.domain.errors import BeyondOwnRights, RoleNotFound
from strongroom_identity.domain.roles import Role, predefined, rules_of
from strongroom_identity.store import roles


async def get_all(
    work: UnitOfWork,
    slugs: Sequence[str],
    organization_id: UUID,
    *,
    project_id: UUID | None = None,
    project_type: str | None = None,
) -> list[Role]:
    """Return the roles with these slugs, in their order; raises `RoleNotFound`."""
    found: dict[str, Role] = {}
    for slug in slugs:
        role = predefined(slug, project_type)
        if role is not None:
            found[slug] = role
    custom = [slug for slug in slugs if slug not in found]
    if custom:
        found |= await roles.find_by_slugs(work, organization_id, project_id, custom)
    try:
        return [found[slug] for slug in slugs]
    except KeyError:
        raise RoleNotFound from None


def verify_within(held: Ruleset, wanted: Sequence[Rule]) -> None:
    """Raise `BeyondOwnRights` unless whoever holds the first may hand on the second."""
    lacking = missing(held, wanted)
    if lacking:
        raise BeyondOwnRights(lacking)


def verify_grantable(held: Ruleset, wanted: Sequence[Role]) -> None:
    """Raise `BeyondOwnRights` unless whoever holds the rules may give the roles, all of them together."""
    verify_within(held, [rule for role in wanted for rule in rules_of(role)])
