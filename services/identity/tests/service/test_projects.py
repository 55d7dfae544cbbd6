"""Projects over the wire."""

import asyncio
from uuid import uuid4

import pytest

from strongroom_common.kernel import faults
from strongroom_common.testing.waiting import eventually

PROJECTS = "/api/v1/projects"
FIELDS = {
    "id",
    "name",
    "slug",
    "description",
    "type",
    "defaultProduct",
    "orgId",
    "autoCapitalization",
    "hasDeleteProtection",
    "secretSharing",
    "showSnapshotsLegacy",
    "version",
    "upgradeStatus",
    "pitVersionLimit",
    "auditLogsRetentionDays",
    "kmsCertificateKeyId",
    "secretDetectionIgnoreValues",
    "createdAt",
    "updatedAt",
}


async def test_a_project_is_made_with_everything_that_clients_read(world) -> None:
    project = await world.project("Payments", projectDescription="Money")
    assert project.keys() == FIELDS | {"_id", "environments"}
    assert project["_id"] == project["id"]
    assert project["orgId"] == world.tenants[0].organization_id
    assert project["description"] == "Money"
    assert project["slug"].startswith("payments-")
    assert len(project["slug"]) == len("payments-") + 4
    assert (project["version"], project["pitVersionLimit"], project["type"]) == (3, 10, "secret-manager")
    assert project["createdAt"] == "2026-01-02T09:00:00.000Z"
    assert [(one["name"], one["slug"]) for one in project["environments"]] == [
        ("Development", "dev"),
        ("Staging", "staging"),
        ("Production", "prod"),
    ]


async def test_the_creator_is_the_projects_admin(world) -> None:
    project = await world.project()
    machine = await world.machine()
    assert (await world.join(project["id"], machine, role="admin")).status == 200


async def test_a_project_may_begin_without_environments_and_of_any_type(world) -> None:
    project = await world.project(type="cert-manager", shouldCreateDefaultEnvs=False)
    assert (project["type"], project["environments"]) == ("cert-manager", [])


async def test_other_services_hear_of_a_new_project(world) -> None:
    project = await world.project()
    await eventually(lambda: world.identity.said.of("identity.project.created.v1"))
    (event,) = world.identity.said.of("identity.project.created.v1")
    assert event.payload["project"]["id"] == project["id"]
    assert event.payload["project"]["revision"] == 1
    assert [one["slug"] for one in event.payload["project"]["environments"]] == ["dev", "staging", "prod"]
    assert str(event.project_id) == project["id"]


async def test_a_slug_is_canonical_and_unique_within_the_organization(world, refusal) -> None:
    project = await world.project(slug=" Pay-Now ")
    assert project["slug"] == "pay-now"
    for spelling in ("pay-now", "PAY-NOW", " pay-now "):
        answer = await world.http.post(PROJECTS, token=world.token, json={"projectName": "Another", "slug": spelling})
        assert refusal(answer) == (400, "BadRequest")
    other = await world.another_tenant()
    assert (await world.project(slug="pay-now", token=other.token))["slug"] == "pay-now"


async def test_of_many_with_one_slug_at_the_same_moment_one_is_made(world) -> None:
    body = {"projectName": "Race", "slug": "the-race"}
    answers = await asyncio.gather(*(world.http.post(PROJECTS, token=world.token, json=body) for _ in range(8)))
    assert sorted(answer.status for answer in answers) == [200] + [400] * 7


async def test_a_bad_field_is_named_and_not_repeated(world, refusal) -> None:
    cases = [
        ("projectName", ""),
        ("projectName", None),
        ("projectName", 12),
        ("projectName", "two\ncanary lines"),
        ("slug", "abcd"),
        ("slug", "a" * 37),
        ("slug", "canary_under_scores"),
        ("slug", "double--hyphen"),
        ("type", "canary"),
        ("template", "Canary!"),
        ("shouldCreateDefaultEnvs", "canary"),
        ("hasDeleteProtection", 1),
    ]
    for field, value in cases:
        answer = await world.http.post(PROJECTS, token=world.token, json={"projectName": "Fine", field: value})
        assert refusal(answer) == (422, "ValidationFailure")
        assert [issue["path"] for issue in answer.json["message"]] == [[field]]
        assert "canary" not in answer.text.lower()
        assert not await world.rows("SELECT FROM projects")


@pytest.mark.parametrize("more", [{"template": "our-own"}, {"kmsKeyId": str(uuid4())}])
async def test_an_unknown_template_or_key_is_not_found(world, refusal, more) -> None:
    answer = await world.http.post(PROJECTS, token=world.token, json={"projectName": "Fine", **more})
    assert refusal(answer) == (404, "NotFound")
    assert not await world.rows("SELECT FROM projects")


async def test_a_caller_without_the_right_makes_no_project(world, refusal) -> None:
    token = await world.token_of(await world.machine(role="no-access"))
    answer = await world.http.post(PROJECTS, token=token, json={"projectName": "Mine"})
    assert refusal(answer) == (403, "PermissionDenied")
    assert answer.json["details"] == []
    member = await world.token_of(await world.machine("member", role="member"))
    assert (await world.project("Ours", token=member))["name"] == "Ours"


async def test_the_list_holds_only_the_callers_own_projects(world) -> None:
    first = await world.project("First")
    await world.project("Second", type="kms")
    machine = await world.machine()
    token = await world.token_of(machine)
    assert (await world.http.get(PROJECTS, token=token)).json == {"projects": []}
    await world.join(first["id"], machine, role="viewer")
    listed = (await world.http.get(PROJECTS, token=token)).json["projects"]
    assert listed == [first]
    other = await world.another_tenant()
    assert (await world.http.get(PROJECTS, token=other.token)).json == {"projects": []}


async def test_the_list_is_filtered_by_type(world) -> None:
    secrets = await world.project("Secrets")
    certificates = await world.project("Certificates", type="cert-manager")

    async def listed(query: str) -> list[str]:
        answer = await world.http.get(f"{PROJECTS}{query}", token=world.token)
        assert answer.status == 200
        return [project["id"] for project in answer.json["projects"]]

    assert await listed("") == [secrets["id"], certificates["id"]]
    assert await listed("?type=cert-manager") == [certificates["id"]]
    assert await listed("?type=pam") == []


async def test_roles_come_when_they_are_asked_for(world) -> None:
    project = await world.project()
    rules = [{"subject": "secrets", "action": ["readValue"], "inverted": False}]
    role_id = await world.custom_role(project, "reader", rules)
    (with_roles,) = (await world.http.get(f"{PROJECTS}?includeRoles=true", token=world.token)).json["projects"]
    roles = with_roles.pop("roles")
    assert [role["slug"] for role in roles[1:]] == ["admin", "member", "viewer", "no-access"]
    assert roles[:1] == [
        {
            "id": role_id,
            "name": "Reader",
            "slug": "reader",
            "description": None,
            "projectId": project["id"],
            "permissions": rules,
            "version": 1,
            "createdAt": "2026-01-02T09:00:00.000Z",
            "updatedAt": "2026-01-02T09:00:00.000Z",
        }
    ]
    (without,) = (await world.http.get(f"{PROJECTS}?includeRoles=false", token=world.token)).json["projects"]
    assert without == with_roles == project


async def test_roles_are_for_those_who_may_add_members(world, refusal) -> None:
    token = await world.token_of(await world.machine(role="member"))
    answer = await world.http.get(f"{PROJECTS}?includeRoles=true", token=token)
    assert refusal(answer) == (403, "PermissionDenied")


async def test_a_bad_filter_is_named(world, refusal) -> None:
    cases = ["includeRoles=yes", "includeRoles=1", "includeRoles=", "type=canary", "type="]
    for query in cases:
        answer = await world.http.get(f"{PROJECTS}?{query}", token=world.token)
        assert refusal(answer) == (422, "ValidationFailure")
        (issue,) = answer.json["message"]
        assert issue["path"] == [query.partition("=")[0]]
        assert "canary" not in answer.text


async def test_a_project_is_read_by_id_and_by_slug(world) -> None:
    project = await world.project(slug="pay-now")
    assert (await world.http.get(f"{PROJECTS}/{project['id']}", token=world.token)).json == {"project": project}
    assert (await world.http.get(f"{PROJECTS}/slug/Pay-Now", token=world.token)).json == project


async def test_strangers_find_nothing_and_colleagues_may_not_look(world, refusal) -> None:
    project = await world.project(slug="pay-now")
    other = await world.another_tenant()
    outsider = await world.token_of(await world.machine(role="admin"))
    paths = (f"{PROJECTS}/{project['id']}", f"{PROJECTS}/slug/pay-now")
    for path in paths:
        assert refusal(await world.http.get(path, token=other.token)) == (404, "NotFound")
        assert refusal(await world.http.get(path, token=outsider)) == (403, "ForbiddenError")
    assert refusal(await world.http.delete(paths[0], token=other.token)) == (404, "NotFound")
    assert refusal(await world.http.delete(paths[0], token=outsider)) == (403, "ForbiddenError")
    assert refusal(await world.http.get(f"{PROJECTS}/{uuid4()}", token=world.token)) == (404, "NotFound")
    assert refusal(await world.http.get(f"{PROJECTS}/slug/unknown", token=world.token)) == (404, "NotFound")
    assert refusal(await world.http.get(f"{PROJECTS}/canary", token=world.token)) == (422, "ValidationFailure")
    assert len(await world.rows("SELECT FROM projects")) == 1


async def test_a_deleted_project_is_gone_with_all_that_hung_on_it(world, refusal) -> None:
    project = await world.project()
    await world.join(project["id"], await world.machine(), role="viewer")
    answer = await world.http.delete(f"{PROJECTS}/{project['id']}", token=world.token)
    assert answer.status == 200
    assert answer.json["project"].keys() == FIELDS
    assert answer.json["project"]["id"] == project["id"]
    again = await world.http.get(f"{PROJECTS}/{project['id']}", token=world.token)
    assert refusal(again) == (404, "NotFound")
    assert (await world.http.get(PROJECTS, token=world.token)).json == {"projects": []}
    for table in ("environments", "projects"):
        assert not await world.rows(f"SELECT FROM {table}")
    assert not await world.rows("SELECT FROM memberships WHERE project_id IS NOT NULL")
    await eventually(lambda: world.identity.said.of("identity.project.deleted.v1"))
    (event,) = world.identity.said.of("identity.project.deleted.v1")
    assert event.payload["project_id"] == project["id"]
    await eventually(lambda: world.identity.said.of("identity.access.changed.v1"))


async def test_a_protected_project_stays(world, refusal) -> None:
    project = await world.project(hasDeleteProtection=True)
    answer = await world.http.delete(f"{PROJECTS}/{project['id']}", token=world.token)
    assert refusal(answer) == (403, "ForbiddenError")
    assert (await world.http.get(f"{PROJECTS}/{project['id']}", token=world.token)).status == 200


async def test_a_viewer_deletes_nothing(world, refusal) -> None:
    project = await world.project()
    machine = await world.machine()
    await world.join(project["id"], machine, role="viewer")
    answer = await world.http.delete(f"{PROJECTS}/{project['id']}", token=await world.token_of(machine))
    assert refusal(answer) == (403, "PermissionDenied")


async def test_a_repeated_idempotency_key_makes_one_project(world, refusal) -> None:
    async def make(**more: object):
        body = {"projectName": "Once", **more}
        return await world.http.post(PROJECTS, token=world.token, json=body, headers={"Idempotency-Key": "k1"})

    first, second = await make(), await make()
    assert first.status == second.status == 200
    assert first.json == second.json
    assert second.headers["Idempotency-Replayed"] == "true"
    assert refusal(await make(type="kms")) == (422, "ValidationFailure")
    assert len(await world.rows("SELECT FROM projects")) == 1
    assert len(await eventually(lambda: world.audited("create-project"))) == 1


async def test_making_and_deleting_are_audited(world) -> None:
    project = await world.project()
    await world.http.delete(f"{PROJECTS}/{project['id']}", token=world.token, headers={"User-Agent": "cli"})
    (deleted,) = await eventually(lambda: world.audited("delete-project"))
    (created,) = await world.audited("create-project")
    for record in (created, deleted):
        assert str(record["project_id"]) == project["id"]
        assert str(record["actor_id"]) == world.tenants[0].identity_id
        assert record["actor_metadata"]["name"] == "Instance Admin Identity"
        assert record["metadata"]["name"] == "Payments"
    assert deleted["user_agent"] == "cli"
    assert deleted["number"] > created["number"]


@pytest.mark.parametrize(("place", "is_done"), [("work.before_commit", False), ("work.after_commit", True)])
async def test_a_failure_around_the_commit_leaves_all_or_nothing(world, refusal, place: str, is_done: bool) -> None:
    async def make():
        headers = {"Idempotency-Key": "once"}
        return await world.http.post(PROJECTS, token=world.token, json={"projectName": "Torn"}, headers=headers)

    def break_down() -> None:
        faults.disarm()
        raise RuntimeError("the process dies here")

    faults.arm(place, break_down)
    try:
        assert refusal(await make()) == (500, "InternalServerError")
    finally:
        faults.disarm()
    assert (
        len(await world.rows("SELECT FROM projects"))
        == len(await world.rows("SELECT FROM environments")) / 3
        == is_done
    )
    again = await make()
    assert again.status == (409 if is_done else 200), "what was done is not done twice"
    assert len(await world.rows("SELECT FROM projects")) == 1
    assert len(await eventually(lambda: world.audited("create-project"))) == 1
    await eventually(lambda: world.identity.said.of("identity.project.created.v1"))
