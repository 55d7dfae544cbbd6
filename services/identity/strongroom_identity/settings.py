"""Every knob of the identity service: `STRONGROOM_IDENTITY_...`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from strongroom_common.runtime.settings import MailSettings, ServiceSettings


class IdentitySettings(ServiceSettings, MailSettings):
    """Read from the environment; each may stand in a file named by `..._FILE`."""

    model_config = SettingsConfigDict(env_prefix="STRONGROOM_IDENTITY_", extra="ignore", frozen=True)

    password_hashes_at_once: int = Field(
        2, ge=1, le=64, description="How many passwords are hashed at the same time; each takes 64 MiB meanwhile."
    )
    site_url: str = Field(
        "http://localhost:8080",
        pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$",
        validation_alias="STRONGROOM_SITE_URL",
        description="Where people find this instance: links begin with it. With https, cookies travel only encrypted.",
    )
    audit_retention_days: int = Field(
        0,
        ge=0,
        le=36_500,
        description="Days after which audit records are removed, where their project says nothing else; 0 keeps them.",
    )
    client_certificate_header: str = Field(
        "",
        pattern=r"^[A-Za-z0-9-]*$",
        description="The header in which the proxy that ends TLS hands on a client's certificate, for tls-cert-auth. "
        "Name one only if that proxy removes it from what clients send; empty: nobody logs in this way.",
    )
