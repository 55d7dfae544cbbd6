"""The declaration of an endpoint: the only place that names its path, its models and who may call it.

Router, validation, OpenAPI document and route inventory are all made from it.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from strongroom_common.access.callers import Caller
from strongroom_common.contracts.envelopes import Actor, Origin
from strongroom_common.http.models import NoBody, NoQuery
from strongroom_common.kernel.errors import Unauthenticated

S = TypeVar("S")
B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=BaseModel)

CallerKind = Literal["user", "identity"]
USER: frozenset[CallerKind] = frozenset({"user"})
MACHINE: frozenset[CallerKind] = frozenset({"identity"})
ANYONE_KNOWN: frozenset[CallerKind] = frozenset({"user", "identity"})
PUBLIC: frozenset[CallerKind] = frozenset()


@dataclass(frozen=True, slots=True)
class Arrival:
    """What the edge knows of a request before anyone looks inside."""

    request_id: str
    client_address: str
    user_agent: str
    traceparent: str
    is_forwarded: bool = True
    """The hop in front of us sent it, which drops from strangers' requests what only a proxy may say."""

    def __post_init__(self) -> None:
        # A header's bytes need not be text; what goes into the audit trail must be.
        object.__setattr__(self, "user_agent", self.user_agent.encode("utf-8", "replace").decode())


@dataclass(slots=True)
class Reply:
    """An answer that is more than its body: other headers, cookies, or bytes that are not JSON."""

    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


@dataclass(slots=True)
class Call(Generic[S, B, Q]):
    """One request, parsed: what a handler gets."""

    service: S
    arrival: Arrival
    path: Mapping[str, str]
    query: Q
    body: B
    known_caller: Caller | None
    headers: Mapping[str, str] = field(default_factory=dict)
    """As they were sent, found in any case: for the few routes that read a cookie or a bearer of their own."""

    @property
    def proxy_headers(self) -> Mapping[str, str]:
        """The headers for what only a proxy may say, such as whose certificate it has seen: none from a stranger."""
        return self.headers if self.arrival.is_forwarded else {}

    @property
    def caller(self) -> Caller:
        """Who is calling. An endpoint that is not public always has a caller."""
        if self.known_caller is None:
            raise Unauthenticated("log in first: this route needs a bearer token")
        return self.known_caller

    @property
    def origin(self) -> Origin:
        """The cause that goes with every message and audit record of this request."""
        caller = self.known_caller
        return Origin(
            actor=caller.actor if caller else UNKNOWN,
            organization_id=caller.access.organization_id if caller else None,
            correlation_id=self.arrival.request_id,
            traceparent=self.arrival.traceparent,
            client_address=self.arrival.client_address,
            user_agent=self.arrival.user_agent,
        )


UNKNOWN = Actor(kind="unknownUser")
"""Whoever calls a public route."""

Handler = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True)
class Endpoint:
    """One declared route."""

    method: str
    template: str
    handler: Handler
    body: type[BaseModel]
    query: type[BaseModel]
    returns: Any
    callers: frozenset[CallerKind]
    permission: str
    audit: str
    rate: str
    summary: str
    tag: str
    is_bearer_ignored: bool
    needs_organization: bool

    @property
    def is_public(self) -> bool:
        """Anyone may call it, without a token."""
        return not self.callers

    @property
    def is_write(self) -> bool:
        """It may change something."""
        return self.method not in {"GET", "HEAD"}


class Routes:
    """A room's list of endpoints: `routes = Routes("Secrets")`, then `@routes.get(...)` above each handler."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._endpoints: list[Endpoint] = []

    def __iter__(self) -> Iterator[Endpoint]:
        return iter(self._endpoints)

    def declare(
        self,
        method: str,
        *templates: str,
        returns: Any,
        body: type[BaseModel] = NoBody,
        query: type[BaseModel] = NoQuery,
        callers: frozenset[CallerKind] = ANYONE_KNOWN,
        permission: str = "",
        audit: str = "",
        rate: str = "",
        is_bearer_ignored: bool = False,
        needs_organization: bool = True,
    ) -> Callable[[Handler], Handler]:
        """Declare a route; several templates are several names of the same route.

        `permission` and `audit` are words for the inventory: the use case decides and records. `is_bearer_ignored` is
        for logins: a client that renews an expired token sends the old one along.
        """

        def decorate(handler: Handler) -> Handler:
            summary = (handler.__doc__ or handler.__name__.replace("_", " ").capitalize()).strip().split("\n")[0]
            for template in templates:
                self._endpoints.append(
                    Endpoint(
                        method=method,
                        template=template,
                        handler=handler,
                        body=body,
                        query=query,
                        returns=returns,
                        callers=callers,
                        permission=permission,
                        audit=audit,
                        rate=rate or ("read" if method == "GET" else "write"),
                        summary=summary,
                        tag=self.tag,
                        is_bearer_ignored=is_bearer_ignored,
                        needs_organization=needs_organization,
                    )
                )
            return handler

        return decorate

    def get(self, *templates: str, returns: Any, **more: Any) -> Callable[[Handler], Handler]:
        """Declare a GET."""
        return self.declare("GET", *templates, returns=returns, **more)

    def post(self, *templates: str, returns: Any, **more: Any) -> Callable[[Handler], Handler]:
        """Declare a POST."""
        return self.declare("POST", *templates, returns=returns, **more)

    def put(self, *templates: str, returns: Any, **more: Any) -> Callable[[Handler], Handler]:
        """Declare a PUT."""
        return self.declare("PUT", *templates, returns=returns, **more)

    def patch(self, *templates: str, returns: Any, **more: Any) -> Callable[[Handler], Handler]:
        """Declare a PATCH."""
        return self.declare("PATCH", *templates, returns=returns, **more)

    def delete(self, *templates: str, returns: Any, **more: Any) -> Callable[[Handler], Handler]:
        """Declare a DELETE."""
        return self.declare("DELETE", *templates, returns=returns, **more)
