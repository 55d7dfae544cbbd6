"""Codes that prove who reads a mailbox. Only their keyed hashes are kept, bound to purpose and mailbox."""

import string
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from strongroom_common.crypto.tokens import new_token
from strongroom_common.db.database import UnitOfWork
from strongroom_common.kernel.ids import random_text
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.errors import WrongCode
from strongroom_identity.domain.second_factors import canonical_code
from strongroom_identity.store import one_time_codes
from strongroom_identity.store.one_time_codes import Purpose
from strongroom_identity.usecases.context import IdentityContext

LIVES: Final[Mapping[Purpose, timedelta]] = {
    "sign-up": timedelta(minutes=15),
    "invitation": timedelta(days=7),
    "password-recovery": timedelta(hours=1),
}
_TYPED_DIGITS: Final = 6


@dataclass(frozen=True)
class Proof:
    """A code as somebody presents it."""

    purpose: Purpose
    mailbox: str
    code: Secret
    organization_id: UUID | None = None


async def make(
    context: IdentityContext, work: UnitOfWork, purpose: Purpose, mailbox: str, organization_id: UUID | None = None
) -> Secret:
    """Make a code in place of the mailbox's last one: six digits where a person types it, else 256 random bits."""
    code = Secret(random_text(_TYPED_DIGITS, string.digits)) if purpose == "sign-up" else new_token()
    now = context.clock.now()
    await one_time_codes.put(
        work,
        purpose,
        mailbox,
        _hash(context, Proof(purpose, mailbox, code, organization_id)),
        organization_id=organization_id,
        expires_at=now + LIVES[purpose],
        now=now,
    )
    return code


async def verify(context: IdentityContext, work: UnitOfWork, proof: Proof) -> None:
    """Raise `WrongCode` unless it is the right one; it stays good, but for nobody else until the work ends."""
    if not await one_time_codes.is_good(
        work,
        proof.purpose,
        proof.mailbox,
        _hash(context, proof),
        context.clock.now(),
        organization_id=proof.organization_id,
    ):
        raise WrongCode


async def take(context: IdentityContext, work: UnitOfWork, proof: Proof) -> None:
    """Use the code up; raises `WrongCode` unless it is the right one."""
    if not await one_time_codes.take(
        work,
        proof.purpose,
        proof.mailbox,
        _hash(context, proof),
        context.clock.now(),
        organization_id=proof.organization_id,
    ):
        raise WrongCode


async def drop(work: UnitOfWork, purpose: Purpose, mailbox: str, organization_id: UUID | None = None) -> None:
    """Make a mailbox's code worthless."""
    await one_time_codes.drop(work, purpose, mailbox, organization_id)


async def drop_expired(context: IdentityContext) -> None:
    """Forget codes that are over."""
    while await one_time_codes.drop_expired(context.database, context.clock.now()):
        pass


def _hash(context: IdentityContext, proof: Proof) -> bytes:
    code = canonical_code(proof.code.reveal())
    text = "|".join((proof.purpose, proof.mailbox, str(proof.organization_id or ""), code))
    return context.secrets.pepper.hash(Secret(text))
