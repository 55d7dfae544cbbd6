"""Machine identities."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique


async def a_new_identity(world) -> Sent:
    return Sent(body={"name": unique("robot"), "organizationId": world.tenants[0].organization_id})


async def nothing(world) -> Sent:
    return Sent()


async def one(world) -> Sent:
    return Sent(path={"identityId": (await world.machine(unique("robot"))).id})


async def one_to_change(world) -> Sent:
    return Sent(path=(await one(world)).path, body={"name": unique("robot")})


async def list_query(world) -> Sent:
    return Sent(query={"orgId": world.tenants[0].organization_id, "limit": "10"})


async def a_search(world) -> Sent:
    return Sent(body={"limit": 10})


ONE = "/api/v1/identities/{identityId:uuid}"

EXAMPLES = [
    RouteExample(
        "POST",
        "/api/v1/identities",
        a_new_identity,
        ids=["organizationId"],
        bad="name",
        unknown={"organizationId": 403},
    ),
    RouteExample("GET", "/api/v1/identities/details", nothing, anyone=True),
    RouteExample("GET", "/api/v1/identities", list_query, ids=["orgId"], bad_query="limit", unknown={"orgId": 403}),
    RouteExample("POST", "/api/v1/identities/search", a_search, bad="limit"),
    RouteExample("GET", ONE, one, ids=["identityId"]),
    RouteExample("PATCH", ONE, one_to_change, ids=["identityId"], bad="name"),
    RouteExample("DELETE", ONE, one, ids=["identityId"]),
    RouteExample("GET", ONE + "/identity-memberships", one, ids=["identityId"]),
]
