"""Threats practice 10: every route lies in one generated file, and an open one is open on purpose."""

from pathlib import Path

from strongroom_common.http.openapi import INVENTORY_HEAD, inventory
from strongroom_common.http.paths import parse_target
from strongroom_gateway.service import tables
from strongroom_gateway.settings import GatewaySettings
from strongroom_standalone.house import service_doors

INVENTORY = Path(__file__).resolve().parents[2] / "docs" / "routes.tsv"

# Whoever adds a line here answers for it: these routes take callers who prove nothing before they are let in.
OPEN_ON_PURPOSE = {
    ("POST", "/api/v1/admin/bootstrap"),
    ("GET", "/api/v1/admin/config"),  # what a page must know before anybody logs in
    ("POST", "/api/v1/auth/alicloud-auth/login"),
    ("POST", "/api/v1/auth/aws-auth/login"),
    ("POST", "/api/v1/auth/azure-auth/login"),
    ("POST", "/api/v1/auth/gcp-auth/login"),
    ("POST", "/api/v1/auth/jwt-auth/login"),
    ("POST", "/api/v1/auth/kubernetes-auth/login"),
    ("POST", "/api/v1/auth/ldap-auth/login"),
    ("POST", "/api/v1/auth/oci-auth/login"),
    ("POST", "/api/v1/auth/oidc-auth/login"),
    ("POST", "/api/v1/auth/tls-cert-auth/login"),
    ("POST", "/api/v1/auth/universal-auth/login"),
    ("POST", "/api/v1/auth/token/renew"),
    ("POST", "/api/v1/auth/token/revoke"),
    ("POST", "/api/v3/auth/login"),
    ("POST", "/api/v3/auth/login1"),
    ("POST", "/api/v3/auth/login2"),
    ("POST", "/api/v2/auth/mfa/verify"),
    ("POST", "/api/v1/auth/token"),
    ("POST", "/api/v1/auth/logout"),
    ("POST", "/api/v1/auth/password-recovery"),
    ("POST", "/api/v1/auth/password-recovery/complete"),
    ("POST", "/api/v1/admin/signup"),
    ("POST", "/api/v1/invite-org/verify"),
    ("POST", "/api/v3/signup/email/signup"),
    ("POST", "/api/v3/signup/email/verify"),
    ("POST", "/api/v3/signup/complete-account/signup"),
    ("POST", "/api/v3/signup/complete-account/invite"),
}


def test_the_inventory_in_docs_is_the_one_that_the_code_declares() -> None:
    lines = [INVENTORY_HEAD]
    for name, door in service_doors().items():
        lines += inventory(name, door.endpoints)
    assert INVENTORY.read_text().splitlines() == lines, "run: make routes"


def test_an_unauthenticated_route_is_one_that_a_person_signed() -> None:
    found = {
        (endpoint.method, endpoint.template)
        for door in service_doors().values()
        for endpoint in door.endpoints
        if endpoint.is_public
    }
    assert found == OPEN_ON_PURPOSE


def test_every_route_that_needs_a_caller_names_what_it_needs_and_records() -> None:
    silent = [
        f"{endpoint.method} {endpoint.template}"
        for door in service_doors().values()
        for endpoint in door.endpoints
        if not endpoint.is_public and (not endpoint.permission or (endpoint.is_write and not endpoint.audit))
    ]
    assert silent == []


def test_the_gateway_leads_to_the_service_that_declares_the_route() -> None:
    prefixes = tables(GatewaySettings()).routes
    for name, door in service_doors().items():
        for endpoint in door.endpoints:
            segments = parse_target(endpoint.template.replace("{", "").replace("}", "").replace(":uuid", "")).segments
            found = prefixes.find(segments)
            assert found is not None, endpoint.template
            assert found.value == name, endpoint.template


def test_every_declared_path_is_canonical_and_has_one_owner() -> None:
    owners: dict[tuple[str, str], str] = {}
    for name, door in service_doors().items():
        for endpoint in door.endpoints:
            parse_target(endpoint.template.replace("{", "").replace("}", "").replace(":uuid", ""))
            assert owners.setdefault((endpoint.method, endpoint.template), name) == name
