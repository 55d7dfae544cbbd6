"""Mails reach a real SMTP server: in clear, by STARTTLS, by TLS; and say what went wrong in our words."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope

from strongroom_common.egress.mail import Mail, MailRefused, NoMailServer, SmtpMailer, SmtpServer
from strongroom_common.kernel.errors import Unavailable
from strongroom_common.kernel.secret import Secret
from strongroom_common.testing.authorities import Authority
from strongroom_common.testing.clock import MORNING

MAIL = Mail(UUID(int=7), "ada@example.com", "Grüße", "The code is 123456.\n", MORNING)


@dataclass
class Postbox:
    """What the server took; `answer` is what it says instead of taking a mail."""

    letters: list[EmailMessage] = field(default_factory=list)
    answer: str = ""
    recipient_answer: str = ""
    was_encrypted: list[bool] = field(default_factory=list)
    logins: list[tuple[str, str]] = field(default_factory=list)

    async def handle_RCPT(self, server: Any, session: Any, envelope: Envelope, address: str, options: Any) -> str:  # noqa: N802
        if self.recipient_answer:
            return self.recipient_answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:  # noqa: N802
        if self.answer:
            return self.answer
        self.was_encrypted.append(session.ssl is not None or server.transport.get_extra_info("ssl_object") is not None)
        self.letters.append(cast("EmailMessage", message_from_bytes(envelope.content or b"", policy=default)))
        return "250 OK"

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        self.logins.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=data.password == b"canary-password", handled=False)


Serve = Callable[..., AbstractAsyncContextManager[int]]


@asynccontextmanager
async def serving(
    box: Postbox, *, tls: ssl.SSLContext | None = None, implicit: bool = False, **more: Any
) -> AsyncIterator[int]:
    server = await asyncio.get_running_loop().create_server(
        lambda: SMTP(box, hostname="localhost", tls_context=None if implicit else tls, **more),
        "127.0.0.1",
        0,
        ssl=tls if implicit else None,
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def server_at(port: int, **more: Any) -> SmtpServer:
    values: dict[str, Any] = {"encryption": "none", "sender": "vault@example.org", "sender_name": "Vault, Inc."}
    return SmtpServer("localhost", port, **{**values, **more})


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    authority = Authority()
    ca = tmp_path_factory.mktemp("tls") / "ca.pem"
    ca.write_text(authority.certificate)
    return authority.issue("localhost", names=["localhost"]).server_context(), ca


async def test_a_mail_arrives_whole() -> None:
    box = Postbox()
    async with serving(box) as port:
        await SmtpMailer(server_at(port)).send(MAIL)
    (letter,) = box.letters
    assert letter["To"] == "ada@example.com"
    assert letter["From"] == '"Vault, Inc." <vault@example.org>'
    assert letter["Subject"] == "Grüße"
    assert letter["Message-ID"] == f"<{MAIL.id}@example.org>"
    assert letter.get_content().splitlines() == ["The code is 123456."]


async def test_the_same_mail_has_the_same_message_id() -> None:
    box = Postbox()
    async with serving(box) as port:
        mailer = SmtpMailer(server_at(port))
        await mailer.send(MAIL)
        await mailer.send(MAIL)
    assert len({letter["Message-ID"] for letter in box.letters}) == 1


@pytest.mark.parametrize("encryption", ["starttls", "tls"])
async def test_a_mail_travels_encrypted_to_the_server_that_is_known(encryption, tls) -> None:
    context, ca = tls
    box = Postbox()
    async with serving(box, tls=context, implicit=encryption == "tls") as port:
        await SmtpMailer(server_at(port, encryption=encryption, ca=ca)).send(MAIL)
        with pytest.raises(Unavailable):
            await SmtpMailer(server_at(port, encryption=encryption)).send(MAIL)
    assert box.was_encrypted == [True]


async def test_without_the_offer_of_tls_nothing_is_sent() -> None:
    box = Postbox()
    async with serving(box) as port:
        with pytest.raises((Unavailable, MailRefused)):
            await SmtpMailer(server_at(port, encryption="starttls")).send(MAIL)
    assert box.letters == []


async def test_a_login_that_fails_is_tried_again_later_and_not_told(tls) -> None:
    context, ca = tls
    box = Postbox()
    login = {"user_name": "vault", "encryption": "starttls", "ca": ca}
    async with serving(box, tls=context, authenticator=box.authenticate, auth_required=True) as port:
        await SmtpMailer(server_at(port, **login, password=Secret("canary-password"))).send(MAIL)
        with pytest.raises(Unavailable) as refused:
            await SmtpMailer(server_at(port, **login, password=Secret("canary-wrong"))).send(MAIL)
    assert "canary" not in str(refused.value)
    assert len(box.letters) == 1


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({"answer": "554 canary no"}, MailRefused),
        ({"answer": "451 canary later"}, Unavailable),
        ({"recipient_answer": "550 canary nobody"}, MailRefused),
        ({"recipient_answer": "450 canary later"}, Unavailable),
    ],
)
async def test_what_the_server_says_decides_whether_it_is_tried_again(answers, error) -> None:
    async with serving(Postbox(**answers)) as port:
        with pytest.raises(error) as refused:
            await SmtpMailer(server_at(port)).send(MAIL)
    assert "canary" not in str(refused.value)


async def test_a_server_that_is_away_or_silent_is_unavailable() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unavailable):
            await SmtpMailer(server_at(port), patience=0.2).send(MAIL)
    with pytest.raises(Unavailable):
        await SmtpMailer(server_at(port)).send(MAIL)


@pytest.mark.parametrize(
    "recipient", ["ada@example.com\r\nBcc: eve@example.com", "a b@example.com", "", "ä@example.com"]
)
async def test_what_cannot_be_addressed_is_refused_and_adds_no_header(recipient) -> None:
    box = Postbox()
    async with serving(box, enable_SMTPUTF8=False) as port:
        with pytest.raises(MailRefused):
            await SmtpMailer(server_at(port)).send(Mail(MAIL.id, recipient, "s", "t", MORNING))
    assert box.letters == []


async def test_a_subject_with_a_line_break_is_refused() -> None:
    async with serving(Postbox()) as port:
        with pytest.raises(MailRefused):
            await SmtpMailer(server_at(port)).send(Mail(MAIL.id, MAIL.recipient, "a\nBcc: b@c.d", "t", MORNING))


async def test_without_a_server_nothing_is_sent() -> None:
    mailer = NoMailServer()
    assert not mailer.is_configured
    with pytest.raises(Unavailable):
        await mailer.send(MAIL)


def test_a_mail_does_not_print_its_text() -> None:
    assert "123456" not in repr(MAIL)
