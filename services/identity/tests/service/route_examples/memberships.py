"""Machine identities as members of projects."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique

from strongroom_identity.api.memberships import LISTS, ONES


async def a_project_and_an_identity(world) -> Sent:
    project, machine = await world.project(unique("Payments")), await world.machine(unique("robot"))
    return Sent(path={"projectId": project["id"], "identityId": machine.id}, body={"roles": [{"role": "viewer"}]})


async def a_member(world) -> Sent:
    sent = await a_project_and_an_identity(world)
    path = "/api/v1/projects/{projectId}/memberships/identities/{identityId}".format(**sent.path)
    assert (await world.http.post(path, token=world.token, json={"role": "viewer"})).status == 200
    return sent


async def a_membership(world) -> Sent:
    sent = await a_member(world)
    path = "/api/v1/projects/{projectId}/memberships/identities/{identityId}".format(**sent.path)
    found = (await world.http.get(path, token=world.token)).json["identityMembership"]
    return Sent(path={"identityMembershipId": found["id"]})


async def a_project(world) -> Sent:
    return Sent(path={"projectId": (await world.project(unique("Payments")))["id"]})


IDS = ["projectId", "identityId"]

EXAMPLES = [
    *(RouteExample("POST", path, a_project_and_an_identity, ids=IDS, bad="roles") for path in ONES),
    *(RouteExample("PATCH", path, a_member, ids=IDS, bad="roles") for path in ONES),
    *(RouteExample(method, path, a_member, ids=IDS) for method in ("GET", "DELETE") for path in ONES),
    *(RouteExample("GET", path, a_project, ids=["projectId"], bad_query="limit") for path in LISTS),
    RouteExample(
        "GET",
        "/api/v2/workspace/identity-memberships/{identityMembershipId:uuid}",
        a_membership,
        ids=["identityMembershipId"],
    ),
]
