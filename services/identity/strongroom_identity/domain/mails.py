"""What mails say. Plain text, no pictures, nothing that calls home."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode
from uuid import UUID

from strongroom_common.kernel.secret import Secret


@dataclass(frozen=True)
class Letter:
    """A mail without its envelope."""

    subject: str
    # A code or a link in it is as good as a password.
    text: str = field(repr=False)


def invitation_link(site_url: str, mailbox: str, organization_id: UUID, code: Secret) -> Secret:
    """Where an invited person goes on."""
    query = {"token": code.reveal(), "to": mailbox, "organization_id": str(organization_id)}
    return _link(site_url, "signupinvite", query)


def recovery_link(site_url: str, mailbox: str, code: Secret) -> Secret:
    """Where somebody who forgot the password goes on."""
    return _link(site_url, "password-reset", {"token": code.reveal(), "to": mailbox})


def invitation(organization: str, inviter: str, link: Secret) -> Letter:
    """To whom somebody wants in an organization."""
    return Letter(
        f"You are invited to {_one_line(organization)}",
        f"{_one_line(inviter)} invites you to the organization {_one_line(organization)}.\n\n"
        f"Accept within seven days:\n{link.reveal()}\n\n"
        "If you do not know what this is about, do nothing.\n",
    )


def sign_up_code(code: Secret) -> Letter:
    """To who wants an account."""
    return Letter(
        "Your sign-up code",
        f"Your code is {code.reveal()}. It is good for fifteen minutes.\n\n"
        "If you did not ask for an account, do nothing: without the code nobody gets one in your name.\n",
    )


def account_exists(site_url: str) -> Letter:
    """To who wants an account and has one: only the mailbox's owner learns that."""
    return Letter(
        "You have an account already",
        f"Somebody asked for an account with this e-mail address, which has one: {site_url}\n\n"
        "If it was not you, do nothing. If you forgot your password, ask for a new one there.\n",
    )


def recovery(link: Secret) -> Letter:
    """To who forgot the password."""
    return Letter(
        "Choose a new password",
        f"Choose a new password within an hour:\n{link.reveal()}\n\n"
        "If you did not ask for it, do nothing: the old password stays.\n",
    )


def password_changed() -> Letter:
    """To whose password was changed."""
    return Letter(
        "Your password was changed",
        "The password of your account was changed, and all other sessions were ended.\n\n"
        "If it was not you, ask for a new password now and tell your administrator.\n",
    )


def _link(site_url: str, page: str, query: Mapping[str, str]) -> Secret:
    return Secret(f"{site_url}/{page}?{urlencode(query)}")


def _one_line(text: str) -> str:
    # A name of somebody's choice must not look like a line of ours.
    return " ".join(text.split())[:100]
