"""Logins that somebody outside answers for. Nobody is reached here: what needs one ends in the contract's refusal."""

from uuid import UUID

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from services.identity.tests.service.route_examples import RouteExample, Sent, unique

from strongroom_common.contracts.envelopes import Origin
from strongroom_common.testing.authorities import Authority
from strongroom_identity.domain.auth_configurations import AuthConfiguration, TokenSettings
from strongroom_identity.domain.lockouts import Lockout
from strongroom_identity.store import auth_configurations
from strongroom_identity.usecases.auth_methods import place_of

AUTH = "/api/v1/auth"
KEY = Ed25519PrivateKey.generate()
PEM = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
AUTHORITY = Authority()
AWAY = "https://issuer.invalid"

DIRECTORY = {"url": "ldap://127.0.0.1", "bindDN": "cn=reader", "bindPass": "secret", "searchBase": "dc=example"}
JWT = {"configurationType": "static", "publicKeys": [PEM]}
OIDC = {"oidcDiscoveryUrl": AWAY, "boundIssuer": AWAY}
KUBERNETES = {"kubernetesHost": AWAY, "allowedNamespaces": "", "allowedNames": "", "allowedAudience": ""}
CERTIFICATE = {"caCertificate": AUTHORITY.certificate}


async def new_identity(world) -> str:
    body = {"name": unique("robot"), "organizationId": world.tenants[0].organization_id}
    made = await world.http.post("/api/v1/identities", token=world.token, json=body)
    found: str = made.json["identity"]["id"]
    return found


async def ldap_identity(world) -> str:
    """The directory is never reached, so its configuration comes here by another way than the API."""
    context, identity_id = world.context, await new_identity(world)
    configuration = AuthConfiguration.new(
        "ldap-auth",
        UUID(world.tenants[0].organization_id),
        UUID(identity_id),
        TokenSettings(),
        context.clock.now(),
        lockout=Lockout(),
        settings={"url": DIRECTORY["url"], "searchBase": DIRECTORY["searchBase"]},
    )
    sealed = orjson.dumps({name: DIRECTORY[name] for name in ("bindDN", "bindPass")})
    async with context.database.begin(Origin()) as work:
        key = await context.data_keys.active(work, configuration.organization_id)
        object.__setattr__(configuration, "sealed_settings", key.seal(sealed, place_of(configuration)))
        await auth_configurations.add(work, configuration)
        await work.commit()
    return identity_id


def attached(kind, body):
    async def make(world) -> str:
        if kind == "ldap-auth":
            return await ldap_identity(world)
        identity_id = await new_identity(world)
        path = f"{AUTH}/{kind}/identities/{identity_id}"
        answer = await world.http.post(path, token=world.token, json=body)
        assert answer.status == 200, answer.text
        return identity_id

    return make


def examples(kind, body, change, login, *, bad_login, absent=401, logged_in=401, kept=200):
    """The routes of one kind. `kept`: the status of what asks somebody outside before it keeps anything."""
    of_identity = f"{AUTH}/{kind}/identities/{{identityId:uuid}}"
    make_attached = attached(kind, body)

    async def to_attach(world) -> Sent:
        return Sent(path={"identityId": await new_identity(world)}, body=body)

    async def to_change(world) -> Sent:
        return Sent(path={"identityId": await make_attached(world)}, body=change)

    async def to_see(world) -> Sent:
        return Sent(path={"identityId": await make_attached(world)})

    async def to_log_in(world) -> Sent:
        return Sent(body={"identityId": await make_attached(world), **login})

    return [
        RouteExample(
            "POST",
            f"{AUTH}/{kind}/login",
            to_log_in,
            ids=["identityId"],
            bad=bad_login,
            unknown={"identityId": absent},
            status=logged_in,
        ),
        RouteExample("POST", of_identity, to_attach, ids=["identityId"], bad="accessTokenTTL", status=kept),
        RouteExample("PATCH", of_identity, to_change, ids=["identityId"], bad="accessTokenTTL", status=kept),
        RouteExample("GET", of_identity, to_see, ids=["identityId"]),
        RouteExample("DELETE", of_identity, to_see, ids=["identityId"]),
    ]


async def to_clear(world) -> Sent:
    return Sent(path={"identityId": await ldap_identity(world)})


EXAMPLES = [
    *examples(
        "ldap-auth",
        DIRECTORY,
        {"accessTokenTTL": 60},
        {"username": "ada", "password": "secret"},
        bad_login="password",
        absent=404,
        kept=400,
    ),
    RouteExample(
        "POST", f"{AUTH}/ldap-auth/identities/{{identityId:uuid}}/clear-lockouts", to_clear, ids=["identityId"]
    ),
    *examples(
        "jwt-auth",
        JWT,
        {**JWT, "accessTokenTTL": 60},
        {"jwt": jwt.encode({"sub": "robot"}, KEY, algorithm="EdDSA")},
        bad_login="jwt",
        logged_in=200,
    ),
    *examples("oidc-auth", OIDC, {"accessTokenTTL": 60}, {"jwt": "a.b.c"}, bad_login="jwt"),
    *examples("kubernetes-auth", KUBERNETES, {"accessTokenTTL": 60}, {"jwt": "a b"}, bad_login="jwt"),
    *examples(
        "tls-cert-auth",
        CERTIFICATE,
        {"accessTokenTTL": 60},
        {},
        bad_login="identityId",
    ),
]
