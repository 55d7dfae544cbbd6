"""Every knob of the gateway."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_settings import SettingsConfigDict

from strongroom_common.access.networks import parse_network
from strongroom_common.kernel.errors import InvalidInput
from strongroom_common.runtime.settings import CommonSettings, ListSetting
from strongroom_gateway.store.files import Limited
from strongroom_gateway.usecases.forwarding import SERVICES

PREFIX = "STRONGROOM_GATEWAY_"


def _service_url(value: str) -> str:
    value = value.strip().rstrip("/")
    if not value:
        return value
    parts = urlsplit(value)
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("the port is not a number up to 65535") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query or parts.username:
        raise ValueError("must look like http://host:port")
    return value


def _origins(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or value != f"{parts.scheme}://{parts.netloc}" or "*" in value:
            raise ValueError("each must look like https://app.example.com; there are no wildcards")
    return values


def _networks(values: tuple[str, ...]) -> tuple[str, ...]:
    try:
        for value in values:
            parse_network(value)
    except InvalidInput as error:
        raise ValueError(error.message) from None
    return values


ServiceUrl = Annotated[str, AfterValidator(_service_url)]


class GatewaySettings(CommonSettings):
    """What the gateway can be told."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    port: int = Field(8080, ge=0, le=65535, description="The port to listen on; 0 takes a free one.")
    internal_port: int = Field(0, ge=0, le=65535, description="The port of /livez, /readyz and /metrics.")
    trusted_proxies: Annotated[ListSetting, AfterValidator(_networks)] = Field(
        (),
        description="Comma list of addresses or CIDRs of the proxies in front of the gateway, whose X-Forwarded-For, "
        "-Proto and -Host are believed. By default nobody is.",
    )
    request_seconds: float = Field(
        75.0, gt=0, description="The longest a service may take to begin its answer, or a body to stand still."
    )
    connect_seconds: float = Field(2.0, gt=0, description="The longest it may take to connect to a service.")
    upstream_connections: int = Field(500, ge=1, description="The most connections to each service.")
    identity_url: ServiceUrl = Field("http://identity:8080", description="Where identity is; empty: not installed.")
    secrets_url: ServiceUrl = Field("http://secrets:8080", description="Where secrets is; empty: not installed.")
    pki_url: ServiceUrl = Field("http://pki:8080", description="Where pki is; empty: not installed.")
    automation_url: ServiceUrl = Field(
        "http://automation:8080", description="Where automation is; empty: not installed."
    )
    routes_file: Path | None = Field(None, description="A table of routes to use instead of the one that is shipped.")
    limits_file: Path | None = Field(None, description="Rate limits to use instead of those that are shipped.")
    rate_limits: Limited = Field("logins", description="What is limited per caller: `off`, `logins` or `all`.")
    cors_origins: Annotated[ListSetting, AfterValidator(_origins)] = Field(
        (), description="Comma list of origins whose pages may call the API with credentials. By default none."
    )
    client_certificate_header: str = Field(
        "X-Ssl-Client-Cert",
        description="The header in which a trusted proxy passes a client's certificate; dropped from everyone else.",
    )
    docs: bool = Field(True, description="Whether to serve /api/docs and /api/docs/json.")
    email_configured: bool = Field(False, description="What /api/status says about mail.")

    def service_urls(self) -> dict[str, str]:
        """The services of this installation and where they are."""
        urls = {name: str(getattr(self, f"{name}_url")) for name in SERVICES}
        return {name: url for name, url in urls.items() if url}
