"""Lists of large tenants: answered from indexes, whatever their size."""

import pytest
from services.identity.tests.service.organization_people import an_organization_of

from strongroom_identity.store import instance_admins, organization_members, organization_roles, organizations

MANY = 5000


@pytest.fixture
async def crowd(world):
    """Users in one organization, organizations beneath one, and identities of many."""
    (organization,) = await world.rows("SELECT id FROM organizations")
    now, organization_id = world.context.clock.now(), organization["id"]
    for statement in (
        "INSERT INTO users (id, username, email, first_name, last_name, created_at, updated_at) "
        "SELECT gen_random_uuid(), n || '@example.net', n || '@example.net', 'A', 'B', $2, $2 "
        "FROM generate_series(1, $3) n WHERE $1::uuid IS NOT NULL",
        "INSERT INTO memberships (id, organization_id, user_id, created_at, updated_at) "
        "SELECT gen_random_uuid(), $1, id, $2, $2 FROM users WHERE email LIKE '%@example.net' AND $3::int > 0",
        "INSERT INTO organizations (id, name, slug, parent_id, root_id, created_at, updated_at) "
        "SELECT gen_random_uuid(), 'Sub ' || n, 'sub-' || n, $1, $1, $2, $2 FROM generate_series(1, $3) n",
        "INSERT INTO identities (id, organization_id, name, created_at, updated_at) "
        "SELECT gen_random_uuid(), id, 'robot', $2, $2 FROM organizations WHERE $1::uuid IS NOT NULL AND $3::int > 0",
        "INSERT INTO roles (id, organization_id, slug, name, permissions, version, created_at, updated_at) "
        "SELECT gen_random_uuid(), id, 'r', 'R', '[]', 1, $2, $2 FROM organizations "
        "WHERE $1::uuid IS NOT NULL AND $3::int > 0",
    ):
        await world.context.database.execute(statement, organization_id, now, MANY)
    for table in ("users", "memberships", "organizations", "identities", "roles"):
        await world.context.database.execute(f"ANALYZE {table}")
    return organization_id


async def plan(world, statement: str, *arguments) -> str:
    return "\n".join(row[0] for row in await world.rows("EXPLAIN " + statement, *arguments))


@pytest.mark.timeout(60)
async def test_lists_are_answered_from_indexes(world, crowd) -> None:
    await an_organization_of(world, "root@example.com", "Another")
    (root,) = await world.rows("SELECT id FROM users WHERE email = 'root@example.com'")
    subs = organizations._SUB_ORGANIZATIONS_OF["user"]
    questions = {
        "members": (organization_members._LIST, crowd, 100, 0),
        "a member": (organization_members._FIND_OF_USER, crowd, root["id"]),
        "own organizations": (organizations._LIST_OF_USER, root["id"]),
        "an admin": (organizations._IS_ADMIN, crowd, root["id"]),
        "sub-organizations": (
            f"SELECT o.* {subs} ORDER BY o.name, o.id LIMIT $4 OFFSET $5",
            crowd,
            False,
            root["id"],
            25,
            0,
        ),
        "roles": (organization_roles._LIST, crowd, organization_roles.MOST),
        "users": (instance_admins._LIST_USERS, "", False, 20, 0),
        "identities": (instance_admins._LIST_IDENTITIES, "", 20, 0),
        "organizations": (instance_admins._LIST_ORGANIZATIONS, "", 20, 0),
    }
    for name, question in questions.items():
        found = await plan(world, *question)
        for table in ("users", "memberships", "organizations", "identities", "roles"):
            assert f"Seq Scan on {table}" not in found, f"{name}:\n{found}"
        assert "Sort Key: o.name" not in found or name == "own organizations", found
