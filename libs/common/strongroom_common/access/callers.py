"""The caller of a request, and its standing in one project."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from strongroom_common.access.rules import Ruleset
from strongroom_common.contracts.envelopes import Actor
from strongroom_common.contracts.identity import CallerAccess, ProjectAccess
from strongroom_common.kernel.errors import PermissionDenied, Unauthenticated


@dataclass(frozen=True, slots=True)
class Caller:
    """A token's bearer, alive and within its limits a moment ago."""

    access: CallerAccess
    rules: Ruleset
    client_address: str
    actor: Actor

    @property
    def organization_id(self) -> UUID:
        """The organization that the token is for."""
        if self.access.organization_id is None:
            raise Unauthenticated("this token has no organization yet: select one first")
        return self.access.organization_id

    def require(self, action: str, subject: str, resource: Mapping[str, Any] | None = None) -> None:
        """Raise `PermissionDenied` unless the organization's rules allow it."""
        _require(self.rules, action, subject, resource)


@dataclass(frozen=True, slots=True)
class Standing:
    """What a caller may do in one project."""

    caller: Caller
    project: ProjectAccess
    rules: Ruleset

    def require(self, action: str, subject: str, resource: Mapping[str, Any] | None = None) -> None:
        """Raise `PermissionDenied` unless the project's rules allow it."""
        _require(self.rules, action, subject, resource)

    def may(self, action: str, subject: str, resource: Mapping[str, Any] | None = None) -> bool:
        """Say whether the project's rules allow it."""
        return self.rules.may(action, subject, resource)


def _require(rules: Ruleset, action: str, subject: str, resource: Mapping[str, Any] | None) -> None:
    if not rules.may(action, subject, resource):
        raise PermissionDenied(
            f"You are not allowed to {action} on {subject}",
            details=[rule.to_detail() for rule in rules.about(action, subject)],
        )
