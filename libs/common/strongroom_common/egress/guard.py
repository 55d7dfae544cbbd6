"""The guard on the way out: resolve, judge, pin. Nothing that a user named is connected to in any other way.

A name is resolved once per connection, and the connection goes to the very addresses that were judged: a name that
answers differently a moment later (DNS rebinding) gains nothing.
"""

import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from ipaddress import ip_address, ip_network
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from strongroom_common.egress.addresses import (
    Address,
    BadHost,
    Network,
    canonical_address,
    canonical_host,
    inner_address,
    is_own_address,
    special_kind,
)
from strongroom_common.egress.resolvers import Resolve, SystemResolver
from strongroom_common.kernel.errors import InvalidInput

SETTING: Final = "STRONGROOM_EGRESS_ALLOW"

# Names that mean this machine, its host, or a cloud's metadata service, whatever they resolve to.
_REFUSED_NAMES: Final = frozenset(
    {
        "localhost",
        "localhost.localdomain",
        "host.docker.internal",
        "gateway.docker.internal",
        "kubernetes.docker.internal",
        "host.containers.internal",
        "metadata",
        "metadata.goog",
        "metadata.google.internal",
        "instance-data",
        "instance-data.ec2.internal",
    }
)
_REFUSED_SUFFIXES: Final = (".localhost", ".metadata.google.internal")
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class AddressRefused(InvalidInput):
    """An address given by a user leads where only the operator may send us."""

    label = "AddressRefused"


class RedirectRefused(InvalidInput):
    """The target answered with a redirect. It is not followed: the address that was given is the one that counts."""

    label = "RedirectRefused"


class AnswerTooLarge(InvalidInput):
    """The target answered with more than was asked for."""

    label = "AnswerTooLarge"


class BadAllowList(ValueError):
    """Says in one line which entry of STRONGROOM_EGRESS_ALLOW is wrong."""


class Guard:
    """Judges addresses. `allow` holds what the operator lets through: CIDRs, addresses, host names, `*.suffix`."""

    def __init__(
        self,
        allow: Sequence[str] = (),
        *,
        resolve: Resolve | None = None,
        is_own: Callable[[Address], bool] = is_own_address,
    ) -> None:
        self._resolve = resolve or SystemResolver()
        self._is_own = is_own
        self._networks: list[Network] = []
        self._names: set[str] = set()
        self._suffixes: list[str] = []
        for position, entry in enumerate(allow, 1):
            self._admit(entry.strip(), position)

    @classmethod
    def of_setting(cls, text: str, *, resolve: Resolve | None = None) -> "Guard":
        """Read the setting's comma list; raises `BadAllowList`."""
        return cls([entry for entry in text.split(",") if entry.strip()], resolve=resolve)

    async def check(self, host: str, port: int) -> list[str]:
        """Return the addresses to connect to, and to no other; keep the name for TLS.

        Raises `AddressRefused`, and `Unavailable` when the name server does not answer. One bad address among several
        refuses them all: which one would be used is not ours to say.
        """
        if not 0 < port < 65536:
            raise AddressRefused("The port must be between 1 and 65535.")
        target = self.judge_host(host)
        if not isinstance(target, str):
            return [str(target)]
        try:
            addresses = [canonical_address(ip_address(answer)) for answer in await self._resolve(target)]
        except ValueError:
            addresses = []
        if not addresses:
            raise AddressRefused(f"{target} cannot be resolved to an address.")
        if not self._is_allowed_name(target):
            for address in addresses:
                self._judge(address, target)
        return list(dict.fromkeys(str(address) for address in addresses))

    def judge_host(self, host: str) -> Address | str:
        """Return an address that may be used, or the canonical name that is still to be resolved."""
        try:
            target = canonical_host(host)
        except BadHost as error:
            raise AddressRefused(str(error)) from None
        if not isinstance(target, str):
            self._judge(target, str(target))
        elif (target in _REFUSED_NAMES or target.endswith(_REFUSED_SUFFIXES)) and not self._is_allowed_name(target):
            raise self._refusal(target, "a name of this machine or of its platform")
        return target

    def session(self, *, total: timedelta = timedelta(seconds=30), **options: Any) -> aiohttp.ClientSession:
        """Return an HTTP client session that connects only through this guard.

        It follows no redirect (`RedirectRefused`), takes no proxy and no password from the environment, keeps no
        cookies, and ends every exchange in time. Read answers with `read_at_most`. Options go to `ClientSession`.
        """
        return aiohttp.ClientSession(
            connector=GuardedConnector(self),
            timeout=aiohttp.ClientTimeout(total=total.total_seconds(), connect=min(10.0, total.total_seconds())),
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_refuse_redirects,),
            **options,
        )

    def _admit(self, entry: str, position: int) -> None:
        try:
            self._networks.append(ip_network(entry))
            return
        except ValueError:
            pass
        try:
            name = canonical_host(entry.removeprefix("*."))
        except BadHost:
            name = ""
        if not name or not isinstance(name, str):
            expected = "a CIDR (10.0.0.0/8), a host name, or `*.` and a host name"
            raise BadAllowList(f"{SETTING}: entry {position} must be {expected}")
        if entry.startswith("*."):
            self._suffixes.append("." + name)
        else:
            self._names.add(name)

    def _is_allowed_name(self, name: str) -> bool:
        return name in self._names or name.endswith(tuple(self._suffixes))

    def _judge(self, address: Address, host: str) -> None:
        inner = inner_address(address)
        for network in self._networks:
            if address in network or (inner is not None and inner in network):
                return
        kind = special_kind(address) or ("an address of this machine" if self._is_own(inner or address) else None)
        if kind is not None:
            raise self._refusal(host, kind)

    def _refusal(self, host: str, kind: str) -> AddressRefused:
        return AddressRefused(f"{host} is {kind}, or leads to one. An operator can allow it with {SETTING}.")


class GuardedConnector(aiohttp.TCPConnector):
    """Connects only to addresses that the guard judged for this very connection."""

    def __init__(self, guard: Guard, **options: Any) -> None:
        # Without a cache every new connection is judged anew.
        super().__init__(resolver=_GuardedResolver(guard), use_dns_cache=False, **options)
        self._guard = guard

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Any],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's own
    ) -> aiohttp.connector.Connection:
        """Judge the host's spelling first: aiohttp asks no resolver about a literal address."""
        if req.proxy is not None:
            raise AddressRefused("A guarded connection goes through no proxy.")
        self._guard.judge_host(req.url.raw_host or "")
        return await super().connect(req, traces, timeout)


class _GuardedResolver(AbstractResolver):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._guard.check(host, port)
        ]

    async def close(self) -> None:
        """Nothing is held open."""


async def _refuse_redirects(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    response = await handler(request)
    if response.status in _REDIRECTS:
        response.close()
        raise RedirectRefused(f"{request.url.raw_host} answered with a redirect, which is not followed.")
    return response


async def read_at_most(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the answer's body; raises `AnswerTooLarge` beyond `limit` bytes, counted after decompression."""
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_chunked(64 * 1024):
        size += len(part)
        if size > limit:
            response.close()
            raise AnswerTooLarge(f"{response.url.raw_host} answered with more than {limit} bytes.")
        parts.append(part)
    return b"".join(parts)
