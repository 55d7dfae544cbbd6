"""The user who calls."""

from collections.abc import Sequence
from uuid import UUID

from strongroom_common.http.endpoints import USER, Routes
from strongroom_common.http.models import Instant, View
from strongroom_identity.api.calls import BareCall
from strongroom_identity.domain.sessions import EMAIL, TOTP
from strongroom_identity.domain.users import User
from strongroom_identity.usecases import second_factors, users

routes = Routes("Users")


class UserView(View):
    """A user as others see him."""

    id: UUID
    username: str
    email: str
    first_name: str
    last_name: str
    is_email_verified: bool
    is_accepted: bool
    super_admin: bool
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, user: User) -> "UserView":
        """Show a user."""
        return cls(
            id=user.id,
            username=user.username,
            email=user.email,
            first_name=user.first_name,
            last_name=user.last_name,
            is_email_verified=user.is_email_verified,
            is_accepted=user.is_accepted,
            super_admin=user.is_instance_admin,
            created_at=user.created_at,
            updated_at=user.updated_at,
        )


class OwnUserView(UserView):
    """A user as he sees himself."""

    auth_methods: Sequence[str]
    is_mfa_enabled: bool
    mfa_methods: Sequence[str]
    selected_mfa_method: str | None


class OwnUserAnswer(View):
    """Who calls."""

    user: OwnUserView


@routes.get(
    "/api/v1/user", returns=OwnUserAnswer, callers=USER, permission="the caller's own", needs_organization=False
)
async def get_own(call: BareCall) -> OwnUserAnswer:
    """Return the user who calls."""
    user = await users.get_own(call.service, call.caller)
    has_mfa = await second_factors.is_on(call.service, call.caller)
    methods = [TOTP] if has_mfa else []
    own = OwnUserView(
        **UserView.of(user).model_dump(),
        auth_methods=[EMAIL],
        is_mfa_enabled=has_mfa,
        mfa_methods=methods,
        selected_mfa_method=TOTP if has_mfa else None,
    )
    return OwnUserAnswer(user=own)
