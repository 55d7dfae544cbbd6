"""Projects over the wire."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

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
    "enforceEncryptedSecretManagerSecretMetadata",
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

    async def is_quiet() -> bool:
        waiting = "SELECT 1 FROM audit_spool UNION ALL SELECT 1 FROM outbox WHERE sent_at IS NULL"
        return not await world.rows(waiting)

    # Else what the first start has left to do would meet the fault, and not the request.
    await eventually(is_quiet)
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


EVERY_FIELD: dict[str, Any] = {
    "name": "Pay roll",
    "description": "Wages",
    "slug": "pay_roll-2",
    "autoCapitalization": True,
    "hasDeleteProtection": True,
    "secretSharing": False,
    "showSnapshotsLegacy": True,
    "secretDetectionIgnoreValues": ["AKIA-example", "x"],
    "pitVersionLimit": 25,
    "enforceEncryptedSecretManagerSecretMetadata": True,
}


@pytest.mark.parametrize(("family", "key"), [("projects", "project"), ("workspace", "workspace")])
async def test_every_field_of_a_project_can_be_changed(world, family: str, key: str) -> None:
    project = await world.project()
    path = f"/api/v1/{family}/{project['id']}"
    answer = await world.http.patch(path, token=world.token, json={**EVERY_FIELD, "version": 9, "canary": 1})
    assert answer.status == 200
    changed = answer.json[key]
    assert changed.keys() == FIELDS
    assert {name: changed[name] for name in EVERY_FIELD} == EVERY_FIELD
    assert changed["version"] == 3
    assert (await world.http.get(path, token=world.token)).json[key].items() >= changed.items()
    again = await world.http.get(f"{PROJECTS}/slug/PAY_ROLL-2", token=world.token)
    assert again.json["id"] == project["id"]


async def test_what_is_absent_or_null_stays_as_it_is(world) -> None:
    project = await world.project(projectDescription="Money")
    path = f"{PROJECTS}/{project['id']}"
    for body in ({}, dict.fromkeys(EVERY_FIELD)):
        answer = await world.http.patch(path, token=world.token, json=body)
        assert answer.status == 200
    assert (await world.http.get(path, token=world.token)).json["project"] == project


async def test_other_services_hear_of_each_change_in_a_higher_revision(world) -> None:
    project = await world.project()
    path = f"{PROJECTS}/{project['id']}"
    for limit in (20, 30):
        body = {"pitVersionLimit": limit, "autoCapitalization": True, "slug": f"pay-{limit}"}
        assert (await world.http.patch(path, token=world.token, json=body)).status == 200
    await eventually(lambda: len(world.identity.said.of("identity.project.updated.v1")) == 2)
    states = [event.payload["project"] for event in world.identity.said.of("identity.project.updated.v1")]
    assert [state["revision"] for state in states] == [2, 3]
    assert [state["pit_version_limit"] for state in states] == [20, 30]
    assert [state["slug"] for state in states] == ["pay-20", "pay-30"]
    assert states[1]["auto_capitalization"]
    assert [one["slug"] for one in states[1]["environments"]] == ["dev", "staging", "prod"]
    # What services remember of a member's access names the project.
    assert len(world.identity.said.of("identity.access.changed.v1")) == 2
    (first, second) = await eventually(lambda: world.audited("update-project"))
    assert second["metadata"] == {
        "name": "Payments",
        "slug": "pay-30",
        "type": "secret-manager",
        "fields": ["auto_capitalization", "pit_version_limit", "slug"],
    }
    assert str(first["project_id"]) == project["id"]


async def test_a_bad_change_is_named_and_not_repeated(world, refusal) -> None:
    project = await world.project()
    path = f"{PROJECTS}/{project['id']}"
    cases = [
        ("name", ""),
        ("name", "canary" * 11),
        ("description", "canary" * 43),
        ("slug", "Canary slug"),
        ("slug", "canary__twice"),
        ("slug", "-canary"),
        ("slug", "canary" * 11),
        ("slug", str(uuid4())),
        ("autoCapitalization", "canary"),
        ("hasDeleteProtection", 1),
        ("secretDetectionIgnoreValues", "canary"),
        ("secretDetectionIgnoreValues", ["canary" * 200]),
        ("secretDetectionIgnoreValues", ["x"] * 501),
        ("pitVersionLimit", 0),
        ("pitVersionLimit", 101),
        ("pitVersionLimit", "7"),
    ]
    for field, value in cases:
        answer = await world.http.patch(path, token=world.token, json={field: value})
        assert refusal(answer) == (422, "ValidationFailure"), field
        assert {issue["path"][0] for issue in answer.json["message"]} == {field}
        assert "canary" not in answer.text.lower()
    assert (await world.http.get(path, token=world.token)).json["project"] == project


async def test_a_taken_slug_is_refused_whatever_its_spelling(world, refusal) -> None:
    await world.project(slug="taken")
    project = await world.project()
    for spelling in ("taken", " TAKEN "):
        answer = await world.http.patch(f"{PROJECTS}/{project['id']}", token=world.token, json={"slug": spelling})
        assert refusal(answer) == (400, "BadRequest")
    other = await world.another_tenant()
    theirs = await world.project(token=other.token)
    answer = await world.http.patch(f"{PROJECTS}/{theirs['id']}", token=other.token, json={"slug": "taken"})
    assert answer.status == 200


async def test_two_projects_that_want_one_slug_at_the_same_moment_do_not_both_get_it(world) -> None:
    first, second = await world.project("A"), await world.project("B")
    answers = await asyncio.gather(
        *(
            world.http.patch(f"{PROJECTS}/{project['id']}", token=world.token, json={"slug": "wanted"})
            for project in (first, second)
        )
    )
    assert sorted(answer.status for answer in answers) == [200, 400]


async def test_changes_at_the_same_moment_are_all_kept(world) -> None:
    project = await world.project()
    path = f"{PROJECTS}/{project['id']}"
    fields = [{name: EVERY_FIELD[name]} for name in EVERY_FIELD]
    answers = await asyncio.gather(*(world.http.patch(path, token=world.token, json=body) for body in fields))
    assert {answer.status for answer in answers} == {200}
    now = (await world.http.get(path, token=world.token)).json["project"]
    assert {name: now[name] for name in EVERY_FIELD} == EVERY_FIELD
    (row,) = await world.rows("SELECT revision FROM projects")
    assert row["revision"] == 1 + len(fields)


async def test_who_may_change_what(world, refusal) -> None:
    project = await world.project()
    path = f"{PROJECTS}/{project['id']}"
    tokens = {}
    for role in ("viewer", "member", "admin"):
        machine = await world.machine(role)
        await world.join(project["id"], machine, role=role)
        tokens[role] = await world.token_of(machine)
    name, ignored = {"name": "New"}, {"secretDetectionIgnoreValues": ["x"]}
    assert refusal(await world.http.patch(path, token=tokens["viewer"], json=name)) == (403, "PermissionDenied")
    assert (await world.http.patch(path, token=tokens["member"], json=name)).status == 200
    assert refusal(await world.http.patch(path, token=tokens["member"], json=ignored)) == (403, "ForbiddenError")
    assert (await world.http.patch(path, token=tokens["admin"], json=ignored)).status == 200
    retention = {"auditLogsRetentionDays": 1}
    put = f"{path}/audit-logs-retention"
    assert refusal(await world.http.send("PUT", put, token=tokens["member"], json=retention)) == (403, "ForbiddenError")
    assert (await world.http.send("PUT", put, token=tokens["admin"], json=retention)).status == 200


async def test_protection_is_taken_away_and_then_the_project_goes(world, refusal) -> None:
    project = await world.project(hasDeleteProtection=True)
    path = f"/api/v2/workspace/{project['slug']}"
    assert refusal(await world.http.delete(path, token=world.token)) == (403, "ForbiddenError")
    assert (await world.http.patch(path, token=world.token, json={"hasDeleteProtection": False})).status == 200
    gone = await world.http.delete(path, token=world.token)
    assert (gone.status, gone.json["id"]) == (200, project["id"])
    assert gone.json.keys() == FIELDS
    assert refusal(await world.http.delete(path, token=world.token)) == (404, "NotFound")


@pytest.mark.parametrize("days", [0, 30])
async def test_the_retention_of_audit_logs_is_set(world, days: int) -> None:
    project = await world.project()
    body = {"auditLogsRetentionDays": days}
    answer = await world.http.send(
        "PUT", f"{PROJECTS}/{project['id']}/audit-logs-retention", token=world.token, json=body
    )
    assert answer.status == 200
    assert answer.json.keys() == {"message", "project"}
    assert answer.json["project"]["auditLogsRetentionDays"] == days
    for name in (project["id"], project["slug"]):
        path = f"/api/v1/workspace/{name}/audit-logs-retention"
        answer = await world.http.send("PUT", path, token=world.token, json=body)
        assert answer.json.keys() == {"message", "workspace"}
        assert answer.json["workspace"]["auditLogsRetentionDays"] == days


async def test_bad_limits_are_refused(world, refusal) -> None:
    project = await world.project()
    cases = [
        ("audit-logs-retention", "auditLogsRetentionDays", (-1, 40_000, "7", None)),
        ("version-limit", "pitVersionLimit", (0, 101, True, None)),
    ]
    for path, field, values in cases:
        for value in values:
            answer = await world.http.send(
                "PUT", f"/api/v1/workspace/{project['slug']}/{path}", token=world.token, json={field: value}
            )
            assert refusal(answer) == (422, "ValidationFailure")
            assert [issue["path"] for issue in answer.json["message"]] == [[field]]


async def test_the_version_limit_is_set_by_slug(world, refusal) -> None:
    project = await world.project()
    path = "/api/v1/workspace/{}/version-limit"
    body = {"pitVersionLimit": 3}
    answer = await world.http.send("PUT", path.format(project["slug"].upper()), token=world.token, json=body)
    assert (answer.status, answer.json["workspace"]["pitVersionLimit"]) == (200, 3)
    unknown = await world.http.send("PUT", path.format("unknown"), token=world.token, json=body)
    assert refusal(unknown) == (404, "NotFound")


async def test_older_paths_lead_to_the_same_projects(world) -> None:
    body = {"projectName": "Old", "slug": "old-one", "organizationSlug": "ignored"}
    made = await world.http.post("/api/v2/workspace", token=world.token, json=body)
    assert made.status == 200
    project = made.json["project"]
    assert project.keys() == FIELDS | {"_id", "environments"}
    get = world.http.get
    assert (await get("/api/v1/workspace", token=world.token)).json == {"workspaces": [project]}
    assert (await get(f"/api/v1/workspace/{project['id']}", token=world.token)).json == {"workspace": project}
    for path in ("/api/v2/workspace/old-one", "/api/v1/workspace/slug/old-one", f"{PROJECTS}/slug/old-one"):
        assert (await get(path, token=world.token)).json == project
    body = {"name": "Older", "description": "d", "autoCapitalization": True, "slug": "ignored-here"}
    changed = await world.http.patch("/api/v2/workspace/old-one", token=world.token, json=body)
    assert (changed.status, changed.json["name"], changed.json["slug"]) == (200, "Older", "old-one")
    gone = await world.http.delete(f"/api/v1/workspace/{project['id']}", token=world.token)
    assert gone.json["workspace"]["id"] == project["id"]


async def test_the_key_of_old_clients_is_refused_in_words(world, refusal) -> None:
    project = await world.project()
    path = "/api/v2/workspace/{}/encrypted-key"
    answer = await world.http.get(path.format(project["id"]), token=world.token)
    assert refusal(answer) == (400, "BadRequest")
    assert "encrypted keys" in answer.json["message"]
    assert refusal(await world.http.get(path.format(uuid4()), token=world.token)) == (404, "NotFound")


@pytest.mark.parametrize(
    ("project_type", "own"),
    [
        ("secret-manager", set()),
        ("cert-manager", set()),
        ("kms", {"cryptographic-operator"}),
        ("ssh", {"ssh-host-bootstrapper"}),
        ("secret-scanning", set()),
        ("pam", set()),
    ],
)
async def test_each_type_has_its_predefined_roles(world, project_type: str, own: set[str]) -> None:
    project = await world.project(type=project_type)
    assert (project["type"], project["defaultProduct"]) == (project_type, project_type)
    assert [one["slug"] for one in project["environments"]] == ["dev", "staging", "prod"]
    await world.http.post("/api/v1/projects", token=world.token, json={"projectName": "x"})
    answer = await world.http.get(f"{PROJECTS}?includeRoles=true&type={project_type}", token=world.token)
    roles = {role["slug"] for role in answer.json["projects"][0]["roles"]}
    assert roles == {"admin", "member", "viewer", "no-access"} | own


async def test_a_project_goes_with_a_custom_role_that_is_held(world) -> None:
    project = await world.project()
    await world.custom_role(project, "deployer", [{"subject": "secrets", "action": ["readValue"]}])
    await world.join(project["id"], await world.machine(), role="deployer")
    answer = await world.http.delete(f"{PROJECTS}/{project['id']}", token=world.token)
    assert answer.status == 200
    assert not await world.rows("SELECT FROM roles")
    assert not await world.rows("SELECT FROM membership_roles WHERE role = 'custom'")


async def test_a_projects_own_identities_and_their_tokens_die_with_it(world) -> None:
    project = await world.project()
    path = f"{PROJECTS}/{project['id']}"
    made = await world.http.post(f"{path}/identities", token=world.token, json={"name": "resident"})
    assert made.status == 200, made.text
    identity_id = made.json["identity"]["id"]
    auth = f"/api/v1/auth/universal-auth/identities/{identity_id}"
    login = {
        "clientId": (await world.http.post(auth, token=world.token, json={})).json["identityUniversalAuth"]["clientId"],
        "clientSecret": (await world.http.post(f"{auth}/client-secrets", token=world.token, json={})).json[
            "clientSecret"
        ],
    }
    token = (await world.http.post("/api/v1/auth/universal-auth/login", json=login)).json["accessToken"]
    assert (await world.http.get(path, token=token)).status == 200
    assert (await world.http.delete(path, token=world.token)).status == 200
    assert (await world.http.get(PROJECTS, token=token)).status == 401
    assert (await world.http.post("/api/v1/auth/universal-auth/login", json=login)).status == 401
    for table in ("identities", "access_tokens", "auth_configurations"):
        column = "id" if table == "identities" else "identity_id"
        assert not await world.rows(f"SELECT FROM {table} WHERE {column} = $1", UUID(identity_id))
    await eventually(lambda: world.identity.said.of("identity.tokens.revoked.v1"))
    (event,) = world.identity.said.of("identity.tokens.revoked.v1")
    assert event.payload["subject_ids"] == [identity_id]
