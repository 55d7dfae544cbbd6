"""What can be wrong here, by name."""

from collections.abc import Sequence

from strongroom_common.access.rules import Rule
from strongroom_common.kernel.errors import Conflict, Forbidden, NotFound, Unauthenticated


class AlreadySetUp(Conflict):
    """The instance has its first organization. Automation looks for these very words (wire-identity 2.2)."""

    def __init__(self) -> None:
        super().__init__("Instance has already been set up")


class OrganizationNotFound(NotFound):
    """No such organization, or none that the caller is in: one answer for both."""

    def __init__(self) -> None:
        super().__init__("There is no such organization")


class MembershipNotFound(NotFound):
    """No such membership in the organization or project at hand."""

    def __init__(self) -> None:
        super().__init__("There is no such membership")


class UserNotFound(NotFound):
    """No such user."""

    def __init__(self) -> None:
        super().__init__("There is no such user")


class ProjectNotFound(NotFound):
    """No such project in the caller's organization."""

    def __init__(self) -> None:
        super().__init__("There is no such project")


class IdentityNotFound(NotFound):
    """No such identity in the caller's organization."""

    def __init__(self) -> None:
        super().__init__("There is no such identity")


class RoleNotFound(NotFound):
    """No predefined role and no custom role has this slug."""

    def __init__(self) -> None:
        super().__init__("There is no such role")


class SlugTaken(Conflict):
    """Another project of the organization has this slug."""

    def __init__(self) -> None:
        super().__init__("Another project of this organization has this slug: choose a different one")


class EnvironmentNotFound(NotFound):
    """No such environment in the project."""

    def __init__(self) -> None:
        super().__init__("There is no such environment")


class EnvironmentSlugTaken(Conflict):
    """Another environment of the project has this slug. `label` names the operation (wire-identity 1.2)."""

    def __init__(self, label: str) -> None:
        super().__init__("Another environment of this project has this slug: choose a different one", label=label)


class IdentityTemplateNotFound(NotFound):
    """No such identity template in the caller's organization."""

    def __init__(self) -> None:
        super().__init__("There is no such identity template")


class ProjectTemplateNotFound(NotFound):
    """No such template in the caller's organization, or none for projects of this type."""

    def __init__(self) -> None:
        super().__init__("There is no such project template")


class ProjectTemplateNameTaken(Conflict):
    """Another template of the organization has this name."""

    def __init__(self) -> None:
        super().__init__("Another project template of this organization has this name: choose a different one")


class BeyondOwnRights(Forbidden):
    """The caller would hand on, or take over, more than it holds."""

    label = "PermissionBoundaryError"

    def __init__(self, missing: Sequence[Rule]) -> None:
        super().__init__(
            "You cannot give rights that you do not have yourself",
            details={"missingPermissions": [rule.to_detail() for rule in missing]},
        )


class TokenNotAlive(Unauthenticated):
    """Unknown, revoked, used up or expired."""


class BadCredentials(Unauthenticated):
    """One text for an unknown client and a wrong secret: it does not tell which of them exists.

    `reason` is for the audit trail alone; it holds nothing of what was presented.
    """

    def __init__(self, reason: str = "wrong credentials") -> None:
        super().__init__("Invalid credentials")
        self.reason = reason


class LoginUndecided(Unauthenticated):
    """Whoever knows the answer could not be asked. It reads like wrong credentials, and is not counted as such.

    `reason` is for the audit trail alone.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("Invalid credentials")
        self.reason = reason


class LockedOut(BadCredentials):
    """Too many wrong credentials of late. It reads like a wrong one: whoever guesses learns nothing from it."""

    def __init__(self) -> None:
        super().__init__("locked out")


class SessionOver(Unauthenticated):
    """The session has ended, or there never was one."""

    def __init__(self) -> None:
        super().__init__("The session is over: log in again")


class WrongPassword(Conflict):
    """One text for an unknown user, a wrong password and no password at all (400, wire-identity 9.1)."""

    def __init__(self) -> None:
        super().__init__("Invalid e-mail address or password")


class WrongCode(Conflict):
    """One text for a code that was never given, is over or was used."""

    def __init__(self) -> None:
        super().__init__("The code is wrong or has expired: ask for a new one")


class NotAMember(Forbidden):
    """Not a member of the organization, not any more, or not yet: one text for all, and for one that does not exist."""

    def __init__(self) -> None:
        super().__init__("You are not a member of this organization")


class WrongSecondFactor(Unauthenticated):
    """One text for a code that is wrong, over, or was used before."""

    def __init__(self) -> None:
        super().__init__("The code is wrong, or was used before: wait for the next one")
