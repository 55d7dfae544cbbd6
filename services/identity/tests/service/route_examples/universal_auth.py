"""Universal auth."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique

UNIVERSAL = "/api/v1/auth/universal-auth"
OF_IDENTITY = UNIVERSAL + "/identities/{identityId:uuid}"


async def a_client(world) -> Sent:
    machine = await world.machine(unique("robot"))
    return Sent(body={"clientId": machine.client_id, "clientSecret": machine.client_secret})


async def an_identity_without(world) -> Sent:
    body = {"name": unique("robot"), "organizationId": world.tenants[0].organization_id}
    made = await world.http.post("/api/v1/identities", token=world.token, json=body)
    return Sent(path={"identityId": made.json["identity"]["id"]}, body={"accessTokenTTL": 60})


async def an_identity(world) -> Sent:
    return Sent(path={"identityId": (await world.machine(unique("robot"))).id})


async def an_identity_and_a_new_secret(world) -> Sent:
    return Sent(path={"identityId": (await world.machine(unique("robot"))).id}, body={"ttl": 60})


async def an_identity_to_change(world) -> Sent:
    return Sent(path={"identityId": (await world.machine(unique("robot"))).id}, body={"accessTokenTTL": 60})


async def a_client_secret(world) -> Sent:
    machine = await world.machine(unique("robot"))
    path = f"{UNIVERSAL}/identities/{machine.id}/client-secrets"
    (secret,) = (await world.http.get(path, token=world.token)).json["clientSecretData"]
    return Sent(path={"identityId": machine.id, "clientSecretId": secret["id"]})


ONE_SECRET = OF_IDENTITY + "/client-secrets/{clientSecretId:uuid}"

EXAMPLES = [
    # An unknown client is a failed login, not a missing thing: 401 does not tell which clients exist.
    RouteExample(
        "POST", UNIVERSAL + "/login", a_client, ids=["clientId"], bad="clientSecret", unknown={"clientId": 401}
    ),
    RouteExample("POST", OF_IDENTITY, an_identity_without, ids=["identityId"], bad="accessTokenTTL"),
    RouteExample("GET", OF_IDENTITY, an_identity, ids=["identityId"]),
    RouteExample("POST", OF_IDENTITY + "/client-secrets", an_identity_and_a_new_secret, ids=["identityId"], bad="ttl"),
    RouteExample("GET", OF_IDENTITY + "/client-secrets", an_identity, ids=["identityId"]),
    RouteExample("PATCH", OF_IDENTITY, an_identity_to_change, ids=["identityId"], bad="accessTokenTTL"),
    RouteExample("DELETE", OF_IDENTITY, an_identity, ids=["identityId"]),
    RouteExample("GET", ONE_SECRET, a_client_secret, ids=["identityId", "clientSecretId"]),
    RouteExample("POST", ONE_SECRET + "/revoke", a_client_secret, ids=["identityId", "clientSecretId"]),
    RouteExample("POST", OF_IDENTITY + "/clear-lockouts", an_identity, ids=["identityId"]),
]
