"""How fast somebody may guess: some attempts are free, each further one closes the door for twice as long."""

from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from unicodedata import normalize

from strongroom_common.kernel.names import BadName, canonical_email


@dataclass(frozen=True)
class Throttle:
    """`free` attempts cost nothing; the n-th after them closes the door for `first` times 2^(n-1), `longest` at most.

    Counting begins anew once nobody has tried for `forgotten`.
    """

    kind: str
    free: int
    first: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(minutes=15)
    forgotten: timedelta = timedelta(hours=1)


# A mailbox may be closed by anybody who knows it, so never for long; an address only by those who share it.
LOGIN_OF_MAILBOX = Throttle("login-mailbox", free=10)
LOGIN_FROM_ADDRESS = Throttle("login-address", free=50)
SECOND_FACTOR = Throttle("second-factor", free=5)
CODE_OF_MAILBOX = Throttle("code-mailbox", free=5)
CODE_FROM_ADDRESS = Throttle("code-address", free=50)
MAIL_TO_MAILBOX = Throttle("mail-mailbox", free=2, first=timedelta(seconds=20))
MAIL_FROM_ADDRESS = Throttle("mail-address", free=20)


def canonical_mailbox(text: str) -> str:
    """One spelling for whatever is typed as a mailbox, also for what is none: variants of a name count as one."""
    try:
        return canonical_email(text)
    except BadName:
        return normalize("NFKC", text.strip()).casefold()


def canonical_network(address: str) -> str:
    """What one guesser has: an IPv4 address, or the /64 that an IPv6 host can draw its addresses from."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))
    return str(parsed)
