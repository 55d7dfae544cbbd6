"""Groups, and groups in projects."""

from services.identity.tests.service.organization_people import a_user
from services.identity.tests.service.route_examples import RouteExample, Sent, unique

from strongroom_identity.api import group_memberships
from strongroom_identity.api.groups import BASE, ONE


async def a_new_group(world) -> Sent:
    return Sent(body={"name": unique("Team"), "role": "member"})


async def nothing(world) -> Sent:
    return Sent()


async def a_group(world) -> Sent:
    made = await world.http.post(BASE, token=world.token, json={"name": unique("Team")})
    assert made.status == 200, made.text
    return Sent(path={"id": made.json["id"]}, body={"name": unique("Crew")})


async def a_group_and_a_user(world) -> Sent:
    sent = await a_group(world)
    user = await a_user(world, f"{unique('ada')}@example.com")
    return Sent(path={**sent.path, "username": user["email"]})


async def a_group_with_a_user(world) -> Sent:
    sent = await a_group_and_a_user(world)
    path = f"{BASE}/{sent.path['id']}/users/{sent.path['username']}"
    assert (await world.http.post(path, token=world.token)).status == 200
    return sent


async def a_group_and_an_identity(world) -> Sent:
    sent, machine = await a_group(world), await world.machine(unique("robot"))
    return Sent(path={**sent.path, "identityId": machine.id})


async def a_group_with_an_identity(world) -> Sent:
    sent = await a_group_and_an_identity(world)
    path = f"{BASE}/{sent.path['id']}/machine-identities/{sent.path['identityId']}"
    assert (await world.http.post(path, token=world.token)).status == 200
    return sent


async def a_project_and_a_group(world) -> Sent:
    project, sent = await world.project(unique("Payments")), await a_group(world)
    path = {"projectId": project["id"], "groupIdOrName": sent.path["id"]}
    return Sent(path=path, body={"roles": [{"role": "viewer"}]})


async def a_group_in_a_project(world) -> Sent:
    sent = await a_project_and_a_group(world)
    path = "/api/v2/workspace/{projectId}/groups/{groupIdOrName}".format(**sent.path)
    assert (await world.http.post(path, token=world.token, json=sent.body)).status == 200
    return sent


IN_PROJECT = ["projectId", "groupIdOrName"]

EXAMPLES = [
    RouteExample("POST", BASE, a_new_group, bad="name"),
    RouteExample("GET", BASE, nothing, bad_query="limit"),
    RouteExample("GET", ONE, a_group, ids=["id"]),
    RouteExample("PATCH", ONE, a_group, ids=["id"], bad="name"),
    RouteExample("DELETE", ONE, a_group, ids=["id"]),
    RouteExample("GET", f"{ONE}/users", a_group, ids=["id"], bad_query="filter"),
    RouteExample("POST", ONE + "/users/{username}", a_group_and_a_user, ids=["id", "username"]),
    RouteExample("DELETE", ONE + "/users/{username}", a_group_with_a_user, ids=["id", "username"]),
    RouteExample("GET", f"{ONE}/machine-identities", a_group, ids=["id"], bad_query="filter"),
    RouteExample(
        "POST", ONE + "/machine-identities/{identityId:uuid}", a_group_and_an_identity, ids=["id", "identityId"]
    ),
    RouteExample(
        "DELETE", ONE + "/machine-identities/{identityId:uuid}", a_group_with_an_identity, ids=["id", "identityId"]
    ),
    RouteExample("GET", f"{ONE}/projects", a_group, ids=["id"], bad_query="filter"),
    *(
        RouteExample("POST", path, a_project_and_a_group, ids=IN_PROJECT, bad="roles")
        for path in group_memberships.ONES
    ),
    *(
        RouteExample("PATCH", path, a_group_in_a_project, ids=IN_PROJECT, bad="roles")
        for path in group_memberships.ONES
    ),
    *(
        RouteExample(method, path, a_group_in_a_project, ids=IN_PROJECT)
        for method in ("GET", "DELETE")
        for path in group_memberships.ONES
    ),
    *(
        RouteExample("GET", path, a_project_and_a_group, ids=["projectId"], bad_query="limit")
        for path in group_memberships.LISTS
    ),
]
