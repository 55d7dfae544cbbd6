"""The instance."""

from services.identity.tests.service.route_examples import RouteExample, Sent


async def a_second_bootstrap(world) -> Sent:
    return Sent(body={"email": "late@example.com", "password": "correct horse battery", "organization": "Late Inc."})


EXAMPLES = [
    # The shared world was set up already: the good call comes too late.
    RouteExample("POST", "/api/v1/admin/bootstrap", a_second_bootstrap, bad="organization", status=400),
]
