"""What an LDAP directory is to us: where it is, who is looked for there, and what must be true of that person."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from strongroom_common.kernel.secret import Secret

USERNAME = "{{username}}"
"""Stands for the login name in a search filter."""

_PORTS = {"ldap": 389, "ldaps": 636}


class BadDirectoryUrl(ValueError):
    """Says what is wrong with a directory's address; never repeats it."""


@dataclass(frozen=True)
class DirectoryUrl:
    """Where a directory is. `is_tls` means TLS from the first byte."""

    host: str
    port: int
    is_tls: bool

    @classmethod
    def parse(cls, text: str) -> "DirectoryUrl":
        """Read `ldap://host:port` or `ldaps://host:port`; raises `BadDirectoryUrl`."""
        try:
            parts = urlsplit(text.strip())
            port = parts.port
        except ValueError:
            raise BadDirectoryUrl("must be ldap:// or ldaps://, a host and perhaps a port") from None
        if parts.scheme not in _PORTS or not parts.hostname or port == 0 or _has_more(parts):
            raise BadDirectoryUrl("must be ldap:// or ldaps://, a host and perhaps a port")
        return cls(parts.hostname, port or _PORTS[parts.scheme], parts.scheme == "ldaps")


@dataclass(frozen=True)
class Directory:
    """A directory, and the account that searches it.

    With CA certificates, `ldap://` means StartTLS before anything else is said, and nothing without it.
    """

    url: str
    bind_dn: str
    bind_password: Secret
    search_base: str
    ca_certificates: str = ""


def holds_all(person: Mapping[str, Sequence[str]], allowed_fields: Sequence[Mapping[str, str]]) -> bool:
    """Say whether each named attribute has exactly one value, and that value is among those allowed (comma list).

    The names of attributes are in lower case; values compare exactly.
    """
    for field in allowed_fields:
        values = person.get(field["key"].lower(), ())
        if len(values) != 1 or values[0] not in field["value"].split(","):
            return False
    return True


def canonical_user_name(text: str) -> str:
    """Return the one spelling under which wrong passwords are counted: directories take many for the same name.

    As RFC 4518 prepares strings: what cannot be seen is dropped, width and composition do not count, nor case, nor how
    many spaces there are.
    """
    seen = "".join(" " if character.isspace() else character for character in text)
    seen = "".join(character for character in seen if not _is_invisible(character))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    return " ".join(folded.split())


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cf", "Co", "Cn", "Cs"} or character in _INVISIBLE


_INVISIBLE = frozenset(chr(code) for code in (0x034F, 0x1806, *range(0x180B, 0x180E), *range(0xFE00, 0xFE10), 0xFFFC))
"""Marks and letters without a look of their own (RFC 4518, 2.2)."""


def _has_more(parts: SplitResult) -> bool:
    return "@" in parts.netloc or bool(parts.path.strip("/")) or bool(parts.query) or bool(parts.fragment)
