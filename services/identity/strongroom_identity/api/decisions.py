"""Why a request was refused: every 403 of kind `PermissionDenied` names its decision in the header `X-Decision-Id`."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from strongroom_common.http.endpoints import Routes
from strongroom_common.http.models import Instant, View
from strongroom_identity.api.calls import BareCall
from strongroom_identity.domain.decisions import Decision
from strongroom_identity.usecases import decisions

routes = Routes("Access decisions")


class NeededView(View):
    """What the caller would have had to be allowed."""

    action: str
    subject: str


class RefusedCallerView(View):
    """Who was refused."""

    type: str
    id: UUID | None
    name: str


class ExplanationView(View):
    """For admins: on what, by which rules, and the narrowest rule that, added as the last one, would allow it.

    `deciding_rule` is a place in `rules`; without one no rule matched, and what no rule allows is refused. No
    `smallest_grant` means that rules cannot name the resource.
    """

    resource: Mapping[str, Any] | None
    rules: Sequence[Mapping[str, Any]]
    deciding_rule: int | None
    smallest_grant: Mapping[str, Any] | None


class DecisionView(View):
    """A decision against a caller."""

    id: UUID
    decided_at: Instant
    allowed: bool
    project_id: UUID | None
    caller: RefusedCallerView
    needed: NeededView
    explanation: ExplanationView | None

    @classmethod
    def of(cls, decision: Decision, *, to_admin: bool) -> "DecisionView":
        """Show a decision, with its explanation to an admin."""
        actor, refusal = decision.actor, decision.refusal
        explanation = None
        if to_admin:
            grant = decision.smallest_grant()
            explanation = ExplanationView(
                resource=refusal.resource,
                rules=refusal.rules,
                deciding_rule=refusal.deciding_rule,
                smallest_grant=None if grant is None else grant.to_wire(),
            )
        return cls(
            id=decision.id,
            decided_at=decision.decided_at,
            allowed=False,
            project_id=decision.project_id,
            caller=RefusedCallerView(type=actor.kind, id=actor.id, name=actor.name),
            needed=NeededView(action=refusal.action, subject=refusal.subject),
            explanation=explanation,
        )


class DecisionAnswer(View):
    """One decision."""

    decision: DecisionView


@routes.get(
    "/api/v1/access/decisions/{id:uuid}",
    returns=DecisionAnswer,
    permission="own decision, or organization: organization-admin-console access-all-projects",
    audit="get-access-decision",
)
async def get(call: BareCall) -> DecisionAnswer:
    """Explain a refusal."""
    decision, is_admin = await decisions.get(call.service, call.caller, call.origin, UUID(call.path["id"]))
    return DecisionAnswer(decision=DecisionView.of(decision, to_admin=is_admin))
