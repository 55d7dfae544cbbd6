"""Login with a service account's token, reviewed by a faithful double of the Kubernetes API behind TLS."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jwt
import pytest
from aiohttp import web

pytestmark = pytest.mark.timeout(60, func_only=True)

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
REVIEWER = "reviewer.token.signature"
WEB = "web.token.signature"


@dataclass
class Cluster:
    """Knows tokens: whose they are and whom they are for; and who may have them reviewed."""

    accounts: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    may_review: set[str] = field(default_factory=lambda: {REVIEWER})
    reviews: list[dict[str, Any]] = field(default_factory=list)
    knows_audiences: bool = True

    async def review(self, request: web.Request) -> web.StreamResponse:
        """Answer as the API server does (authentication.k8s.io/v1 TokenReview)."""
        assert request.method == "POST"
        bearer = request.headers["Authorization"].removeprefix("Bearer ")
        if bearer not in self.may_review:
            return web.json_response({"kind": "Status", "status": "Failure", "code": 403}, status=403)
        sent = await request.json()
        self.reviews.append(sent)
        assert (sent["apiVersion"], sent["kind"]) == ("authentication.k8s.io/v1", "TokenReview")
        username, audiences = self.accounts.get(sent["spec"]["token"], (None, []))
        asked = sent["spec"].get("audiences", [])
        both = [audience for audience in asked if audience in audiences]
        if username is None or (asked and self.knows_audiences and not both):
            status: dict[str, Any] = {"user": {}, "error": "token is not known"}
        else:
            status = {"authenticated": True, "user": {"username": username, "uid": "1", "groups": []}}
            if self.knows_audiences:
                status["audiences"] = both or audiences
        return web.json_response({**sent, "status": status}, status=201)


@pytest.fixture
def cluster(outside) -> Cluster:
    known = Cluster({WEB: ("system:serviceaccount:shop:web", ["https://kubernetes.default.svc", "strongroom"])})
    outside.pages[REVIEWS] = known.review
    return known


@pytest.fixture
def by_kubernetes(logins):
    return logins("kubernetes-auth", "identityKubernetesAuth")


@pytest.fixture
def settings(outside) -> Callable[..., dict[str, Any]]:
    def make(**more: Any) -> dict[str, Any]:
        return {
            "kubernetesHost": outside.base,
            "caCert": outside.authority.certificate,
            "tokenReviewerJwt": REVIEWER,
            "allowedNamespaces": "",
            "allowedNames": "",
            "allowedAudience": "",
            **more,
        }

    return make


async def test_a_reviewed_account_opens(world, by_kubernetes, identity_id, cluster, settings, outside):
    made = await by_kubernetes.attach(identity_id, **settings(allowedNamespaces="infra, shop", allowedNames="web"))
    assert made["tokenReviewerJwt"] == REVIEWER
    assert made["caCert"] == outside.authority.certificate.strip()
    assert (made["tokenReviewMode"], made["gatewayId"], made["kubernetesHost"]) == ("api", None, outside.base)
    answer = await by_kubernetes.login(identity_id, jwt=WEB)
    assert answer.status == 200, answer.text
    assert (await world.details(answer.json["accessToken"])).status == 200
    claims = jwt.decode(answer.json["accessToken"], options={"verify_signature": False})
    assert claims["identityAuth"] == {"kubernetes": {"namespace": "shop", "name": "web"}}
    (row,) = await world.rows("SELECT * FROM auth_configurations WHERE method = 'kubernetes-auth'")
    assert REVIEWER not in repr(dict(row))


@pytest.mark.parametrize(
    "more",
    [
        {"allowedNamespaces": "infra"},
        {"allowedNamespaces": "sho*"},
        {"allowedNames": "we"},
        {"allowedNames": "Web"},
        {"allowedAudience": "another"},
        {"tokenReviewerJwt": "another.reviewer.jwt"},
    ],
)
async def test_an_account_out_of_bounds_is_refused(by_kubernetes, identity_id, cluster, settings, more):
    await by_kubernetes.attach(identity_id, **settings(**more))
    assert (await by_kubernetes.login(identity_id, jwt=WEB)).status == 401


async def test_the_audience_is_asked_for_and_must_be_answered(by_kubernetes, identity_id, cluster, settings):
    await by_kubernetes.attach(identity_id, **settings(allowedAudience="strongroom, other"))
    assert (await by_kubernetes.login(identity_id, jwt=WEB)).status == 200
    assert cluster.reviews[-1]["spec"]["audiences"] == ["strongroom", "other"]
    cluster.knows_audiences = False
    assert (await by_kubernetes.login(identity_id, jwt=WEB)).status == 401


async def test_without_a_reviewer_the_account_has_itself_reviewed(by_kubernetes, identity_id, cluster, settings):
    await by_kubernetes.attach(identity_id, **settings(tokenReviewerJwt=""))
    assert (await by_kubernetes.login(identity_id, jwt=WEB)).status == 401
    cluster.may_review.add(WEB)
    assert (await by_kubernetes.login(identity_id, jwt=WEB)).status == 200


@pytest.mark.parametrize(
    "username",
    [
        "system:node:one",
        "admin",
        "system:serviceaccount:shop:web:extra",
        "x-system:serviceaccount:shop:web",
        "system:serviceaccount::web",
        "system:serviceaccount:shop:web\n",
        None,
    ],
)
async def test_only_service_accounts_are_machines(by_kubernetes, identity_id, cluster, settings, username):
    cluster.accounts[WEB] = (username, [])
    await by_kubernetes.attach(identity_id, **settings())
    assert (await by_kubernetes.login(identity_id, jwt=WEB)).status == 401


@pytest.mark.parametrize("token", ["unknown.token.here", "a b", "x\r\nX-Evil: 1", "ü", "x" * 20_000])
async def test_what_is_no_known_token_is_refused(by_kubernetes, identity_id, cluster, settings, token):
    await by_kubernetes.attach(identity_id, **settings(tokenReviewerJwt=""))
    assert (await by_kubernetes.login(identity_id, jwt=token)).status in {401, 422}


@pytest.mark.parametrize(
    "body",
    [
        {"status": {"authenticated": "true", "user": {"username": "system:serviceaccount:shop:web"}}},
        {"status": {"authenticated": True, "error": "x", "user": {"username": "system:serviceaccount:shop:web"}}},
        {"status": {"authenticated": True, "user": "system:serviceaccount:shop:web"}},
        {"status": None},
        [],
        b"no json",
    ],
)
async def test_an_odd_review_opens_nothing(by_kubernetes, identity_id, outside, settings, body):
    outside.pages[REVIEWS] = body
    await by_kubernetes.attach(identity_id, **settings())
    assert (await by_kubernetes.login(identity_id, jwt=WEB)).status == 401


async def test_neither_a_redirect_nor_an_impostor_hears_a_token(by_kubernetes, identity_id, cluster, settings, outside):
    async def elsewhere(request):
        raise web.HTTPTemporaryRedirect(f"{outside.base}/elsewhere")

    outside.pages[REVIEWS] = elsewhere
    await by_kubernetes.attach(identity_id, **settings())
    assert (await by_kubernetes.login(identity_id, jwt=WEB)).status == 401
    assert outside.asked == [REVIEWS]
    changed = await by_kubernetes.change(identity_id, kubernetesHost=outside.base.replace("localhost", "127.0.0.1"))
    assert changed.status == 200
    assert (await by_kubernetes.login(identity_id, jwt=WEB)).status == 401
    assert outside.asked == [REVIEWS]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"kubernetesHost": "http://localhost"}, 422),
        ({"kubernetesHost": "https://local host"}, 422),
        ({"kubernetesHost": "https://user@localhost"}, 422),
        ({"kubernetesHost": None}, 422),
        ({"kubernetesHost": "10.0.0.1:6443"}, 400),
        ({"kubernetesHost": "https://169.254.169.254"}, 400),
        ({"tokenReviewMode": "gateway"}, 422),
        ({"tokenReviewMode": "gateway", "gatewayId": "0b7e9c6e-3f65-4d6e-9d6b-0d8b6c1f2a77"}, 404),
        ({"tokenReviewMode": "other"}, 422),
        ({"caCert": "no certificate"}, 422),
    ],
)
async def test_a_configuration_that_cannot_work_is_refused(by_kubernetes, identity_id, settings, more, status):
    answer = await by_kubernetes.try_attach(identity_id, **settings(**more))
    assert answer.status == status, answer.text


@pytest.mark.parametrize("missing", ["kubernetesHost", "allowedNamespaces", "allowedNames", "allowedAudience"])
async def test_what_the_contract_requires_must_be_there(by_kubernetes, identity_id, settings, missing, refusal):
    body = settings()
    del body[missing]
    assert refusal(await by_kubernetes.try_attach(identity_id, **body)) == (422, "ValidationFailure")


async def test_what_is_not_given_stays(by_kubernetes, identity_id, cluster, settings):
    made = await by_kubernetes.attach(identity_id, **settings())
    changed = (await by_kubernetes.change(identity_id, allowedNames="api")).json["identityKubernetesAuth"]
    assert {**changed, "updatedAt": None} == {**made, "allowedNames": "api", "updatedAt": None}
    assert (await by_kubernetes.login(identity_id, jwt=WEB)).status == 401
