"""Roles of projects."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique

from strongroom_identity.api.project_roles import BASES

RULES = [{"subject": "secrets", "action": ["describeSecret"]}]


async def a_new_role(world) -> Sent:
    project = await world.project(unique("Payments"))
    return Sent(path={"projectId": project["id"]}, body={"slug": "reader", "name": "Reader", "permissions": RULES})


async def a_role(world) -> Sent:
    sent = await a_new_role(world)
    path = f"/api/v1/projects/{sent.path['projectId']}/roles"
    made = await world.http.post(path, token=world.token, json=sent.body)
    assert made.status == 200, made.text
    path = {**sent.path, "roleId": made.json["role"]["id"], "slug": "reader"}
    return Sent(path=path, body={"name": "New", "permissions": RULES})


EXAMPLES = [
    *(RouteExample("POST", path, a_new_role, ids=["projectId"], bad="permissions") for path in BASES),
    *(RouteExample("GET", path, a_role, ids=["projectId"], bad_query="limit") for path in BASES),
    *(
        RouteExample("PATCH", f"{path}/{{roleId:uuid}}", a_role, ids=["projectId", "roleId"], bad="permissions")
        for path in BASES
    ),
    *(RouteExample("DELETE", f"{path}/{{roleId:uuid}}", a_role, ids=["projectId", "roleId"]) for path in BASES),
    *(RouteExample("GET", f"{path}/slug/{{slug}}", a_role, ids=["projectId", "slug"]) for path in BASES),
]
