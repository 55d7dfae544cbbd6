"""Login with an OpenID Connect token, against a real HTTPS server with a discovery document."""

import jwt
import pytest
from aiohttp import web

pytestmark = pytest.mark.timeout(60, func_only=True)


@pytest.fixture
def by_oidc(logins):
    return logins("oidc-auth", "identityOidcAuth")


@pytest.fixture
def discovered(issuer):
    issuer.publish()
    return {"oidcDiscoveryUrl": issuer.url, "boundIssuer": issuer.url, "caCert": issuer.ca}


async def test_a_token_opens_and_its_claims_end_in_ours(world, by_oidc, identity_id, discovered, issuer):
    mapping = {"branch": "ref.name", "attempt": "run_attempt"}
    made = await by_oidc.attach(
        identity_id, **discovered, boundAudiences="strongroom", claimMetadataMapping=mapping, accessTokenTTL=60
    )
    assert made["claimMetadataMapping"] == mapping
    assert made["caCert"] == issuer.ca.strip()
    assert (made["boundSubject"], made["boundClaims"]) == ("", {})
    answer = await by_oidc.login(identity_id, jwt=issuer.token(ref={"name": "main"}, run_attempt=2))
    assert answer.status == 200, answer.text
    claims = jwt.decode(answer.json["accessToken"], options={"verify_signature": False})
    assert claims["identityAuth"] == {"oidc": {"claims": {"branch": "main", "attempt": "2"}}}
    assert (await by_oidc.login(identity_id, jwt=issuer.token(run_attempt=2))).status == 401
    long = issuer.token(ref={"name": "x" * 3000}, run_attempt=2)
    assert (await by_oidc.login(identity_id, jwt=long)).status == 401
    renewed = await world.http.post("/api/v1/auth/token/renew", json={"accessToken": answer.json["accessToken"]})
    claims = jwt.decode(renewed.json["accessToken"], options={"verify_signature": False})
    assert claims["identityAuth"] == {"oidc": {"claims": {"branch": "main", "attempt": "2"}}}


async def test_the_token_must_be_of_the_bound_issuer_for_us_and_have_an_end(by_oidc, identity_id, discovered, issuer):
    await by_oidc.attach(identity_id, **discovered, boundAudiences="strongroom", boundClaims={"env": "prod"})
    assert (await by_oidc.login(identity_id, jwt=issuer.token(env="prod"))).status == 200
    for wrong in (
        {"iss": "https://other.example.com"},
        {"aud": "other"},
        {"exp": None},
        {"env": "test"},
        {"env": None},
    ):
        assert (await by_oidc.login(identity_id, jwt=issuer.token(**{"env": "prod", **wrong}))).status == 401, wrong


@pytest.mark.parametrize(
    "more",
    [
        {"issuer": "https://other.example.com"},
        {"issuer": None},
        {"jwks_uri": None},
        {"jwks_uri": 7},
        {"jwks_uri": "http://localhost/keys"},
        {"jwks_uri": "https://10.0.0.1/keys"},
        {"jwks_uri": "https://169.254.169.254/keys"},
        {"jwks_uri": "file:///etc/passwd"},
    ],
)
async def test_a_discovery_document_that_leads_astray_opens_nothing(by_oidc, identity_id, discovered, issuer, more):
    issuer.publish(**more)
    await by_oidc.attach(identity_id, **discovered)
    assert (await by_oidc.login(identity_id, jwt=issuer.token())).status == 401


async def test_neither_document_may_redirect(by_oidc, identity_id, discovered, issuer, outside):
    async def elsewhere(request):
        raise web.HTTPTemporaryRedirect(f"{outside.base}/elsewhere")

    outside.pages["/elsewhere"] = outside.pages["/keys"]
    outside.pages["/keys"] = elsewhere
    await by_oidc.attach(identity_id, **discovered)
    assert (await by_oidc.login(identity_id, jwt=issuer.token())).status == 401
    assert "/elsewhere" not in outside.asked
    assert "RedirectRefused" in (await by_oidc.reasons())[0]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"boundIssuer": ""}, 422),
        ({"oidcDiscoveryUrl": "http://localhost"}, 422),
        ({"oidcDiscoveryUrl": "https://10.0.0.1"}, 400),
        ({"caCert": "no certificate"}, 422),
        ({"claimMetadataMapping": {"a": 7}}, 422),
        ({"accessTokenTTL": 10, "accessTokenMaxTTL": 5}, 422),
    ],
)
async def test_a_configuration_that_cannot_work_is_refused(by_oidc, identity_id, discovered, body, status):
    assert (await by_oidc.try_attach(identity_id, **{**discovered, **body})).status == status


async def test_what_is_not_given_stays_and_the_certificate_goes_unshown(by_oidc, identity_id, discovered, issuer):
    await by_oidc.attach(identity_id, **discovered, boundSubject="robot")
    changed = (await by_oidc.change(identity_id, boundAudiences="strongroom")).json["identityOidcAuth"]
    assert (changed["boundSubject"], changed["boundAudiences"]) == ("robot", "strongroom")
    assert changed["oidcDiscoveryUrl"] == issuer.url
    assert (await by_oidc.get(identity_id)).json["identityOidcAuth"] == changed
    gone = (await by_oidc.detach(identity_id)).json["identityOidcAuth"]
    assert "caCert" not in gone
