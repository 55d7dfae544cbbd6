"""The caller of a request, and its standing in one project.

What is allowed costs nothing but the decision. A refusal carries what it takes to explain it later; whoever answers the
request writes that down (`http.door`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from strongroom_common.access.catalogue import LEGACY
from strongroom_common.access.rules import Ruleset
from strongroom_common.contracts.audit import DENIED, AuditRecord, Refusal
from strongroom_common.contracts.envelopes import Actor
from strongroom_common.contracts.identity import CallerAccess, ProjectAccess
from strongroom_common.kernel.clock import Clock
from strongroom_common.kernel.errors import PermissionDenied, Unauthenticated
from strongroom_common.kernel.ids import new_id

MOST_RULES_KEPT = 50
"""How many of the considered rules a refusal keeps: later rules win, so the last ones tell the story."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A decision against a caller."""

    caller: "Caller"
    project_id: UUID | None
    refusal: Refusal

    def to_record(self, clock: Clock, user_agent: str) -> AuditRecord:
        """Make a record of what was decided just now; its id is the decision's."""
        return AuditRecord(
            id=new_id(),
            occurred_at=clock.now(),
            organization_id=self.caller.access.organization_id,
            project_id=self.project_id,
            actor=self.caller.actor,
            client_address=self.caller.client_address,
            user_agent=user_agent,
            event=DENIED,
            # The resource stays in the refusal, which fewer people may see than the audit log.
            metadata={"action": self.refusal.action, "subject": self.refusal.subject},
            refusal=self.refusal,
        )


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
        if not self.rules.may(action, subject, resource):
            raise _denied(self, None, self.rules, action, subject, resource)


@dataclass(frozen=True, slots=True)
class Standing:
    """What a caller may do in one project."""

    caller: Caller
    project: ProjectAccess
    rules: Ruleset

    def require(self, action: str, subject: str, resource: Mapping[str, Any] | None = None) -> None:
        """Raise `PermissionDenied` unless the project's rules allow it."""
        if not self.rules.may(action, subject, resource):
            raise _denied(self.caller, self.project.project_id, self.rules, action, subject, resource)

    def may(self, action: str, subject: str, resource: Mapping[str, Any] | None = None) -> bool:
        """Say whether the project's rules allow it."""
        return self.rules.may(action, subject, resource)


def _denied(
    caller: Caller,
    project_id: UUID | None,
    rules: Ruleset,
    action: str,
    subject: str,
    resource: Mapping[str, Any] | None,
) -> PermissionDenied:
    decision = rules.decide(action, subject, resource)
    considered = decision.considered
    first, deciding = max(0, len(considered) - MOST_RULES_KEPT), None
    if decision.deciding_rule_index is not None:
        rule = rules.rules[decision.deciding_rule_index]
        deciding = next(place for place, one in enumerate(considered) if one is rule)
        # Whatever came after the rule that decided did not match, but shows why not: cut those, never the rule.
        first = min(first, deciding)
        deciding -= first
    details = [rule.to_detail() for rule in considered]
    refusal = Refusal(
        action=action,
        subject=subject,
        lacking=[one for one in LEGACY.get((subject, action), (action,)) if not rules.may(one, subject, resource)],
        resource=resource,
        rules=details[first : first + MOST_RULES_KEPT],
        deciding_rule=deciding,
    )
    return PermissionDenied(
        f"You are not allowed to {action} on {subject}",
        details=details,
        refused=Refused(caller, project_id, refusal),
    )
