"""What the other services are answered over the bus."""

from datetime import timedelta
from uuid import UUID, uuid4

import jwt
import pytest

from strongroom_common.access.rules import Ruleset
from strongroom_common.contracts.identity import (
    DescribeProject,
    ListSigningKeys,
    ResolveCaller,
    ResolveProjectAccess,
    SpendToken,
)
from strongroom_common.kernel.errors import Forbidden, NotFound, Unauthenticated


def token_id_of(token: str) -> UUID:
    return UUID(jwt.decode(token, options={"verify_signature": False})["identityAccessTokenId"])


async def ask(world, question):
    return await world.identity.service.foundations.asker.ask(question)


async def test_a_token_is_resolved_to_its_caller(world) -> None:
    access = await ask(world, ResolveCaller(token_id=token_id_of(world.token), kind="identity"))
    assert str(access.subject_id) == world.tenants[0].identity_id
    assert str(access.organization_id) == world.tenants[0].organization_id
    assert (access.kind, access.name, access.auth_method) == ("identity", "Instance Admin Identity", "token-auth")
    assert access.is_instance_admin
    assert not access.are_uses_counted
    assert not access.trusted_networks
    assert Ruleset.from_wire(access.rules).may("create", "identity")


async def test_a_limited_token_says_that_it_is_counted(world) -> None:
    machine = await world.machine(
        auth={"accessTokenNumUsesLimit": 1, "accessTokenTrustedIps": [{"ipAddress": "192.0.2.1"}]}
    )
    token_id = token_id_of(await world.token_of(machine))
    access = await ask(world, ResolveCaller(token_id=token_id, kind="identity"))
    assert access.are_uses_counted
    assert access.trusted_networks == ["192.0.2.1"]
    assert access.expires_at is not None
    assert access.rules == []
    await ask(world, SpendToken(token_id=token_id))
    with pytest.raises(Unauthenticated, match="limit"):
        await ask(world, ResolveCaller(token_id=token_id, kind="identity"))
    with pytest.raises(Unauthenticated):
        await ask(world, SpendToken(token_id=token_id))
    with pytest.raises(Unauthenticated, match="unknown"):
        await ask(world, ResolveCaller(token_id=token_id, kind="identity"))


async def test_a_dead_token_has_no_caller(world, clock) -> None:
    expired = token_id_of(await world.token_of(await world.machine(auth={"accessTokenTTL": 60})))
    clock.advance(timedelta(seconds=60))
    with pytest.raises(Unauthenticated, match="expired"):
        await ask(world, ResolveCaller(token_id=expired, kind="identity"))
    with pytest.raises(Unauthenticated):
        await ask(world, ResolveCaller(token_id=uuid4(), kind="identity"))
    with pytest.raises(Unauthenticated):
        await ask(world, ResolveCaller(token_id=token_id_of(world.token), kind="user"))
    with pytest.raises(Unauthenticated):
        await ask(world, ResolveCaller(token_id=token_id_of(world.token), kind="identity", organization_id=uuid4()))


async def test_a_member_has_the_rules_of_all_its_roles(world) -> None:
    project, machine = await world.project(), await world.machine()
    await world.join(project["id"], machine, roles=[{"role": "viewer"}, {"role": "member"}])
    question = ResolveProjectAccess(
        kind="identity",
        subject_id=UUID(machine.id),
        organization_id=UUID(project["orgId"]),
        project_id=UUID(project["id"]),
    )
    access = await ask(world, question)
    assert list(access.roles) == ["viewer", "member"]
    assert (access.name, access.slug, access.type) == (project["name"], project["slug"], "secret-manager")
    rules = Ruleset.from_wire(access.rules)
    assert rules.may("delete", "secrets", {"environment": "dev", "secretPath": "/", "secretName": "A"})
    assert rules.may("read", "pki-alerts"), "only viewers may"
    assert not rules.may("delete", "workspace")


async def test_a_user_is_a_member_too(world) -> None:
    project = await world.project()
    (user,) = await world.rows("SELECT id FROM users")
    question = ResolveProjectAccess(
        kind="user", subject_id=user["id"], organization_id=UUID(project["orgId"]), project_id=UUID(project["id"])
    )
    with pytest.raises(Forbidden):
        await ask(world, question)


async def test_projects_of_another_organization_do_not_exist(world) -> None:
    project, other = await world.project(), await world.another_tenant()
    wrong_tenant = ResolveProjectAccess(
        kind="identity",
        subject_id=UUID(other.identity_id),
        organization_id=UUID(other.organization_id),
        project_id=UUID(project["id"]),
    )
    with pytest.raises(NotFound):
        await ask(world, wrong_tenant)
    machine = await world.machine()
    non_member = ResolveProjectAccess(
        kind="identity",
        subject_id=UUID(machine.id),
        organization_id=UUID(project["orgId"]),
        project_id=UUID(project["id"]),
    )
    with pytest.raises(Forbidden):
        await ask(world, non_member)


async def test_a_project_is_described_by_id_and_by_slug(world) -> None:
    project = await world.project(slug="pay-now")
    by_id = await ask(world, DescribeProject(project_id=UUID(project["id"])))
    by_slug = await ask(world, DescribeProject(organization_id=UUID(project["orgId"]), slug="pay-now"))
    assert by_id == by_slug
    assert [one.slug for one in by_id.environments] == ["dev", "staging", "prod"]
    for unknown in (
        DescribeProject(project_id=uuid4()),
        DescribeProject(organization_id=uuid4(), slug="pay-now"),
        DescribeProject(slug="pay-now"),
        DescribeProject(),
    ):
        with pytest.raises(NotFound):
            await ask(world, unknown)


async def test_signing_keys_are_listed_without_their_private_half(world) -> None:
    answer = await ask(world, ListSigningKeys())
    assert [key.kid for key in answer.keys] == [world.context.secrets.signing_key.id]
    assert '"d"' not in answer.keys[0].key
