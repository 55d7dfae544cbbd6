"""Identities that a project owns."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique

BASE = "/api/v1/projects/{projectId:uuid}/identities"
ONE = BASE + "/{identityId:uuid}"


async def a_new_one(world) -> Sent:
    project = await world.project(unique("Project"))
    return Sent(path={"projectId": project["id"]}, body={"name": unique("robot")})


async def a_list(world) -> Sent:
    return Sent(path=(await a_new_one(world)).path, query={"limit": "10"})


async def one(world) -> Sent:
    sent = await a_new_one(world)
    path = f"/api/v1/projects/{sent.path['projectId']}/identities"
    made = await world.http.post(path, token=world.token, json=sent.body)
    assert made.status == 200, made.text
    return Sent(path={**sent.path, "identityId": made.json["identity"]["id"]})


async def one_to_change(world) -> Sent:
    return Sent(path=(await one(world)).path, body={"name": unique("robot")})


EXAMPLES = [
    RouteExample("POST", BASE, a_new_one, ids=["projectId"], bad="name"),
    RouteExample("GET", BASE, a_list, ids=["projectId"], bad_query="limit"),
    RouteExample("GET", ONE, one, ids=["projectId", "identityId"]),
    RouteExample("PATCH", ONE, one_to_change, ids=["projectId", "identityId"], bad="name"),
    RouteExample("DELETE", ONE, one, ids=["projectId", "identityId"]),
]
