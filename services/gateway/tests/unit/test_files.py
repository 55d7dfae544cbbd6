"""The shipped tables, and what is wrong with others."""

import re
from pathlib import Path

import pytest

from strongroom_common.http.paths import parse_target
from strongroom_gateway.domain.prefixes import BadTable
from strongroom_gateway.store.files import SHIPPED_LIMITS, SHIPPED_ROUTES, read_limits, read_routes
from strongroom_gateway.usecases.forwarding import SERVICES

ID = "6f0c9a53-1d5e-4a58-9c37-0d2a7d1f5a11"

OWNED = {
    "identity": [
        "/api/v1/admin/bootstrap",
        "/api/v1/auth/universal-auth/login",
        "/api/v2/auth/mfa/verify",
        "/api/v3/auth/login",
        "/api/v3/signup/email/signup",
        "/api/v1/invite-org/verify",
        "/api/v1/identities/search",
        "/api/v1/identity-templates",
        "/api/v1/organization/audit-logs",
        f"/api/v2/organizations/{ID}/identity-memberships",
        "/api/v1/sub-organizations",
        "/api/v1/groups",
        "/api/v1/user",
        "/api/v1/projects",
        f"/api/v1/projects/{ID}/environments",
        "/api/v1/projects/slug/tags",
        "/api/v1/projects/slug/cas",
        f"/api/v1/workspace/{ID}/service-token-data",
        "/api/v1/workspace/slug/secret-snapshots",
        f"/api/v2/workspace/{ID}/identity-memberships",
        "/api/v1/project-templates",
        "/api/v2/service-token",
    ],
    "secrets": [
        "/api/v3/secrets/batch/raw",
        "/api/v4/secrets/batch",
        "/api/v1/folders",
        "/api/v2/folders/batch",
        "/api/v1/secret-imports",
        "/api/v2/secret-imports/secrets",
        f"/api/v1/projects/{ID}/tags",
        f"/api/v1/workspace/{ID}/tags/{ID}",
        f"/api/v1/secret/{ID}/secret-versions",
        f"/api/v1/secret-snapshot/{ID}",
        f"/api/v1/workspace/{ID}/secret-snapshots/count",
        "/api/v1/pit/commits",
        "/api/v1/reminders/secrets",
        "/api/v1/webhooks",
        "/api/v1/events/subscribe/project-events",
        "/api/v1/secret-sharing/shared",
        "/api/v1/shared-secrets",
    ],
    "pki": [
        "/api/v1/cert-manager/certificates",
        f"/api/v1/cert-manager/crl/{ID}/der",
        f"/api/v1/cert-manager/ocsp/{ID}",
        f"/api/v1/cert-manager/acme/profiles/{ID}/directory",
        f"/api/v1/pki/acme/profiles/{ID}/directory",
        "/api/v2/pki/alerts",
        "/api/v2/certificate-templates",
        f"/api/v1/projects/{ID}/cas",
        f"/api/v1/projects/{ID}/certificates/search",
        f"/api/v1/projects/{ID}/pki-alerts",
        f"/api/v1/projects/{ID}/pki-collections",
        f"/api/v1/projects/{ID}/pki-subscribers",
        "/api/v2/workspace/a-project/cas",
        "/api/v2/workspace/a-project/certificates",
        f"/.well-known/est/{ID}/cacerts",
        f"/api/est/{ID}/simpleenroll",
        f"/scep/{ID}/pkiclient.exe",
    ],
    "automation": [
        "/api/v1/app-connections",
        "/api/v2/secret-rotations",
        "/api/v1/secret-syncs",
        "/api/v1/dynamic-secrets/leases",
    ],
}


@pytest.mark.parametrize(("path", "owner"), [(path, owner) for owner, paths in OWNED.items() for path in paths])
def test_every_path_of_the_contract_has_its_owner(path: str, owner: str) -> None:
    match = read_routes(SHIPPED_ROUTES, SERVICES).find(parse_target(path).segments)

    assert match is not None
    assert match.value == owner


def test_every_entry_of_the_shipped_table_is_canonical() -> None:
    for match in read_routes(SHIPPED_ROUTES, SERVICES):
        assert parse_target(match.pattern).raw_path == match.pattern


@pytest.mark.parametrize(
    ("method", "path", "bucket", "is_always"),
    [
        ("POST", "/api/v3/auth/login", ("auth", 60), True),
        ("POST", "/api/v3/auth/login1", ("auth", 60), True),
        ("POST", "/api/v1/auth/universal-auth/login", ("write", 200), True),
        ("POST", "/api/v1/auth/ldap-auth/login", ("write", 200), True),
        ("POST", "/api/v2/auth/mfa/verify", ("mfa", 20), True),
        ("GET", "/api/v3/secrets/raw", ("secrets", 60), False),
        ("GET", "/api/v1/projects", ("read", 60), False),
        ("POST", "/api/v1/identities/search", ("read", 60), False),
        ("DELETE", "/api/v1/projects/1", ("write", 200), False),
        ("POST", "/api/v1/invite-org/signup", ("mail", 2), False),
        ("GET", "/api/v1/shared-secrets/1", ("public-endpoint", 30), False),
        ("OPTIONS", "/api/v1/projects", ("global", 600), False),
    ],
)
def test_the_shipped_limits_are_those_of_the_contract(
    method: str, path: str, bucket: tuple[str, int], is_always: bool
) -> None:
    segments = parse_target(path).segments
    match = read_limits(SHIPPED_LIMITS, "all")[method].find(segments)

    assert match is not None
    assert (match.value.name, match.value.most) == bucket
    assert (read_limits(SHIPPED_LIMITS, "logins")[method].find(segments) is not None) is is_always
    assert read_limits(SHIPPED_LIMITS, "off")[method].find(segments) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "services: Field required"),
        ("[services", "not TOML"),
        ("[services]\nidentity = 1", "services.identity: Input should be a valid list"),
        ('[services]\nidentity = ["api"]', "'api' is not a path"),
        ('[services]\nidentity = ["/internal/x"]', "would lead strangers"),
        ('[services]\nidentity = ["/"]', "would lead strangers"),
        ('[services]\nidentity = ["/*/x"]', "would lead strangers"),
        ('[services]\nnobody = ["/x"]', "there is no service 'nobody'"),
        ('[services]\nidentity = ["/x"]\nsecrets = ["/x"]', "has two owners, identity and secrets"),
        ('[services]\nidentity = ["/x"]\n[more]', "more: Extra inputs"),
    ],
)
def test_a_bad_table_is_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "routes.toml"
    path.write_text(text)

    with pytest.raises(BadTable, match=re.escape(says)) as caught:
        read_routes(path, SERVICES)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ('bucket = "none"\npaths = ["/x"]', "there is no bucket 'none'"),
        ('bucket = "a"\npaths = []', "rules.0.paths"),
        ('bucket = "a"\npaths = ["/x"]\nmethods = ["LOOK"]', "there is no method 'LOOK'"),
        ('bucket = "a"\npaths = ["/x", "/x"]', "falls into two buckets"),
    ],
)
def test_bad_limits_are_refused(tmp_path: Path, rules: str, says: str) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(f"[buckets]\na = {{ most = 1 }}\n[[rules]]\n{rules}\n")

    with pytest.raises(BadTable, match=re.escape(says)):
        read_limits(path, "logins")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadTable, match=r"nothing\.toml: No such file"):
        read_routes(tmp_path / "nothing.toml", SERVICES)
