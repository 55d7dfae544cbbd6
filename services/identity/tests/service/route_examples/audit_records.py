"""The audit log."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique


async def records_of_a_project(world) -> Sent:
    project = await world.project(unique("Payments"))
    return Sent(query={"projectId": project["id"], "limit": "5"})


EXAMPLES = [
    RouteExample(
        "GET",
        "/api/v1/organization/audit-logs",
        records_of_a_project,
        ids=["projectId"],
        bad_query="limit",
    ),
]
