"""Projects."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique
from services.identity.tests.service.route_examples.user_memberships import a_project_of_root, people


async def a_new_project(world) -> Sent:
    return Sent(body={"projectName": unique("Payments")})


async def all_projects(world) -> Sent:
    return Sent(query={"includeRoles": "false"})


async def a_project(world) -> Sent:
    return Sent(path={"projectId": (await world.project(unique("Payments")))["id"]})


async def a_change(world) -> Sent:
    project = await world.project(unique("Payments"))
    body = {"name": "Other", "auditLogsRetentionDays": 30, "pitVersionLimit": 5}
    return Sent(path={"projectId": project["id"], "slug": project["slug"], "project": project["slug"]}, body=body)


async def a_slug(world) -> Sent:
    return Sent(path={"slug": (await world.project(unique("Payments")))["slug"]})


CURRENT = "/api/v1/projects/{projectId:uuid}"
OLDER = "/api/v1/workspace/{projectId:uuid}"
BY_SLUG = "/api/v2/workspace/{slug}"
UNKNOWN = {"slug": "no-such-project"}

EXAMPLES = [
    *(
        RouteExample("POST", path, a_new_project, bad="projectName")
        for path in ("/api/v1/projects", "/api/v2/workspace")
    ),
    RouteExample("GET", "/api/v1/projects", all_projects, bad_query="includeRoles", filtered=["projects"]),
    RouteExample("GET", "/api/v1/workspace", all_projects, bad_query="includeRoles", filtered=["workspaces"]),
    *(
        RouteExample("GET", path, a_slug, ids=["slug"], unknown_value=UNKNOWN)
        for path in ("/api/v1/projects/slug/{slug}", "/api/v1/workspace/slug/{slug}", BY_SLUG)
    ),
    RouteExample("PATCH", BY_SLUG, a_change, ids=["slug"], bad="name", unknown_value=UNKNOWN),
    RouteExample("DELETE", BY_SLUG, a_slug, ids=["slug"], unknown_value=UNKNOWN),
    *(
        RouteExample(method, path, a_project, ids=["projectId"])
        for method in ("GET", "DELETE")
        for path in (CURRENT, OLDER)
    ),
    *(RouteExample("PATCH", path, a_change, ids=["projectId"], bad="name") for path in (CURRENT, OLDER)),
    # Old clients are told that there is no such key any more.
    RouteExample("GET", "/api/v2/workspace/{projectId:uuid}/encrypted-key", a_project, ids=["projectId"], status=400),
    RouteExample("PUT", f"{CURRENT}/audit-logs-retention", a_change, ids=["projectId"], bad="auditLogsRetentionDays"),
    RouteExample(
        "PUT",
        "/api/v1/workspace/{project}/audit-logs-retention",
        a_change,
        ids=["project"],
        bad="auditLogsRetentionDays",
    ),
    RouteExample("PUT", "/api/v1/workspace/{project}/version-limit", a_change, ids=["project"], bad="pitVersionLimit"),
    *(
        RouteExample("GET", f"{path}/service-token-data", a_project_of_root, ids=["projectId"], cast=people)
        for path in (CURRENT, OLDER)
    ),
]
