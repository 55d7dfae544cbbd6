"""Environments."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique

FAMILIES = ("/api/v1/projects/{projectId:uuid}/environments", "/api/v1/workspace/{projectId:uuid}/environments")
BOTH = ["projectId", "envId"]


async def a_new_environment(world) -> Sent:
    return Sent(path={"projectId": (await world.project(unique("Payments")))["id"]}, body={"name": "QA", "slug": "qa"})


async def an_environment(world) -> Sent:
    project = await world.project(unique("Payments"))
    path = {"projectId": project["id"], "envId": project["environments"][0]["id"]}
    return Sent(path=path, body={"name": "Sandbox", "slug": "sandbox", "position": 2})


EXAMPLES = [
    *(RouteExample("POST", path, a_new_environment, ids=["projectId"], bad="slug") for path in FAMILIES),
    *(RouteExample("PATCH", f"{path}/{{envId:uuid}}", an_environment, ids=BOTH, bad="position") for path in FAMILIES),
    *(
        RouteExample(method, f"{path}/{{envId:uuid}}", an_environment, ids=BOTH)
        for method in ("GET", "DELETE")
        for path in FAMILIES
    ),
    RouteExample("GET", "/api/v1/workspace/environments/{envId:uuid}", an_environment, ids=["envId"]),
]
