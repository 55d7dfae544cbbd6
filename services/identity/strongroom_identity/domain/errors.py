"""What can be wrong here, by name."""

from collections.abc import Sequence

from strongroom_common.access.rules import Rule
from strongroom_common.kernel.errors import Conflict, Forbidden, NotFound, Unauthenticated


class AlreadySetUp(Conflict):
    """The instance has its first organization. Automation looks for these very words (wire-identity 2.2)."""

    def __init__(self) -> None:
        super().__init__("Instance has already been set up")


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
    """One text for an unknown client and a wrong secret: it does not tell which of them exists."""

    def __init__(self) -> None:
        super().__init__("Invalid credentials")
