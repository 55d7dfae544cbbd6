"""Project templates over the wire, and projects made from them."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.testing.waiting import eventually
from strongroom_identity.domain.memberships import Membership
from strongroom_identity.store import memberships

TEMPLATES = "/api/v1/project-templates"
FIELDS = {
    "id",
    "name",
    "description",
    "type",
    "orgId",
    "createdAt",
    "updatedAt",
    "roles",
    "environments",
    "users",
    "groups",
}
PREDEFINED = ["admin", "member", "viewer", "no-access"]
USUAL = [
    {"name": "Development", "slug": "dev", "position": 1},
    {"name": "Staging", "slug": "staging", "position": 2},
    {"name": "Production", "slug": "prod", "position": 3},
]
DEPLOYER = {
    "name": "Deployer",
    "slug": "deployer",
    "permissions": [
        {"subject": "secrets", "action": "readValue", "conditions": {"environment": "prod"}},
        {"subject": "secrets", "action": ["delete"], "inverted": True},
    ],
}


async def make(world, name: str = "ours", **more: Any):
    body = {"name": name, "type": "secret-manager", **more}
    return await world.http.post(TEMPLATES, token=world.token, json=body)


async def made(world, name: str = "ours", **more: Any) -> dict[str, Any]:
    answer = await make(world, name, **more)
    assert answer.status == 200, answer.text
    template: dict[str, Any] = answer.json["projectTemplate"]
    return template


async def listed(world, query: str = "") -> list[dict[str, Any]]:
    answer = await world.http.get(TEMPLATES + query, token=world.token)
    assert answer.status == 200, answer.text
    templates: list[dict[str, Any]] = answer.json["projectTemplates"]
    return templates


async def add_user(world, username: str) -> UUID:
    """A colleague: invitations have routes of their own, this test needs only the rows."""
    organization_id, now = UUID(world.tenants[0].organization_id), world.context.clock.now()
    user_id = uuid4()
    await world.context.database.execute(
        "INSERT INTO users (id, username, email, first_name, last_name, created_at, updated_at)"
        " VALUES ($1, $2, $2, 'A', 'B', $3, $3)",
        user_id,
        username,
        now,
    )
    async with world.context.database.begin(Origin()) as work:
        await memberships.add(work, Membership.new("user", user_id, [], now, organization_id=organization_id))
        await work.commit()
    return user_id


async def add_group(world, slug: str) -> UUID:
    group_id = uuid4()
    await world.context.database.execute(
        "INSERT INTO groups (id, organization_id, name, slug, created_at, updated_at) VALUES ($1, $2, $3, $3, $4, $4)",
        group_id,
        UUID(world.tenants[0].organization_id),
        slug,
        world.context.clock.now(),
    )
    return group_id


async def test_the_built_in_templates_come_first(world) -> None:
    found = await listed(world)
    assert [template["type"] for template in found] == [
        "secret-manager",
        "cert-manager",
        "kms",
        "secret-scanning",
        "pam",
    ]
    for template in found:
        assert template.keys() == FIELDS
        assert (template["id"], template["name"]) == ("b11b49a9-09a9-4443-916a-4246f9ff2c69", "default")
        assert template["orgId"] == world.tenants[0].organization_id
        assert template["createdAt"] == template["updatedAt"] == "2026-01-02T09:00:00.000Z"
        own = ["cryptographic-operator"] if template["type"] == "kms" else []
        assert [role["slug"] for role in template["roles"]] == PREDEFINED + own
        assert [role["name"] for role in template["roles"]][:4] == ["Admin", "Member", "Viewer", "No Access"]
        assert template["environments"] == (USUAL if template["type"] == "secret-manager" else None)
        assert template["users"] == template["groups"] == []
    assert [template["type"] for template in await listed(world, "?type=kms")] == ["kms"]
    assert await listed(world, "?type=ssh") == []
    built_in = await world.http.get(f"{TEMPLATES}/{found[0]['id']}", token=world.token)
    assert built_in.status == 404


async def test_a_template_is_made_with_everything_and_read_again(world) -> None:
    environments = [{"name": "One", "slug": "one", "position": 2}, {"name": "Two", "slug": "two", "position": 1}]
    template = await made(world, " Ours ", description=" For us ", roles=[DEPLOYER], environments=environments)
    assert template.keys() == FIELDS
    assert (template["name"], template["description"]) == ("ours", "For us")
    assert template["orgId"] == world.tenants[0].organization_id
    assert [role["slug"] for role in template["roles"]] == [*PREDEFINED, "deployer"]
    assert all(isinstance(rule["action"], list) for role in template["roles"] for rule in role["permissions"])
    assert template["roles"][4] == {
        "name": "Deployer",
        "slug": "deployer",
        "permissions": [
            {
                "subject": "secrets",
                "action": ["readValue"],
                "inverted": False,
                "conditions": {"environment": "prod"},
            },
            {"subject": "secrets", "action": ["delete"], "inverted": True},
        ],
    }
    assert template["environments"] == environments
    read = await world.http.get(f"{TEMPLATES}/{template['id']}", token=world.token)
    assert read.json == {"projectTemplate": template}
    assert [one for one in await listed(world) if one["name"] != "default"] == [template]
    assert [one["name"] for one in await listed(world, "?type=pam")] == ["default"]


async def test_a_template_without_environments_gets_what_fits_its_type(world) -> None:
    assert (await made(world))["environments"] == USUAL
    assert (await made(world, "empty", environments=None))["environments"] == USUAL
    assert (await made(world, "keys", type="kms"))["environments"] is None


async def test_a_template_is_changed_part_by_part(world, clock) -> None:
    template = await made(world, roles=[DEPLOYER])
    path = f"{TEMPLATES}/{template['id']}"

    async def change(**body: Any) -> dict[str, Any]:
        answer = await world.http.patch(path, token=world.token, json=body)
        assert answer.status == 200, answer.text
        found: dict[str, Any] = answer.json["projectTemplate"]
        return found

    assert await change() == template
    assert (await change(name="theirs", description="d"))["name"] == "theirs"
    changed = await change(environments=[{"name": "Only", "slug": "only", "position": 1}])
    assert [one["slug"] for one in changed["environments"]] == ["only"]
    assert changed["roles"] == template["roles"]
    assert len((await change(roles=[]))["roles"]) == 4
    read = (await world.http.get(path, token=world.token)).json["projectTemplate"]
    assert (read["name"], read["description"], read["createdAt"]) == ("theirs", "d", template["createdAt"])


async def test_a_deleted_template_is_gone_and_its_projects_stay(world, refusal) -> None:
    template = await made(world)
    project = await world.project(template="ours")
    path = f"{TEMPLATES}/{template['id']}"
    answer = await world.http.delete(path, token=world.token)
    assert (answer.status, answer.json) == (200, {"projectTemplate": template})
    for again in (
        await world.http.get(path, token=world.token),
        await world.http.patch(path, token=world.token, json={"name": "x"}),
        await world.http.delete(path, token=world.token),
    ):
        assert refusal(again) == (404, "NotFound")
    assert (await world.http.get(f"/api/v1/projects/{project['id']}", token=world.token)).status == 200


async def test_a_name_is_unique_whatever_its_spelling_and_never_the_reserved_one(world, refusal) -> None:
    await made(world)
    other = await made(world, "other", type="kms")
    for spelling in ("ours", " OURS "):
        assert refusal(await make(world, spelling, type="kms")) == (400, "BadRequest")
        renamed = await world.http.patch(f"{TEMPLATES}/{other['id']}", token=world.token, json={"name": spelling})
        assert refusal(renamed) == (400, "BadRequest")
    for spelling in ("default", "Default", " DEFAULT "):
        assert refusal(await make(world, spelling)) == (422, "ValidationFailure")
        renamed = await world.http.patch(f"{TEMPLATES}/{other['id']}", token=world.token, json={"name": spelling})
        assert refusal(renamed) == (422, "ValidationFailure")
    answers = await asyncio.gather(*(make(world, "race") for _ in range(5)))
    assert sorted(answer.status for answer in answers) == [200] + [400] * 4


async def test_environments_are_refused_where_they_do_not_belong(world, refusal) -> None:
    assert refusal(await make(world, type="kms", environments=USUAL)) == (400, "BadRequest")
    template = await made(world)
    path = f"{TEMPLATES}/{template['id']}"
    answer = await world.http.patch(path, token=world.token, json={"environments": None})
    assert refusal(answer) == (400, "BadRequest")
    keys = await made(world, "keys", type="kms")
    path = f"{TEMPLATES}/{keys['id']}"
    assert (await world.http.patch(path, token=world.token, json={"environments": None})).status == 200
    answer = await world.http.patch(path, token=world.token, json={"environments": USUAL})
    assert refusal(answer) == (400, "BadRequest")


LARGE = {"subject": "secrets", "action": "readValue", "conditions": {"secretPath": "/" + "a" * 1000}}
CASES = [
    ("name", "canary_under", ["name"]),
    ("name", "a" * 65, ["name"]),
    ("name", None, ["name"]),
    ("type", "canary", ["type"]),
    ("description", "canary" * 43, ["description"]),
    ("roles", [{"name": "", "slug": "a", "permissions": []}], ["roles", 0, "name"]),
    ("roles", [{"name": "A", "slug": "Canary!", "permissions": []}], ["roles", 0, "slug"]),
    ("roles", [{"name": "A", "slug": "a"}], ["roles", 0, "permissions"]),
    ("roles", [{"name": "A", "slug": "admin", "permissions": []}], ["roles", 0, "slug"]),
    ("roles", [{"name": "No access", "slug": "a", "permissions": []}], ["roles", 0, "name"]),
    (
        "roles",
        [{"name": "A", "slug": "a", "permissions": [{"subject": "canary", "action": "read"}]}],
        ["roles", 0, "permissions", 0, "subject"],
    ),
    (
        "roles",
        [{"name": "A", "slug": "a", "permissions": [{"subject": "secrets", "action": "canary"}]}],
        ["roles", 0, "permissions", 0, "action"],
    ),
    ("roles", [{"name": "A", "slug": "a", "permissions": [LARGE] * 32}], ["roles"]),
    ("environments", [{"name": "A", "slug": "a", "position": 2}], ["environments"]),
    ("environments", [{"name": "A", "slug": "a", "position": 0}], ["environments", 0, "position"]),
    ("environments", [{"name": "", "slug": "a", "position": 1}], ["environments", 0, "name"]),
    (
        "environments",
        [{"name": f"Environment {n}", "slug": f"environment-{n}", "position": n} for n in range(1, 700)],
        ["environments"],
    ),
    ("users", [{"username": "", "roles": ["viewer"]}], ["users", 0, "username"]),
    ("users", [{"username": "u", "roles": []}], ["users", 0, "roles"]),
    ("users", [{"username": "u", "roles": ["canary"]}], ["users", 0, "roles", 0]),
    ("users", [{"username": f"user-{n}@example.com", "roles": ["viewer"]} for n in range(700)], ["users"]),
    ("groups", [{"groupSlug": "g", "roles": ["canary"]}], ["groups", 0, "roles", 0]),
    ("groups", [{"groupSlug": f"group-{n}", "roles": ["viewer"]} for n in range(900)], ["groups"]),
]


async def test_every_limit_is_named_and_nothing_is_repeated(world, refusal) -> None:
    template = await made(world, "stays")
    for field, value, path in CASES:
        bodies = [("POST", TEMPLATES, {"name": "ours", "type": "secret-manager", field: value})]
        if field != "type" and value is not None:
            bodies.append(("PATCH", f"{TEMPLATES}/{template['id']}", {field: value}))
        for method, url, body in bodies:
            answer = await world.http.send(method, url, token=world.token, json=body)
            assert refusal(answer) == (422, "ValidationFailure"), (method, field, value)
            assert path in [issue["path"] for issue in answer.json["message"]]
            assert "canary" not in answer.text.lower()
    assert [row["name"] for row in await world.rows("SELECT name FROM project_templates")] == ["stays"]


async def test_a_part_of_just_the_largest_size_is_taken(world) -> None:
    rule = {"subject": "secrets", "action": "readValue", "conditions": {"secretPath": "/" + "a" * 1000}}
    role = {"name": "Large", "slug": "large", "permissions": [rule] * 29}
    assert len((await made(world, roles=[role]))["roles"]) == 5


async def test_a_change_must_fit_what_it_leaves_as_it_is(world, refusal) -> None:
    await add_user(world, "u@example.com")
    template = await made(world, roles=[DEPLOYER], users=[{"username": " U@Example.com", "roles": ["deployer"]}])
    assert template["users"] == [{"username": "u@example.com", "roles": ["deployer"]}]
    path = f"{TEMPLATES}/{template['id']}"
    answer = await world.http.patch(path, token=world.token, json={"roles": []})
    assert refusal(answer) == (422, "ValidationFailure")
    assert [issue["path"] for issue in answer.json["message"]] == [["users", 0, "roles", 0]]
    assert (await world.http.patch(path, token=world.token, json={"roles": [], "users": []})).status == 200


async def test_users_and_groups_must_be_of_the_organization(world, refusal) -> None:
    await add_group(world, "our-staff")
    viewer = ["viewer"]
    assert (await made(world, groups=[{"groupSlug": "Our-Staff", "roles": viewer}]))["groups"] == [
        {"groupSlug": "our-staff", "roles": viewer}
    ]
    other = await world.another_tenant()
    for more in (
        {"users": [{"username": "nobody@example.com", "roles": viewer}]},
        {"groups": [{"groupSlug": "nobodies", "roles": viewer}]},
    ):
        assert refusal(await make(world, "bad", **more)) == (400, "BadRequest")
    foreign = {"name": "x", "type": "secret-manager", "groups": [{"groupSlug": "our-staff", "roles": viewer}]}
    assert refusal(await world.http.post(TEMPLATES, token=other.token, json=foreign)) == (400, "BadRequest")


async def test_who_may_not_is_refused_and_strangers_find_nothing(world, refusal) -> None:
    template = await made(world)
    path = f"{TEMPLATES}/{template['id']}"
    member = await world.token_of(await world.machine(role="member"))
    other = await world.another_tenant()

    async def calls(token: str):
        return [
            await world.http.get(path, token=token),
            await world.http.patch(path, token=token, json={"name": "x"}),
            await world.http.delete(path, token=token),
        ]

    assert {refusal(answer) for answer in await calls(other.token)} == {(404, "NotFound")}
    lists = [
        await world.http.get(TEMPLATES, token=member),
        await world.http.post(TEMPLATES, token=member, json={"name": "x", "type": "kms"}),
    ]
    assert {refusal(answer) for answer in [*await calls(member), *lists]} == {(403, "PermissionDenied")}
    answer = await world.http.get(TEMPLATES, token=other.token)
    assert {one["name"] for one in answer.json["projectTemplates"]} == {"default"}
    used = await world.http.post("/api/v1/projects", token=member, json={"projectName": "Fine", "template": "ours"})
    assert refusal(used) == (403, "PermissionDenied")
    assert refusal(await world.http.get(f"{TEMPLATES}/canary", token=world.token)) == (422, "ValidationFailure")
    assert refusal(await world.http.get(f"{TEMPLATES}/{uuid4()}", token=world.token)) == (404, "NotFound")


async def test_a_project_is_made_from_a_template(world) -> None:
    user_id, _ = await add_user(world, "u@example.com"), await add_user(world, "gone@example.com")
    group_id = await add_group(world, "staff")
    await made(
        world,
        roles=[DEPLOYER],
        environments=[{"name": "B", "slug": "b", "position": 2}, {"name": "A", "slug": "a", "position": 1}],
        users=[
            {"username": "u@example.com", "roles": ["deployer", "viewer", "deployer"]},
            {"username": "gone@example.com", "roles": ["admin"]},
        ],
        groups=[{"groupSlug": "staff", "roles": ["member"]}],
    )
    await world.context.database.execute("DELETE FROM users WHERE username = 'gone@example.com'")
    project = await world.project(template="ours")
    assert [(one["name"], one["slug"]) for one in project["environments"]] == [("A", "a"), ("B", "b")]
    with_roles = await world.http.get("/api/v1/projects?includeRoles=true", token=world.token)
    (custom, *_) = with_roles.json["projects"][0]["roles"]
    assert (custom["slug"], custom["name"], custom["projectId"]) == ("deployer", "Deployer", project["id"])
    assert custom["permissions"][0]["action"] == ["readValue"]
    rows = await world.rows(
        "SELECT m.user_id, m.group_id, m.identity_id, array_agg(coalesce(x.slug, r.role) ORDER BY r.position) AS roles"
        " FROM memberships m JOIN membership_roles r ON r.membership_id = m.id"
        " LEFT JOIN roles x ON x.id = r.custom_role_id WHERE m.project_id = $1 GROUP BY m.id",
        UUID(project["id"]),
    )
    found = {row["user_id"] or row["group_id"] or row["identity_id"]: row["roles"] for row in rows}
    assert found == {
        user_id: ["deployer", "viewer"],
        group_id: ["member"],
        UUID(world.tenants[0].identity_id): ["admin"],
    }
    (event,) = await eventually(lambda: world.identity.said.of("identity.project.created.v1"))
    assert [one["slug"] for one in event.payload["project"]["environments"]] == ["a", "b"]


async def test_a_template_of_another_type_has_its_roles_and_no_environments(world, refusal) -> None:
    await made(world, "keys", type="kms", roles=[DEPLOYER])
    project = await world.project(type="kms", template="keys")
    assert project["environments"] == []
    answer = await world.http.post(
        "/api/v1/projects", token=world.token, json={"projectName": "Fine", "template": "keys"}
    )
    assert refusal(answer) == (404, "NotFound")
    assert len(await world.rows("SELECT FROM projects")) == 1


async def test_another_organizations_template_is_unknown(world, refusal) -> None:
    await made(world)
    other = await world.another_tenant()
    body = {"projectName": "Fine", "template": "ours"}
    assert refusal(await world.http.post("/api/v1/projects", token=other.token, json=body)) == (404, "NotFound")


@pytest.mark.timeout(60)
async def test_an_organization_has_a_bounded_number_of_templates(world, refusal) -> None:
    await world.context.database.execute(
        "INSERT INTO project_templates (id, organization_id, name, type, roles, users, groups, created_at, updated_at)"
        " SELECT gen_random_uuid(), $1, 't' || n, 'kms', '[]', '[]', '[]', now(), now() FROM generate_series(1, 99) n",
        UUID(world.tenants[0].organization_id),
    )
    await made(world, "last")
    assert refusal(await make(world, "one-more")) == (400, "BadRequest")
    assert len(await listed(world)) == 105


async def test_every_use_is_audited(world) -> None:
    template = await made(world)
    path = f"{TEMPLATES}/{template['id']}"
    await world.http.get(path, token=world.token)
    await listed(world)
    await world.http.patch(path, token=world.token, json={"description": "d"})
    await world.http.delete(path, token=world.token)
    for event in (
        "create-project-template",
        "get-project-template",
        "get-project-templates",
        "update-project-template",
        "delete-project-template",
    ):
        (record,) = await eventually(lambda event=event: world.audited(event))
        assert str(record["actor_id"]) == world.tenants[0].identity_id
        assert record["metadata"].get("templateId", template["id"]) == template["id"]
