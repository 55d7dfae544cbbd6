"""Mail out. There is a mail server, or there is none: then whoever would have sent a mail shows a link instead.

The server is the operator's choice and comes from the settings alone, so the guard for addresses that users give has no
say here. How a mail survives a crash is the sender's affair: it keeps the mail, with its id, until `send` returns.
"""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path
from typing import Final, Literal, Protocol
from uuid import UUID

import aiosmtplib

from strongroom_common.kernel.errors import InvalidInput, Unavailable
from strongroom_common.kernel.secret import Secret

Encryption = Literal["starttls", "tls", "none"]

PATIENCE: Final = 30.0
"""The longest one exchange with the mail server may take, in seconds."""

_REFUSALS: Final[Sequence[type[aiosmtplib.SMTPResponseException]]] = (
    aiosmtplib.SMTPSenderRefused,
    aiosmtplib.SMTPRecipientRefused,
    aiosmtplib.SMTPDataError,
)


class MailRefused(InvalidInput):
    """The mail server will never take this mail, or its address is none. Sending it again is of no use."""

    label = "MailRefused"


@dataclass(frozen=True)
class Mail:
    """One mail. A second copy with the same id is the same mail: its Message-ID is made of it."""

    id: UUID
    recipient: str
    subject: str
    # A code or a link in it is as good as a password.
    text: str = field(repr=False)
    written_at: datetime


class Mailer(Protocol):
    """Whoever takes mails to the world."""

    @property
    def is_configured(self) -> bool:
        """Say whether there is a mail server at all."""
        ...

    async def send(self, mail: Mail) -> None:
        """Return when the server has taken the mail.

        Raises `MailRefused` when it never will, `Unavailable` when it does not right now.
        """
        ...


class NoMailServer:
    """None is configured: whoever would send a mail shows a link instead."""

    is_configured = False

    async def send(self, mail: Mail) -> None:
        """Refuse."""
        raise Unavailable("no mail server is configured: set STRONGROOM_SMTP_HOST")


@dataclass(frozen=True)
class SmtpServer:
    """Where and how to hand mails over. `ca` is a PEM file of authorities, in place of the system's."""

    host: str
    port: int
    encryption: Encryption
    sender: str
    sender_name: str
    user_name: str | None = None
    password: Secret | None = None
    ca: Path | None = None


class SmtpMailer:
    """Sends through one SMTP server, one connection per mail: mails are few."""

    is_configured = True

    def __init__(self, server: SmtpServer, *, patience: float = PATIENCE) -> None:
        """Raises `OSError` or `ssl.SSLError` when the file of authorities cannot be read."""
        self._server = server
        self._patience = patience
        self._tls = None if server.encryption == "none" else ssl.create_default_context(cafile=server.ca)

    async def send(self, mail: Mail) -> None:
        """Return when the server has taken the mail; see `Mailer.send`."""
        server = self._server
        try:
            await aiosmtplib.send(
                self._letter(mail),
                sender=server.sender,
                recipients=[mail.recipient],
                hostname=server.host,
                port=server.port,
                username=server.user_name or None,
                password=server.password.reveal() if server.password else None,
                use_tls=server.encryption == "tls",
                # Not "if the server offers it": who sits in between could take the offer away.
                start_tls=server.encryption == "starttls",
                tls_context=self._tls,
                timeout=self._patience,
            )
        except aiosmtplib.SMTPRecipientsRefused as error:
            raise _refusal([one.code for one in error.recipients]) from None
        except tuple(_REFUSALS) as error:
            raise _refusal([error.code]) from None
        except aiosmtplib.SMTPNotSupported:
            raise MailRefused("the mail server cannot deliver to such an address") from None
        # What the server says may repeat the mail, so that only the kind of failure is told.
        except (aiosmtplib.SMTPException, OSError) as error:
            raise Unavailable(f"the mail server does not take mails right now ({type(error).__name__})") from None

    def _letter(self, mail: Mail) -> EmailMessage:
        letter = EmailMessage(policy=SMTP)
        try:
            letter["From"] = Address(self._server.sender_name, addr_spec=self._server.sender)
            letter["To"] = Address(addr_spec=mail.recipient)
            letter["Subject"] = mail.subject
        except (ValueError, IndexError, MessageError):
            raise MailRefused("the mail cannot be addressed") from None
        letter["Date"] = format_datetime(mail.written_at)
        letter["Message-ID"] = f"<{mail.id}@{self._server.sender.rpartition('@')[2]}>"
        letter["Auto-Submitted"] = "auto-generated"
        letter.set_content(mail.text)
        return letter


def _refusal(codes: Sequence[int]) -> MailRefused | Unavailable:
    if codes and all(500 <= code < 600 for code in codes):
        return MailRefused(f"the mail server refuses the mail ({codes[0]})")
    return Unavailable("the mail server does not take this mail right now")
