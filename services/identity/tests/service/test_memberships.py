"""Identities in projects: roles, limits of what may be given, roles that end."""

from datetime import timedelta
from uuid import uuid4

from strongroom_common.kernel.clock import wire_instant
from strongroom_common.testing.clock import MORNING
from strongroom_common.testing.waiting import eventually

PROJECTS = "/api/v1/projects"


def temporary(role: str, starts_at, length: str = "30s") -> dict[str, object]:
    return {
        "role": role,
        "isTemporary": True,
        "temporaryMode": "relative",
        "temporaryRange": length,
        "temporaryAccessStartTime": wire_instant(starts_at),
    }


def without(field: str) -> dict[str, object]:
    entry = temporary("viewer", MORNING)
    del entry[field]
    return entry


async def test_an_identity_joins_with_its_roles(world) -> None:
    project, machine = await world.project(), await world.machine()
    answer = await world.join(project["id"], machine, roles=[{"role": "viewer"}, {"role": "member"}])
    assert answer.status == 200
    membership = answer.json["identityMembership"]
    assert membership["projectId"] == project["id"]
    assert membership["identityId"] == machine.id
    assert [role["role"] for role in membership["roles"]] == ["viewer", "member"]
    token = await world.token_of(machine)
    assert (await world.http.get(f"{PROJECTS}/{project['id']}", token=token)).status == 200


async def test_the_older_form_gives_one_role(world) -> None:
    project = await world.project()
    machine, silent = await world.machine(), await world.machine("silent")
    given = (await world.join(project["id"], machine, role="viewer")).json["identityMembership"]
    assert [role["role"] for role in given["roles"]] == ["viewer"]
    default = (await world.join(project["id"], silent)).json["identityMembership"]
    assert [role["role"] for role in default["roles"]] == ["no-access"]


async def test_nobody_joins_twice(world, refusal) -> None:
    project, machine = await world.project(), await world.machine()
    await world.join(project["id"], machine)
    assert refusal(await world.join(project["id"], machine, role="admin")) == (400, "BadRequest")
    assert len(await world.rows("SELECT FROM memberships WHERE project_id IS NOT NULL")) == 2


async def test_an_identity_of_another_organization_is_not_found(world, refusal) -> None:
    project, other = await world.project(), await world.another_tenant()
    for identity_id in (other.identity_id, str(uuid4())):
        path = f"{PROJECTS}/{project['id']}/memberships/identities/{identity_id}"
        assert refusal(await world.http.post(path, token=world.token, json={})) == (404, "NotFound")
        assert refusal(await world.http.post(path, token=other.token, json={})) == (404, "NotFound")


async def test_an_unknown_role_is_not_found(world, refusal) -> None:
    project, machine = await world.project(), await world.machine()
    for role in ("our-own", "cryptographic-operator", "custom"):
        answer = await world.join(project["id"], machine, roles=[{"role": "viewer"}, {"role": role}])
        assert refusal(answer) == (404, "NotFound")
    assert not await world.rows("SELECT FROM memberships WHERE identity_id = $1 AND project_id IS NOT NULL", machine.id)


async def test_nobody_gives_more_than_he_has_in_the_project(world, refusal) -> None:
    project, developer, machine = await world.project(), await world.machine("dev"), await world.machine()
    await world.join(project["id"], developer, role="member")
    token = await world.token_of(developer)
    answer = await world.join(project["id"], machine, token, roles=[{"role": "viewer"}, {"role": "admin"}])
    assert refusal(answer) == (403, "PermissionBoundaryError")
    subjects = {rule["subject"] for rule in answer.json["details"]["missingPermissions"]}
    assert "kms" in subjects
    assert (await world.join(project["id"], machine, token, role="member")).status == 200


async def test_organization_rights_give_nothing_in_a_project(world, refusal) -> None:
    project, admin = await world.project(), await world.machine("admin", role="admin")
    token = await world.token_of(admin)
    assert refusal(await world.join(project["id"], admin, token, role="admin")) == (403, "ForbiddenError")


async def test_a_temporary_role_is_shown_and_ends_to_the_second(world, clock, refusal) -> None:
    project, guest, friend = await world.project(), await world.machine("guest"), await world.machine("friend")
    roles = [{"role": "no-access"}, temporary("admin", clock.now())]
    shown = (await world.join(project["id"], guest, roles=roles)).json["identityMembership"]["roles"][1]
    assert shown["isTemporary"] is True
    assert shown["temporaryMode"] == "relative"
    assert shown["temporaryRange"] == "30s"
    assert shown["temporaryAccessStartTime"] == "2026-01-02T09:00:00.000Z"
    assert shown["temporaryAccessEndTime"] == "2026-01-02T09:00:30.000Z"
    token = await world.token_of(guest)
    clock.advance(timedelta(seconds=29))
    assert (await world.join(project["id"], friend, token, role="viewer")).status == 200
    clock.advance(timedelta(seconds=1))
    late = await world.join(project["id"], await world.machine("late"), token, role="viewer")
    assert refusal(late) == (403, "PermissionDenied")


async def test_a_temporary_role_begins_when_it_is_due(world, clock, refusal) -> None:
    project, guest, friend = await world.project(), await world.machine("guest"), await world.machine("friend")
    starts_at = clock.now() + timedelta(seconds=20)
    await world.join(project["id"], guest, roles=[temporary("admin", starts_at, "1h")])
    token = await world.token_of(guest)
    assert refusal(await world.join(project["id"], friend, token, role="viewer")) == (403, "PermissionDenied")
    clock.advance(timedelta(seconds=20))
    assert (await world.join(project["id"], friend, token, role="viewer")).status == 200


async def test_a_bad_field_is_named_and_not_repeated(world, refusal) -> None:
    project, machine = await world.project(), await world.machine()
    cases = [
        (["roles"], []),
        (["roles"], "canary"),
        (["roles", 0, "role"], [{}]),
        (["roles", 0, "role"], [{"role": "can ary"}]),
        (["roles", 0, "isTemporary"], [{"role": "viewer", "isTemporary": "canary"}]),
        (["roles", 0, "temporaryMode"], [{**temporary("viewer", MORNING), "temporaryMode": "canary"}]),
        (["roles", 0, "temporaryMode"], [{**temporary("viewer", MORNING), "temporaryMode": None}]),
        (["roles", 1, "temporaryMode"], [{"role": "viewer"}, without("temporaryMode")]),
        (["roles", 0, "temporaryRange"], [without("temporaryRange")]),
        (["roles", 0, "temporaryAccessStartTime"], [without("temporaryAccessStartTime")]),
        (["roles", 0, "temporaryRange"], [temporary("viewer", MORNING, "0h")]),
        (["roles", 0, "temporaryRange"], [temporary("viewer", MORNING, "-1h")]),
        (["roles", 0, "temporaryRange"], [temporary("viewer", MORNING, "canary")]),
        (
            ["roles", 0, "temporaryAccessStartTime"],
            [{**temporary("viewer", MORNING), "temporaryAccessStartTime": "canary"}],
        ),
        (
            ["roles", 0, "temporaryAccessStartTime"],
            [{**temporary("viewer", MORNING), "temporaryAccessStartTime": "2026-01-02T09:00:00"}],
        ),
    ]
    for path, roles in cases:
        answer = await world.join(project["id"], machine, roles=roles)
        assert refusal(answer) == (422, "ValidationFailure")
        assert [issue["path"] for issue in answer.json["message"]] == [path]
        assert "canary" not in answer.text


async def test_joining_is_audited_and_told(world) -> None:
    project, machine = await world.project(), await world.machine()
    await world.join(project["id"], machine, role="viewer")
    (record,) = await eventually(lambda: world.audited("create-identity-project-membership"))
    assert str(record["project_id"]) == project["id"]
    assert record["metadata"] == {"identityId": machine.id, "roles": ["viewer"]}
    (event,) = world.identity.said.of("identity.access.changed.v1")
    assert event.payload["subject_ids"] == [machine.id]


async def test_a_custom_role_is_given_and_counts(world, refusal) -> None:
    project, machine, friend = await world.project(), await world.machine(), await world.machine("friend")
    adder = [{"subject": "identity", "action": ["create"]}]
    role_id = await world.custom_role(project, "adder", adder)
    answer = await world.join(project["id"], machine, roles=[{"role": "adder"}])
    (role,) = answer.json["identityMembership"]["roles"]
    assert (role["role"], role["customRoleId"]) == ("custom", role_id)
    assert (role["customRoleSlug"], role["customRoleName"]) == ("adder", "Adder")
    token = await world.token_of(machine)
    assert refusal(await world.join(project["id"], friend, token, role="viewer")) == (403, "PermissionBoundaryError")
    assert (await world.join(project["id"], friend, token, role="adder")).status == 200


async def test_a_custom_role_of_another_project_is_not_found(world, refusal) -> None:
    project, other, machine = await world.project("One"), await world.project("Two"), await world.machine()
    await world.custom_role(other, "adder", [])
    assert refusal(await world.join(project["id"], machine, role="adder")) == (404, "NotFound")
