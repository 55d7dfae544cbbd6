"""Mails on their way out: kept with what made them true, sent by whoever is alive.

A mail is forgotten only after the server took it, so that none is lost. Nobody can know whether a server took a mail
when we die in the moment between: then a second copy goes out, with the same Message-ID, which is the same mail to
whoever sorts out doubles.
"""

from datetime import timedelta
from uuid import UUID

import orjson

from strongroom_common.crypto.data_keys import bind
from strongroom_common.db.database import UnitOfWork
from strongroom_common.egress.mail import Mail, MailRefused
from strongroom_common.kernel import faults
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.kernel.ids import new_id
from strongroom_common.observability.logs import get_logger
from strongroom_identity.domain.mails import Letter
from strongroom_identity.store import mails
from strongroom_identity.store.mails import WaitingMail
from strongroom_identity.usecases.context import IdentityContext

log = get_logger(__name__)

LEASE = timedelta(minutes=5)
"""Longer than the longest exchange with a mail server."""
FIRST_PAUSE = timedelta(seconds=10)
LONGEST_PAUSE = timedelta(hours=1)
GIVEN_UP_AFTER = timedelta(days=2)
"""A code in it is long over by then, and an invitation can be sent again."""

_INSTANCE = UUID(int=0)


async def post(context: IdentityContext, work: UnitOfWork, recipient: str, letter: Letter) -> None:
    """Send a letter when this work commits. Only where there is a mail server: ask `context.mailer` first."""
    mail_id = new_id()
    document = orjson.dumps([recipient, letter.subject, letter.text])
    await mails.add(work, mail_id, context.keyring.seal(document, _place_of(mail_id)), context.clock.now())


async def deliver(context: IdentityContext) -> None:
    """Send what is due."""
    if not context.mailer.is_configured:
        return
    while (waiting := await mails.claim(context.database, context.clock.now(), LEASE)) is not None:
        await _send(context, waiting)


async def _send(context: IdentityContext, waiting: WaitingMail) -> None:
    recipient, subject, text = orjson.loads(context.keyring.open(waiting.sealed_mail, _place_of(waiting.id)))
    try:
        await context.mailer.send(Mail(waiting.id, recipient, subject, text, waiting.created_at))
    except MailRefused as error:
        log.warning("mail_refused", mail_id=str(waiting.id), reason=error.message)
    except Unavailable as error:
        now = context.clock.now()
        if now < waiting.created_at + GIVEN_UP_AFTER:
            pause = min(FIRST_PAUSE * 2 ** min(waiting.attempts - 1, 20), LONGEST_PAUSE)
            await mails.postpone(context.database, waiting.id, now + pause)
            log.warning("mail_postponed", mail_id=str(waiting.id), reason=error.message, attempts=waiting.attempts)
            return
        log.error("mail_given_up", mail_id=str(waiting.id), reason=error.message)
    faults.reach("mail.before_forgetting")
    await mails.drop(context.database, waiting.id)


def _place_of(mail_id: UUID) -> bytes:
    return bind("mails", mail_id, "sealed_mail", _INSTANCE)
