"""Machine identities over the wire."""

from uuid import UUID

from strongroom_common.testing.waiting import eventually

IDENTITIES = "/api/v1/identities"


def a_body(world, **more: object) -> dict[str, object]:
    return {"name": "robot", "organizationId": world.tenants[0].organization_id, **more}


async def test_an_identity_is_made_with_everything_that_clients_read(world) -> None:
    metadata = [{"key": "team", "value": "payments"}, {"key": "stage", "value": "dev"}]
    body = a_body(world, role="member", hasDeleteProtection=True, metadata=metadata)
    answer = await world.http.post(IDENTITIES, token=world.token, json=body)
    assert answer.status == 200
    identity = answer.json["identity"]
    assert UUID(identity.pop("id"))
    assert all(UUID(one.pop("id")) for one in identity["metadata"])
    assert identity == {
        "name": "robot",
        "orgId": world.tenants[0].organization_id,
        "projectId": None,
        "hasDeleteProtection": True,
        "authMethod": None,
        "authMethods": [],
        "metadata": metadata,
        "createdAt": "2026-01-02T09:00:00.000Z",
        "updatedAt": "2026-01-02T09:00:00.000Z",
    }


async def test_an_identity_may_do_nothing_unless_told_otherwise(world) -> None:
    await world.machine()
    (row,) = await world.rows("SELECT role FROM membership_roles WHERE role <> 'admin'")
    assert row["role"] == "no-access"


async def test_an_unknown_role_is_not_found(world, refusal) -> None:
    answer = await world.http.post(IDENTITIES, token=world.token, json=a_body(world, role="our-own"))
    assert refusal(answer) == (404, "NotFound")
    assert len(await world.rows("SELECT FROM identities")) == 1


async def test_nobody_gives_more_than_he_has(world, refusal) -> None:
    token = await world.token_of(await world.machine(role="member"))
    answer = await world.http.post(IDENTITIES, token=token, json=a_body(world, role="admin"))
    assert refusal(answer) == (403, "PermissionBoundaryError")
    missing = answer.json["details"]["missingPermissions"]
    assert {
        "subject": "kms",
        "action": ["read", "create", "edit", "delete"],
        "inverted": False,
        "conditions": {},
    } in missing
    assert (await world.http.post(IDENTITIES, token=token, json=a_body(world, role="member"))).status == 200


async def test_without_the_right_nothing_is_made(world, refusal) -> None:
    token = await world.token_of(await world.machine())
    answer = await world.http.post(IDENTITIES, token=token, json=a_body(world))
    assert refusal(answer) == (403, "PermissionDenied")


async def test_nothing_is_made_in_another_organization(world, refusal) -> None:
    other = await world.another_tenant()
    for target in (other.organization_id, "canary"):
        answer = await world.http.post(IDENTITIES, token=world.token, json=a_body(world, organizationId=target))
        assert refusal(answer) == (403, "ForbiddenError")
        assert "canary" not in answer.text
    assert len(await world.rows("SELECT FROM identities")) == 2


async def test_a_bad_field_is_named_and_not_repeated(world, refusal) -> None:
    cases = [
        (["name"], {"name": ""}),
        (["organizationId"], {"organizationId": None}),
        (["role"], {"role": "can ary"}),
        (["hasDeleteProtection"], {"hasDeleteProtection": "canary"}),
        (["metadata", 0, "key"], {"metadata": [{"key": "", "value": "canary"}]}),
        (["metadata", 0, "value"], {"metadata": [{"key": "canary", "value": ""}]}),
        (["metadata", 0, "value"], {"metadata": [{"key": "canary", "value": "can\0ary"}]}),
        (["metadata"], {"metadata": "canary"}),
    ]
    for path, more in cases:
        answer = await world.http.post(IDENTITIES, token=world.token, json=a_body(world, **more))
        assert refusal(answer) == (422, "ValidationFailure")
        assert [issue["path"] for issue in answer.json["message"]] == [path]
        assert "canary" not in answer.text


async def test_details_tell_a_machine_where_it_is(world) -> None:
    other = await world.another_tenant("Other Ltd")
    details = (await world.details(other.token)).json["identityDetails"]
    assert details["organization"]["id"] == other.organization_id
    assert details["organization"]["name"] == "Other Ltd"
    assert details["organization"]["slug"].startswith("other-ltd-")


async def test_making_one_is_audited(world) -> None:
    machine = await world.machine()
    (record,) = await eventually(lambda: world.audited("create-identity"))
    assert record["metadata"] == {"identityId": machine.id, "name": "robot", "role": "no-access"}
