"""How each route of this service is called well; `test_every_route.py` makes the bad calls from that.

One module per noun, `EXAMPLES = [...]`, one `RouteExample` per declared route. A minimal one:

    from services.identity.tests.service.route_examples import RouteExample, Sent, unique

    async def an_identity(world) -> Sent:
        machine = await world.machine(unique("robot"))
        return Sent(path={"identityId": machine.id}, body={"name": "new"})

    EXAMPLES = [
        RouteExample("PATCH", "/api/v1/identities/{identityId:uuid}", an_identity, ids=["identityId"], bad="name"),
    ]

All routes share one world (instance, organization `world.tenants[0]`, clock), so names that must be unique come from
`unique`, and `make` prepares what it needs each time it is called. The good call is the last one, with what the bad
ones were refused.
"""

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

CANARY = "canary-5f1d0c2e"
"""Stands in every malformed body and query; no error may repeat it."""

_numbers = count(1)


def unique(word: str) -> str:
    """A name that no other example has."""
    return f"{word}-{next(_numbers)}"


@dataclass(frozen=True)
class Sent:
    """One good call: path parameters by name, body (None: the route takes none), query."""

    path: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cast:
    """Tokens of those who call: who may, who is all-powerful elsewhere, and who is of ours but has no rights."""

    able: str
    foreign: str
    powerless: str
    bystander: tuple[str, str] | None = None
    """Identity and token of a machine that is made a member, without rights, of each project that a route is about."""


Make = Callable[[Any], Awaitable[Sent]]


async def machines(world: Any) -> Cast:
    """The usual cast: machine identities. Made once per world, since it is the same for most routes."""
    if not hasattr(world, "machine_cast"):
        other = await world.another_tenant(unique("Other"))
        powerless, bystander = await world.machine(unique("powerless")), await world.machine(unique("bystander"))
        world.machine_cast = Cast(
            able=world.token,
            foreign=other.token,
            powerless=await world.token_of(powerless),
            bystander=(bystander.id, await world.token_of(bystander)),
        )
    cast: Cast = world.machine_cast
    return cast


@dataclass(frozen=True)
class RouteExample:
    """How a declared route is called, and where its refusals differ from the usual ones.

    `ids`: names of path parameters, query or top-level body fields of `make` that name something of our organization.
    Another organization's caller gets 403 or 404 and changes nothing; an unknown id in place of one gets `unknown`.
    Without `ids` a foreign caller gets its own things: nothing of ours may be in the answer.

    `bad`: a field of the body (`bad_query`: of the query) that is refused with 422 when its value is `bad_value`.
    Required for each route with a body (query); `bad=None` says that no body of this route is malformed.

    `anyone`: every caller of the organization may call it; otherwise who has no rights gets 403, or 200 with the lists
    named in `filtered` empty. Public routes are called without a token, and only malformed and with unknown ids.
    """

    method: str
    template: str
    make: Make
    ids: Sequence[str] = ()
    bad: str | None = ""
    bad_value: Any = field(default_factory=lambda: {"value": CANARY})
    bad_query: str | None = ""
    bad_query_value: str = CANARY
    anyone: bool = False
    filtered: Sequence[str] = ()
    status: int = 200
    """Of the good call."""
    unknown: Mapping[str, int] = field(default_factory=dict)
    """By name of the id, where the contract wants another status than 404 for one that does not exist."""
    unknown_value: Mapping[str, str] = field(default_factory=dict)
    """By name of the id, where a random UUID is not a well-formed value (a slug, say)."""
    cast: Callable[[Any], Awaitable[Cast]] = machines
    """Who calls, where a machine identity cannot: give the tokens of users."""


def all_examples() -> dict[tuple[str, str], RouteExample]:
    """Every example of every module here, by method and template; two for one route are a mistake."""
    found: dict[tuple[str, str], RouteExample] = {}
    for module in pkgutil.iter_modules(__path__):
        for example in importlib.import_module(f"{__name__}.{module.name}").EXAMPLES:
            key = (example.method, example.template)
            if key in found:
                raise AssertionError(f"two examples for {key}")
            found[key] = example
    return found
