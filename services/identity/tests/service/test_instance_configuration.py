"""What holds for the whole instance, and who may change it."""

from uuid import uuid4

import pytest
from services.identity.tests.service.organization_people import a_user, root_token, user_token

from strongroom_common.testing.waiting import eventually
from strongroom_identity.usecases.instance_configuration import sign_up_allowed

CONFIG = "/api/v1/admin/config"
FIELDS = {
    "id",
    "initialized",
    "allowSignUp",
    "allowedSignUpDomain",
    "instanceId",
    "trustSamlEmails",
    "trustLdapEmails",
    "trustOidcEmails",
    "defaultAuthOrgId",
    "defaultAuthOrgSlug",
    "defaultAuthOrgAuthEnforced",
    "defaultAuthOrgAuthMethod",
    "enabledLoginMethods",
    "authConsentContent",
    "pageFrameContent",
    "adminIdentityIds",
    "fipsEnabled",
    "isMigrationModeOn",
    "isSecretScanningDisabled",
    "kubernetesAutoFetchServiceAccountToken",
    "paramsFolderSecretDetectionEnabled",
    "isOfflineUsageReportsEnabled",
}


async def changed(world, token: str | None = None, **body):
    return await world.http.patch(CONFIG, token=token or world.token, json=body)


async def test_anybody_reads_it_before_and_after_the_instance_is_set_up(fresh) -> None:
    before = (await fresh.http.get(CONFIG)).json["config"]
    assert before.keys() == FIELDS
    assert (before["initialized"], before["allowSignUp"], before["adminIdentityIds"]) == (False, True, [])
    assert before["enabledLoginMethods"] == ["email", "google", "github", "gitlab", "saml", "ldap", "oidc"]
    await fresh.bootstrap()
    after = (await fresh.http.get(CONFIG)).json["config"]
    assert after["initialized"] is True
    assert after["adminIdentityIds"] == [fresh.tenants[0].identity_id]
    assert after["id"] == after["instanceId"] == before["id"]


async def test_an_instance_admin_changes_it_as_user_and_as_identity(world) -> None:
    tenant = world.tenants[0].organization_id
    answer = await changed(
        world,
        allowSignUp=False,
        allowedSignUpDomain="Example.com, example.org",
        trustOidcEmails=True,
        defaultAuthOrgId=tenant,
        enabledLoginMethods=["email", "ldap"],
        authConsentContent="Be kind",
        pageFrameContent="frame",
        unknownKey=1,
    )
    assert answer.status == 200, answer.text
    config = answer.json["config"]
    assert config == (await world.http.get(CONFIG)).json["config"]
    assert (config["allowSignUp"], config["trustOidcEmails"], config["trustSamlEmails"]) == (False, True, False)
    assert config["allowedSignUpDomain"] == "example.com, example.org"
    assert (config["defaultAuthOrgId"], config["enabledLoginMethods"]) == (tenant, ["email", "ldap"])
    assert config["defaultAuthOrgSlug"].startswith("acme-inc-")
    assert (config["authConsentContent"], config["pageFrameContent"]) == ("Be kind", "frame")
    again = await changed(world, await root_token(world), allowedSignUpDomain=None, defaultAuthOrgId=None)
    assert again.json["config"]["allowedSignUpDomain"] is None
    assert again.json["config"]["defaultAuthOrgSlug"] is None
    assert again.json["config"]["authConsentContent"] == "Be kind"
    records = await eventually(lambda: world.audited("update-instance-configuration"))
    assert "allow_sign_up" in records[0]["metadata"]["fields"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("allowedSignUpDomain", "canary"),
        ("allowedSignUpDomain", "example.com,canary_x.com"),
        ("allowedSignUpDomain", "example.com;canary.org"),
        ("allowedSignUpDomain", ","),
        ("allowedSignUpDomain", "*.canary.com"),
        ("enabledLoginMethods", []),
        ("enabledLoginMethods", ["canary"]),
        ("allowSignUp", "canary"),
        ("defaultAuthOrgId", "canary"),
    ],
)
async def test_a_bad_value_is_refused_and_changes_nothing(world, refusal, field, value) -> None:
    before = (await world.http.get(CONFIG)).json
    answer = await changed(world, trustSamlEmails=True, **{field: value})
    assert refusal(answer) == (422, "ValidationFailure")
    assert answer.json["message"][0]["path"][0] == field
    assert "canary" not in answer.text
    assert (await world.http.get(CONFIG)).json == before


async def test_nobody_locks_the_administrators_out(world, refusal) -> None:
    assert refusal(await changed(world, enabledLoginMethods=["ldap", "oidc"])) == (400, "BadRequest")
    user = await changed(world, await root_token(world), enabledLoginMethods=["google"])
    assert refusal(user) == (400, "BadRequest")


async def test_settings_of_the_deployment_cannot_be_changed(world, refusal) -> None:
    assert (await changed(world, envOverrides={})).status == 200
    answer = await changed(world, envOverrides={"AUDIT_FILE": "/canary"})
    assert refusal(answer) == (400, "BadRequest")
    assert "canary" not in answer.text


async def test_an_organization_that_is_not_there_cannot_be_the_default(world, refusal) -> None:
    assert refusal(await changed(world, defaultAuthOrgId=str(uuid4()))) == (404, "NotFound")


async def test_an_admin_of_an_organization_is_no_admin_of_the_instance(world, refusal) -> None:
    other = await world.another_tenant()
    await a_user(world, "boss@example.com", "admin")
    boss = await user_token(world, "boss@example.com", world.tenants[0].organization_id)
    for token in (other.token, boss):
        assert refusal(await changed(world, token, allowSignUp=False)) == (403, "ForbiddenError")
    assert refusal(await world.http.patch(CONFIG, json={"allowSignUp": False})) == (401, "UnauthorizedError")
    assert (await world.http.get(CONFIG)).json["config"]["allowSignUp"] is True


async def test_sign_up_is_for_mailboxes_of_the_allowed_domains(world) -> None:
    database = world.context.database
    assert await sign_up_allowed(database, "anyone@anywhere.net")
    await changed(world, allowedSignUpDomain="example.com,example.org")
    for mailbox in ("a@example.com", " A@EXAMPLE.ORG "):
        assert await sign_up_allowed(database, mailbox)
    for mailbox in ("a@example.net", "a@evil-example.com", "a@sub.example.com", "a@example.com.evil.net", "nonsense"):
        assert not await sign_up_allowed(database, mailbox)
    await changed(world, allowSignUp=False)
    assert not await sign_up_allowed(database, "a@example.com")
