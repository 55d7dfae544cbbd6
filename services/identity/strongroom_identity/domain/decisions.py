"""A refusal, kept so that it can be explained."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from strongroom_common.access.catalogue import ALL, ELEMENT, EQ, GLOB, ORGANIZATION, PROJECT, Operators
from strongroom_common.access.globs import TEMPLATE
from strongroom_common.access.rules import Rule, Ruleset, parse_rules
from strongroom_common.contracts.audit import Refusal
from strongroom_common.contracts.envelopes import Actor
from strongroom_common.kernel.errors import InvalidInput

KEPT = timedelta(days=30)
"""How long a decision can be asked about."""
MOST_KEPT = 100_000
"""How many decisions an organization keeps; the newest ones stay."""

_SIGNS = re.compile(r"[*?\[\]{}()|!\\]")


@dataclass(frozen=True)
class Decision:
    """A decision against a caller, in an organization or (`project_id`) in one of its projects."""

    id: UUID
    organization_id: UUID
    project_id: UUID | None
    actor: Actor
    refusal: Refusal
    decided_at: datetime

    def smallest_grant(self) -> Rule | None:
        """Return the narrowest rule that, put behind all the caller has, would have allowed what was refused.

        It names the resource as closely as rules can; None where no rule can name it.
        """
        refusal = self.refusal
        catalogue = ORGANIZATION if self.project_id is None else PROJECT
        subject = catalogue.get(refusal.subject)
        if subject is None:
            return None
        conditions: dict[str, Any] = {}
        for name, operators in subject.fields.items():
            value = (refusal.resource or {}).get(name)
            if value:
                condition = _exactly(value, operators)
                if condition is None:
                    return None
                conditions[name] = condition
        grant = Rule(refusal.subject, tuple(refusal.lacking), conditions)
        try:
            parse_rules([grant.to_wire()], catalogue)
        except InvalidInput:
            return None
        allowed = Ruleset([grant])
        return grant if all(allowed.may(one, grant.subject, refusal.resource) for one in grant.action) else None


def _exactly(value: Any, operators: Operators) -> Mapping[str, Any] | None:
    """A condition that holds for this value, and for as little else as the field's operators can say."""
    if isinstance(value, str):
        if EQ in operators and not TEMPLATE.search(value):
            return {EQ: value}
        return {GLOB: _SIGNS.sub(r"\\\g<0>", value)} if GLOB in operators else None
    if not isinstance(value, Sequence):
        return None
    if ALL in operators:
        return {ALL: list(value)}
    if ELEMENT in operators:
        first = value[0]
        return {ELEMENT: {part: {EQ: first[part]} for part in ("key", "value") if first.get(part)}}
    return _exactly(value[0], operators)
