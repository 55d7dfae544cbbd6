"""The cookie `jid`: a session's refresh token, out of reach of scripts (wire-identity 9.1)."""

from collections.abc import Mapping
from datetime import timedelta
from http.cookies import CookieError, SimpleCookie

from strongroom_common.http.endpoints import Reply
from strongroom_common.http.models import View
from strongroom_common.kernel.errors import TokenRefused, Unauthenticated
from strongroom_common.kernel.secret import Secret
from strongroom_identity.domain.sessions import SessionTokens
from strongroom_identity.usecases.context import IdentityContext

NAME = "jid"
LONGEST = 8192


def with_cookie(context: IdentityContext, tokens: SessionTokens, body: View) -> Reply:
    """Answer, and let the browser keep the refresh token."""
    return Reply(body, {"Set-Cookie": _line(context, tokens.refresh_token.reveal(), tokens.refresh_life)})


def cleared(context: IdentityContext) -> Mapping[str, str]:
    """The header with which a browser forgets the refresh token."""
    return {"Set-Cookie": _line(context, "", timedelta(0))}


def refresh_token_of(headers: Mapping[str, str]) -> Secret:
    """Read the cookie; raises `Unauthenticated` where there is none."""
    try:
        # A browser sends all cookies of the site; one that cannot be read must not hide ours.
        cookie = SimpleCookie(headers.get("Cookie", "")[: 2 * LONGEST]).get(NAME)
    except CookieError:
        cookie = None
    if cookie is None or not cookie.value:
        raise Unauthenticated("There is no session: log in first")
    if len(cookie.value) > LONGEST:
        raise TokenRefused("The session cookie is not one of ours")
    return Secret(cookie.value)


def bearer_of(headers: Mapping[str, str]) -> Secret:
    """Read a bearer that is for one route alone; raises `Unauthenticated` where there is none."""
    scheme, _, bearer = headers.get("Authorization", "").partition(" ")
    bearer = bearer.strip()
    if scheme.lower() != "bearer" or not bearer:
        raise Unauthenticated("This route needs a bearer token")
    if not bearer.isascii() or len(bearer) > LONGEST:
        raise TokenRefused("The Authorization header must be 'Bearer' and a token")
    return Secret(bearer)


def _line(context: IdentityContext, value: str, life: timedelta) -> str:
    secure = "; Secure" if context.site_url.startswith("https://") else ""
    return f"{NAME}={value}; Path=/; Max-Age={int(life.total_seconds())}; HttpOnly; SameSite=Strict{secure}"
