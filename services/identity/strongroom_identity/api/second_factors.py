"""The caller's second factor."""

from collections.abc import Sequence

from strongroom_common.http.endpoints import USER, Routes
from strongroom_common.http.models import Body, NoQuery, View
from strongroom_identity.api.calls import BareCall, Call, SecretText
from strongroom_identity.api.sessions import Message
from strongroom_identity.usecases import second_factors

routes = Routes("Second factor")

BASE = "/api/v1/user/me/totp"


class ConfirmBody(Body):
    """A code of the authenticator."""

    totp: SecretText


class DisableBody(Body):
    """The password, and a code (or a recovery code) where the session has not shown the second factor."""

    password: SecretText
    totp: SecretText | None = None


class StateView(View):
    """Whether there is a second factor."""

    is_verified: bool


class EnrolmentView(View):
    """What an authenticator app needs, and the recovery codes; shown this once."""

    otp_url: str
    recovery_codes: Sequence[str]


class RecoveryCodesView(View):
    """Shown this once."""

    recovery_codes: Sequence[str]


@routes.get(BASE, returns=StateView, callers=USER, permission="the caller's own", needs_organization=False)
async def get(call: BareCall) -> StateView:
    """Say whether the caller has a second factor."""
    return StateView(is_verified=await second_factors.is_on(call.service, call.caller))


@routes.post(
    BASE + "/register",
    returns=EnrolmentView,
    callers=USER,
    permission="the caller's own",
    audit="enrol-second-factor",
    needs_organization=False,
)
async def enrol(call: BareCall) -> EnrolmentView:
    """Begin to set a second factor up."""
    made = await second_factors.enrol(call.service, call.caller, call.origin)
    return EnrolmentView(otp_url=made.address.reveal(), recovery_codes=[code.reveal() for code in made.recovery_codes])


@routes.post(
    BASE + "/verify",
    body=ConfirmBody,
    returns=Message,
    callers=USER,
    permission="the caller's own",
    audit="confirm-second-factor",
    rate="mfa",
    needs_organization=False,
)
async def confirm(call: Call[ConfirmBody, NoQuery]) -> Message:
    """Ask for the second factor from now on; all other sessions end."""
    await second_factors.confirm(call.service, call.caller, call.origin, call.body.totp.reveal())
    return Message(message="Successfully set up the second factor")


@routes.delete(
    BASE,
    body=DisableBody,
    returns=Message,
    callers=USER,
    permission="the caller's own, with password and second factor",
    audit="disable-second-factor",
    rate="mfa",
    needs_organization=False,
)
async def disable(call: Call[DisableBody, NoQuery]) -> Message:
    """Take the second factor away."""
    body = call.body
    code = body.totp.reveal() if body.totp else None
    await second_factors.disable(call.service, call.caller, call.origin, body.password, code)
    return Message(message="Successfully took the second factor away")


@routes.post(
    BASE + "/recovery-codes",
    body=DisableBody,
    returns=RecoveryCodesView,
    callers=USER,
    permission="the caller's own, with password and second factor",
    audit="renew-recovery-codes",
    rate="mfa",
    needs_organization=False,
)
async def renew_recovery_codes(call: Call[DisableBody, NoQuery]) -> RecoveryCodesView:
    """Make new recovery codes in place of the old ones."""
    body = call.body
    code = body.totp.reveal() if body.totp else None
    codes = await second_factors.renew_recovery_codes(call.service, call.caller, call.origin, body.password, code)
    return RecoveryCodesView(recovery_codes=[one.reveal() for one in codes])
