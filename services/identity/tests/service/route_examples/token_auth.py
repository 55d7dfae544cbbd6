"""Token auth."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique

BASE = "/api/v1/auth/token-auth"
OF_IDENTITY = BASE + "/identities/{identityId:uuid}"
OF_TOKEN = BASE + "/tokens/{tokenId:uuid}"


async def an_identity_without(world) -> Sent:
    body = {"name": unique("robot"), "organizationId": world.tenants[0].organization_id}
    made = await world.http.post("/api/v1/identities", token=world.token, json=body)
    return Sent(path={"identityId": made.json["identity"]["id"]}, body={"accessTokenTTL": 60})


async def an_identity(world) -> Sent:
    sent = await an_identity_without(world)
    attached = await world.http.post(f"{BASE}/identities/{sent.path['identityId']}", token=world.token)
    assert attached.status == 200, attached.text
    return Sent(path=sent.path)


async def an_identity_to_change(world) -> Sent:
    return Sent(path=(await an_identity(world)).path, body={"accessTokenTTL": 60})


async def a_new_token(world) -> Sent:
    return Sent(path=(await an_identity(world)).path, body={"name": unique("token")})


async def a_list(world) -> Sent:
    return Sent(path=(await an_identity(world)).path, query={"limit": "10"})


async def both(world) -> Sent:
    sent = await an_identity(world)
    path = f"{BASE}/identities/{sent.path['identityId']}/tokens"
    made = await world.http.post(path, token=world.token)
    assert made.status == 200, made.text
    return Sent(path={**sent.path, "tokenId": made.json["tokenData"]["id"]})


async def a_token(world) -> Sent:
    return Sent(path={"tokenId": (await both(world)).path["tokenId"]})


async def a_token_to_rename(world) -> Sent:
    return Sent(path=(await a_token(world)).path, body={"name": unique("token")})


EXAMPLES = [
    RouteExample("POST", OF_IDENTITY, an_identity_without, ids=["identityId"], bad="accessTokenTTL"),
    RouteExample("PATCH", OF_IDENTITY, an_identity_to_change, ids=["identityId"], bad="accessTokenTTL"),
    RouteExample("GET", OF_IDENTITY, an_identity, ids=["identityId"]),
    RouteExample("DELETE", OF_IDENTITY, an_identity, ids=["identityId"]),
    RouteExample("POST", OF_IDENTITY + "/tokens", a_new_token, ids=["identityId"], bad="name"),
    RouteExample("GET", OF_IDENTITY + "/tokens", a_list, ids=["identityId"], bad_query="limit"),
    RouteExample("GET", OF_IDENTITY + "/tokens/{tokenId:uuid}", both, ids=["identityId", "tokenId"]),
    RouteExample("GET", OF_TOKEN, a_token, ids=["tokenId"]),
    RouteExample("PATCH", OF_TOKEN, a_token_to_rename, ids=["tokenId"], bad="name"),
    RouteExample("POST", OF_TOKEN + "/revoke", a_token, ids=["tokenId"]),
]
