"""What the administrators of an instance can choose for all of it (wire-identity 2.3)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from uuid import UUID

from strongroom_common.kernel.names import BadName, canonical_email

LoginMethod = Literal["email", "google", "github", "gitlab", "saml", "ldap", "oidc"]
LOGIN_METHODS: tuple[str, ...] = get_args(LoginMethod)
OWN_LOGIN_METHOD: LoginMethod = "email"
"""How the administrators of every instance log in: without it nobody could come back to switch it on again."""

_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])")
MOST_DOMAINS = 100


@dataclass(frozen=True)
class InstanceConfiguration:
    """One per instance. `enabled_login_methods` of None are all of them."""

    instance_id: UUID
    is_initialized: bool
    allow_sign_up: bool
    allowed_sign_up_domain: str | None
    trust_saml_emails: bool
    trust_ldap_emails: bool
    trust_oidc_emails: bool
    default_auth_organization_id: UUID | None
    default_auth_organization_slug: str | None
    enabled_login_methods: Sequence[str] | None
    auth_consent_content: str | None
    page_frame_content: str | None
    admin_identity_ids: Sequence[UUID]

    def is_sign_up_allowed(self, email: str) -> bool:
        """May somebody with this mailbox make an account of his own accord?"""
        if not self.allow_sign_up:
            return False
        if self.allowed_sign_up_domain is None:
            return True
        try:
            domain = canonical_email(email).rpartition("@")[2]
        except BadName:
            return False
        return domain in self.allowed_sign_up_domain.split(",")


def canonical_domains(text: str) -> str:
    """Read a list of mail domains with commas between them; raises `ValueError` for anything else."""
    domains = [one.strip().lower() for one in text.split(",")]
    if len(domains) > MOST_DOMAINS:
        raise ValueError(f"at most {MOST_DOMAINS} domains")
    if not all(len(one) <= 253 and _DOMAIN.fullmatch(one) for one in domains):
        raise ValueError("must be domain names with commas between them, such as example.com,example.org")
    return ",".join(dict.fromkeys(domains))
