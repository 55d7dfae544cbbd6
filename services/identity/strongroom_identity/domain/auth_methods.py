"""What a kind of login declares: one file in `providers/auth_methods/` holds a `KIND`, and nothing else lists it.

Its file `ldap_auth.py` is the kind `ldap-auth`, and has these routes without naming them (`api/auth_methods.py`):

    POST                      /api/v1/auth/ldap-auth/login
    POST, PATCH, GET, DELETE  /api/v1/auth/ldap-auth/identities/{identityId}
    POST                      /api/v1/auth/ldap-auth/identities/{identityId}/clear-lockouts   where it has lockouts

Token settings, trusted addresses, lockout, sub-organizations, permissions, audit records and sealing are not its
business. Universal auth and token auth are older than this family and have routes of their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from strongroom_common.egress.guard import Guard
from strongroom_common.http.models import Body
from strongroom_common.kernel.clock import Clock

S = TypeVar("S", bound=Body)
P = TypeVar("P", bound=Body)

Verb = Literal["attach", "change", "get", "detach"]


@dataclass(frozen=True)
class Tools:
    """What a kind may use. Every address that a user gave is connected to through the guard."""

    clock: Clock
    guard: Guard
    client_certificate_header: str
    """Where the proxy that ends TLS puts the client's certificate; empty: nobody does."""


@dataclass(frozen=True)
class Proof:
    """What a login has shown. `identity_auth` goes into the token as the claim of this name (wire-identity 3.5)."""

    identity_auth: Mapping[str, Any] = field(default_factory=dict)


class AuthMethod(ABC, Generic[S, P]):
    """One kind of login. Instances hold no state of a request: one serves all."""

    answer_key: ClassVar[str]
    """The key of the configuration in responses, such as `identityLdapAuth`."""

    settings: type[S]
    """What only this kind has, as it is attached, shown and kept (wire-identity 6 and 7); its validators run on what a
    PATCH would lead to as well. Fields of models only: nothing in it may be a `Secret`."""

    presented: type[P]
    """What a login sends beside `identityId` and the sub-organization."""

    sealed: ClassVar[frozenset[str]] = frozenset()
    """Fields of the settings that are sealed at rest."""

    hidden: ClassVar[Mapping[Verb, frozenset[str]]] = {}
    """Fields of the settings that the answer to a verb leaves out."""

    required_on_change: ClassVar[frozenset[str]] = frozenset()
    """Fields of the settings that a PATCH must name; all others are optional there."""

    least_max_ttl: ClassVar[int] = 0
    """The smallest `accessTokenMaxTTL` when attached: 1 for some kinds (wire-identity 3.1)."""

    has_lockout: ClassVar[bool] = False
    """Failed logins are counted, and lead to a lock."""

    is_absence_told: ClassVar[bool] = False
    """A login of an identity that does not exist, or has not this kind, is 404; otherwise 401 like all others."""

    is_absence_a_conflict: ClassVar[bool] = False
    """Reading the configuration of an identity that has none is 400; otherwise 404."""

    def changed(self, stored: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Lay what a PATCH gave over what is stored, both by their wire names; `settings` then judges the whole."""
        return {**stored, **given}

    async def accept(self, settings: S, tools: Tools) -> S:
        """See that these settings can work, before they are kept; return them in the form to keep.

        Raises `InvalidInput` or `Conflict` (400, nothing is kept). No transaction is open.
        """
        return settings

    def name_of(self, presented: P) -> str:
        """Under which name, in its one spelling, failures of an identity are counted."""
        return ""

    @abstractmethod
    async def prove(self, settings: S, presented: P, tools: Tools, headers: Mapping[str, str]) -> Proof:
        """See whether what was presented is good. `headers` are the request's: a proxy may put a certificate there.

        Raises `BadCredentials("why")`: 401 with one text for all, counted where the kind has lockouts, its reason only
        in the audit trail, so it never holds what was presented. Whatever cannot be decided, because somebody outside
        does not answer, is `BadCredentials` too. No transaction is open.
        """
