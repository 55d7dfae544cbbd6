"""Refusals that can be explained, to whom they may be; and what rules do through the whole way in."""

from datetime import timedelta
from itertools import product
from uuid import UUID, uuid4

import pytest

from strongroom_common.kernel.errors import Unavailable
from strongroom_common.testing.waiting import eventually
from strongroom_identity.domain.decisions import KEPT
from strongroom_identity.usecases import decisions

EXPLAINED = "/api/v1/access/decisions"


async def refused_in_a_project(world, rules):
    """Somebody whose rules do not let him read an identity of a project; with the refusal."""
    project, machine, target = await world.project(), await world.machine("refused"), await world.machine("target")
    await world.join(project["id"], target, role="viewer")
    await world.custom_role(project, "own", rules)
    await world.join(project["id"], machine, role="own")
    token = await world.token_of(machine)
    path = f"/api/v1/projects/{project['id']}/memberships/identities/{target.id}"
    return project, machine, target, token, await world.http.get(path, token=token)


async def explained(world, answer, token):
    decision = answer.headers["X-Decision-Id"]
    await eventually(lambda: world.rows("SELECT FROM access_decisions WHERE id = $1", UUID(decision)))
    return await world.http.get(f"{EXPLAINED}/{decision}", token=token)


READ = {"subject": "identity", "action": ["read"]}


async def test_the_refused_caller_learns_what_was_needed_and_no_more(world, refusal) -> None:
    project, machine, target, token, answer = await refused_in_a_project(world, [])
    assert refusal(answer) == (403, "PermissionDenied")
    assert answer.json["details"] == [], "the body keeps its shape"
    decision = (await explained(world, answer, token)).json["decision"]
    assert decision["needed"] == {"action": "read", "subject": "identity"}
    assert (decision["allowed"], decision["projectId"]) == (False, project["id"])
    assert decision["caller"] == {"type": "identity", "id": machine.id, "name": "refused"}
    assert decision["explanation"] is None
    assert target.id not in str(decision)


async def test_an_admin_sees_the_rules_the_one_that_decided_and_the_smallest_grant(world) -> None:
    deny = {**READ, "inverted": True, "conditions": {"identityId": {"$ne": str(uuid4())}}}
    other = {**READ, "conditions": {"identityId": {"$eq": str(uuid4())}}}
    project, machine, target, token, answer = await refused_in_a_project(world, [READ, deny, other])
    explanation = (await explained(world, answer, world.token)).json["decision"]["explanation"]
    assert explanation["rules"] == [
        {"conditions": {}, "inverted": False, **READ},
        deny,
        {"inverted": False, **other},
    ]
    assert explanation["decidingRule"] == 1
    assert explanation["resource"] == {"identityId": target.id}
    grant = explanation["smallestGrant"]
    assert grant == {**READ, "inverted": False, "conditions": {"identityId": {"$eq": target.id}}}

    # The grant does what it says: added as the last rule, it allows this, and nothing beside it.
    roles = f"/api/v1/projects/{project['id']}/roles"
    found = (await world.http.get(f"{roles}/slug/own", token=world.token)).json["role"]
    body = {"permissions": [READ, deny, other, grant]}
    assert (await world.http.patch(f"{roles}/{found['id']}", token=world.token, json=body)).status == 200
    path = f"/api/v1/projects/{project['id']}/memberships/identities"
    assert (await world.http.get(f"{path}/{target.id}", token=token)).status == 200
    assert (await world.http.get(f"{path}/{machine.id}", token=token)).status == 403


async def test_without_a_matching_rule_none_decided(world) -> None:
    machine = await world.machine()
    answer = await world.http.get("/api/v1/groups", token=await world.token_of(machine))
    decision = (await explained(world, answer, world.token)).json["decision"]
    assert decision["projectId"] is None
    assert decision["explanation"] == {
        "resource": None,
        "rules": [],
        "decidingRule": None,
        "smallestGrant": {"subject": "groups", "action": ["read"], "inverted": False},
    }


async def test_decisions_are_hidden_from_other_tenants_and_other_callers(world, refusal) -> None:
    _, _, _, _, answer = await refused_in_a_project(world, [])
    other, member = await world.another_tenant(), await world.machine("member", role="member")
    for token in (other.token, await world.token_of(member)):
        assert refusal(await explained(world, answer, token)) == (404, "NotFound")
    assert refusal(await world.http.get(f"{EXPLAINED}/{uuid4()}", token=world.token)) == (404, "NotFound")


async def test_a_refusal_is_in_the_audit_log_without_what_it_was_about(world) -> None:
    project, machine, target, _, answer = await refused_in_a_project(world, [])
    (record,) = await eventually(lambda: world.audited("deny-access"))
    assert str(record["id"]) == answer.headers["X-Decision-Id"]
    assert (str(record["actor_id"]), str(record["project_id"])) == (machine.id, project["id"])
    assert record["metadata"] == {"action": "read", "subject": "identity"}
    assert target.id not in str(dict(record))


async def test_only_refusals_by_rules_have_a_decision(world) -> None:
    project, machine = await world.project(), await world.machine()
    token = await world.token_of(machine)
    for answer in (
        await world.http.get(f"/api/v1/projects/{project['id']}/roles", token=token),
        await world.http.get("/api/v1/groups"),
        await world.http.get("/api/v1/groups", token=world.token),
    ):
        assert "X-Decision-Id" not in answer.headers
    assert not await world.rows("SELECT FROM access_decisions")


async def test_a_refusal_stays_one_when_it_cannot_be_written_down(world, refusal, monkeypatch) -> None:
    machine = await world.machine()
    token = await world.token_of(machine)

    async def fails(*_):
        raise Unavailable("the disk is full")

    monkeypatch.setattr(world.context.trail._database, "execute", fails)
    answer = await world.http.get("/api/v1/groups", token=token)
    assert refusal(answer) == (403, "PermissionDenied")
    assert "X-Decision-Id" not in answer.headers


async def test_decisions_are_forgotten_in_time_and_beyond_a_number(world, clock, refusal, monkeypatch) -> None:
    _, _, _, token, answer = await refused_in_a_project(world, [])
    assert (await explained(world, answer, token)).status == 200
    again = await world.http.get("/api/v1/groups", token=token)
    await explained(world, again, token)
    monkeypatch.setattr(decisions, "MOST_KEPT", 1)
    await decisions.forget(world.context)
    (kept,) = await world.rows("SELECT id FROM access_decisions")
    assert str(kept["id"]) == again.headers["X-Decision-Id"], "the newest stay"
    clock.advance(KEPT + timedelta(seconds=1))
    await decisions.forget(world.context)
    assert refusal(await explained_now(world, again)) == (404, "NotFound")


async def explained_now(world, answer):
    return await world.http.get(f"{EXPLAINED}/{answer.headers['X-Decision-Id']}", token=world.token)


# --- what rules do, through the whole way in --------------------------------------------------------------------------


async def readable(world, project, token, targets) -> set[str]:
    """Which identities a caller may read, by asking for each."""
    path = f"/api/v1/projects/{project['id']}/memberships/identities"
    statuses = {one: (await world.http.get(f"{path}/{one}", token=token)).status for one in targets}
    assert set(statuses.values()) <= {200, 403}
    return {one for one, status in statuses.items() if status == 200}


@pytest.mark.timeout(60)
async def test_adding_a_rule_that_forbids_never_grants(world) -> None:
    project, reader = await world.project(), await world.machine("reader")
    targets = [await world.machine(f"t{number}") for number in range(3)]
    for target in targets:
        await world.join(project["id"], target, role="no-access")
    ids = [target.id for target in targets]
    roles = f"/api/v1/projects/{project['id']}/roles"
    body = {"slug": "own", "name": "Own", "permissions": []}
    role = (await world.http.post(roles, token=world.token, json=body)).json["role"]
    await world.join(project["id"], reader, role="own")
    token = await world.token_of(reader)
    conditions = [
        None,
        {"identityId": {"$eq": ids[0]}},
        {"identityId": {"$ne": ids[0]}},
        {"identityId": {"$in": ids[:2]}},
        {"identityId": "{{identity.id}}"},
        {"identityId": "{{identity.metadata.missing}}"},
    ]

    def rule(condition, *, inverted):
        return {**READ, "inverted": inverted, **({"conditions": condition} if condition else {})}

    async def now_readable(rules) -> set[str]:
        changed = await world.http.patch(f"{roles}/{role['id']}", token=world.token, json={"permissions": rules})
        assert changed.status == 200, changed.text
        return await readable(world, project, token, ids)

    for first, second, denied in product(conditions[:3], conditions[2:4], conditions):
        rules = [rule(first, inverted=False), rule(second, inverted=False)]
        allowed = await now_readable(rules)
        deny = rule(denied, inverted=True)
        for place in range(3):
            less = await now_readable([*rules[:place], deny, *rules[place:]])
            assert less <= allowed


async def test_a_tenants_rename_changes_nothing_in_another(world) -> None:
    """Two tenants with the same names everywhere: what one renames, the other one does not notice (class 17)."""
    other = await world.another_tenant("Acme Inc.")
    rules = [{"subject": "role", "action": ["read"]}]
    worlds = {}
    for token, organization in ((world.token, world.tenants[0].organization_id), (other.token, other.organization_id)):
        project = await world.project("Payments", token=token, slug="payments")
        base = f"/api/v1/projects/{project['id']}"
        body = {"slug": "own", "name": "Own", "permissions": rules}
        role = (await world.http.post(f"{base}/roles", token=token, json=body)).json["role"]
        body = {"name": "robot", "organizationId": organization}
        machine = (await world.http.post("/api/v1/identities", token=token, json=body)).json["identity"]["id"]
        group = (await world.http.post("/api/v1/groups", token=token, json={"name": "Team", "slug": "our-team"})).json
        await world.http.post(f"/api/v1/groups/{group['id']}/machine-identities/{machine}", token=token)
        await world.http.post(f"{base}/groups/Team", token=token, json={"roles": [{"role": "own"}]})
        worlds[token] = (base, role["id"], group["id"])

    async def all_of(token):
        base, _, group = worlds[token]
        paths = (
            f"{base}/roles",
            f"{base}/groups",
            "/api/v1/groups",
            f"/api/v1/groups/{group}/machine-identities",
            base,
        )
        return [(await world.http.get(path, token=token)).json for path in paths]

    before = await all_of(other.token)
    base, role, group = worlds[world.token]
    renames = (
        (base, {"name": "Loot", "slug": "loot-loot"}),
        (f"{base}/roles/{role}", {"slug": "mine", "name": "Mine", "permissions": []}),
        (f"/api/v1/groups/{group}", {"name": "Crew", "slug": "our-crew", "role": "admin"}),
    )
    for path, body in renames:
        assert (await world.http.patch(path, token=world.token, json=body)).status == 200
        assert await all_of(other.token) == before
    assert (await world.http.get("/api/v1/workspace/loot-loot/roles", token=other.token)).status == 404
    assert (await world.http.get("/api/v1/workspace/payments/roles", token=other.token)).json == before[0]
    assert (await world.http.get("/api/v1/workspace/payments/roles", token=world.token)).status == 404


async def machine_with(world, name, metadata):
    """An identity with words about it."""
    body = {
        "name": name,
        "organizationId": world.tenants[0].organization_id,
        "metadata": [{"key": key, "value": value} for key, value in metadata],
    }
    identity = (await world.http.post("/api/v1/identities", token=world.token, json=body)).json["identity"]["id"]
    path = f"/api/v1/auth/universal-auth/identities/{identity}"
    client = (await world.http.post(path, token=world.token, json={})).json["identityUniversalAuth"]["clientId"]
    secret = (await world.http.post(f"{path}/client-secrets", token=world.token, json={})).json["clientSecret"]
    body = {"clientId": client, "clientSecret": secret}
    login = await world.http.post("/api/v1/auth/universal-auth/login", json=body)
    return identity, login.json["accessToken"]


async def test_a_template_stands_for_a_fact_about_the_caller_alone(world) -> None:
    project, target, other = await world.project(), await world.machine("target"), await world.machine("other")
    for machine in (target, other):
        await world.join(project["id"], machine, role="no-access")
    rule = {**READ, "conditions": {"identityId": "{{identity.metadata.ward}}"}}
    await world.custom_role(project, "ward", [rule])
    for name, metadata, expected in (
        ("one", [("ward", target.id)], {target.id}),
        ("two", [("ward", other.id)], {other.id}),
        ("none", [], set()),
        ("both", [("ward", target.id), ("ward", other.id)], set()),
    ):
        identity, token = await machine_with(world, name, metadata)
        path = f"/api/v1/projects/{project['id']}/memberships/identities/{identity}"
        assert (await world.http.post(path, token=world.token, json={"role": "ward"})).status == 200
        assert await readable(world, project, token, [target.id, other.id]) == expected


@pytest.mark.parametrize(
    "value", ["*", "**", "+", "/", "a,b", "{a,b}", "[a-z]*", "/*/**", "dev,*", "?", "dev/**", "..", "{{identity.id}}"]
)
async def test_no_fact_widens_a_rule(world, value) -> None:
    """Threats class 16, with the facts as identity gives them to every service."""
    project = await world.project()
    permissions = [
        {
            "subject": "secrets",
            "action": ["readValue"],
            "conditions": {"secretPath": {"$glob": "/teams/{{identity.metadata.team}}/**"}},
        },
        {
            "subject": "secret-imports",
            "action": ["read"],
            "conditions": {"environment": {"$glob": "{{identity.metadata.team}}"}},
        },
        {
            "subject": "secret-folders",
            "action": ["read"],
            "conditions": {"environment": {"$in": ["{{identity.metadata.team}}"]}},
        },
    ]
    await world.custom_role(project, "team", permissions)
    identity, token = await machine_with(world, "robot", [("team", value)])
    path = f"/api/v1/projects/{project['id']}/memberships/identities/{identity}"
    assert (await world.http.post(path, token=world.token, json={"role": "team"})).status == 200
    doorkeeper = world.context.doorkeeper
    caller = await doorkeeper.admit(token, "192.0.2.1")
    standing = await doorkeeper.standing(caller, UUID(project["id"]))
    for place, environment in product(["/", "/teams", "/teams/red", "/teams/red/deep", "/teams/a/x"], ["dev", "a"]):
        resource = {"environment": environment, "secretPath": place, "secretName": "KEY", "secretTags": ()}
        assert not standing.may("readValue", "secrets", resource), (value, place)
        assert not standing.may("read", "secret-imports", {"environment": environment, "secretPath": place})
        assert not standing.may("read", "secret-folders", {"environment": environment, "secretPath": place})


async def test_two_tokens_of_one_identity_are_judged_by_the_claims_of_each(world) -> None:
    project, machine = await world.project(), await world.machine()
    rule = {**READ, "conditions": {"identityId": "{{identity.auth.oidc.ward}}"}}
    await world.custom_role(project, "ward", [rule])
    await world.join(project["id"], machine, role="ward")
    strong, weak = await world.token_of(machine), await world.token_of(machine)
    (newest,) = await world.rows("SELECT id FROM access_tokens ORDER BY id DESC LIMIT 1")
    (older,) = await world.rows("SELECT id FROM access_tokens ORDER BY id DESC LIMIT 1 OFFSET 1")
    for row, ward in ((older, machine.id), (newest, str(uuid4()))):
        statement = "UPDATE access_tokens SET identity_auth = jsonb_build_object('oidc', jsonb_build_object('ward', $2::text)) WHERE id = $1"  # noqa: E501
        await world.rows(statement, row["id"], ward)
    path = f"/api/v1/projects/{project['id']}/memberships/identities/{machine.id}"
    assert (await world.http.get(path, token=strong)).status == 200
    assert (await world.http.get(path, token=weak)).status == 403
    assert (await world.http.get(path, token=strong)).status == 200
