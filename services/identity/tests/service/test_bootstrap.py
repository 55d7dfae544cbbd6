"""The first request of an instance's life succeeds once."""

import asyncio
from uuid import UUID

import jwt
import pytest

from strongroom_common.testing.waiting import eventually

BOOTSTRAP = "/api/v1/admin/bootstrap"


async def test_an_instance_begins_with_user_organization_and_identity(fresh) -> None:
    answer = await fresh.bootstrap()
    assert answer.status == 200
    assert answer.json.keys() == {"message", "user", "organization", "identity"}
    user = answer.json["user"]
    assert UUID(user.pop("id"))
    assert user == {
        "username": "root@example.com",
        "email": "root@example.com",
        "firstName": "Admin",
        "lastName": "User",
        "superAdmin": True,
    }
    organization = answer.json["organization"]
    assert organization.keys() == {"id", "name", "slug"}
    assert organization["name"] == "Acme Inc."
    assert organization["slug"].startswith("acme-inc-")
    identity = answer.json["identity"]
    assert identity.keys() == {"id", "name", "credentials"}
    assert identity["name"] == "Instance Admin Identity"


async def test_the_first_token_has_no_end_and_works(fresh, clock) -> None:
    answer = await fresh.bootstrap()
    token = answer.json["identity"]["credentials"]["token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    assert "exp" not in claims
    assert claims["authTokenType"] == "identityAccessToken"
    assert claims["identityId"] == answer.json["identity"]["id"]
    assert claims["organizationId"] == answer.json["organization"]["id"]
    (record,) = await fresh.rows("SELECT * FROM access_tokens")
    assert record["name"] == "Instance Admin Token"
    assert record["auth_method"] == "token-auth"
    assert (record["ttl"], record["max_ttl"], record["uses_limit"], record["expires_at"]) == (0, 0, 0, None)
    details = await fresh.details(token, address="203.0.113.80")
    assert details.json == {"identityDetails": {"organization": answer.json["organization"]}}


async def test_everyone_gets_the_admin_role_and_the_identity_is_an_instance_admin(world) -> None:
    roles = await world.rows(
        "SELECT r.role, m.user_id IS NOT NULL AS is_user FROM membership_roles r "
        "JOIN memberships m ON m.id = r.membership_id ORDER BY is_user"
    )
    assert [(row["role"], row["is_user"]) for row in roles] == [("admin", False), ("admin", True)]
    (identity,) = await world.rows("SELECT is_instance_admin FROM identities")
    assert identity["is_instance_admin"]
    (user,) = await world.rows("SELECT * FROM users")
    assert user["is_instance_admin"]
    assert user["password_hash"].startswith("$argon2id$")


async def test_a_second_time_is_refused_with_the_words_that_automation_looks_for(world, refusal) -> None:
    again = await world.bootstrap(email="other@example.com", organization="Other")
    assert refusal(again) == (400, "BadRequest")
    assert again.json["message"] == "Instance has already been set up"
    assert len(await world.rows("SELECT FROM organizations")) == 1


@pytest.mark.timeout(60)
async def test_of_ten_at_the_same_moment_one_succeeds(fresh) -> None:
    answers = await asyncio.gather(*(fresh.bootstrap(email=f"user{number}@example.com") for number in range(10)))
    assert sorted(answer.status for answer in answers) == [200] + [400] * 9
    assert len(await fresh.rows("SELECT FROM organizations")) == 1
    assert len(await fresh.rows("SELECT FROM users")) == 1


async def test_setting_up_is_audited(world) -> None:
    (record,) = await eventually(lambda: world.audited("bootstrap-instance"))
    assert str(record["organization_id"]) == world.tenants[0].organization_id
    assert record["actor_kind"] == "user"


async def test_a_bad_field_is_named_and_not_repeated(fresh, refusal) -> None:
    cases = [
        ("email", ""),
        ("email", "no-mailbox-canary"),
        ("email", 4711),
        ("email", None),
        ("password", ""),
        ("password", "   "),
        ("password", ["canary"]),
        ("organization", ""),
        ("organization", " "),
        ("organization", {"canary": 1}),
    ]
    for field, value in cases:
        answer = await fresh.bootstrap(**{field: value})
        assert refusal(answer) == (422, "ValidationFailure")
        assert [issue["path"] for issue in answer.json["message"]] == [[field]]
        assert "canary" not in answer.text
        assert not await fresh.rows("SELECT FROM organizations")


async def test_every_missing_field_is_named(fresh, refusal) -> None:
    answer = await fresh.http.post(BOOTSTRAP, json={})
    assert refusal(answer) == (422, "ValidationFailure")
    assert sorted(issue["path"][0] for issue in answer.json["message"]) == ["email", "organization", "password"]


async def test_a_password_of_one_character_and_a_form_are_accepted(fresh) -> None:
    form = {"email": "a@example.com", "password": "x", "organization": "支店"}
    answer = await fresh.http.post(BOOTSTRAP + "/", form=form)
    assert answer.status == 200
    assert answer.json["organization"]["slug"].startswith("organization-")
