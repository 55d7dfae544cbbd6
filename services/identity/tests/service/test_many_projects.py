"""A thousand projects: every question about them is one statement, answered from an index."""

import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID

import pytest

from strongroom_identity.store import environments, project_templates, projects

pytestmark = pytest.mark.timeout(60)

MANY = 1_000
_PROJECTS = """
INSERT INTO projects
    (id, organization_id, name, slug, type, version, pit_version_limit, revision, created_at, updated_at)
SELECT gen_random_uuid(), $1, 'Project ' || n, 'project-' || n,
    CASE WHEN n % 4 = 0 THEN 'kms' ELSE 'secret-manager' END, 3, 10, 1, now() + n * interval '1 ms', now()
FROM generate_series(1, $2) n
"""
_ENVIRONMENTS = """
INSERT INTO environments (id, project_id, name, slug, position, created_at, updated_at)
SELECT gen_random_uuid(), p.id, 'E' || n, 'e' || n, n, now(), now() FROM projects p, generate_series(1, 3) n
"""
_ROLES = """
INSERT INTO roles (id, organization_id, project_id, slug, name, permissions, version, created_at, updated_at)
SELECT gen_random_uuid(), p.organization_id, p.id, 'r' || n, 'R' || n, '[]', 1, now(), now()
FROM projects p, generate_series(1, 2) n
"""
_MEMBERS = """
INSERT INTO memberships (id, organization_id, project_id, identity_id, created_at, updated_at)
SELECT gen_random_uuid(), organization_id, id, $1, now(), now() FROM projects WHERE organization_id = $2
"""
_TEMPLATES = """
INSERT INTO project_templates (id, organization_id, name, type, roles, users, groups, created_at, updated_at)
SELECT gen_random_uuid(), o.id, 't' || n, 'kms', '[]', '[]', '[]', now(), now()
FROM organizations o, generate_series(1, 90) n
"""


@pytest.fixture
async def crowded(world) -> Any:
    """Twenty organizations with their projects; the first identity is a member of ten, another one of a thousand."""
    run = world.context.database.execute
    ours, us = UUID(world.tenants[0].organization_id), UUID(world.tenants[0].identity_id)
    other = await world.another_tenant()
    await run(
        "INSERT INTO organizations (id, name, slug, created_at, updated_at)"
        " SELECT gen_random_uuid(), 'O' || n, 'o' || n, now(), now() FROM generate_series(1, 18) n"
    )
    await run(_PROJECTS, UUID(other.organization_id), MANY)
    await run(_PROJECTS, ours, 10)
    await run(_ENVIRONMENTS)
    await run(_ROLES)
    await run(_MEMBERS, UUID(other.identity_id), UUID(other.organization_id))
    await run(_MEMBERS, us, ours)
    await run(_TEMPLATES)
    await run("ANALYZE")
    world.tenants.append(other)
    return world


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


async def scanned_whole(world, statement: str, *arguments: Any) -> set[str]:
    """The tables that a statement reads from end to end."""
    (row,) = await world.rows(f"EXPLAIN (FORMAT JSON) {statement}", *arguments)
    (plan,) = json.loads(row[0])
    return {node["Relation Name"] for node in nodes(plan["Plan"]) if node["Node Type"] == "Seq Scan"}


async def test_every_question_is_answered_from_an_index(crowded) -> None:
    ours, us = (UUID(one) for one in (crowded.tenants[0].organization_id, crowded.tenants[0].identity_id))
    (project,) = await crowded.rows("SELECT id FROM projects WHERE organization_id = $1 LIMIT 1", ours)
    (environment,) = await crowded.rows("SELECT id FROM environments LIMIT 1")
    (template,) = await crowded.rows("SELECT id FROM project_templates LIMIT 1")
    questions = [
        (projects._FIND, project["id"]),
        (projects._FIND_BY_SLUG, ours, "project-7"),
        (projects._LIST_OF["identity"], us, ours, None, False),
        (projects._LIST_OF["identity"], us, ours, "kms", True),
        (projects._LIST_OF["user"], us, ours, None, True),
        (environments._FIND, environment["id"], ours),
        (project_templates._FIND, ours, template["id"]),
        (project_templates._FIND_BY_NAME, ours, "t7"),
        (project_templates._LIST, ours, None),
        ("SELECT * FROM environments WHERE project_id = $1 ORDER BY position", project["id"]),
    ]
    large = {"projects", "environments", "roles", "memberships", "project_templates"}
    for statement, *arguments in questions:
        assert not await scanned_whole(crowded, statement, *arguments) & large, statement


async def test_a_list_of_a_thousand_is_one_statement(crowded) -> None:
    token = crowded.tenants[1].token
    await crowded.http.get("/api/v1/projects", token=token)
    database, sent = crowded.context.database, []
    async with AsyncExitStack() as stack:
        # Every connection of the lean pool is opened and listened to, so that no statement is left out.
        for _ in range(database.reads.get_max_size()):
            connection = await stack.enter_async_context(database.reads.acquire())
            connection._con.add_query_logger(lambda record: sent.append(record.query))
    listed = (await crowded.http.get("/api/v1/projects?includeRoles=true", token=token)).json["projects"]
    workspaces = (await crowded.http.get("/api/v1/workspace?type=kms", token=token)).json["workspaces"]
    assert len([statement for statement in sent if "projects" in statement]) == 2
    assert (len(listed), len(workspaces)) == (MANY, MANY // 4)
    assert [one["slug"] for one in listed[:3]] == ["project-1", "project-2", "project-3"]
    assert [one["slug"] for one in listed[0]["environments"]] == ["e1", "e2", "e3"]
    assert {role["slug"] for role in listed[0]["roles"][:2]} == {"r1", "r2"}


async def test_a_member_of_a_group_is_shown_the_groups_projects_once(crowded) -> None:
    organization_id = UUID(crowded.tenants[0].organization_id)
    machine = await crowded.machine()
    token = await crowded.token_of(machine)
    run = crowded.context.database.execute
    (group,) = await crowded.rows(
        "INSERT INTO groups (id, organization_id, name, slug, created_at, updated_at)"
        " VALUES (gen_random_uuid(), $1, 'G', 'group', now(), now()) RETURNING id",
        organization_id,
    )
    await run(
        "INSERT INTO group_members (organization_id, group_id, membership_id, joined_at)"
        " SELECT $1, $2, id, now() FROM memberships WHERE identity_id = $3 AND project_id IS NULL",
        organization_id,
        group["id"],
        UUID(machine.id),
    )
    await run(
        "INSERT INTO memberships (id, organization_id, project_id, group_id, created_at, updated_at)"
        " SELECT gen_random_uuid(), organization_id, id, $2, now(), now() FROM projects"
        " WHERE organization_id = $1 ORDER BY created_at LIMIT 3",
        organization_id,
        group["id"],
    )
    first = await crowded.rows(
        "SELECT id FROM projects WHERE organization_id = $1 ORDER BY created_at", organization_id
    )
    await crowded.join(str(first[0]["id"]), machine, role="viewer")
    listed = (await crowded.http.get("/api/v1/projects", token=token)).json["projects"]
    assert [one["id"] for one in listed] == [str(row["id"]) for row in first[:3]]
