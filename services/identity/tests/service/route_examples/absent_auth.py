"""Kinds of login that are not here yet: whoever asks is told so."""

from services.identity.tests.service.route_examples import RouteExample, Sent

from strongroom_identity.api.auth_methods import ABSENT

AUTH = "/api/v1/auth"


async def nothing(world) -> Sent:
    return Sent()


async def an_identity(world) -> Sent:
    return Sent(path={"identityId": world.tenants[0].identity_id})


EXAMPLES = [
    example
    for name in ABSENT
    for example in (
        RouteExample("POST", f"{AUTH}/{name}/login", nothing, status=400),
        RouteExample(
            "POST", f"{AUTH}/{name}/identities/{{identityId:uuid}}", an_identity, anyone=True, bad=None, status=400
        ),
    )
]
