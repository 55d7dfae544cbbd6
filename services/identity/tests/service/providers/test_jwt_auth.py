"""Login with a JWT whose keys are known or published, against a real HTTPS server, as clients of the API meet it."""

import hmac
import json
from base64 import urlsafe_b64encode
from datetime import timedelta

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

pytestmark = pytest.mark.timeout(60, func_only=True)

TOKEN_FIELDS = {
    "id",
    "identityId",
    "accessTokenTTL",
    "accessTokenMaxTTL",
    "accessTokenNumUsesLimit",
    "accessTokenTrustedIps",
    "createdAt",
    "updatedAt",
}
OWN = {
    "configurationType",
    "jwksUrl",
    "jwksCaCert",
    "publicKeys",
    "boundIssuer",
    "boundAudiences",
    "boundClaims",
    "boundSubject",
}


@pytest.fixture
def by_jwt(logins):
    return logins("jwt-auth", "identityJwtAuth")


@pytest.fixture
def published(issuer):
    return {"configurationType": "jwks", "jwksUrl": issuer.jwks_url, "jwksCaCert": issuer.ca}


async def test_a_token_of_a_published_key_opens(world, by_jwt, identity_id, published, issuer):
    made = await by_jwt.attach(identity_id, **published, accessTokenTTL=60)
    assert made.keys() >= TOKEN_FIELDS | OWN
    assert made["jwksCaCert"] == issuer.ca.strip()
    answer = await by_jwt.login(identity_id, jwt=issuer.token())
    assert answer.status == 200, answer.text
    assert answer.json["expiresIn"] == 60
    assert (await world.details(answer.json["accessToken"])).status == 200


async def test_a_token_of_a_known_key_opens(by_jwt, identity_id, signing, clock):
    private = {
        "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
        "PS512": rsa.generate_private_key(public_exponent=65537, key_size=2048),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "ES384": ec.generate_private_key(ec.SECP384R1()),
        "ES512": ec.generate_private_key(ec.SECP521R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    }
    keys = [signing.pem(key) for key in private.values()]
    made = await by_jwt.attach(identity_id, configurationType="static", publicKeys=keys)
    assert made["publicKeys"] == keys
    for algorithm, key in private.items():
        token = jwt.encode({"sub": "robot"}, key, algorithm=algorithm)
        assert (await by_jwt.login(identity_id, jwt=token)).status == 200, algorithm


async def test_what_is_bound_must_hold(by_jwt, identity_id, published, issuer):
    bounds = {
        "boundIssuer": issuer.url,
        "boundAudiences": "other, strongroom",
        "boundSubject": "repo:acme/*/heads/main",
        "boundClaims": {"environment": "prod*", "ref.kind": "branch"},
    }
    await by_jwt.attach(identity_id, **published, **bounds)
    good = {"sub": "repo:acme/shop/heads/main", "environment": "production", "ref": {"kind": "branch"}}
    assert (await by_jwt.login(identity_id, jwt=issuer.token(**good))).status == 200
    for wrong in (
        {"iss": issuer.url + "/"},
        {"iss": None},
        {"aud": "elsewhere"},
        {"aud": ["elsewhere", 7]},
        {"aud": None},
        {"sub": "repo:evil/shop/heads/main"},
        {"sub": "*"},
        {"environment": "staging"},
        {"environment": None},
        {"ref": "branch"},
    ):
        answer = await by_jwt.login(identity_id, jwt=issuer.token(**{**good, **wrong}))
        assert answer.status == 401, wrong
        assert answer.json["message"] == "Invalid credentials"


@pytest.mark.parametrize("times", [{"exp": -10}, {"nbf": 11}, {"iat": 11, "nbf": None}])
async def test_a_token_out_of_force_is_refused(by_jwt, identity_id, published, issuer, clock, times):
    await by_jwt.attach(identity_id, **published)
    now = int(clock.now().timestamp())
    moments = {name: None if value is None else now + value for name, value in times.items()}
    assert (await by_jwt.login(identity_id, jwt=issuer.token(**moments))).status == 401


def encoded(value) -> str:
    """A part of a token."""
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


async def test_no_other_algorithm_counts(by_jwt, identity_id, published, issuer, signing):
    await by_jwt.attach(identity_id, **published)
    header, body, signature = issuer.token().split(".")
    first = {"alg": "RS256", "kid": "first"}
    # The oldest trick: the public key as the secret of a symmetric signature.
    symmetric = f"{encoded({**first, 'alg': 'HS256'})}.{body}"
    digest = hmac.digest(signing.pem(issuer.private["first"]).encode(), symmetric.encode(), "sha256")
    hostile = [
        jwt.encode({"sub": "robot"}, None, algorithm="none", headers={"kid": "first"}),
        f"{symmetric}.{urlsafe_b64encode(digest).decode().rstrip('=')}",
        f"{encoded({**first, 'crit': ['x'], 'x': 1})}.{body}.{signature}",
        f"{encoded({**first, 'alg': 'rs256'})}.{body}.{signature}",
        f"{encoded({**first, 'alg': ['RS256']})}.{body}.{signature}",
        f"{encoded({**first, 'kid': ['first']})}.{body}.{signature}",
        f"{encoded({'alg': 'RS256', 'jwk': signing.jwk(issuer.private['first'])})}.{body}.{signature}",
        f"{encoded([])}.{body}.{signature}",
        f"{header}.{encoded({'sub': 'admin'})}.{signature}",
        f"{header}.{body}.",
        f"{header}.{body}",
        f"{header}..{signature}",
        "a.b.c",
        "x" * 100,
    ]
    for token in hostile:
        answer = await by_jwt.login(identity_id, jwt=token)
        assert answer.status == 401, token
        assert token not in answer.text


async def test_keys_that_are_too_weak_or_meant_for_something_else_sign_nothing(
    by_jwt, identity_id, published, issuer, signing, outside, refusal
):
    await by_jwt.attach(identity_id, **published)
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - that is the point
    issuer.private["weak"] = weak
    keys = outside.pages["/keys"]["keys"]
    outside.pages["/keys"]["keys"] = [
        None,
        {"kty": "oct", "k": "c2VjcmV0", "kid": "symmetric"},
        {"kty": "RSA"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "off-curve"},
        signing.jwk(weak, kid="weak"),
        {**keys[0], "kid": "for-secrecy", "use": "enc"},
        {**keys[0], "kid": "another-algorithm", "alg": "RS512"},
        *keys,
    ]
    issuer.private |= {"for-secrecy": issuer.private["first"], "another-algorithm": issuer.private["first"]}
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        assert (await by_jwt.login(identity_id, jwt=issuer.token("weak"))).status == 401
    for name in ("for-secrecy", "another-algorithm"):
        assert (await by_jwt.login(identity_id, jwt=issuer.token(name))).status == 401, name
    assert (await by_jwt.login(identity_id, jwt=issuer.token())).status == 200
    for text in ("no key", signing.pem(weak)):
        answer = await by_jwt.change(identity_id, configurationType="static", publicKeys=[text])
        assert refusal(answer) == (422, "ValidationFailure")


async def test_a_new_key_is_found_and_an_old_one_ends(by_jwt, identity_id, published, issuer, outside, clock):
    await by_jwt.attach(identity_id, **published)
    assert (await by_jwt.login(identity_id, jwt=issuer.token())).status == 200
    issuer.add_key("second", ec.generate_private_key(ec.SECP256R1()))
    # The set was read a moment ago: it is not read again at once, whatever a token claims.
    assert (await by_jwt.login(identity_id, jwt=issuer.token("second", "ES256"))).status == 401
    clock.advance(timedelta(seconds=30))
    assert (await by_jwt.login(identity_id, jwt=issuer.token("second", "ES256"))).status == 200
    assert outside.asked == ["/keys", "/keys"]
    old = issuer.token(life=7200)
    issuer.forget("first")
    clock.advance(timedelta(minutes=10))
    assert (await by_jwt.login(identity_id, jwt=old)).status == 401


async def test_strangers_cannot_make_us_ask_again_and_again(by_jwt, identity_id, published, issuer, outside, clock):
    await by_jwt.attach(identity_id, **published)
    issuer.private["unknown"] = ec.generate_private_key(ec.SECP256R1())
    for _ in range(5):
        assert (await by_jwt.login(identity_id, jwt=issuer.token("unknown", "ES256"))).status == 401
    assert outside.asked == ["/keys"]
    del outside.pages["/keys"]
    clock.advance(timedelta(seconds=31))
    for _ in range(5):
        assert (await by_jwt.login(identity_id, jwt=issuer.token("unknown", "ES256"))).status == 401
    assert outside.asked == ["/keys", "/keys"]
    # The keys are away for a moment: those that were read not long ago still count.
    assert (await by_jwt.login(identity_id, jwt=issuer.token())).status == 200
    clock.advance(timedelta(minutes=10))
    assert (await by_jwt.login(identity_id, jwt=issuer.token())).status == 401


async def test_a_redirect_is_not_followed(by_jwt, identity_id, published, issuer, outside):
    keys = outside.pages["/keys"]

    async def elsewhere(request):
        raise web.HTTPFound(f"{outside.base}/other-keys")

    outside.pages |= {"/keys": elsewhere, "/other-keys": keys}
    await by_jwt.attach(identity_id, **published)
    assert (await by_jwt.login(identity_id, jwt=issuer.token())).status == 401
    assert outside.asked == ["/keys"]
    assert "RedirectRefused" in (await by_jwt.reasons())[0]


@pytest.mark.parametrize(
    "page", [b"", b"no json", b"[]", b'{"keys": 7}', b"[" * 100_000, b'{"keys":[' + b" " * 600_000 + b"]}"]
)
async def test_an_odd_document_opens_nothing(by_jwt, identity_id, published, issuer, outside, page):
    outside.pages["/keys"] = page
    await by_jwt.attach(identity_id, **published)
    assert (await by_jwt.login(identity_id, jwt=issuer.token())).status == 401


async def test_the_server_of_the_keys_must_show_who_it_is(by_jwt, identity_id, published, issuer):
    await by_jwt.attach(identity_id, **{**published, "jwksCaCert": ""})
    assert (await by_jwt.login(identity_id, jwt=issuer.token())).status == 401
    by_address = issuer.jwks_url.replace("localhost", "127.0.0.1")
    changed = await by_jwt.change(identity_id, **{**published, "jwksUrl": by_address})
    assert changed.status == 200
    assert (await by_jwt.login(identity_id, jwt=issuer.token())).status == 401


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://localhost/keys", 422),
        ("keys", 422),
        ("", 422),
        ("https://user:password@localhost/keys", 422),
        ("https://10.0.0.1/keys", 400),
        ("https://169.254.169.254/keys", 400),
        ("https://metadata.google.internal/keys", 400),
        ("https://2130706433/keys", 400),
        ("https://[::ffff:10.0.0.1]/keys", 400),
    ],
)
async def test_hostile_addresses_are_refused_before_they_are_kept(by_jwt, identity_id, url, status):
    answer = await by_jwt.try_attach(identity_id, configurationType="jwks", jwksUrl=url)
    assert answer.status == status, answer.text


async def test_a_type_needs_its_own_keys_and_keeps_no_others(by_jwt, identity_id, published, issuer, signing, refusal):
    for body in ({}, {"configurationType": "jwks"}, {"configurationType": "static"}, {"configurationType": "other"}):
        assert refusal(await by_jwt.try_attach(identity_id, **body)) == (422, "ValidationFailure")
    answer = await by_jwt.try_attach(identity_id, configurationType="static", publicKeys=[])
    assert refusal(answer) == (422, "ValidationFailure")
    await by_jwt.attach(identity_id, **published)
    assert refusal(await by_jwt.change(identity_id, boundSubject="x")) == (422, "ValidationFailure")
    key = ec.generate_private_key(ec.SECP256R1())
    changed = await by_jwt.change(identity_id, configurationType="static", publicKeys=[signing.pem(key)])
    assert changed.json["identityJwtAuth"]["jwksUrl"] == ""
    assert (await by_jwt.login(identity_id, jwt=issuer.token())).status == 401
    back = await by_jwt.change(identity_id, configurationType="jwks")
    assert refusal(back) == (422, "ValidationFailure")


async def test_what_is_shown_and_what_is_sealed(world, by_jwt, identity_id, signing):
    pem = signing.pem(ec.generate_private_key(ec.SECP256R1()))
    await by_jwt.attach(identity_id, configurationType="static", publicKeys=[pem], boundClaims={"a": "b"})
    assert (await by_jwt.get(identity_id)).json["identityJwtAuth"]["publicKeys"] == [pem]
    (row,) = await world.rows("SELECT * FROM auth_configurations WHERE identity_id = $1", identity_id)
    assert pem[30:60] not in repr(dict(row))
    gone = (await by_jwt.detach(identity_id)).json["identityJwtAuth"]
    assert gone.keys() & OWN == OWN - {"publicKeys", "jwksCaCert"}


async def test_the_statuses_of_section_seven(world, by_jwt, identity_id, published, issuer, refusal):
    unknown = "0b7e9c6e-3f65-4d6e-9d6b-0d8b6c1f2a77"
    assert refusal(await by_jwt.login(unknown, jwt=issuer.token())) == (401, "UnauthorizedError")
    assert refusal(await by_jwt.login(identity_id, jwt=issuer.token())) == (401, "UnauthorizedError")
    assert refusal(await by_jwt.get(identity_id)) == (404, "NotFound")
    assert refusal(await by_jwt.change(identity_id, configurationType="jwks")) == (404, "NotFound")
    assert refusal(await by_jwt.detach(identity_id)) == (400, "BadRequest")
    assert refusal(await by_jwt.get(unknown)) == (404, "NotFound")
    await by_jwt.attach(identity_id, **published)
    assert refusal(await by_jwt.try_attach(identity_id, **published)) == (400, "BadRequest")
    token = (await by_jwt.login(identity_id, jwt=issuer.token())).json["accessToken"]
    assert (await by_jwt.detach(identity_id)).status == 200
    assert (await world.details(token)).status == 401


async def test_another_identitys_credential_opens_nothing_and_renewal_takes_none(world, by_jwt, identity_id, issuer):
    """Threat 19: a token cannot be carried on with somebody else's credential."""
    body = {"name": "other", "organizationId": world.tenants[0].organization_id}
    other = (await world.http.post("/api/v1/identities", token=world.token, json=body)).json["identity"]["id"]
    published = {"configurationType": "jwks", "jwksUrl": issuer.jwks_url, "jwksCaCert": issuer.ca}
    await by_jwt.attach(identity_id, **published, boundSubject="one")
    await by_jwt.attach(other, **published, boundSubject="two")
    one, two = issuer.token(sub="one"), issuer.token(sub="two")
    assert (await by_jwt.login(identity_id, jwt=two)).status == 401
    assert (await by_jwt.login(other, jwt=one)).status == 401
    token = (await by_jwt.login(identity_id, jwt=one)).json["accessToken"]
    body = {"accessToken": token, "identityId": other, "jwt": two}
    renewed = (await world.http.post("/api/v1/auth/token/renew", json=body)).json["accessToken"]
    claims = [jwt.decode(each, options={"verify_signature": False}) for each in (token, renewed)]
    assert claims[0]["identityId"] == claims[1]["identityId"] == identity_id
    assert claims[0]["identityAccessTokenId"] == claims[1]["identityAccessTokenId"]
