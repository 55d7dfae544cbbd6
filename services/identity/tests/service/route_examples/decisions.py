"""Explained decisions."""

from services.identity.tests.service.route_examples import RouteExample, Sent, machines, unique

from strongroom_common.testing.waiting import eventually


async def a_decision(world) -> Sent:
    """Made against somebody who is none of those who call."""
    await machines(world)
    token = await world.token_of(await world.machine(unique("refused")))
    refused = await world.http.get("/api/v1/groups", token=token)
    decision = refused.headers["X-Decision-Id"]
    await eventually(lambda: world.rows("SELECT FROM access_decisions WHERE id = $1", decision))
    return Sent(path={"id": decision})


EXAMPLES = [RouteExample("GET", "/api/v1/access/decisions/{id:uuid}", a_decision, ids=["id"], anyone=True)]
