"""Access tokens, which speak for themselves."""

from services.identity.tests.service.route_examples import RouteExample, Sent, unique


async def a_living_token(world) -> Sent:
    return Sent(body={"accessToken": await world.token_of(await world.machine(unique("robot")))})


EXAMPLES = [
    RouteExample("POST", "/api/v1/auth/token/renew", a_living_token, bad="accessToken"),
    RouteExample("POST", "/api/v1/auth/token/revoke", a_living_token, bad="accessToken"),
]
