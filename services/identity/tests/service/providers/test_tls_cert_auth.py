"""Login with a client certificate that the proxy in front hands on."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from strongroom_common.testing.authorities import CLIENT, SERVER, Authority

pytestmark = pytest.mark.timeout(60, func_only=True)

HEADER = "X-Ssl-Client-Cert"
FOR_CLIENTS = (CLIENT,)


@pytest.fixture
def authority() -> Authority:
    return Authority("Machines")


@pytest.fixture
def by_certificate(logins):
    return logins("tls-cert-auth", "identityTlsCertAuth")


def shown(*certificates: str) -> dict[str, str]:
    """The header as nginx writes it."""
    return {HEADER: quote("".join(certificates), safe="")}


async def test_a_certificate_of_the_authority_opens(world, by_certificate, identity_id, authority):
    made = await by_certificate.attach(
        identity_id, caCertificate=authority.certificate, allowedCommonNames="one, robot", accessTokenTTL=60
    )
    assert (made["caCertificate"], made["allowedCommonNames"]) == (authority.certificate.strip(), "one, robot")
    certificate = authority.issue("robot", usages=FOR_CLIENTS).certificate
    answer = await by_certificate.login(identity_id, headers=shown(certificate))
    assert answer.status == 200, answer.text
    assert (await world.details(answer.json["accessToken"])).status == 200
    # Other proxies write it as base64 without its frame.
    bare = "".join(line for line in certificate.splitlines() if "-----" not in line)
    assert (await by_certificate.login(identity_id, headers={HEADER: bare})).status == 200
    assert (await by_certificate.login(identity_id, headers={HEADER.lower(): quote(certificate)})).status == 200


async def test_authorities_may_stand_between(by_certificate, identity_id, authority):
    between = Authority("Between", above=authority)
    certificate = between.issue("robot", usages=FOR_CLIENTS).certificate
    await by_certificate.attach(identity_id, caCertificate=authority.certificate)
    assert (await by_certificate.login(identity_id, headers=shown(certificate, between.certificate))).status == 200
    assert (await by_certificate.login(identity_id, headers=shown(certificate))).status == 401
    changed = await by_certificate.change(identity_id, caCertificate=authority.certificate + between.certificate)
    assert changed.status == 200
    assert (await by_certificate.login(identity_id, headers=shown(certificate))).status == 200


async def test_a_certificate_must_be_issued_for_clients_in_force_and_named(
    by_certificate, identity_id, authority, clock
):
    await by_certificate.attach(identity_id, caCertificate=authority.certificate, allowedCommonNames="robot")
    now = clock.now()
    impostor = Authority("Machines")
    wrong = {
        "another authority": impostor.issue("robot", usages=FOR_CLIENTS),
        "for servers": authority.issue("robot", usages=(SERVER,)),
        "for nothing said": authority.issue("robot", usages=()),
        "not yet in force": authority.issue("robot", usages=FOR_CLIENTS, begins=now + timedelta(hours=1)),
        "no longer in force": authority.issue("robot", usages=FOR_CLIENTS, ends=now - timedelta(hours=1)),
        "another name": authority.issue("Robot", usages=FOR_CLIENTS),
        "no name": authority.issue(None, names=["robot"], usages=FOR_CLIENTS),
    }
    for what, issued in wrong.items():
        answer = await by_certificate.login(identity_id, headers=shown(issued.certificate))
        assert answer.status == 401, what
        assert answer.json["message"] == "Invalid credentials"
    # The impostor's chain does not help, and neither does the authority's own certificate.
    chain = shown(wrong["another authority"].certificate, impostor.certificate, authority.certificate)
    assert (await by_certificate.login(identity_id, headers=chain)).status == 401
    assert (await by_certificate.login(identity_id, headers=shown(authority.certificate))).status == 401


async def test_a_certificate_ends_with_its_time(by_certificate, identity_id, authority, clock):
    ends = datetime(2026, 1, 2, 10, tzinfo=UTC)
    headers = shown(authority.issue("robot", usages=FOR_CLIENTS, ends=ends).certificate)
    await by_certificate.attach(identity_id, caCertificate=authority.certificate)
    assert (await by_certificate.login(identity_id, headers=headers)).status == 200
    clock.advance(timedelta(hours=1))
    assert (await by_certificate.login(identity_id, headers=headers)).status == 401


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "%",
        ",",
        "-----BEGIN CERTIFICATE-----",
        quote("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"),
        b64encode(b"no certificate").decode(),
    ],
)
async def test_what_is_no_certificate_opens_nothing(by_certificate, identity_id, authority, value):
    await by_certificate.attach(identity_id, caCertificate=authority.certificate)
    assert (await by_certificate.login(identity_id, headers={HEADER: value})).status == 401
    assert (await by_certificate.login(identity_id)).status == 401


@pytest.mark.parametrize(
    "settings",
    [
        {"client_certificate_header": HEADER, "trusted_proxies": ("10.0.0.0/8",)},
        {"client_certificate_header": "X-Another"},
        {},
    ],
)
async def test_only_what_a_trusted_proxy_says_in_the_named_header_counts(start, authority, settings):
    async with start(**settings) as world:
        await world.bootstrap()
        body = {"name": "robot", "organizationId": world.tenants[0].organization_id}
        made = await world.http.post("/api/v1/identities", token=world.token, json=body)
        identity_id = made.json["identity"]["id"]
        base = "/api/v1/auth/tls-cert-auth"
        body = {"caCertificate": authority.certificate}
        attached = await world.http.post(f"{base}/identities/{identity_id}", token=world.token, json=body)
        assert attached.status == 200
        headers = shown(authority.issue("robot", usages=FOR_CLIENTS).certificate)
        answer = await world.http.post(f"{base}/login", json={"identityId": identity_id}, headers=headers)
        assert answer.status == 401


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"caCertificate": ""},
        {"caCertificate": "no certificate"},
        {"caCertificate": "x" * 10_241},
        {"accessTokenMaxTTL": 0, "accessTokenTTL": 0},
    ],
)
async def test_a_malformed_configuration_is_named(by_certificate, identity_id, authority, body, refusal):
    sent = {"caCertificate": authority.certificate, **body} if "accessTokenTTL" in body else body
    assert refusal(await by_certificate.try_attach(identity_id, **sent)) == (422, "ValidationFailure")


async def test_a_renewed_token_stays_the_one_of_its_own_certificate(world, by_certificate, identity_id, authority):
    """Threat 19: renewing with another valid certificate gives nobody another token."""
    body = {"name": "other", "organizationId": world.tenants[0].organization_id}
    other = (await world.http.post("/api/v1/identities", token=world.token, json=body)).json["identity"]["id"]
    await by_certificate.attach(identity_id, caCertificate=authority.certificate, allowedCommonNames="one")
    await by_certificate.attach(other, caCertificate=authority.certificate, allowedCommonNames="two")
    one, two = (shown(authority.issue(name, usages=FOR_CLIENTS).certificate) for name in ("one", "two"))
    assert (await by_certificate.login(identity_id, headers=two)).status == 401
    assert (await by_certificate.login(other, headers=one)).status == 401
    token = (await by_certificate.login(identity_id, headers=one)).json["accessToken"]
    renewed = await world.http.post(
        "/api/v1/auth/token/renew", json={"accessToken": token, "identityId": other}, headers=two
    )
    details = await world.details(renewed.json["accessToken"])
    assert details.status == 200
    rows = await world.rows("SELECT identity_id::text FROM access_tokens WHERE auth_method = 'tls-cert-auth'")
    assert [row["identity_id"] for row in rows] == [identity_id]
