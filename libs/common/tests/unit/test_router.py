import pytest

from strongroom_common.http.router import Router
from strongroom_common.kernel.errors import InvalidInput


@pytest.fixture
def router() -> Router[str]:
    router: Router[str] = Router()
    router.add("GET", "/api/v4/secrets", "list")
    router.add("GET", "/api/v4/secrets/{secretName}", "get")
    router.add("GET", "/api/v4/secrets/id/{secretId:uuid}", "get by id")
    router.add("POST", "/api/v4/secrets/batch", "create many")
    router.add("POST", "/api/v4/secrets/{secretName}", "create")
    router.add("GET", "/api/v4/secrets/{secretName}/tree", "tree")
    return router


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        ("GET", "/api/v4/secrets", ("list", {})),
        ("GET", "/api/v4/secrets/KEY", ("get", {"secretName": "KEY"})),
        ("GET", "/api/v4/secrets/batch", ("get", {"secretName": "batch"})),
        ("POST", "/api/v4/secrets/batch", ("create many", {})),
        ("GET", "/api/v4/secrets/id", ("get", {"secretName": "id"})),
        ("GET", "/api/v4/secrets/id/tree", ("tree", {"secretName": "id"})),
        ("DELETE", "/api/v4/secrets", None),
        ("GET", "/api/v4", None),
        ("GET", "/api/v4/secrets/a/b/c", None),
    ],
)
def test_a_fixed_segment_wins_over_a_parameter(
    router: Router[str], method: str, path: str, found: tuple[str, dict[str, str]] | None
) -> None:
    if path.endswith("/id/tree"):
        with pytest.raises(InvalidInput):
            router.find(method, path[1:].split("/"))
    else:
        assert router.find(method, path[1:].split("/")) == found


def test_a_malformed_id_is_a_422_that_names_the_parameter(router: Router[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        router.find("GET", ["api", "v4", "secrets", "id", "canary"])
    assert refused.value.issues[0]["path"] == ["secretId"]
    assert "canary" not in str(refused.value.issues)


def test_a_route_cannot_be_declared_twice(router: Router[str]) -> None:
    with pytest.raises(ValueError, match="twice"):
        router.add("GET", "/api/v4/secrets/{other}", "again")


@pytest.mark.parametrize("template", ["/a/{b}c", "/a/x{b}", "/a/{b:int}", "/a/{}"])
def test_a_template_that_cannot_be_matched_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="whole segment"):
        Router[str]().add("GET", template, "x")
