"""Identity templates: one directory for many identities, against a real OpenLDAP."""

import secrets

import pytest

from strongroom_common.testing.ldap import BIND_DN, LdapServer
from strongroom_common.testing.waiting import eventually

pytestmark = pytest.mark.timeout(60, func_only=True)

BASE = "/api/v1/identity-templates"
PASSWORD = "correct horse"
FIELDS = {"url": "ldap://ldap.example.com", "bindDN": "cn=reader", "bindPass": "canary-pass", "searchBase": "dc=test"}


@pytest.fixture
def by_ldap(logins):
    return logins("ldap-auth", "identityLdapAuth")


@pytest.fixture
def ada(ldap_server: LdapServer) -> str:
    name = f"ada-{secrets.token_hex(8)}"
    ldap_server.add_person(name, PASSWORD)
    return name


async def try_create(world, token=None, **more):
    body = {"name": "Directory", "authMethod": "ldap", "templateFields": FIELDS, **more}
    return await world.http.post(BASE, token=token or world.token, json=body)


async def create(world, **more):
    answer = await try_create(world, **more)
    assert answer.status == 200, answer.text
    return answer.json


async def caller_with(world, *actions: str) -> str:
    """A token of an identity that may do these things with templates, and read, make and change identities."""
    rules = [
        {"action": list(actions), "subject": "machine-identity-auth-template"},
        {"action": ["read", "create", "edit"], "subject": "identity"},
    ]
    machine = await world.machine()
    path = "/api/v1/organization/roles"
    made = await world.http.post(
        path, token=world.token, json={"slug": "templates", "name": "Templates", "permissions": rules}
    )
    assert made.status == 200, made.text
    given = await world.http.patch(f"/api/v1/identities/{machine.id}", token=world.token, json={"role": "templates"})
    assert given.status == 200, given.text
    return await world.token_of(machine)


async def test_a_template_is_made_looked_at_changed_and_deleted(world, refusal):
    made = await create(world, name=" Directory ")
    assert made.keys() == {"id", "name", "authMethod", "orgId", "createdAt", "updatedAt", "templateFields"}
    assert (made["name"], made["authMethod"]) == ("Directory", "ldap")
    assert made["orgId"] == world.tenants[0].organization_id
    assert made["templateFields"] == {**FIELDS, "ldapCaCertificate": ""}
    path = f"{BASE}/{made['id']}"
    assert (await world.http.get(path, token=world.token)).json == made
    body = {"name": "Other", "templateFields": {"searchBase": "dc=other"}}
    changed = (await world.http.patch(path, token=world.token, json=body)).json
    assert changed["templateFields"] == {**made["templateFields"], "searchBase": "dc=other"}
    assert (await world.http.get(path, token=world.token)).json == changed
    gone = await world.http.delete(path, token=world.token)
    assert gone.json.keys() == {"message"}
    assert refusal(await world.http.get(path, token=world.token)) == (404, "NotFound")


async def test_lists_show_no_passwords_and_are_searched_by_name(world):
    for name in ("beta", "Alpha", "al_ien", "gamma"):
        await create(world, name=name)
    every = await world.http.get(BASE, token=world.token, params={"authMethod": "ldap"})
    assert {template["name"] for template in every.json} == {"beta", "Alpha", "al_ien", "gamma"}
    assert "canary-pass" not in every.text
    assert every.json[0]["templateFields"]["url"] == FIELDS["url"]
    found = await world.http.get(f"{BASE}/search", token=world.token, params={"search": "al", "limit": "1"})
    assert (len(found.json["templates"]), found.json["totalCount"]) == (1, 2)
    assert "canary-pass" not in found.text
    beyond = await world.http.get(f"{BASE}/search", token=world.token, params={"search": "al", "offset": "5"})
    assert beyond.json == {"templates": [], "totalCount": 2}
    literal = await world.http.get(f"{BASE}/search", token=world.token, params={"search": "l_i"})
    assert literal.json["totalCount"] == 1


@pytest.mark.parametrize(
    "body",
    [
        {"name": ""},
        {"name": "x" * 65},
        {"authMethod": "kerberos"},
        {"templateFields": {}},
        {"templateFields": {**FIELDS, "bindPass": ""}},
        {"templateFields": {**FIELDS, "url": "http://ldap.example.com"}},
        {"templateFields": {**FIELDS, "ldapCaCertificate": "no certificate"}},
    ],
)
async def test_a_malformed_template_is_named(world, body, refusal):
    assert refusal(await try_create(world, **body)) == (422, "ValidationFailure")


async def test_a_template_leads_nowhere_that_no_login_may_go(world, refusal):
    fields = {**FIELDS, "url": "ldap://10.0.0.1"}
    assert refusal(await try_create(world, templateFields=fields)) == (400, "AddressRefused")
    path = f"{BASE}/{(await create(world))['id']}"
    body = {"templateFields": {"url": "ldap://169.254.169.254"}}
    assert refusal(await world.http.patch(path, token=world.token, json=body)) == (400, "AddressRefused")


async def test_what_a_template_holds_is_sealed(world):
    await create(world)
    (row,) = await world.rows("SELECT * FROM identity_templates")
    assert "canary-pass" not in repr(dict(row))
    assert FIELDS["url"] not in repr(dict(row))


async def test_identities_that_use_a_template_change_with_it(
    world, by_ldap, identity_id, directory, ada, ldap_server, refusal
):
    template = await create(world, templateFields=directory)
    path = f"{BASE}/{template['id']}"
    made = await by_ldap.attach(identity_id, templateId=template["id"])
    assert (made["templateId"], made["url"], made["searchBase"]) == (
        template["id"],
        directory["url"],
        directory["searchBase"],
    )
    assert (await by_ldap.get(identity_id)).json["identityLdapAuth"]["bindPass"] == directory["bindPass"]
    assert (await by_ldap.login(identity_id, username=ada, password=PASSWORD)).status == 200
    used = await world.http.get(f"{path}/usage", token=world.token)
    assert used.json == [{"identityId": identity_id, "identityName": "robot"}]
    # Another directory for all who use it, with other secrets.
    secured = {"url": ldap_server.tls_url, "ldapCaCertificate": ldap_server.authority.certificate}
    assert (await world.http.patch(path, token=world.token, json={"templateFields": secured})).status == 200
    shown = (await by_ldap.get(identity_id)).json["identityLdapAuth"]
    assert shown["url"] == ldap_server.tls_url
    assert shown["ldapCaCertificate"] == ldap_server.authority.certificate.strip()
    assert (shown["bindDN"], shown["templateId"]) == (BIND_DN, template["id"])
    assert (await by_ldap.login(identity_id, username=ada, password=PASSWORD)).status == 200
    wrong = {"templateFields": {"bindPass": "wrong"}}
    assert (await world.http.patch(path, token=world.token, json=wrong)).status == 200
    assert (await by_ldap.login(identity_id, username=ada, password=PASSWORD)).status == 401


async def test_a_change_that_does_not_name_the_template_unlinks_it(world, by_ldap, identity_id, directory, ada):
    template = await create(world, templateFields=directory)
    await by_ldap.attach(identity_id, templateId=template["id"])
    kept = await by_ldap.change(identity_id, templateId=template["id"], accessTokenTTL=60)
    assert kept.json["identityLdapAuth"]["templateId"] == template["id"]
    unlinked = await by_ldap.change(identity_id, accessTokenTTL=120)
    assert unlinked.json["identityLdapAuth"]["templateId"] is None
    assert (await world.http.get(f"{BASE}/{template['id']}/usage", token=world.token)).json == []
    wrong = {"templateFields": {"bindPass": "wrong"}}
    assert (await world.http.patch(f"{BASE}/{template['id']}", token=world.token, json=wrong)).status == 200
    assert (await by_ldap.login(identity_id, username=ada, password=PASSWORD)).status == 200


@pytest.mark.parametrize("is_deleted", [True, False])
async def test_unlinked_identities_keep_what_came_from_the_template(
    world, by_ldap, identity_id, directory, ada, is_deleted
):
    template = await create(world, templateFields=directory)
    made = await by_ldap.attach(identity_id, templateId=template["id"])
    path = f"{BASE}/{template['id']}"
    if is_deleted:
        assert (await world.http.delete(path, token=world.token)).status == 200
    else:
        body = {"identityIds": [identity_id, world.tenants[0].identity_id]}
        unlinked = await world.http.post(f"{path}/delete-usage", token=world.token, json=body)
        assert unlinked.json == [{"authId": made["id"], "identityId": identity_id, "identityName": "robot"}]
        again = await world.http.post(f"{path}/delete-usage", token=world.token, json=body)
        assert again.json == []
    assert (await by_ldap.get(identity_id)).json["identityLdapAuth"]["templateId"] is None
    assert (await by_ldap.login(identity_id, username=ada, password=PASSWORD)).status == 200


async def test_a_template_of_another_organization_is_not_there(world, by_ldap, identity_id, refusal):
    other = await world.another_tenant()
    template = (await try_create(world, token=other.token)).json["id"]
    assert refusal(await by_ldap.try_attach(identity_id, templateId=template)) == (404, "NotFound")
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/usage"), ("POST", "/delete-usage")):
        answer = await world.http.send(
            method, f"{BASE}/{template}{path}", token=world.token, json={"identityIds": [identity_id]}
        )
        assert refusal(answer) == (404, "NotFound")


async def test_each_right_on_templates_counts_by_itself(world, by_ldap, identity_id, directory, refusal):
    template = (await create(world, templateFields=directory))["id"]
    token = await caller_with(world, "list-templates")
    path = f"{BASE}/{template}"
    seen = await world.http.get(path, token=token)
    assert seen.json["templateFields"]["bindPass"] is None
    assert (await world.http.get(BASE, token=token, params={"authMethod": "ldap"})).status == 200
    refused = (
        await try_create(world, token=token),
        await world.http.patch(path, token=token, json={"name": "x"}),
        await world.http.delete(path, token=token),
        await world.http.post(f"{path}/delete-usage", token=token, json={"identityIds": []}),
        await world.http.post(by_ldap.path(identity_id), token=token, json={"templateId": template}),
    )
    assert {refusal(answer) for answer in refused} == {(403, "PermissionDenied")}


async def test_what_was_done_to_templates_is_in_the_audit_log(world, identity_id, directory):
    template = (await create(world, templateFields=directory))["id"]
    path = f"{BASE}/{template}"
    await world.http.get(path, token=world.token)
    await world.http.patch(path, token=world.token, json={"templateFields": {"searchBase": "dc=x"}})
    await world.http.post(f"{path}/delete-usage", token=world.token, json={"identityIds": [identity_id]})
    await world.http.delete(path, token=world.token)

    async def noted():
        rows = await world.rows("SELECT event, metadata FROM audit_records WHERE event LIKE '%auth-template%'")
        return rows if len(rows) == 5 else None

    rows = await eventually(noted)
    assert {row["event"] for row in rows} == {
        "create-identity-auth-template",
        "get-identity-auth-template",
        "update-identity-auth-template",
        "delete-identity-auth-template-usage",
        "delete-identity-auth-template",
    }
    assert directory["bindPass"] not in repr([dict(row) for row in rows])
