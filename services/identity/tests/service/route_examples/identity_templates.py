"""Identity templates."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique

BASE = "/api/v1/identity-templates"
ONE = BASE + "/{templateId:uuid}"
FIELDS = {"url": "ldap://ldap.example.com", "bindDN": "cn=reader", "bindPass": "secret", "searchBase": "dc=example"}


async def a_new_template(world) -> Sent:
    return Sent(body={"name": unique("directory"), "authMethod": "ldap", "templateFields": FIELDS})


async def a_template(world) -> Sent:
    made = await world.http.post(BASE, token=world.token, json=(await a_new_template(world)).body)
    assert made.status == 200, made.text
    return Sent(path={"templateId": made.json["id"]})


async def a_change(world) -> Sent:
    return Sent(path=(await a_template(world)).path, body={"name": unique("directory")})


async def a_template_without_users(world) -> Sent:
    return Sent(path=(await a_template(world)).path, body={"identityIds": [world.tenants[0].identity_id]})


async def all_of_a_kind(world) -> Sent:
    return Sent(query={"authMethod": "ldap"})


async def a_page(world) -> Sent:
    return Sent(query={"limit": "5"})


EXAMPLES = [
    RouteExample("POST", BASE, a_new_template, bad="name"),
    RouteExample("GET", BASE, all_of_a_kind, bad_query="authMethod"),
    RouteExample("GET", BASE + "/search", a_page, bad_query="limit"),
    RouteExample("GET", ONE, a_template, ids=["templateId"]),
    RouteExample("PATCH", ONE, a_change, ids=["templateId"], bad="name"),
    RouteExample("DELETE", ONE, a_template, ids=["templateId"]),
    RouteExample("GET", ONE + "/usage", a_template, ids=["templateId"]),
    RouteExample("POST", ONE + "/delete-usage", a_template_without_users, ids=["templateId"], bad="identityIds"),
]
