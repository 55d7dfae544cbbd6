"""Log in with a name and a password of an LDAP directory (wire-identity 6)."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from strongroom_common.http.models import Body
from strongroom_common.kernel.errors import StrongroomError
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.auth_methods import AuthMethod, Proof, Tools, Verb
from strongroom_identity.domain.directories import (
    USERNAME,
    BadDirectoryUrl,
    Directory,
    DirectoryUrl,
    canonical_user_name,
    holds_all,
)
from strongroom_identity.domain.errors import BadCredentials, LoginUndecided
from strongroom_identity.providers import directories
from strongroom_identity.providers.foreign_tokens import Certificates

NEEDED = ("url", "bindDN", "bindPass", "searchBase")
"""What a directory needs, here or in a template."""

_WHITE = re.compile(r"\s+")


def _url(text: str) -> str:
    try:
        DirectoryUrl.parse(text)
    except BadDirectoryUrl as error:
        raise ValueError(str(error)) from None
    return text


def _filter(text: str) -> str:
    # Without the name anyone's name would do, and no number of wrong passwords would lock the door.
    if USERNAME not in text:
        raise ValueError(f"must contain {USERNAME}")
    directories.verify_filter(text)
    return text


def _none_as(empty: Any) -> BeforeValidator:
    return BeforeValidator(lambda value: empty if value is None else value)


Url = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024), AfterValidator(_url)]
Dn = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2048)]
Password = Annotated[str, StringConstraints(min_length=1, max_length=1024), Field(repr=False)]
"""Taken as it is: a space at its end may belong to it."""
OptionalCertificates = Annotated[Certificates, _none_as("")]


class AllowedField(Body):
    """An attribute, and the values that it may have: a comma list, without white space."""

    key: Annotated[
        str, StringConstraints(strip_whitespace=True, max_length=256, pattern=r"^[A-Za-z0-9][A-Za-z0-9.;-]*$")
    ]
    value: Annotated[
        str,
        StringConstraints(max_length=8192),
        AfterValidator(lambda text: _WHITE.sub("", text)),
        Field(min_length=1),
    ]


class Settings(Body):
    """Which directory, and who of it. With a template, the directory is the template's."""

    url: Url = ""
    bind_dn: Dn = Field("", alias="bindDN")
    bind_pass: Password = ""
    search_base: Dn = ""
    search_filter: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2048), AfterValidator(_filter)
    ] = f"(uid={USERNAME})"
    allowed_fields: Annotated[Sequence[AllowedField], _none_as(()), Field(max_length=50)] = ()
    ldap_ca_certificate: OptionalCertificates = ""
    template_id: UUID | None = None

    @model_validator(mode="after")
    def check_directory(self) -> Self:
        """Without a template all of the directory must be given."""
        given = (self.url, self.bind_dn, self.bind_pass, self.search_base)
        if self.template_id is None and not all(given):
            raise ValueError(f"without templateId, {', '.join(NEEDED)} are required")
        return self

    def to_directory(self) -> Directory:
        """The directory, in our words."""
        return Directory(self.url, self.bind_dn, Secret(self.bind_pass), self.search_base, self.ldap_ca_certificate)


class Presented(Body):
    """A name and a password."""

    username: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=256)]
    password: Password


class LdapAuth(AuthMethod[Settings, Presented]):
    """The bind account finds the person, the person's own password opens; then the allowed fields."""

    answer_key = "identityLdapAuth"
    settings = Settings
    presented = Presented
    sealed = frozenset({"bind_dn", "bind_pass", "ldap_ca_certificate"})
    hidden: ClassVar[Mapping[Verb, frozenset[str]]] = {
        "attach": frozenset({"bind_dn", "bind_pass", "ldap_ca_certificate"}),
        "change": frozenset({"bind_dn", "bind_pass", "ldap_ca_certificate"}),
        "detach": frozenset({"bind_dn", "bind_pass", "ldap_ca_certificate"}),
    }
    least_max_ttl = 1
    has_lockout = True
    is_absence_told = True
    is_absence_a_conflict = True

    def changed(self, stored: Mapping[str, Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
        """A change that does not name the template unlinks it; what came from it stays."""
        return {**stored, "templateId": None, **given}

    async def accept(self, settings: Settings, tools: Tools) -> Settings:
        """Log in with the bind account: what cannot work is not kept."""
        await directories.verify(tools.guard, settings.to_directory())
        return settings

    def name_of(self, presented: Presented) -> str:
        """All spellings that a directory takes for the same name count together."""
        return canonical_user_name(presented.username)

    async def prove(self, settings: Settings, presented: Presented, tools: Tools, headers: Mapping[str, str]) -> Proof:
        """See whether the password is the person's, and whether that person is allowed."""
        allowed = [{"key": field.key, "value": field.value} for field in settings.allowed_fields]
        try:
            person = await directories.authenticate(
                tools.guard,
                settings.to_directory(),
                settings.search_filter,
                presented.username,
                presented.password,
                [field["key"] for field in allowed],
            )
        except BadCredentials:
            raise
        except StrongroomError as error:
            # Nobody has guessed wrongly: a directory that is away must not lock everyone out.
            raise LoginUndecided(error.message) from None
        if not holds_all(person, allowed):
            raise BadCredentials("an allowed field does not hold")
        return Proof()


KIND = LdapAuth()
