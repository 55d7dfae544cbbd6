"""How a host name becomes addresses: the hosts file, then DNS as this machine is configured.

`getaddrinfo` is not used. It cannot be cancelled and blocks a thread for as long as a name server chooses not to
answer. With uvloop those are four threads that all other connections share: a few hostile names would stop the service.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import dns.asyncresolver
import dns.exception
import dns.resolver

from strongroom_common.kernel.errors import Unavailable

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""Host name -> the texts of its addresses, none when there is no such name. Raises `Unavailable` without an answer."""

LONGEST_LOOKUP: Final = timedelta(seconds=5)
_HOSTS_FILE: Final = Path("/etc/hosts")
_LARGEST_HOSTS_FILE: Final = 1024 * 1024


class SystemResolver:
    """Resolves as the machine would. Both files are read for each lookup: they are small and they change."""

    def __init__(
        self,
        *,
        hosts_file: Path = _HOSTS_FILE,
        configured: Callable[[], dns.asyncresolver.Resolver] = dns.asyncresolver.Resolver,
        longest: timedelta = LONGEST_LOOKUP,
    ) -> None:
        self._hosts_file = hosts_file
        self._configured = configured
        self._longest = longest.total_seconds()

    async def __call__(self, name: str) -> Sequence[str]:
        """Return all IPv4 and IPv6 addresses of the name."""
        from_file, resolver = await asyncio.to_thread(self._read, name)
        if from_file:
            return from_file
        if resolver is None:
            raise Unavailable("No name server is configured.")
        try:
            async with asyncio.timeout(self._longest):
                answers = await resolver.resolve_name(name, lifetime=self._longest, search=True)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return []
        except (dns.exception.DNSException, TimeoutError, OSError):
            raise Unavailable(f"The name server does not answer for {name}.") from None
        return list(answers.addresses())

    def _read(self, name: str) -> tuple[list[str], dns.asyncresolver.Resolver | None]:
        try:
            with self._hosts_file.open(encoding="utf-8", errors="replace") as file:
                lines = file.read(_LARGEST_HOSTS_FILE).splitlines()
        except OSError:
            lines = []
        words = (line.partition("#")[0].lower().split() for line in lines)
        from_file = [address for address, *names in filter(None, words) if name in names]
        try:
            return from_file, self._configured()
        except dns.resolver.NoResolverConfiguration:
            return from_file, None
