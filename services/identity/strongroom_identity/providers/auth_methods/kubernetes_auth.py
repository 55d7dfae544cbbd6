"""Log in with a Kubernetes service account's token: the cluster itself says whose it is (wire-identity 7)."""

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

import aiohttp
from pydantic import AfterValidator, StringConstraints, model_validator

from strongroom_common.egress.guard import read_at_most
from strongroom_common.http.bodies import check_json_bounds
from strongroom_common.http.models import Body
from strongroom_common.kernel.errors import NotFound, StrongroomError
from strongroom_identity.domain.assertions import entries_of
from strongroom_identity.domain.auth_methods import AuthMethod, Proof, Tools
from strongroom_identity.domain.errors import BadCredentials
from strongroom_identity.providers.documents import is_https, judge_url
from strongroom_identity.providers.foreign_tokens import BoundText, Certificates, ForeignToken
from strongroom_identity.providers.outside_tls import outside_context

LONGEST: Final = timedelta(seconds=10)
LARGEST: Final = 256 * 1024  # bytes
API: Final = "authentication.k8s.io/v1"

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_ACCOUNT = re.compile(r"system:serviceaccount:([a-z0-9-]+):([a-z0-9.-]+)")


def _host(text: str) -> str:
    if not is_https(base_of(text)):
        raise ValueError("must be a host, or an https address")
    return text


Host = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=2048, pattern=r"^[A-Za-z0-9:./-]+$"),
    AfterValidator(_host),
]


class Settings(Body):
    """Which cluster is asked, and which of its service accounts are taken. Comma lists; empty: any."""

    kubernetes_host: Host | None
    ca_cert: Certificates = ""
    token_reviewer_jwt: Annotated[str, StringConstraints(strip_whitespace=True, max_length=16 * 1024)] = ""
    token_review_mode: Literal["api", "gateway"] = "api"  # noqa: S105 - the name of a mode
    allowed_namespaces: BoundText
    allowed_names: BoundText
    allowed_audience: BoundText
    gateway_id: UUID | None = None

    @model_validator(mode="after")
    def check_mode(self) -> Self:
        """Each mode needs whom to ask."""
        if self.token_review_mode == "api" and self.kubernetes_host is None:  # noqa: S105 - the name of a mode
            raise ValueError("kubernetesHost is required for the mode api")
        if self.token_review_mode == "gateway" and self.gateway_id is None:  # noqa: S105 - the name of a mode
            raise ValueError("gatewayId is required for the mode gateway")
        return self


class Presented(Body):
    """A service account's token."""

    jwt: ForeignToken


class KubernetesAuth(AuthMethod[Settings, Presented]):
    """A TokenReview: nothing that the token says of itself is believed."""

    answer_key = "identityKubernetesAuth"
    settings = Settings
    presented = Presented
    sealed = frozenset({"ca_cert", "token_reviewer_jwt"})

    async def accept(self, settings: Settings, tools: Tools) -> Settings:
        """Refuse a cluster that could never be asked."""
        if settings.gateway_id is not None:
            raise NotFound("There is no such gateway")
        judge_url(tools, base_of(settings.kubernetes_host or ""))
        return settings

    async def prove(self, settings: Settings, presented: Presented, tools: Tools, headers: Mapping[str, str]) -> Proof:
        """Have the cluster review the token, and see whose it is."""
        status = await _review(settings, presented.jwt, tools)
        if status.get("authenticated") is not True or status.get("error"):
            raise BadCredentials("the cluster does not know the token")
        user = status.get("user")
        name = user.get("username") if isinstance(user, dict) else None
        account = _ACCOUNT.fullmatch(name) if isinstance(name, str) else None
        if account is None:
            raise BadCredentials("the token is not a service account's")
        wanted = entries_of(settings.allowed_audience)
        audiences = status.get("audiences")
        # A cluster that knows no audiences answers none: it has then not checked them.
        if wanted and not (isinstance(audiences, list) and set(wanted) & {str(audience) for audience in audiences}):
            raise BadCredentials("the token is for another audience")
        namespace, account_name = account.groups()
        if namespace not in (entries_of(settings.allowed_namespaces) or [namespace]):
            raise BadCredentials("the namespace is not allowed")
        if account_name not in (entries_of(settings.allowed_names) or [account_name]):
            raise BadCredentials("the service account is not allowed")
        return Proof({"kubernetes": {"namespace": namespace, "name": account_name}})


def base_of(host: str) -> str:
    """Return the address of a cluster's API, which is https where the host does not say so."""
    return (host if "://" in host else f"https://{host}").rstrip("/")


async def _review(settings: Settings, token: str, tools: Tools) -> Mapping[str, Any]:
    if not _TOKEN.fullmatch(token):
        raise BadCredentials("not a token")
    wanted: dict[str, Any] = {"token": token}
    if audiences := entries_of(settings.allowed_audience):
        wanted["audiences"] = audiences
    # Without a reviewer of its own, the account must be allowed to have itself reviewed.
    bearer = settings.token_reviewer_jwt or token
    url = f"{base_of(settings.kubernetes_host or '')}/apis/{API}/tokenreviews"
    try:
        async with (
            tools.guard.session(total=LONGEST) as session,
            session.post(
                url,
                json={"apiVersion": API, "kind": "TokenReview", "spec": wanted},
                headers={"Authorization": f"Bearer {bearer}", "Accept": "application/json"},
                ssl=outside_context(settings.ca_cert),
            ) as response,
        ):
            raw = await read_at_most(response, LARGEST)
            if response.status not in {200, 201}:
                raise BadCredentials(f"the cluster answered the review with {response.status}")
        check_json_bounds(raw)
        review = json.loads(raw)
    except BadCredentials:
        raise
    except StrongroomError as error:
        raise BadCredentials(f"the cluster could not be asked: {error.wire_label}") from None
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError, RecursionError):
        raise BadCredentials("the cluster could not be asked") from None
    status = review.get("status") if isinstance(review, dict) else None
    if not isinstance(status, dict):
        raise BadCredentials("the cluster answered something else than a review")
    return status


KIND = KubernetesAuth()
