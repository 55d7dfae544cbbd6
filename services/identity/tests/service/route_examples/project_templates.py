"""Project templates."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique

BASE = "/api/v1/project-templates"
ONE = BASE + "/{templateId:uuid}"


async def a_new_template(world) -> Sent:
    return Sent(body={"name": unique("template"), "type": "secret-manager"})


async def all_templates(world) -> Sent:
    return Sent(query={"type": "kms"})


async def a_template(world) -> Sent:
    body = {"name": unique("template"), "type": "kms"}
    made = await world.http.post(BASE, token=world.token, json=body)
    return Sent(path={"templateId": made.json["projectTemplate"]["id"]}, body={"description": "Other"})


EXAMPLES = [
    RouteExample("GET", BASE, all_templates, bad_query="type"),
    RouteExample("POST", BASE, a_new_template, bad="roles"),
    RouteExample("GET", ONE, a_template, ids=["templateId"]),
    RouteExample("PATCH", ONE, a_template, ids=["templateId"], bad="name"),
    RouteExample("DELETE", ONE, a_template, ids=["templateId"]),
]
